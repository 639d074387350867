package main

import (
	"fmt"
	"io"
	"time"

	"github.com/dpsketch/dpsketch/examples/kjv"
)

// releaseText releases the words of the embedded text, and beside them the truth, which is public.
func (opts *options) releaseText(out io.Writer) error {
	text, err := kjv.Load()
	if err != nil {
		return err
	}
	sketch, err := newStream(opts)
	if err != nil {
		return err
	}
	start := time.Now()
	for word := range text.Tokens() {
		sketch.Add(word)
	}
	r, err := release(sketch, opts, start)
	if err != nil {
		return err
	}
	if opts.json {
		return r.print(out, nil)
	}
	truth := make(map[string]int)
	for word := range text.Tokens() {
		truth[word]++
	}
	if _, err := fmt.Fprintf(out, "King James Bible: %s words of text, %s of them distinct, in %v.\n\n",
		grouped(text.Len()), grouped(len(truth)), r.took.Round(100*time.Microsecond)); err != nil {
		return err
	}
	if err := r.write(out, truth); err != nil {
		return err
	}
	return r.writeHidden(out, truth)
}
