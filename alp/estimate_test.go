package alp

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkEstimate looks up indices half of which have a value, in no order, in a table that fits
// into L2 and in one beyond all caches, without and with a list, beside a Go map of the values. In
// the list case a few percent are listed close to Turn, for which list and cells are fused bin by
// bin.
func BenchmarkEstimate(b *testing.B) {
	const every = 1 << 22 // beyond all caches
	for _, size := range []int{10_000, every} {
		values, indices, exact := make([]float64, size), make([]uint64, every), make(map[uint64]float64, size)
		for i := range values {
			values[i] = float64(i % 100)
			exact[scatter(i)] = values[i]
		}
		for i := range indices {
			indices[i] = scatter(int(scatter(i) % uint64(2*size)))
		}
		run := func(name string, look func(indices []uint64)) {
			b.Run(fmt.Sprintf("entries=%d/%s", size, name), func(b *testing.B) {
				b.ReportAllocs()
				const each = 1 << 9
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					part := indices[i%(every/each)*each:][:each]
					start := time.Now()
					look(part)
					took = append(took, time.Since(start))
				}
				slices.Sort(took) // a tenth is hardly disturbed by other load
				b.ReportMetric(float64(took[len(took)/10].Nanoseconds())/each, "ns/index")
			})
		}
		sum := 0.0
		run("map", func(indices []uint64) {
			for _, index := range indices {
				sum += exact[index]
			}
		})
		for _, p := range []Params{{Max: 40, Structure: ColumnsOnly}, {Max: 40, Structure: ColumnsOnly, Variant: Variant{Levels: 2}}, {Delta: 1e-6}} {
			p.Epsilon, p.Sparsity = 1, size
			pr := released(b, p, values)
			pr.Estimates(indices, nil) // listed entries are computed once
			name := fmt.Sprintf("structure=%v/levels=%d", p.Structure, p.Levels)
			run(name, func(indices []uint64) {
				for _, index := range indices {
					sum += pr.Estimate(index)
				}
			})
			var dst []float64
			run(name+"/batch", func(indices []uint64) { dst = pr.Estimates(indices, dst) })
		}
	}
}

// BenchmarkInterval is one call after the first.
func BenchmarkInterval(b *testing.B) {
	p := released(b, Params{Epsilon: 1, Delta: 1e-6, Sparsity: 10_000}, nil)
	p.Interval(1, 0.9)
	for b.Loop() {
		p.Interval(2, 0.95)
	}
}
