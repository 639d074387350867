package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// frequentTextFn makes a text of a release of frequent keys.
type frequentTextFn struct {
	Top        int
	Confidence float64
}

func (f *frequentTextFn) ProcessElement(encoded []byte) (string, error) {
	var h misragries.Histogram[string]
	if err := h.UnmarshalBinary(encoded); err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Frequent keys, with bounds that each hold with confidence %g; the guarantee is for one element\n%v\n", f.Confidence, &h)
	type keyed struct {
		key      string
		estimate float64
	}
	var all []keyed
	for key, estimate := range h.All() {
		all = append(all, keyed{key, estimate})
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return cmp.Compare(b.estimate, a.estimate) })
	for i, k := range all[:min(max(f.Top, 0), len(all))] {
		lo, hi := h.Interval(k.key, f.Confidence)
		fmt.Fprintf(&text, "%3d  %-24s %12.1f   at least %.0f", i+1, k.key, k.estimate, lo)
		if !math.IsInf(hi, 1) {
			fmt.Fprintf(&text, ", at most %.0f", hi)
		}
		fmt.Fprintln(&text)
	}
	return text.String(), nil
}

// usersTextFn makes a text of a release of groups.
type usersTextFn struct {
	Top        int
	Confidence float64
}

func (f *usersTextFn) ProcessElement(encoded []byte) (string, error) {
	var g groupby.Groups[string]
	if err := g.UnmarshalBinary(encoded); err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Users by key, with bounds that each hold with confidence %g; the guarantee is for one user with all rows\n%v\n", f.Confidence, &g)
	rank, sums := 0, g.Params().Max > g.Params().Min
	for key, estimate := range g.Top(f.Top) {
		rank++
		lo, hi := g.Interval(key, f.Confidence)
		fmt.Fprintf(&text, "%3d  %-24s %10.0f   between %.0f and %.0f", rank, key, estimate, lo, hi)
		if sums {
			fmt.Fprintf(&text, "   sum %.0f, mean %.2f", g.Sum(key), g.Mean(key))
		}
		fmt.Fprintln(&text)
	}
	return text.String(), nil
}

// distinctTextFn makes a text of a release of distinct keys.
type distinctTextFn struct{ Confidence float64 }

func (f *distinctTextFn) ProcessElement(encoded []byte) (string, error) {
	var s distinct.Sketch
	if err := s.UnmarshalBinary(encoded); err != nil {
		return "", err
	}
	lo, hi := s.Interval(f.Confidence)
	return fmt.Sprintf("Distinct keys; the guarantee is for one key with all its elements\n%v\n     %.0f ± %.0f, between %.0f and %.0f with confidence %g\n",
		&s, s.Estimate(), s.StdErr(), lo, hi, f.Confidence), nil
}

// returningTextFn makes a text of a release of two days.
type returningTextFn struct{ Confidence float64 }

func (f *returningTextFn) ProcessElement(encoded []byte) (string, error) {
	var p distinct.Pair
	if err := p.UnmarshalBinary(encoded); err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Returning keys, with bounds that each hold with confidence %g; the guarantee is for one key with all its elements\n%v\n", f.Confidence, &p)
	for _, line := range []struct {
		name string
		size kor.Cardinality
	}{{"on the day before", p.A()}, {"on the day", p.B()}, {"on both", p.Both()}, {"new", p.OnlyB()}, {"not back", p.OnlyA()}} {
		lo, hi := line.size.Interval(f.Confidence)
		fmt.Fprintf(&text, "     %-18s %10.0f   between %.0f and %.0f\n", line.name, line.size.Estimate()+0, lo, hi)
	}
	return text.String(), nil
}

// printer is where printFn prints. It works where the pipeline runs in this process, else it is the
// worker's standard output.
type printer struct {
	mu sync.Mutex
	to io.Writer
}

var output = printer{to: os.Stdout}

func (p *printer) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.to, text)
}

// printFn prints the text of a release.
type printFn struct{}

func (*printFn) ProcessElement(text string) { output.print(text) }

func init() {
	register.DoFn1x2[[]byte, string, error](&frequentTextFn{})
	register.DoFn1x2[[]byte, string, error](&usersTextFn{})
	register.DoFn1x2[[]byte, string, error](&distinctTextFn{})
	register.DoFn1x2[[]byte, string, error](&returningTextFn{})
	register.DoFn1x0[string](&printFn{})
}
