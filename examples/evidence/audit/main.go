// Package audit looks at the library from outside: it samples releases of worst-case neighbours and
// looks for events that refute the claimed guarantees. README.md has what it found.
//
//	evidence audit                  audits 19 mechanisms by a classifier, as DP-Sniper does, from
//	                                at most 10,000 releases each: 20 s
//	  -run .                        audits all mechanisms: a quarter of an hour
//	  -all DIR                      does this, -breaks and published.py, with the checkouts in
//	                                DIR, and prints the tables of README.md
//	  -run jl                       audits those whose name matches
//	  -breaks                       plants 37 flaws, a few at a time, and audits what they break
//	  -sample NAME -n 1000          writes releases for other auditors, as little-endian doubles:
//	                                how many numbers each has, then 1000 of each neighbour
package audit

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"sync/atomic"
	"time"
)

// quick are the mechanisms that are audited if nothing is said, by at most quickly releases each.
const (
	quick = "^(misragries (KeptZeros, a rare key|Sum, trimmed)|threshold Gaussian|groupby, (rare keys|rows|two releases|a median|a learned range)|jl SJLT, Laplace|kor|" +
		"distinct, (the count|pair|cohorts|frequencies)|column, (median|a learned range)|arete Gaussian|series, a user|noise DiscreteGaussian)$"
	quickly = 10_000
)

// Main runs the command on the command line.
func Main() {
	pattern := flag.String("run", "", "only mechanisms or flaws whose name matches this regular expression")
	plant := flag.Bool("breaks", false, "plant flaws and look whether they are found")
	checkouts := flag.String("all", "", "a directory with the checkouts that published.py names: run everything")
	sample := flag.String("sample", "", "the name of a mechanism to sample")
	list := flag.Bool("list", false, "print the names of the mechanisms with their claims")
	n := flag.Int("n", 1000, "how many releases to sample of each of the neighbours")
	flag.Parse()
	wanted, err := regexp.Compile(*pattern)
	switch {
	case err != nil:
	case *checkouts != "":
		err = everything(*checkouts, wanted)
	case *plant:
		err = breaks(wanted, func([]flaw, string) error { return nil })
	case *list:
		for _, a := range mechanisms() {
			fmt.Printf("%s\t%v\n", a.name, a.claim)
		}
	case *sample != "":
		err = write(*sample, *n)
	case *pattern == "":
		err = all(regexp.MustCompile(quick), quickly)
	default:
		err = all(wanted, math.MaxInt)
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

// all audits the mechanisms, by at most that many releases each, and prints a table.
func all(wanted *regexp.Regexp, most int) error {
	fmt.Println("| mechanism | claimed | found: ε at δ = 0 at least | verdict |\n|---|---|---|---|")
	var chosen []audited
	for _, a := range mechanisms() {
		if wanted.MatchString(a.name) {
			chosen = append(chosen, a)
		}
	}
	exceeded := atomic.Int64{}
	inOrder(len(chosen), func(i int) string {
		a, start := chosen[i], time.Now()
		a.n = min(a.n, most)
		v := a.run()
		if v.excess > 0 {
			exceeded.Add(1)
		}
		fmt.Fprintf(os.Stderr, "%s: %.1f s\n", a.name, time.Since(start).Seconds())
		return fmt.Sprintf("| %s | %v | %.2f | %s |\n", a.name, a.claim, max(v.lost, 0), v)
	})
	if n := exceeded.Load(); n > 0 {
		return fmt.Errorf("%d claims are exceeded", n)
	}
	return nil
}

// inOrder runs n tasks, as many at once as there are cores, and prints what they return in order.
func inOrder(n int, task func(i int) string) {
	rows, next := make([]chan string, n), atomic.Int64{}
	for i := range rows {
		rows[i] = make(chan string, 1)
	}
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				rows[i] <- task(i)
			}
		}()
	}
	for _, row := range rows {
		fmt.Print(<-row)
	}
}

// String says whether the claim is exceeded.
func (v verdict) String() string {
	if v.excess > 0 {
		return fmt.Sprintf("EXCEEDED at ε = %g, by %.3g", v.epsilon, v.excess)
	}
	return "holds"
}

// write writes releases of a mechanism: the number of features, then n releases of each side. Both
// are of one source, as what a source learns before it samples is part of what it looks at.
func write(name string, n int) error {
	for _, a := range mechanisms() {
		if a.name == name {
			source, out := a.make(), bufio.NewWriter(os.Stdout)
			for side := range 2 {
				for i, x := range samples(source, side, n) {
					if side+i == 0 {
						x = append([]float64{float64(len(x))}, x...)
					}
					if err := binary.Write(out, binary.LittleEndian, x); err != nil {
						return err
					}
				}
			}
			return out.Flush()
		}
	}
	return fmt.Errorf("there is no mechanism %q; -list prints all", name)
}
