package peers

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// comparison is one piece of work done by the library and by a peer.
type comparison struct {
	work   string
	peer   string  // what the peer is
	target float64 // the ratio aimed at, 0 for none
	units  int     // how often the work is done in one operation of the benchmarks
	ours   func(b *testing.B)
	theirs func(b *testing.B)
	check  func() error // an error unless both sides do what they are measured for
	short  bool         // both sides tell their least time
}

// side is what one side needs for a unit of work.
type side struct {
	nanoseconds, allocations float64
}

// result holds the medians over all rounds, or the least times of what runs by shortly.
type result struct {
	comparison
	ourSide, theirSide side
	ratio              float64
	least              float64 // the ratio of the least times
}

// measure checks both sides and then runs them in turn, the given number of times.
func (c comparison) measure(rounds int) (result, error) {
	var ours, theirs, ratios []float64
	r := result{comparison: c}
	if err := c.check(); err != nil {
		return r, err
	}
	for range rounds {
		a, b := c.once(c.ours), c.once(c.theirs)
		ours, theirs = append(ours, a.nanoseconds), append(theirs, b.nanoseconds)
		ratios = append(ratios, a.nanoseconds/b.nanoseconds)
		r.ourSide.allocations, r.theirSide.allocations = a.allocations, b.allocations
	}
	r.least = slices.Min(ours) / slices.Min(theirs)
	if c.short {
		a, b := slices.Min(ours), slices.Min(theirs)
		r.ourSide.nanoseconds, r.theirSide.nanoseconds, r.ratio = a, b, a/b
		return r, nil
	}
	r.ourSide.nanoseconds, r.theirSide.nanoseconds, r.ratio = median(ours), median(theirs), median(ratios)
	return r, nil
}

func (c comparison) once(work func(b *testing.B)) side {
	b := testing.Benchmark(work)
	units := float64(b.N) * float64(c.units)
	if c.short {
		return side{b.Extra[least] / float64(c.units), float64(b.MemAllocs) / units}
	}
	return side{float64(b.T.Nanoseconds()) / units, float64(b.MemAllocs) / units}
}

// repeat is the benchmark that does the work again and again.
func repeat(work func()) func(b *testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			work()
		}
	}
}

// least is the metric of shortly.
const least = "least-ns"

// pieces is into how many pieces shortly cuts a stream.
const pieces = 256

// shortly adds a stream to a sketch, piece by piece and again and again, where a key takes a few
// instructions and other load would be a large part of what is measured: it reports the mean over
// the pieces of the least time that each has taken.
func shortly[K any](keys []K, begin func() func(keys []K)) func(b *testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		var add func(keys []K)
		size, shortest := len(keys)/pieces, make([]time.Duration, pieces)
		for i := 0; b.Loop(); i++ {
			piece := i % pieces
			if piece == 0 {
				add = begin()
			}
			start := time.Now()
			add(keys[piece*size:][:size])
			if took := time.Since(start); shortest[piece] == 0 || took < shortest[piece] {
				shortest[piece] = took
			}
		}
		total := time.Duration(0)
		for _, took := range shortest {
			total += took
		}
		b.ReportMetric(float64(total.Nanoseconds())/float64(min(b.N, pieces)), least)
	}
}

// sure is the number of standard errors that an answer may be off. A normal one is farther off once
// in 5e8 times, and answers here are averages or sums of so much that they are nearly normal.
const sure = 6

// near returns an error unless got is within the tolerance of want. A tolerance of more than half
// of want would pass even what is no answer at all, and is an error too.
func near(what string, got, want, tolerance float64) error {
	if !(tolerance <= math.Abs(want)/2) {
		return fmt.Errorf("%s: a tolerance of %v on %v checks nothing", what, tolerance, want)
	}
	if !(math.Abs(got-want) <= tolerance) {
		return fmt.Errorf("%s: got %v, want %v ± %v", what, got, want, tolerance)
	}
	return nil
}

// median returns the middle value; of an even number of values, the greater of the two in the
// middle.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

var header = fmt.Sprintf("%-54s %10s %10s  %-22s %10s %10s %8s %8s\n", "work", "ns", "allocs", "peer", "ns", "allocs", "ratio", "target")

func (r result) String() string {
	verdict := ""
	if r.target > 0 {
		verdict = fmt.Sprintf(" %8.4f", r.target)
		if r.ratio > r.target {
			verdict += "  missed"
		}
	}
	return fmt.Sprintf("%-54s %10.1f %10.3g  %-22s %10.1f %10.3g %8.4f%s\n", r.work, r.ourSide.nanoseconds, r.ourSide.allocations,
		r.peer, r.theirSide.nanoseconds, r.theirSide.allocations, r.ratio, verdict)
}

// wantedHeader and wanted are the table of the targets, for README.md.
const wantedHeader = "| work | peer | ratio | wanted |\n|---|---|---|---|\n"

func (r result) wanted() string {
	verdict := ""
	if r.least > r.target {
		verdict = ", missed"
	}
	return fmt.Sprintf("| %s | %s | %.2g | %.2g%s |\n", r.work, r.peer, r.least, r.target, verdict)
}

// releases measures the release alone of what fill collects.
func releases[B interface{ Release() (R, error) }, R any](fill func() B) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			builder := fill()
			b.StartTimer()
			cli.Must(builder.Release())
		}
	}
}
