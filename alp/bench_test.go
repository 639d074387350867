package alp

import (
	"fmt"
	"testing"
)

// BenchmarkRelease releases a million non-zero entries at ε = 1, δ = 1e-9: the unary code, and 3
// and 4 bits a cell (4 is the default).
func BenchmarkRelease(b *testing.B) {
	const n = 1_000_000
	for _, levels := range []int{2, 8, 16} {
		b.Run(fmt.Sprintf("levels=%d/n=%d", levels, n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				builder, err := New(Params{Epsilon: 1, Delta: 1e-9, Sparsity: n, Variant: Variant{Levels: levels}})
				if err != nil {
					b.Fatal(err)
				}
				for i := range uint64(n) {
					builder.Add(i*0x9e3779b97f4a7c15, float64(i%100))
				}
				b.StartTimer()
				if _, err := builder.Release(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFill draws empty cells, the bulk of a table.
func BenchmarkFill(b *testing.B) {
	for _, levels := range []int{2, 4, 8, 16, 256} {
		b.Run(fmt.Sprintf("levels=%d", levels), func(b *testing.B) {
			s, err := Params{Epsilon: 1, Max: 40, Sparsity: 1_000_000, Variant: Variant{Levels: levels}}.shape()
			if err != nil {
				b.Fatal(err)
			}
			builder := &state{}
			table := make([]uint64, s.tableWords())
			b.SetBytes(int64(8 * len(table)))
			for b.Loop() {
				s.fill(&builder.src, table)
			}
			cells := float64(b.N) * float64(s.cells()) * float64(s.columns)
			b.ReportMetric(cells/b.Elapsed().Seconds()/1e6, "Mcells/s")
		})
	}
}

// BenchmarkAdd adds to a million indices.
func BenchmarkAdd(b *testing.B) {
	builder, err := New(Params{Epsilon: 1, Delta: 1e-9, Sparsity: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	i := uint64(0)
	for b.Loop() {
		builder.Add(i%1_000_000*0x9e3779b97f4a7c15, 1)
		i++
	}
}
