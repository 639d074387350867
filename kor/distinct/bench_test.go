package distinct

import (
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
)

func BenchmarkAdd(b *testing.B) {
	p := Params{Epsilon: 1, Cells: 2048, Levels: 22, Seed: hashing.Seed{1}}
	plain, running, windows := builder(b, p), runningBuilder(b, p), windowBuilder(b, p, 0)
	keys := make([]uint64, 4096)
	for i := range keys {
		keys[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	for _, c := range []struct {
		name string
		add  func()
	}{
		{"one", func() {
			for _, key := range keys {
				plain.Add(key)
			}
		}},
		{"one/running", func() {
			for _, key := range keys {
				running.Add(key)
			}
		}},
		{"one/windows", func() {
			for _, key := range keys {
				windows.Add(key)
			}
		}},
		{"slice", func() { plain.Add(keys...) }},
		{"slice/running", func() { running.Add(keys...) }},
		{"slice/windows", func() { windows.Add(keys...) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.add()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
		})
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
