package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dpsketch/dpsketch/misragries"
)

// row is one released key.
type row struct {
	key              string
	estimate, lo, hi float64
}

// stringKey is what a counter with a string key takes beyond one with a uint64 key, in bytes.
const stringKey = 16

// report is a release, ready to be printed. All of it is post-processing and costs no budget.
type report struct {
	hist  *misragries.Histogram[string]
	plan  misragries.Row
	opts  *options
	bytes int           // of each sketch
	took  time.Duration // from the start to the release
	rows  []row         // by decreasing estimate
}

// release releases the sketch, which was begun at start, and makes the report of it.
func release(sketch *counted, opts *options, start time.Time) (*report, error) {
	hist, needs, bytes, err := sketch.Release()
	if err != nil {
		return nil, err
	}
	r := &report{hist: hist, plan: needs, bytes: bytes, opts: opts, took: time.Since(start)}
	for key, estimate := range hist.Top(hist.Len()) {
		lo, hi := hist.Interval(key, opts.confidence)
		r.rows = append(r.rows, row{key, estimate, lo, hi})
	}
	return r, nil
}

// write prints the release: what it guarantees, the table, and which keys are certain to be
// frequent. A nil truth says that the true counts are unknown.
func (r *report) write(out io.Writer, truth map[string]int) error {
	var b strings.Builder
	p := r.opts.params
	if r.opts.servers > 1 {
		fmt.Fprintf(&b, "Servers:    %s, by %v: one adds up the sketches of all\n", grouped(r.opts.servers), r.plan.Method)
	}
	fmt.Fprintf(&b, "Sketch:     %s counters, at most %s KiB and the text of their keys\n",
		grouped(p.Counters), grouped(math.Ceil((float64(r.bytes)+stringKey*float64(p.Counters))/1024)))
	fmt.Fprintf(&b, "Guarantee:  %v; the unit is one element of the stream, added or removed\n", r.hist.Guarantee())
	fmt.Fprintf(&b, "Threshold:  a key is released when its noisy count reaches %s\n", grouped(r.plan.Threshold))
	fmt.Fprintf(&b, "Released:   %s keys\n", grouped(len(r.rows)))
	if len(r.rows) > 0 {
		b.WriteByte('\n')
		r.table(&b, truth)
	}
	b.WriteByte('\n')
	r.readings(&b, truth)
	_, err := io.WriteString(out, b.String())
	return err
}

// table prints the keys with the greatest estimates.
func (r *report) table(b *strings.Builder, truth map[string]int) {
	rows := r.rows
	if r.opts.top > 0 {
		rows = rows[:min(r.opts.top, len(rows))]
	}
	widest := 0 // upper end of an interval
	for _, w := range rows {
		widest = max(widest, utf8.RuneCountInString(grouped(w.hi)))
	}
	header := []string{"key", "estimate", percent(r.opts.confidence) + " interval"}
	if truth != nil {
		header = append(header, "true count", "covered")
	}
	lines := [][]string{header}
	for _, w := range rows {
		interval := fmt.Sprintf("%s – %*s", grouped(w.lo), widest, grouped(w.hi))
		line := []string{printable(w.key), grouped(w.estimate), interval}
		if truth != nil {
			covered := "no"
			if w.covers(truth[w.key]) {
				covered = "yes"
			}
			line = append(line, grouped(truth[w.key]), covered)
		}
		lines = append(lines, line)
	}
	align(b, lines)
}

func (w row) covers(count int) bool {
	return w.lo <= float64(count) && float64(count) <= w.hi
}

// align prints a table: the first column to the left, the others to the right.
func align(b *strings.Builder, lines [][]string) {
	width := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %-*s", width[0], line[0])
		for i, cell := range line[1:] {
			fmt.Fprintf(b, "  %*s", width[i+1], cell)
		}
		b.WriteByte('\n')
	}
}

// readings prints how many keys reach a count for certain, and how many may.
func (r *report) readings(b *strings.Builder, truth map[string]int) {
	limit := math.Ceil(r.hist.DetectionLimit(r.opts.confidence))
	fmt.Fprintf(b, "At %s confidence, every key that occurs %s times or more is in the release.\n", percent(r.opts.confidence), grouped(limit))
	if math.IsInf(limit, 1) {
		return
	}
	fmt.Fprintf(b, "Of the released keys, at the same confidence:\n")
	fmt.Fprintf(b, "  %8s  all occur %s times or more\n", grouped(len(maps.Collect(r.hist.HeavyHitters(limit, r.opts.confidence)))), grouped(limit))
	if truth != nil {
		n := 0
		for _, c := range truth {
			if float64(c) >= limit {
				n++
			}
		}
		fmt.Fprintf(b, "  %8s  do in truth\n", grouped(n))
	}
}

func percent(p float64) string {
	return fmt.Sprintf("%.6g%%", 100*p)
}
