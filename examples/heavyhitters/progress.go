package main

import (
	"fmt"
	"io"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

const (
	progressEvery = 200 * time.Millisecond // between two updates
	progressLines = 4096                   // keys between two looks at the clock
)

// progress is one line on a terminal that says how far the reading is. A nil progress prints
// nothing.
type progress struct {
	w           io.Writer
	start, next time.Time
	calls       int
	shown       bool
}

// newProgress returns nil unless w is a terminal.
func newProgress(w io.Writer) *progress {
	if !cli.Terminal(w) {
		return nil
	}
	now := time.Now()
	return &progress{w: w, start: now, next: now.Add(progressEvery)}
}

// update redraws the line when it is due. It may be called after every key.
func (p *progress) update(lines int, bytes int64) {
	if p == nil {
		return
	}
	p.calls++
	if p.calls%progressLines != 0 {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	rate := float64(bytes) / 1e6 / now.Sub(p.start).Seconds()
	fmt.Fprintf(p.w, "\r%s lines, %.0f MB/s\x1b[K", grouped(lines), rate)
}

// clear removes the line.
func (p *progress) clear() {
	if p != nil && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
