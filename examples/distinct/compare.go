package main

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// party is what one party does: nothing but the returned bytes leaves it. The words go in as they
// come, duplicates and all.
func party(p distinct.Params, words iter.Seq[string]) ([]byte, error) {
	b, err := distinct.New(p)
	if err != nil {
		return nil, err
	}
	for word := range words {
		distinct.AddKey(b, word)
	}
	s, err := b.Release()
	if err != nil {
		return nil, err
	}
	return s.MarshalBinary()
}

// estimated is a size that was estimated, by whichever package.
type estimated interface {
	Estimate() float64
	StdErr() float64
	Interval(confidence float64) (lo, hi float64)
}

// row is a line of the report.
type row struct {
	name  string
	size  estimated
	truth int
}

// result is what two sketches tell, with the truth beside it.
type result struct {
	guarantee budget.Guarantee // of one party
	rows      []row
}

// compare is what anybody can do with the bytes of two parties.
func compare(first, second []byte) (*result, error) {
	var a, b distinct.Sketch
	if err := errors.Join(a.UnmarshalBinary(first), b.UnmarshalBinary(second)); err != nil {
		return nil, err
	}
	c, err := distinct.Compare(&a, &b)
	if err != nil {
		return nil, err
	}
	return &result{a.Guarantee(), []row{{name: "A", size: &a}, {name: "B", size: &b}, {name: "A∪B", size: c.Union()}, {name: "A∩B", size: c.Intersection()},
		{name: "A∖B", size: c.OnlyA()}, {name: "B∖A", size: c.OnlyB()}}}, nil
}

// tell puts the true numbers into the rows.
func (r *result) tell(a, b map[string]bool) {
	both := 0
	for word := range a {
		if b[word] {
			both++
		}
	}
	truth := map[string]int{
		"A": len(a), "B": len(b), "A∪B": len(a) + len(b) - both, "A∩B": both, "A∖B": len(a) - both,
		"B∖A": len(b) - both,
	}
	for i := range r.rows {
		r.rows[i].truth = truth[r.rows[i].name]
	}
}

// text prints the result.
func (r *result) text(opts options, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Distinct words: A is %s, B is %s. Each party sent %d bytes.\n\n", opts.first.name, opts.second.name, size)
	fmt.Fprintf(&b, "Guarantee of each party: %v; a key is one word of its set\n\n", r.guarantee)
	fmt.Fprintf(&b, "  %-5s %10s %10s   %-21s %8s\n", "", "estimate", "± std err", fmt.Sprintf("%.10g %% interval", 100*opts.confidence), "truth")
	for _, row := range r.rows {
		lo, hi := row.size.Interval(opts.confidence)
		fmt.Fprintf(&b, "  %-5s %10.1f %10.1f   %9.1f – %9.1f %8d\n", row.name, row.size.Estimate(), row.size.StdErr(), lo, hi, row.truth)
	}
	fmt.Fprintf(&b, "\nA word in both sets is protected by the composition of both releases, a word in one of them by that party's own.\n")
	return b.String()
}
