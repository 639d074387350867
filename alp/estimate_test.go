package alp

import (
	"fmt"
	"testing"
)

// BenchmarkEstimate looks up indices half of which have a value, in a table that fits into L2 and
// in one of 256 MiB, without and with a list. In the list case a few percent are listed close to
// Turn, for which list and cells are fused bin by bin.
func BenchmarkEstimate(b *testing.B) {
	for _, size := range []int{10_000, 21_000_000} {
		for _, p := range []Params{{Max: 40, Structure: ColumnsOnly}, {Max: 40, Structure: ColumnsOnly, Variant: Variant{Levels: 2}}, {Delta: 1e-6}} {
			b.Run(fmt.Sprintf("entries=%d/structure=%v/levels=%d", size, p.Structure, p.Levels), func(b *testing.B) {
				p.Epsilon, p.Sparsity = 1, size
				const n = 1 << 16
				values := make([]float64, min(n, size))
				for i := range values {
					values[i] = float64(i % 100)
				}
				pr := released(b, p, values)
				indices := make([]uint64, n)
				for i := range indices {
					indices[i] = scatter(i / 2 * (1 + i%2*n))
				}
				sum, i := 0.0, 0
				b.ReportAllocs()
				for b.Loop() {
					sum += pr.Estimate(indices[i%n])
					i++
				}
				b.ReportMetric(float64(8*(len(pr.table.lines)+len(pr.table.values)))/(1<<20), "MiB")
			})
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
