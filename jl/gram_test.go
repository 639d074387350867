package jl

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// product returns AAᵀ by the definition, from the columns as updates add them.
func product(p Params) []float64 {
	m := p.newMatrix().(columns)
	sums, column := make([]float64, p.Rows*p.Rows), make([]fixed, p.Rows)
	for j := range p.Dim {
		clear(column)
		m.add(column, j, fixed{whole: 1})
		for a, v := range column {
			for b, w := range column {
				sums[a*p.Rows+b] += float64(v.whole * w.whole)
			}
		}
	}
	return sums
}

// The Gram matrices are those of the definition, to the last integer: of few columns, and of those
// on both sides of where the next part or block of columns begins.
func TestGram(t *testing.T) {
	for _, dim := range []uint64{1, 63, 64, 65, blockColumns - 1, blockColumns + 1, columnsAtOnce, columnsAtOnce + 7} {
		for _, p := range []Params{{Rows: 6, Sparsity: 2}, {Rows: 15, Sparsity: 3, Independence: 6}, {Rows: 8, Sparsity: 8}} {
			p.Dim, p.Change, p.Seed = dim, L2(1), seed(int(dim))
			for _, packed := range []bool{false, true} {
				require.Equal(t, product(p), newSJLT(p).gram(packed), "%d × %d", p.Rows, dim)
			}
		}
		for _, p := range []Params{{Rows: 5}, {Rows: 61, Independence: 5}} {
			p.Dim, p.Transform, p.Change, p.Seed = dim, Rademacher, L2(1), seed(int(dim))
			if p.Rows*int(dim) > 1<<17 {
				p.Rows = 7
			}
			require.Equal(t, product(p), newRademacher(p).gram(), "Rademacher, %d × %d", p.Rows, dim)
		}
	}
}

// Pairs are packed where they have 16 bits or fewer and columns are many, and not where their
// tables would take more memory than two of the largest tables of a matrix.
func TestPairsArePacked(t *testing.T) {
	packed := 0
	for rows := 2; rows <= maxGram; rows++ {
		for s := 2; s <= rows; s++ {
			n := uint64(rows / s)
			if m := (&sjlt{rows: rows, sparsity: s, block: n, dim: maxLoads}); rows%s == 0 && m.packs() {
				packed++
				require.LessOrEqual(t, s*(s-1)/2*4<<16, 2*4*maxTable, "%d rows, s = %d", rows, s)
				require.Less(t, (n-1)<<bits.Len64(2*n-1)|(2*n-1), uint64(1<<16), "%d rows, s = %d", rows, s)
				m.dim = 1000
				require.False(t, m.packs())
			}
		}
	}
	require.Greater(t, packed, 512)
	require.True(t, (&sjlt{rows: 512, sparsity: 8, block: 64, dim: 1 << 20}).packs())
}

// That of a Normal matrix is exact, too.
func TestGramSum(t *testing.T) {
	for _, dim := range []int{1, gramColumns - 1, gramColumns, 2*gramColumns + 5} {
		const rows = 6
		m, g, want := normal{rows: rows, dim: dim, seed: seed(dim)}, newGramSum(rows), make([]float64, rows*rows)
		m.each(func(_ int, column []int64) {
			g.add(column)
			for i := range want {
				want[i] += float64(column[i/rows] * column[i%rows])
			}
		})
		require.Equal(t, want, g.symmetric(), dim)
	}
}

// The table of an SJLT is what its hash functions say, also where it is drawn in parts.
func TestTable(t *testing.T) {
	for _, p := range []Params{{Dim: columnsAtOnce + 9, Rows: 10}, {Dim: 100, Rows: 24, Sparsity: 8, Independence: 7}, {Dim: 2*columnsAtOnce + 1, Rows: 12, Sparsity: 2}} {
		p.Seed = seed(2)
		m := newSJLT(p)
		for i, e := range m.table {
			require.Equal(t, m.entry(uint64(i/m.sparsity), i%m.sparsity), e, "entry %d", i)
		}
	}
}

// Whatever the estimate of the eigenvalue is, what comes of it is an upper bound, and close to the
// norm unless the estimate is far above. The certificate refuses every number below.
func TestCertificate(t *testing.T) {
	for name, p := range map[string]Params{
		"SJLT": {Dim: 1000, Rows: 64, Sparsity: 8}, "Rademacher": {Dim: 300, Rows: 90, Transform: Rademacher}, "few columns": {Dim: 5, Rows: 32, Sparsity: 4},
	} {
		p.Change, p.Seed = L2(1), seed(9)
		gram := product(p)
		g := mat.NewSymDense(p.Rows, gram)
		_, _, want := brute(dense(p, p.newMatrix()))
		require.InEpsilon(t, want*want, lanczos(p.Rows, gram), 1e-9, name)
		for _, part := range []float64{0, 0.5, 0.97, 1 - 1e-6, 1, 1 + 1e-9, 1.03} {
			got := certified(g, part*want*want)
			require.GreaterOrEqual(t, got, want*(1-1e-13), "%s, %v", name, part)
			require.LessOrEqual(t, got, want*(max(1, math.Sqrt(part))+1e-7), "%s, %v", name, part)
			if part != 1 {
				require.Equal(t, part > 1, certain(g, part*want*want), "%s, %v", name, part)
			}
		}
	}
}

// The signs of a diagonal are those of its hash function, also where they are drawn in parts.
func TestRandomSigns(t *testing.T) {
	p := Params{Dim: 2*columnsAtOnce + 3, Seed: seed(5)}
	h := p.polynomial(labelDiagonal)
	for i, word := range randomSigns(p) {
		for j := 64 * uint64(i); j < min(64*uint64(i+1), p.Dim); j++ {
			require.Equal(t, h.Hash(j)&1, word>>(j%64)&1, "coordinate %d", j)
		}
	}
}
