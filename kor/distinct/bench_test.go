package distinct

import (
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
)

// Add of each builder: of one key at a time and of many.
func BenchmarkAdd(b *testing.B) {
	p := Params{Epsilon: 1, Cells: 2048, Levels: 22, Seed: hashing.Seed{1}}
	keys := make([]uint64, 4096)
	for i := range keys {
		keys[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	plain, running, windows, cohorts, frequencies := builder(b, p), runningBuilder(b, p), windowBuilder(b, p, 0), cohortBuilder(b, p, 14), frequencyBuilder(b, p, 5)
	for _, c := range []struct {
		name string
		to   Adder
		one  func(key uint64) // inlined, without a slice on the heap
	}{
		{"", plain, func(key uint64) { plain.Add(key) }}, {"/running", running, func(key uint64) { running.Add(key) }},
		{"/windows", windows, func(key uint64) { windows.Add(key) }}, {"/cohorts", cohorts, func(key uint64) { cohorts.Add(key) }},
		{"/frequencies", frequencies, func(key uint64) { frequencies.Add(key) }},
	} {
		for _, how := range []string{"one", "slice", "key"} {
			b.Run(how+c.name, func(b *testing.B) {
				for b.Loop() {
					switch how {
					case "slice":
						c.to.Add(keys...)
					case "key":
						AddKey(c.to, keys...)
					default:
						for _, key := range keys {
							c.one(key)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
			})
		}
	}
}

// The OR of two tables, which Merge is, beside a copy of one: of 16 KiB, and of more than any
// cache.
func BenchmarkOr(b *testing.B) {
	for _, size := range []int{1 << 14, 1 << 28} {
		x, y := make([]uint64, size/8), make([]uint64, size/8)
		or(x, y)
		for _, c := range []struct {
			name string
			f    func()
		}{{"or", func() { or(x, y) }}, {"copy", func() { copy(x, y) }}} {
			b.Run(fmt.Sprintf("%s/bytes=%d", c.name, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					c.f()
				}
			})
		}
	}
}

// What releases tell: two that are compared, and cohorts as JSON.
func BenchmarkTold(b *testing.B) {
	p := Params{Epsilon: 1, Cells: 2048, Levels: 22, CountShare: 0.05, Seed: hashing.Seed{1}}
	x, y := released(b, p, run(0, 20_000)...), released(b, p, run(10_000, 30_000)...)
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			Compare(x, y)
		}
	})
	c, _ := Compare(x, y)
	b.Run("interval", func(b *testing.B) {
		for b.Loop() {
			c.Intersection().Interval(0.95)
		}
	})
	p.CountShare = 1
	days := cohortBuilder(b, p, 31)
	days.Add(run(0, 20_000)...)
	days.Advance(31)
	days.Add(run(10_000, 30_000)...)
	cohorts, _ := days.Release()
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			cohorts.MarshalJSON()
		}
	})
}
