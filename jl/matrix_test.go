package jl

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
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

// Under ℓ₂ and pure ε the SJLT with s = 1 attains √u, whatever its loads.
func TestPureSensitivityUnderL2(t *testing.T) {
	p := Params{Dim: 64, Rows: 16, Seed: seed(1), Epsilon: 1, Change: L2(1)}
	m := p.newMatrix()
	a := dense(p, m)
	x := make([]int64, p.Dim)
	for j := range x { // the signs of the columns
		for i := range p.Rows {
			x[j] += int64(a.At(i, j))
		}
	}
	sum := int64(0)
	for _, v := range apply(m, x) {
		sum += max(v, -v)
	}
	require.InEpsilon(t, float64(sum)/math.Sqrt(float64(p.Dim)), m.norms(l2).one, 1e-12)
}

// apply and the updates are the same map, saturation aside, and tables change nothing.
func TestUpdatesAgainstApply(t *testing.T) {
	for _, p := range []Params{{Dim: 100, Rows: 24}, {Dim: 100, Rows: 24, Sparsity: 8}, {Dim: 100, Rows: 130, Transform: Rademacher}} {
		p.Seed = seed(7)
		m := p.newMatrix().(columns)
		x := make([]int64, p.Dim)
		a := make([]fixed, p.Rows)
		for j := range x {
			x[j] = int64(j*j*j%1009) - 500
			m.add(a, uint64(j), fixed{whole: x[j]})
		}
		for i, v := range apply(m, x) {
			require.Equal(t, fixed{whole: v}, a[i])
		}
	}
	for _, sparsity := range []int{1, 8} {
		large := newBuilder(t, Params{Dim: maxTable + 1, Rows: 24, Sparsity: sparsity, Independence: 4})
		small := newBuilder(t, Params{Dim: 1000, Rows: 24, Sparsity: sparsity, Independence: 4})
		require.Nil(t, peek(large).table)
		require.NotNil(t, peek(small).table)
		for j := range uint64(1000) {
			large.Add(j, float64(j)-300.7)
			small.Add(j, float64(j)-300.7)
		}
		require.Equal(t, sums(peek(large)), sums(peek(small)))
	}
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

// The rows that an SRHT samples are all different, and with k = u they are all.
func TestSampledRows(t *testing.T) {
	for i := range 50 {
		m := newSRHT(Params{Dim: 60, Rows: 64, Seed: seed(i)})
		seen := map[int]bool{}
		for _, row := range m.sampled {
			seen[row] = true
		}
		require.Len(t, seen, 64)
	}
	// Every pair of rows is as likely as any other: 12 pairs of 4 rows in order, 60,000 samples.
	counts := make([]int64, 16)
	for i := range 60_000 {
		s := exact.DrawSubset(exact.Indices(4), 2, newStream(seed(i)).below)
		counts[4*s[0]+s[1]]++
	}
	chi := 0.0
	for i, n := range counts {
		if i%5 == 0 {
			require.Zero(t, n)
			continue
		}
		chi += (float64(n) - 5000) * (float64(n) - 5000) / 5000
	}
	// the seeds are fixed: no flake
	require.Less(t, chi, 52.0, "χ² with 11 degrees of freedom exceeds 52 once in 5·10⁶")
}

// The operator norm is certified from above and tight.
func TestOperatorNorm(t *testing.T) {
	for k := 1; k <= 40; k += 13 {
		for i := range 20 {
			p := Params{Dim: 30, Rows: k, Transform: Normal, Seed: seed(i)}
			a := dense(p, newNormal(p))
			var g mat.Dense
			g.Mul(a, a.T())
			_, _, want := brute(a)
			got := operatorNorm(k, slices.Clone(g.RawMatrix().Data))
			require.GreaterOrEqual(t, got, want*(1-1e-13))
			require.LessOrEqual(t, got, want*(1+1e-7))
		}
	}
	require.Positive(t, operatorNorm(3, make([]float64, 9)), "the zero matrix has a bound above 0")
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
