package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// The table has a row for each number of shards and way, and its columns line up.
func TestCompare(t *testing.T) {
	o := small
	o.compare = true
	for count, want := range map[string]int{"both": 24, "frequent": 12, "distinct": 12} {
		o.count = count
		var out bytes.Buffer
		if err := run(context.Background(), o, &out); err != nil {
			t.Fatal(err)
		}
		rows, width := 0, 0
		for line := range strings.Lines(out.String()) {
			length := len([]rune(strings.TrimRight(line, "\n")))
			if strings.HasPrefix(line, "shards") {
				width = length
			} else if strings.HasPrefix(line, "     ") || strings.HasPrefix(line, "    6") {
				rows++
				if length != width {
					t.Errorf("%d columns instead of %d: %s", length, width, line)
				}
			}
		}
		if rows != want {
			t.Errorf("%s: %d rows:\n%s", count, rows, out.String())
		}
	}
}

// The table shows the truth, so it is never of an input.
func TestCompareTakesNoInput(t *testing.T) {
	o := small
	o.compare, o.input = true, "lines.txt"
	var out bytes.Buffer
	if err := run(context.Background(), o, &out); err == nil || out.Len() > 0 {
		t.Errorf("error %v, printed %q", err, out.String())
	}
}
