package jl

import (
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/dpsketch/dpsketch/hashing"
)

// normal is the dense matrix of independent normal entries. It is not stored: its
// columns are drawn again, one after the other, whenever they are needed.
//
// Theorem. With κ = E X⁴/(E X²)² − 3, which is just below 0, Var⟨Sx,
// Sy⟩ = (‖x‖²‖y‖² + ⟨x,y⟩² + κΣx²y²)/k: the rows are independent, and one row a has
// E⟨a,x⟩²⟨a,y⟩² = ‖x‖²‖y‖² + 2⟨x,y⟩² + κΣx²y². ∎ (Theorem 4.2 of the thesis needs the entries
// divided by √k, else its estimator is k times too large.)
type normal struct {
	rows, dim int
	seed      hashing.Seed
	bound     norms
	greatest  float64 // the greatest sum of the sizes of a row
}

func newNormal(p Params) *normal {
	m := &normal{rows: p.Rows, dim: int(p.Dim), seed: p.Seed.Derive(labelEntries)}
	c, sums := newColumnNorms(m.dim), make([]int64, m.rows)
	var g *gramSum
	if p.Change.norm == l2 {
		g = newGramSum(m.rows)
	}
	m.each(func(j int, column []int64) {
		for i, v := range column {
			sums[i] += max(v, -v)
			c.add(j, v)
		}
		if g != nil {
			g.add(column)
		}
	})
	m.bound = c.norms()
	if g != nil {
		m.bound = gramNorms(m.rows, g.symmetric())
	}
	for _, sum := range sums {
		m.greatest = max(m.greatest, float64(sum))
	}
	return m
}

// each calls visit with every column in turn. The slice is used again.
func (m *normal) each(visit func(j int, column []int64)) {
	words, column, entries := newStream(m.seed), make([]int64, m.rows), normalEntries()
	for j := range m.dim {
		for i := range column {
			column[i] = entries.entry(words.next())
		}
		visit(j, column)
	}
}

func (m *normal) apply(x []int64) []int64 {
	y := make([]int64, m.rows)
	m.each(func(j int, column []int64) {
		for i, v := range column {
			y[i] += v * x[j]
		}
	})
	return y
}

func (m *normal) norms(norm) norms { return m.bound }

// bytes is 0, as the columns are not kept.
func (m *normal) bytes() int { return 0 }

func (m *normal) gain() float64 { return max(m.greatest, 1) }

// A normal entry is a standard normal number rounded to a multiple of 1/16, in units of 1/16. It
// comes from one word by comparison with a table of integers, so that it is the same on every
// machine.
//
// normalTails[m−1] is 2⁶³·Pr[|X| ≥ m] for such an entry X, that is 2⁶³·erfc((m − ½)/(16√2)), to the
// nearest integer.
var normalTails = [...]uint64{
	0x7ccf196345a272ba, 0x76707c00670c28b9, 0x701b6498237ea63a, 0x69d60ce287e97dda, 0x63a67fd608b4bd65,
	0x5d928838ee470f27, 0x579fa06d6f6400d5, 0x51d2e3c3ad576712, 0x4c31019272d17dbb, 0x46be324bb6d79044,
	0x417e2eb4df1299e6, 0x3c74295cfdb6311e, 0x37a2ca5d4048c1ab, 0x330c2d61e5d63ef2, 0x2eb1e1ecc75e9326,
	0x2a94edb62659b999, 0x26b5d10568362845, 0x23148cd1e8dd2b1d, 0x1fb0aa74568ff096, 0x1c8944ab39a3d4e4,
	0x199d11b1730a3c25, 0x16ea6e239b5ee5ca, 0x146f68712ec84c87, 0x1229cc9836933b30, 0x10172fed79a87789,
	0xe34fcb7f03f8a65, 0xc807d6c05c71764, 0xaf6e759d9e46107, 0x99564a8e94c3703, 0x8591d830d0560c9,
	0x73f4058520cf4fd, 0x645092c91c2fd69, 0x567c7e6b9ba9872, 0x4a4e5a02cbff483, 0x3f9e8f87583b773,
	0x36479768d278306, 0x2e262052de5d9ef, 0x271929b05fa4a4d, 0x21021222266aa72, 0x1bc49b39cb9a704,
	0x1746e3d88c8d7a7, 0x13715a96210618b, 0x102ea98e1f7c2d0, 0xd6b9ce506a5230, 0xb170541fabd28d,
	0x92197613942dfe, 0x77dc9c6ae0d148, 0x61fb1794cfcd33, 0x4fcde90147ebf1, 0x40c3939f5c600c,
	0x345dfcb3301b28, 0x2a3063dc764f24, 0x21dd777aa27980, 0x1b15891948a8cc, 0x1594e439d7625b,
	0x112248a944cd3e, 0xd8d88984aca3a, 0xaae49e1bc8616, 0x862e9499a7d89, 0x68f7e05402639,
	0x51cfb8541c975, 0x3f86f3ff294c9, 0x312581ba070cf, 0x25e150d031552, 0x1d168850659b7,
	0x1640e5d2fbcc6, 0x10f620ffa422b, 0xce132fa3b857, 0x9be6377bf51e, 0x757fffaf8e64,
	0x583a4809b188, 0x41fff9e93163, 0x312feb9e7680, 0x248516e03011, 0x1b0358808b9c,
	0x13e7f0c61bcf, 0xe9d19a6a844, 0xab022a4240b, 0x7c999530430, 0x5a719ccbd31,
	0x41673bc7600, 0x2f1df90c986, 0x21d0bf03ad4, 0x182d61b0147, 0x11388adbfc4,
	0xc3837b4731, 0x8a35286363, 0x61540f1243, 0x4447dbe0a9, 0x2fb8805aed,
	0x21399b0458, 0x170b75a1d4, 0xfec4ec9b1, 0xaf5e08985, 0x7840cebc8,
	0x522588586, 0x37e6ea3b4, 0x25e5ba1b7, 0x1997ffd48, 0x1137feb54,
	0xb8a44f84, 0x7b46c763, 0x51fdeb1f, 0x36533eed, 0x23db5303,
	0x1793940f, 0xf71592e, 0xa13940c, 0x68cc0e6, 0x43dbd96,
	0x2bc5b13, 0x1c2090c, 0x12013d6, 0xb7b2e3, 0x74b0df,
	0x49d773, 0x2e8c34, 0x1d3ada, 0x1248e4, 0xb64e6,
	0x712b2, 0x45fb2, 0x2b1bd, 0x1a741, 0x102ba,
	0x9d8d, 0x5f92, 0x39c0, 0x22c3, 0x14d8,
	0xc73, 0x769, 0x464, 0x298, 0x186,
	0xe5, 0x86, 0x4e, 0x2d, 0x1a,
	0xf, 0x9, 0x5, 0x3, 0x2,
	0x1,
}

// The second and the fourth moment of an entry, those of 16·N(0, 1) plus a uniform number in [−½,
// ½]; the difference is below 10⁻¹⁵ of them. The excess is E X⁴/(E X²)² − 3.
const (
	normalSecond = 256 + 1.0/12
	normalFourth = 3*256*256 + 256.0/2 + 1.0/80
	normalExcess = normalFourth/(normalSecond*normalSecond) - 3
)

// normalGuide has, for the first eight bits of a number below 2⁶³, the least size of an entry that
// such a number can select. It is made for the first matrix.
type normalGuide [256]uint8

var normalEntries = sync.OnceValue(func() *normalGuide {
	g := new(normalGuide)
	for first := range g {
		for int(g[first]) < len(normalTails) && uint64(first+1)<<55-1 < normalTails[g[first]] {
			g[first]++
		}
	}
	return g
})

// entry returns the entry that a uniform word selects: its size is the number of tails above the
// upper 63 bits.
func (g *normalGuide) entry(word uint64) int64 {
	size, sign := int(g[word>>56]), -int64(word&1)
	for size < len(normalTails) && word>>1 < normalTails[size] {
		size++
	}
	return int64(size) ^ sign - sign
}

// gramSum sums AAᵀ over the columns of A, some at a time. It is exact as long as all sums are
// integers below 2⁵³, in whatever order they are formed.
type gramSum struct {
	part blas64.General   // the last columns of A
	sum  blas64.Symmetric // the upper half
	used int
}

// The stride is no power of two, so that the entries of a column lie in different sets of the
// cache.
const (
	gramColumns = 128
	gramStride  = gramColumns + 8
)

func newGramSum(rows int) *gramSum {
	return &gramSum{
		part: blas64.General{Rows: rows, Stride: gramStride, Data: make([]float64, rows*gramStride)},
		sum:  blas64.Symmetric{N: rows, Stride: rows, Uplo: blas.Upper, Data: make([]float64, rows*rows)},
	}
}

// add adds a column.
func (g *gramSum) add(column []int64) {
	for i, v := range column {
		g.part.Data[i*gramStride+g.used] = float64(v)
	}
	if g.used++; g.used == gramColumns {
		g.flush()
	}
}

// flush adds the product of the columns at hand.
func (g *gramSum) flush() {
	g.part.Cols = g.used
	blas64.Syrk(blas.NoTrans, 1, g.part, 1, g.sum)
	g.used = 0
}

// symmetric returns the sum.
func (g *gramSum) symmetric() []float64 {
	g.flush()
	for a := range g.sum.N {
		for b := range a {
			g.sum.Data[a*g.sum.N+b] = g.sum.Data[b*g.sum.N+a]
		}
	}
	return g.sum.Data
}
