package jl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func benchVector(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// The peer of all projections: gonum's dense product, 4096 → 256.
func BenchmarkGonumDense(b *testing.B) {
	x := benchVector(4096 * 256)
	m, v, y := mat.NewDense(256, 4096, x), mat.NewVecDense(4096, x[:4096]), mat.NewVecDense(256, nil)
	for b.Loop() {
		y.MulVec(m, v)
	}
}

// The projection of a dense vector, without the noise: AddDense, and the transform where the vector
// is held.
func BenchmarkProject(b *testing.B) {
	x := benchVector(4096)
	for name, p := range map[string]Params{
		"mech=sjlt/s=1": {}, "mech=sjlt/s=8": {Sparsity: 8}, "mech=sjlt/s=8/integers": {Sparsity: 8, Integers: true}, "mech=srht": {Transform: SRHT},
		"mech=fjlt": {Transform: FJLT}, "mech=rademacher": {Transform: Rademacher},
	} {
		b.Run(name, func(b *testing.B) {
			p.Dim, p.Rows, p.Epsilon, p.Seed = 4096, 256, 1, seed(1)
			builder, err := New(p)
			if err != nil {
				b.Fatal(err)
			}
			s, room := peek(builder), make([]int64, 4096)
			for b.Loop() {
				if builder.AddDense(x); s.columns == nil {
					copy(room, s.vector.whole)
					s.matrix.apply(room)
				}
			}
		})
	}
}

func BenchmarkAdd100(b *testing.B) {
	x, at := benchVector(100), make([]uint64, 100)
	for i := range at {
		at[i] = uint64(i * 101)
	}
	for _, sparsity := range []int{1, 8} {
		for _, dim := range []uint64{12_824, 1 << 40} {
			for _, integers := range []bool{false, true} {
				b.Run(fmt.Sprintf("mech=sjlt/s=%d/dim=%d/integers=%v", sparsity, dim, integers), func(b *testing.B) {
					builder, err := New(Params{Dim: dim, Rows: 256, Sparsity: sparsity, Epsilon: 1, Seed: seed(1), Integers: integers})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for b.Loop() {
						for i, v := range x {
							builder.Add(at[i], v)
						}
					}
				})
				b.Run(fmt.Sprintf("mech=sjlt/s=%d/dim=%d/integers=%v/op=AddSparse", sparsity, dim, integers), func(b *testing.B) {
					builder, err := New(Params{Dim: dim, Rows: 256, Sparsity: sparsity, Epsilon: 1, Seed: seed(1), Integers: integers})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for b.Loop() {
						builder.AddSparse(at, x)
					}
				})
			}
		}
	}
}

func BenchmarkRelease(b *testing.B) {
	for name, p := range map[string]Params{"noise=laplace": {}, "noise=gaussian": {Delta: 0.2, Noise: Gaussian},
		"noise=discretelaplace": {Integers: true}} {
		b.Run(name, func(b *testing.B) {
			p.Dim, p.Rows, p.Epsilon, p.Seed = 4096, 256, 1, seed(1)
			first, err := New(p)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				builder, _ := first.Sibling()
				if _, err := builder.Release(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Estimates from sketches of 256 rows.
func BenchmarkEstimate(b *testing.B) {
	first, err := New(Params{Dim: 4096, Rows: 256, Epsilon: 1, Seed: seed(1)})
	if err != nil {
		b.Fatal(err)
	}
	second, _ := first.Sibling()
	x, _ := first.Release()
	y, _ := second.Release()
	b.Run("op=SquaredDistance", func(b *testing.B) {
		for b.Loop() {
			_, _ = x.SquaredDistance(y)
		}
	})
}
