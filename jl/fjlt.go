package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/hadamard"
)

// fjlt is PHD: D random signs, H the Walsh–Hadamard matrix of ±1 of size u, P a k × u matrix whose
// entries are normal with probability q, else 0, independent. All are integers.
//
// Theorem (Lemma 4.11 of the thesis, as an equation). With κ = E P⁴/(E P²)² − 3 and S normalised,
// Var⟨Sx, Sy⟩ = [X·Y + t² + (κ/u)(X·Y + 2t² − 2Σx²y²)]/k, X = ‖x‖², Y = ‖y‖², t = ⟨x,y⟩; for y = x,
// [2X² + (κ/u)(3X² − 2‖x‖₄⁴)]/k. Proof. Let v = HDx/√u, w = HDy/√u: ⟨v,w⟩ = t whatever D is, and
// given D the rows are independent with mean t/k. A row p of P normalised has
// E⟨p,v⟩²⟨p,w⟩² = κ·Σv²w² + X·Y + 2t², its entries being 4-wise independent. One row of signs has E
// v_f²w_f² = (X·Y + 2t² − 2Σx²y²)/u², and there are u of them. Subtract t². ∎
//
// For normal entries κ = 3(1/q − 1), and the variance is at most 3‖x‖₂⁴/k for q ≥ 1/(u/9 + 1). (The
// last line of Lemma 4.11 loses a factor 3 and has u/3.)
type fjlt struct {
	dim, size, rows int
	density         float64
	negative        []uint64
	ends            []int // of each row of P in the two slices
	at              []uint32
	entries         []int16
}

func newFJLT(p Params) *fjlt {
	m := &fjlt{dim: int(p.Dim), size: int(hadamard.Size(p.Dim)), rows: p.Rows, negative: randomSigns(p), density: p.density()}
	threshold := uint64(math.MaxUint64)
	if m.density < 1 {
		threshold = uint64(m.density * 0x1p64)
	}
	words, entries := newStream(p.Seed.Derive(labelEntries)), normalEntries()
	for range p.Rows {
		for f := range m.size {
			if m.density == 1 || words.next() < threshold {
				m.at = append(m.at, uint32(f))
				m.entries = append(m.entries, int16(entries.entry(words.next())))
			}
		}
		m.ends = append(m.ends, len(m.at))
	}
	return m
}

// row returns the places and values of the entries of a row of P.
func (m *fjlt) row(i int) (at []uint32, entries []int16) {
	start := 0
	if i > 0 {
		start = m.ends[i-1]
	}
	return m.at[start:m.ends[i]], m.entries[start:m.ends[i]]
}

// dot returns the product of row i of P and a vector.
func (m *fjlt) dot(i int, x []int64) (sum int64) {
	at, entries := m.row(i)
	for n, f := range at {
		sum += int64(entries[n]) * x[f]
	}
	return sum
}

func (m *fjlt) apply(x []int64) []int64 {
	full := transformed(x, m.size, m.negative)
	y := make([]int64, m.rows)
	for i := range y {
		y[i] = m.dot(i, full)
	}
	return y
}

// norms holds because the columns of PHD are those of PH up to signs, and row i of PH is the
// transform of row i of P. For ‖d‖₂ ≤ 1, (PHD)(PHD)ᵀ = u·PPᵀ where Dim = u, and fewer columns have
// no greater norm.
func (m *fjlt) norms(r norm) norms {
	dense := make([]int64, m.size)
	spread := func(i int) (at []uint32) {
		at, entries := m.row(i)
		for n, f := range at {
			dense[f] = int64(entries[n])
		}
		return at
	}
	if r == l1 {
		c := newColumnNorms(m.dim)
		for i := range m.rows {
			clear(dense)
			spread(i)
			hadamard.Int(dense)
			c.addRow(dense[:m.dim])
		}
		return c.norms()
	}
	gram := make([]float64, m.rows*m.rows)
	for a := range m.rows {
		at := spread(a)
		for b := range a + 1 {
			v := float64(m.size) * float64(m.dot(b, dense))
			gram[a*m.rows+b], gram[b*m.rows+a] = v, v
		}
		for _, f := range at {
			dense[f] = 0
		}
	}
	return gramNorms(m.rows, gram)
}

func (m *fjlt) bytes() int { return 8*len(m.negative) + 8*len(m.ends) + 4*cap(m.at) + 2*cap(m.entries) }

// gain is u, a bound on |(HDx)_f|, times the greatest sum of the sizes of the entries of a row of
// P.
func (m *fjlt) gain() float64 {
	greatest := int64(1)
	for i := range m.rows {
		_, entries := m.row(i)
		sum := int64(0)
		for _, e := range entries {
			sum += int64(max(e, -e))
		}
		greatest = max(greatest, sum)
	}
	return float64(m.size) * float64(greatest)
}

// columnNorms sums the sizes and the squares of the entries of each column.
type columnNorms struct {
	sizes   []int64
	squares []float64
}

func newColumnNorms(dim int) *columnNorms {
	return &columnNorms{make([]int64, dim), make([]float64, dim)}
}

func (c *columnNorms) add(j int, v int64) {
	c.sizes[j] += max(v, -v)
	c.squares[j] += float64(v) * float64(v)
}

func (c *columnNorms) addRow(row []int64) {
	for j, v := range row {
		c.add(j, v)
	}
}

// norms returns the greatest of each. Integers below 2⁵³ are exact; beyond, a sum of n ≤ 2²⁰
// squares is off by a relative n·2⁻⁵³ at most.
func (c *columnNorms) norms() norms {
	var n norms
	for j, size := range c.sizes {
		n.one, n.two = max(n.one, float64(size)), max(n.two, c.squares[j])
	}
	if n.two >= 0x1p53 {
		n.two *= 1 + 0x1p-32
	}
	return norms{n.one, up(math.Sqrt(n.two))}
}
