package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
)

// triangle is a released table, with the true numbers beside it: in row i and column j ≥ i how many
// words are new in book i, and of these come in book j or later.
type triangle struct {
	names  []string
	sizes  [][]kor.Cardinality // of row i, from column i on
	truths [][]int
}

// newTriangle counts the books as if each were a day and a word a user, with one release for all.
func newTriangle(p distinct.Params, text *kjv.Text, days []book) (*triangle, error) {
	b, err := distinct.NewCohortBuilder(p, len(days))
	if err != nil {
		return nil, err
	}
	first, last := map[string]int{}, map[string]int{}
	for i, of := range days {
		if i > 0 {
			if err := b.Advance(i + 1); err != nil {
				return nil, err
			}
		}
		for word := range occurrences(text, of) {
			distinct.AddKey(b, word)
			if first[word] == 0 {
				first[word] = i + 1
			}
			last[word] = i + 1
		}
	}
	c, err := b.Release()
	if err != nil {
		return nil, err
	}
	t := new(triangle)
	for i, of := range days {
		var sizes []kor.Cardinality
		truths := make([]int, len(days)-i)
		for since := i + 1; since <= len(days); since++ {
			sizes = append(sizes, c.Returned(i+1, since))
		}
		for word, day := range first {
			for j := day; day == i+1 && j <= last[word]; j++ {
				truths[j-day]++
			}
		}
		t.names, t.sizes, t.truths = append(t.names, of.name), append(t.sizes, sizes), append(t.truths, truths)
	}
	return t, nil
}

// showCohorts prints the triangle of the first books, and draws it.
func (opts *options) showCohorts(out io.Writer, text *kjv.Text) error {
	p := distinct.Params{Epsilon: opts.params.Epsilon, Cells: opts.params.Cells, Levels: opts.params.Levels, Seed: hashing.NewSeed()}
	t, err := newTriangle(p, text, books[:opts.cohorts])
	if err != nil {
		return cli.Usage(err)
	}
	if opts.svg != "" {
		if err := os.WriteFile(opts.svg, []byte(t.picture(opts.confidence)), 0o666); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, t.text(p, opts.confidence))
	return err
}

// text prints what is new in each book, and what of it is back by the last one.
func (t *triangle) text(p distinct.Params, confidence float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Words that are new in a book, and of these in the last one too; %.10g %% intervals, and the truth. One release, ε = %v.\n\n", 100*confidence, p.Epsilon)
	for i, row := range t.sizes {
		fmt.Fprintf(&b, "  %-13s", t.names[i])
		for _, j := range []int{0, len(row) - 1} {
			lo, hi := row[j].Interval(confidence)
			fmt.Fprintf(&b, "  %7.0f  %7.0f – %7.0f  %5d", row[j].Estimate()+0, lo, hi, t.truths[i][j])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// picture returns an SVG of the whole triangle: what is estimated, between the ends of its
// interval, in boxes that are the darker the more of the row's words are left.
func (t *triangle) picture(confidence float64) string {
	const left, wide, high = 124, 96, 36
	n := len(t.names)
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\">\n", left+wide*n+4, high*(n+1)+4)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"22\">new in ↓ seen in →</text>\n", left/2)
	for i, row := range t.sizes {
		y := high * (i + 1)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-6, y+22, t.names[i])
		if i > 0 {
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"22\">%s+</text>\n", left+wide*i+wide/2, t.names[i])
		}
		for j, size := range row {
			x := left + wide*(i+j)
			share := min(max(size.Estimate()/max(row[0].Estimate(), 1), 0), 1)
			lo, hi := size.Interval(confidence)
			fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#26a\" fill-opacity=\"%.2f\"/>", x, y, wide-2, high-2, 0.08+0.5*share)
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%.0f</text>", x+wide/2, y+15, max(size.Estimate(), 0))
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" font-size=\"10\" fill=\"#333\">%.0f – %.0f</text>\n", x+wide/2, y+29, lo, hi)
		}
	}
	return b.String() + "</svg>\n"
}
