package distinct

import (
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
)

func BenchmarkAdd(b *testing.B) {
	builder, err := New(Params{Epsilon: 1, Cells: 2048, Levels: 22, Seed: hashing.Seed{1}})
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]uint64, 4096)
	for i := range keys {
		keys[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	perKey := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
	}
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			for _, key := range keys {
				builder.Add(key)
			}
		}
		perKey(b)
	})
	b.Run("slice", func(b *testing.B) {
		for b.Loop() {
			builder.Add(keys...)
		}
		perKey(b)
	})
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
