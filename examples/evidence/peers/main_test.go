package peers

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// small is enough for every answer to be far from what it would be for the wrong work. The times of
// so short a run mean nothing.
var small = effort{rounds: 1, time: time.Nanosecond, stream: 20_000, keys: 1000, rows: 2000, columns: 8}

// Every comparison runs, both sides pass its check, and it prints its line.
func TestRun(t *testing.T) {
	var out strings.Builder
	cli.OK(run(&out, small))
	for _, work := range []string{
		"Laplace draw", "discrete Laplace draw", "Gaussian draw", "jump law at ε = 8, Release", "jump law at ε = 8, share", "randomized response",
		"uint64 of 2^40 keys, k = 256 ", "uint64 of 2^40 keys, k = 1024 ", "uint64 of 2^40 keys, k = 4096 ",
		"string of 2^40 keys, k = 256 ", "string of 2^40 keys, k = 1024 ", "string of 2^40 keys, k = 4096 ",
		"uint64 of 2^20 keys, k = 1024 ", "string of 2^20 keys, k = 1024 ", "distinct uint64 keys", "k = 4096, add ", "k = 4096, merge ",
		"histogram of 1000 integer keys, Release", "histogram of 1000 integer keys, Add and Release",
		"alp, 200 entries, cached, Estimate ", "alp, 40000 entries, beyond the caches, Estimates ", "sparse vector of 1000 entries, Release",
		"2000 rows of integers", "2000 rows of strings", "20000 rows of integers", "20000 rows of strings",
		"Toggle", "ToggleSlice", "Add of a slice", "16-byte strings, AddKey ", "stream of uint64 keys, Add", "size of a set", "size of a symmetric difference",
		"SJLT s = 1, AddDense", "SJLT s = 8, AddDense", "SRHT, AddDense and Release", "SJLT s = 1, AddSparse ", "SJLT s = 8, AddSparse ",
		"sum of 2000 rows of 8", "mean of 2000 rows of 8", "mean of 16000 rows of 20 ones in 800",
	} {
		clitest.Not(t, !strings.Contains(out.String(), work), "no line for %q:\n%s", work, &out)
	}
}

// With -wanted there is a row for each comparison that has a target, and no other.
func TestWanted(t *testing.T) {
	r := result{comparison: comparison{work: "a", peer: "b", target: 0.5}, least: 0.6}
	if got := r.wanted(); got != "| a | b | 0.6 | 0.5, missed |\n" {
		t.Error(got)
	}
	r.least = 0.4
	if got := r.wanted(); got != "| a | b | 0.4 | 0.5 |\n" {
		t.Error(got)
	}
}

// Nothing is measured unless the check passes.
func TestCheck(t *testing.T) {
	wrong := errors.New("wrong answer")
	c := comparison{units: 1, check: func() error { return wrong }, ours: repeat(func() { t.Error("measured all the same") })}
	if _, err := c.measure(1); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		got, want, tolerance float64
		ok                   bool
	}{
		{10, 10, 0, true}, {-14, -10, 4, true}, {14.1, 10, 4, false}, {5.9, 10, 4, false},
		{10, 10, 5.1, false}, {0, 0, 1, false}, // too wide
		{math.NaN(), 10, 4, false}, {10, 10, math.NaN(), false},
	} {
		if err := near("answer", c.got, c.want, c.tolerance); (err == nil) != c.ok {
			t.Errorf("near(%v, %v, %v): %v", c.got, c.want, c.tolerance, err)
		}
	}
}

// A law that is a twentieth wider or narrower is noticed.
func TestFollows(t *testing.T) {
	for _, scale := range []float64{0.5, 0.95, 1, 1.05, 2} {
		law := rand.New(rand.NewPCG(1, 2))
		exponential := drawn{"exponential", func() float64 { return scale * law.ExpFloat64() }, 1, 2}
		if err := exponential.follows(); (err == nil) != (scale == 1) {
			t.Errorf("scale %v: %v", scale, err)
		}
	}
}

// The file of results has all benchmarks of the root but New.
func TestBench(t *testing.T) {
	source := cli.Must(os.ReadFile("../../../bench_test.go"))
	results := cli.Must(os.ReadFile("bench.txt"))
	found := 0
	for line := range strings.Lines(string(source)) {
		name, ok := strings.CutPrefix(line, "func Benchmark")
		if name, _, _ = strings.Cut(name, "("); !ok || name == "New" {
			continue
		}
		found++
		if text := string(results); !strings.Contains(text, "\nBenchmark"+name+"/") && !strings.Contains(text, "\nBenchmark"+name+"-") {
			t.Errorf("bench.txt lacks %s", name)
		}
	}
	clitest.Not(t, found < 20, "%d benchmarks", found)
}
