package jl

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/hadamard"
	"github.com/dpsketch/dpsketch/noise"
)

// seed returns one of many seeds.
func seed(i int) (s hashing.Seed) {
	binary.LittleEndian.PutUint64(s[:], uint64(i)+1)
	return s
}

// dense returns A, column by column, as updates add them or as apply makes it of the unit vectors.
func dense(p Params, m matrix) *mat.Dense {
	a := mat.NewDense(p.Rows, int(p.Dim), nil)
	if c, ok := m.(columns); ok {
		for j := range p.Dim {
			column := make([]fixed, p.Rows)
			c.add(column, j, fixed{whole: 1})
			for i, v := range column {
				a.Set(i, int(j), float64(v.whole))
			}
		}
		return a
	}
	x := make([]int64, p.Dim)
	for j := range x {
		clear(x)
		x[j] = 1
		for i, v := range apply(m, x) {
			a.Set(i, j, float64(v))
		}
	}
	return a
}

// brute returns the greatest ℓ₁ and ℓ₂ norm of a column, and the operator norm.
func brute(a *mat.Dense) (one, two, operator float64) {
	_, n := a.Dims()
	for j := range n {
		one, two = max(one, mat.Norm(a.ColView(j), 1)), max(two, mat.Norm(a.ColView(j), 2))
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDNone) {
		return one, two, math.NaN()
	}
	return one, two, svd.Values(nil)[0]
}

// cases are transforms of a small size, those for which the norms are exact, and those of which
// they are bounds.
func cases() map[string]Params {
	return map[string]Params{
		"SJLT, s = 1": {Dim: 64, Rows: 16}, "SJLT, s = 4": {Dim: 64, Rows: 16, Sparsity: 4}, "SJLT, s = k": {Dim: 50, Rows: 8, Sparsity: 8},
		"SRHT": {Dim: 64, Rows: 16, Transform: SRHT}, "SRHT, all rows": {Dim: 32, Rows: 32, Transform: SRHT}, "SRHT, padded": {Dim: 40,
			Rows: 16, Transform: SRHT},
		"Rademacher": {Dim: 64, Rows: 70, Transform: Rademacher}, "Normal": {Dim: 40, Rows: 12, Transform: Normal},
		"FJLT": {Dim: 64, Rows: 16, Transform: FJLT}, "FJLT, padded": {Dim: 40, Rows: 16, Transform: FJLT}, "FJLT, dense": {Dim: 32,
			Rows: 8, Transform: FJLT},
	}
}

// The sensitivities are those of the matrix: exactly, but where coordinates are padded under ℓ₂. 40
// seeds, with -long 100.
func TestSensitivityAgainstBruteForce(t *testing.T) {
	for name, p := range cases() {
		for i := range dptest.Full(100, 40) {
			p.Seed, p.Epsilon = seed(i), 1
			p.Change = L1(1)
			m := p.newMatrix()
			a := dense(p, m)
			one, two, operator := brute(a)
			n := m.norms(l1)
			require.InEpsilon(t, one, n.one, 1e-9, name)
			require.InEpsilon(t, two, n.two, 1e-9, name)
			require.GreaterOrEqual(t, n.two, two, "%s: never below", name)
			if p.outlined() {
				require.Equal(t, n, p.bounded().norms(l1), "%s: as planned", name)
				require.Equal(t, m.gain(), p.bounded().gain(), name)
			}

			p.Change = L2(1)
			m = p.newMatrix()
			n = m.norms(l2)
			if exact := !(hadamard.Size(p.Dim) != p.Dim && (p.Transform == SRHT || p.Transform == FJLT)); exact {
				require.InEpsilon(t, operator, n.two, 1e-7, name)
			}
			require.GreaterOrEqual(t, n.two, operator*(1-1e-12), name)
			require.GreaterOrEqual(t, n.one, oneOverTwo(a)*(1-1e-12), name)
			require.LessOrEqual(t, n.two, 2.5*operator, "%s: no idle bound", name)
			if p.outlined() {
				require.Equal(t, n, p.bounded().norms(l2), "%s: as planned", name)
			}
		}
	}
}

// oneOverTwo returns a lower bound on max ‖Ad‖₁ over ‖d‖₂ ≤ 1: ‖Aᵀσ‖₂ for the signs σ that a climb
// finds.
func oneOverTwo(a *mat.Dense) float64 {
	k, _ := a.Dims()
	best := 0.0
	for start := range 4 {
		sigma, product := mat.NewVecDense(k, nil), &mat.VecDense{}
		for i := range k {
			sigma.SetVec(i, float64(1-2*((i*(start+1)/3)%2)))
		}
		for range 20 {
			product.MulVec(a.T(), sigma)
			best = max(best, mat.Norm(product, 2))
			d := mat.VecDenseCopyOf(product)
			sigma.MulVec(a, d)
			for i := range k {
				sigma.SetVec(i, math.Copysign(1, sigma.AtVec(i)))
			}
		}
	}
	return best
}

// A normal entry has the moments that the variance uses, and the table is that of the normal law.
func TestNormalTable(t *testing.T) {
	unit := dptest.OK(noise.NewGaussian(16))(t)
	var second, fourth float64
	for i, tail := range normalTails {
		require.InEpsilon(t, 2*unit.Survival(float64(i)+0.5), float64(tail)*0x1p-63, 1e-13+0x1p-62/(2*unit.Survival(float64(i)+0.5)),
			"%d", i)
		m := float64(i + 1) // E X² = Σ (m² − (m−1)²)·Pr[|X| ≥ m]
		second += (2*m - 1) * float64(tail) * 0x1p-63
		fourth += (m*m*m*m - (m-1)*(m-1)*(m-1)*(m-1)) * float64(tail) * 0x1p-63
	}
	require.InEpsilon(t, normalSecond, second, 1e-13)
	require.InEpsilon(t, normalFourth, fourth, 1e-13)
	require.EqualValues(t, 0, normalEntries().entry(math.MaxUint64))
	require.EqualValues(t, len(normalTails), normalEntries().entry(0))
	require.EqualValues(t, -len(normalTails), normalEntries().entry(1))
	for i, tail := range normalTails[:len(normalTails)-1] {
		require.EqualValues(t, i, normalEntries().entry(tail<<1), "the tail itself is below it")
		if i+1 < len(normalTails) && normalTails[i] > normalTails[i+1] {
			require.EqualValues(t, i+1, normalEntries().entry((tail-1)<<1))
		}
	}
}

// sign multiplies by 1 and −1 as the bits say, for all lengths.
func TestSign(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	negative := []uint64{r.Uint64(), r.Uint64(), r.Uint64()}
	for n := range 150 {
		x, want := make([]int64, n), make([]int64, n)
		for i := range x {
			x[i] = int64(r.Uint64() | 1)
			want[i] = x[i] * (1 - 2*int64(negative[i/64]>>(i%64)&1))
		}
		sign(x, negative[:(n+63)/64])
		require.Equal(t, want, x)
	}
}

// apply returns A·x.
func apply(m matrix, x []int64) []int64 { return m.(applied).apply(x) }

// apply is what the entries say: no Builder of an SJLT holds a vector.
func (m *sjlt) apply(x []int64) []int64 {
	y := make([]int64, m.rows)
	for j, v := range x {
		for r := range m.sparsity {
			e := m.entry(uint64(j), r)
			y[e>>1] += v * int64(1-2*int(e&1))
		}
	}
	return y
}
