package main

import (
	"fmt"
	"io"
	"strings"
)

// writeHidden prints what the release does not tell, which only somebody who knows the truth can
// say.
func (r *report) writeHidden(out io.Writer, truth map[string]int) error {
	var b strings.Builder
	released := make(map[string]bool, len(r.rows))
	covered := 0
	for _, w := range r.rows {
		released[w.key] = true
		if w.covers(truth[w.key]) {
			covered++
		}
	}
	hidden, most, tokens := 0, "", 0
	for word, c := range truth {
		tokens += c
		if released[word] {
			continue
		}
		hidden++
		if c > truth[most] || c == truth[most] && word < most {
			most = word
		}
	}
	fmt.Fprintf(&b, "\nIn truth, %s of the %s intervals cover the count.\n", grouped(covered), grouped(len(r.rows)))
	if hidden > 0 {
		fmt.Fprintf(&b, "Hidden by the sketch or the threshold: %s words, the most frequent of them %q with %s.\n",
			grouped(hidden), most, grouped(truth[most]))
	}
	fmt.Fprintf(&b, "Of %s elements, %s counters lose at most %s per key before any noise.\n",
		grouped(tokens), grouped(r.opts.params.Counters), grouped(tokens/(r.opts.params.Counters+1)))
	_, err := io.WriteString(out, b.String())
	return err
}
