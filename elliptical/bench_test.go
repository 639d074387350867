package elliptical

import (
	"fmt"
	"testing"
)

func BenchmarkNew(b *testing.B) {
	p := Params{Rho: 1}.around(skewed(1000)...)
	for b.Loop() {
		if _, err := New(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(p.spherical().errorOf(2)/p.errorOf(2), "spherical/optimal-error")
}

func BenchmarkAdd(b *testing.B) {
	builder, err := NewBuilder(Params{Rho: 1}.around(skewed(1000)...))
	if err != nil {
		b.Fatal(err)
	}
	row, indices := make([]float64, 1000), make([]int, 20)
	for i := range row {
		row[i] = 1e-4 * float64(i)
	}
	for i := range indices {
		indices[i] = 49 * i
	}
	b.Run("dense/d=1000", func(b *testing.B) {
		for b.Loop() {
			builder.Add(row)
		}
	})
	b.Run("sparse/nonzeros=20", func(b *testing.B) {
		for b.Loop() {
			builder.AddSparse(indices, row)
		}
	})
}

func BenchmarkRelease(b *testing.B) {
	for _, p := range []Params{{Rho: 1}, {Epsilon: 1}} {
		p = p.around(skewed(1000)...)
		m, err := New(p)
		if err != nil {
			b.Fatal(err)
		}
		sum := make([]float64, 1000)
		b.Run(fmt.Sprintf("noise=%s/d=1000", m.law.kind), func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Release(sum); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
