package plan

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Skewed dense rows, at a tenth of the size that the documentation speaks of.
func BenchmarkRelease(b *testing.B) {
	sds := powers(2048, 1)
	x, mean := gaussian(rand.New(rand.NewPCG(1, 2)), 4000, 10, sds)
	for _, bench := range []struct {
		name string
		p    Params
	}{
		{"method=Adaptive", Params{Rho: 1, Dim: 2048, Max: 1e6, Resolution: 1, Relation: budget.Replace}},
		{"method=Adaptive/workers=2", Params{Rho: 1, Dim: 2048, Max: 1e6, Resolution: 1, Workers: 2, Relation: budget.Replace}},
		{"method=Plain", Params{Rho: 1, Dim: 2048, Max: 1e6, Resolution: 1, Method: Plain, Relation: budget.Replace}},
	} {
		m, err := New(bench.p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bench.name, func(b *testing.B) {
			sum, n := 0.0, 0
			for b.Loop() {
				out, err := m.Release(b.Context(), x)
				if err != nil {
					b.Fatal(err)
				}
				sum += l2(out.Values(), mean)
				n++
			}
			b.ReportMetric(sum/float64(n), "ℓ₂-error")
		})
	}
}

// Sparse binary rows with the entries of a million words.
func BenchmarkReleaseSparse(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 40000, 12000
	s := Sparse{Offsets: []int{0}}
	for range n {
		seen := map[uint32]bool{}
		for len(seen) < 25 {
			seen[uint32(math.Exp(rng.Float64()*math.Log(d)))] = true
		}
		s.Indices = append(s.Indices, slices.Sorted(maps.Keys(seen))...)
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	m, err := New(Params{Rho: 1, Dim: d, NonNegative: true, Relation: budget.Replace})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.ReleaseSparse(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}
