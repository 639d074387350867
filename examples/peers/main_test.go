package main

import (
	"strings"
	"testing"
	"time"
)

// Every comparison runs and prints its line. The figures of so short a run mean nothing.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out, effort{rounds: 1, time: time.Nanosecond, stream: 1000, keys: 100}); err != nil {
		t.Fatal(err)
	}
	for _, work := range []string{
		"Laplace draw", "discrete Laplace draw", "Gaussian draw",
		"uint64 of 2^40 keys, k = 256 ", "uint64 of 2^40 keys, k = 1024 ", "uint64 of 2^40 keys, k = 4096 ",
		"string of 2^40 keys, k = 256 ", "string of 2^40 keys, k = 1024 ", "string of 2^40 keys, k = 4096 ",
		"uint64 of 2^20 keys, k = 1024 ", "string of 2^20 keys, k = 1024 ",
		"histogram of 100 integer keys, Release", "histogram of 100 integer keys, Add and Release",
	} {
		if !strings.Contains(out.String(), work) {
			t.Errorf("no line for %q:\n%s", work, &out)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{2, 1}, 2}} {
		if got := median(c.x); got != c.want {
			t.Errorf("median of %v: got %v, want %v", c.x, got, c.want)
		}
	}
}

func TestStream(t *testing.T) {
	numbers := zipf(100_000, 1<<40)
	seen := make(map[uint64]int)
	for _, key := range numbers {
		seen[key]++
	}
	// The first rank alone has a share of about a tenth, and thousands occur.
	if most := seen[mix(0)]; most < 5_000 || len(seen) < 5_000 {
		t.Errorf("%d distinct keys, the most frequent %d times", len(seen), most)
	}
	for i, text := range spell(numbers[:100]) {
		if len(text) != 16 {
			t.Errorf("key %d is %q", i, text)
		}
	}
}
