// Command evidence computes what the documentation says about speed, errors and privacy.
//
//	cd examples/evidence && go run . peers       speed and errors beside other libraries, minutes
//	go run . figures -only 'kor|jl'              the pictures, minutes for all
//	go run . audit                               audits from outside, 20 s; -run . for all
//	go run . means                               means of texts and of generated rows, 20 s
//	go run . estimates                           sketches of streams of baskets, minutes
//
// -h after the name prints the flags of each. This is a module of its own, so that the library does
// not depend on its peers or on what draws pictures.
package main

import (
	"fmt"
	"os"

	"github.com/dpsketch/dpsketch/examples/evidence/audit"
	"github.com/dpsketch/dpsketch/examples/evidence/estimates"
	"github.com/dpsketch/dpsketch/examples/evidence/figures"
	"github.com/dpsketch/dpsketch/examples/evidence/means"
	"github.com/dpsketch/dpsketch/examples/evidence/peers"
)

func main() {
	commands := map[string]func(){"audit": audit.Main, "estimates": estimates.Main, "figures": figures.Main, "means": means.Main, "peers": peers.Main}
	if len(os.Args) > 1 {
		if run := commands[os.Args[1]]; run != nil {
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "evidence: say which: audit, estimates, figures, means or peers")
	os.Exit(2)
}
