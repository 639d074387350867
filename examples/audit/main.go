// Command audit looks at the library from outside: it samples releases of worst-case neighbours and
// looks for events that refute the claimed guarantees. README.md has what it found.
//
//	go run ./examples/audit         audits all mechanisms by a classifier, as DP-Sniper does
//	  -run jl                       audits those whose name matches
//	  -breaks                       plants 25 flaws, one at a time, and audits what they break
//	  -closeness DIR                runs Google's statistical test cases, from a checkout of their
//	                                repository
//	  -sample NAME -side 0 -n 1000  writes releases for other auditors, as little-endian doubles
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	pattern := flag.String("run", "", "only mechanisms, flaws or files of cases whose name matches this regular expression")
	plant := flag.Bool("breaks", false, "plant flaws and look whether they are found")
	closeness := flag.String("closeness", "", "a checkout of github.com/google/differential-privacy")
	sample := flag.String("sample", "", "the name of a mechanism to sample")
	list := flag.Bool("list", false, "print the names of the mechanisms with their claims")
	side := flag.Int("side", 0, "which of the neighbours to sample")
	n := flag.Int("n", 1000, "how many releases to sample")
	flag.Parse()
	wanted, err := regexp.Compile(*pattern)
	switch {
	case err != nil:
	case *closeness != "":
		err = google(*closeness, wanted)
	case *plant:
		err = breaks(wanted)
	case *list:
		for _, a := range mechanisms() {
			fmt.Printf("%s\t%g\n", a.name, a.claim.EpsilonAt(0.02))
		}
	case *sample != "":
		err = write(*sample, *side, *n)
	default:
		err = all(wanted)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "audit:", err)
		os.Exit(1)
	}
}

// epsilons are those at which a claim is looked at.
var epsilons = []float64{0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6}

// run audits one mechanism.
func (a audited) run() verdict { return audit(1, a.make(), epsilons, a.claim.DeltaAt, a.n) }

// all audits the mechanisms and prints a table.
func all(wanted *regexp.Regexp) error {
	fmt.Println("| mechanism | claimed | found: ε at δ = 0 at least | verdict |\n|---|---|---|---|")
	exceeded := 0
	for _, a := range mechanisms() {
		if !wanted.MatchString(a.name) {
			continue
		}
		start := time.Now()
		v := a.run()
		fmt.Printf("| %s | %v | %.2f | %s |\n", a.name, a.claim, max(v.lost, 0), v)
		fmt.Fprintf(os.Stderr, "%s: %.1f s\n", a.name, time.Since(start).Seconds())
		if v.excess > 0 {
			exceeded++
		}
	}
	if exceeded > 0 {
		return fmt.Errorf("%d claims are exceeded", exceeded)
	}
	return nil
}

// String says whether the claim is exceeded.
func (v verdict) String() string {
	if v.excess > 0 {
		return fmt.Sprintf("EXCEEDED at ε = %g, by %.3g", v.epsilon, v.excess)
	}
	return "holds"
}

// write writes releases of a mechanism: the number of features, then all of them.
func write(name string, side, n int) error {
	for _, a := range mechanisms() {
		if a.name == name {
			for i, x := range samples(a.make(), side, n) {
				if i == 0 {
					if err := binary.Write(os.Stdout, binary.LittleEndian, float64(len(x))); err != nil {
						return err
					}
				}
				if err := binary.Write(os.Stdout, binary.LittleEndian, x); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return fmt.Errorf("there is no mechanism %q; -list prints all", name)
}
