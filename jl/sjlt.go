package jl

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/hashing"
)

// sjlt is √s·S: column j has, in each block r of k/s rows, one entry ±1, in the row of a hash
// h_r(j) and with the sign φ_r(j).
//
// Both come from the value of one polynomial for each block, 4-wise independent or as much as
// Params.Independence says: the row from its high bits, the sign from its lowest. Such a pair is
// within n·2⁻⁶⁰, n = k/s, of being uniform on the 2n combinations, the pairs of any 4 coordinates
// are independent, and the blocks are. What more independence makes rare is in tails_proof.md.
//
// Theorem. Var‖Sx‖² = (2/k)(‖x‖₂⁴ − ‖x‖₄⁴) for every s, and Var⟨Sx,
// Sy⟩ = (‖x‖²‖y‖² + ⟨x,y⟩² − 2Σx²y²)/k. Proof. For block r let b_r = Σ_{j≠l} φ(j)φ(l)x_j
// y_l·1[h(j) = h(l)]; then ⟨Sx, Sy⟩ = ⟨x, y⟩ + Σ_r b_r/s, the diagonal being Σ_j x_j y_j whatever h
// is. A pair j ≠ l takes 2-wise independence for E b_r = 0, and two pairs take the 4-wise:
// E[φ(j)φ(l)φ(v)φ(w)·…] is 0 unless {v, w} = {j, l}, so E b_r² = (s/k)·Σ_{j≠l}(x_j²y_l² +
// x_jy_l·x_ly_j) = (s/k)(‖x‖²‖y‖² + ⟨x,y⟩² − 2Σx²y²), and the s blocks add up to s·(1/s²) of it. ∎
// (The thesis' Lemma 4.10, as an equation.)
type sjlt struct {
	rows, sparsity int
	wraps          bool   // rows wrap around
	block          uint64 // k/s
	dim            uint64
	hashes         []hashing.Polynomial
	functions      int // the hashes, in bytes
	// of row and sign for each coordinate and block, where they are few enough to keep
	table []uint32
}

// maxTable is the greatest number of entries that are kept in memory, 16 MiB. Computed, an entry
// takes about 10 ns.
const maxTable = 1 << 22

// outlineSJLT returns the matrix without its random parts: what gain, and under L1 norms, look at.
func outlineSJLT(p Params) *sjlt {
	return &sjlt{rows: p.Rows, sparsity: p.sparsity(), wraps: p.wraps(), dim: p.Dim}
}

func newSJLT(p Params) *sjlt {
	m := outlineSJLT(p)
	m.block = uint64(m.rows / m.sparsity)
	m.hashes = make([]hashing.Polynomial, m.sparsity)
	for r := range m.hashes {
		m.hashes[r] = p.polynomial(labelBlock + uint64(r))
	}
	m.functions = len(m.hashes) * p.polynomialBytes()
	if p.Dim <= maxTable/uint64(m.sparsity) {
		m.table = make([]uint32, p.Dim*uint64(m.sparsity))
		m.eachPart(func(part []uint32, r int, from uint64) {
			at := m.table[from*uint64(m.sparsity)+uint64(r):]
			for i, e := range part {
				at[i*m.sparsity] = uint32(r)*uint32(m.block)<<1 + e
			}
		})
	}
	return m
}

// entry returns twice the row of column j in block r, and 1 more if the sign is −1.
func (m *sjlt) entry(j uint64, r int) uint32 {
	return uint32(uint64(r)*m.block)<<1 + m.within(m.hashes[r].Hash(j))
}

// within returns the entry of a hash value, rows being counted from the first of the block.
func (m *sjlt) within(h uint64) uint32 {
	bucket, _ := bits.Mul64(h<<3, m.block)
	return uint32(bucket)<<1 | uint32(h&1)
}

// columnsAtOnce is how many columns eachPart draws at a time.
const columnsAtOnce = 1 << 13

// eachPart calls visit with the entries of a block within it, for the columns from one on: for all
// columns in order, some at a time, and for each of the blocks in order. The slice is used again.
func (m *sjlt) eachPart(visit func(part []uint32, r int, from uint64)) {
	words, entries := make([]uint64, min(columnsAtOnce, m.dim)), make([]uint32, min(columnsAtOnce, m.dim))
	for from := uint64(0); from < m.dim; from += columnsAtOnce {
		n := min(columnsAtOnce, m.dim-from)
		for r, h := range m.hashes {
			h.Fill(words[:n], from)
			for i, word := range words[:n] {
				entries[i] = m.within(word)
			}
			visit(entries[:n], r, from)
		}
	}
}

func (m *sjlt) add(rows []fixed, j uint64, v fixed) {
	for r := range m.sparsity {
		e := m.entry(j, r)
		if m.wraps {
			rows[e>>1].addOrSubtract(&v, e&1)
		} else {
			rows[e>>1] = rows[e>>1].subtractOrAdd(v, uint64(e&1))
		}
	}
}

// norms follows from the s entries ±1 of a column. For ‖d‖₂ ≤ 1, with the number of entries n_i of
// row i:
//
//   - Where rows wrap around, ‖A‖₂ is computed. For u ≫ k it is about √s·(√(u/k) + 1).
//   - Else ‖Ad‖₂² ≤ s·max n_i, as ‖A‖₂² ≤ ‖A‖₁·‖A‖_∞, the greatest column sum times the greatest
//     row sum of |A|. It is attained for s = 1, where AAᵀ is diagonal.
//   - ‖Ad‖₁ ≤ Σ_i √n_i·‖d restricted to row i‖ ≤ √(Σ n_i)·√(Σ_i ‖·‖²) = √(su)·√s, attained for
//     s = 1 by d = the signs. And it is at most √k·‖Ad‖₂.
func (m *sjlt) norms(r norm) norms {
	s := float64(m.sparsity)
	if r == l1 {
		return norms{s, up(math.Sqrt(s))}
	}
	one := up(s * math.Sqrt(float64(m.dim)))
	if m.wraps {
		n := gramNorms(m.rows, m.gram(m.packs()))
		return norms{min(one, n.one), n.two}
	}
	loads := make([]uint32, 2*m.rows) // by sign
	m.eachPart(func(part []uint32, r int, _ uint64) {
		block := loads[2*r*int(m.block):]
		for _, e := range part {
			block[e]++
		}
	})
	heaviest := uint32(0)
	for i := range m.rows {
		heaviest = max(heaviest, loads[2*i]+loads[2*i+1])
	}
	return norms{one, up(math.Sqrt(s * float64(heaviest)))}
}

func (m *sjlt) gain() float64 { return float64(m.dim) }

func (m *sjlt) bytes() int { return 4*len(m.table) + m.functions }

// The labels under which the parts of a transform derive their seeds. They are part of the format.
const (
	labelBlock    = 0 << 32 // plus r, a block of the SJLT
	labelSigns    = 1 << 32 // plus i, sixty rows of the Rademacher transform
	labelDiagonal = 2 << 32 // the signs before a Hadamard matrix
	labelSample   = 3 << 32 // the rows of the SRHT
	labelEntries  = 4 << 32 // the entries of the Normal transform and of P
	labelSecond   = 5 << 32 // the second half of the key of a stream
)

// polynomial returns a hash function of the independence that the Params ask for, 4 if none.
func (p Params) polynomial(label uint64) hashing.Polynomial {
	h, err := hashing.NewPolynomial(p.Seed.Derive(label), p.independence())
	if err != nil {
		panic("jl: an independence that was not checked") // unreachable
	}
	return h
}

// polynomialBytes returns how much memory such a function takes: its coefficients, and four words
// that are not coefficients.
func (p Params) polynomialBytes() int { return 8 * (p.independence() + 4) }

// stream is public randomness that is read from the front to the back: the words of ChaCha8, whose
// definition does not change.
type stream struct{ words *rand.ChaCha8 }

func newStream(seed hashing.Seed) *stream {
	second := seed.Derive(labelSecond)
	var key [32]byte
	copy(key[:16], seed[:])
	copy(key[16:], second[:])
	return &stream{rand.NewChaCha8(key)}
}

func (s *stream) next() uint64 { return s.words.Uint64() }

// below returns a uniform number below n ≥ 1 (Lemire's method).
func (s *stream) below(n uint64) uint64 {
	for {
		hi, lo := bits.Mul64(s.next(), n)
		if lo >= -n%n {
			return hi
		}
	}
}

// gram returns AAᵀ. For each pair of blocks it counts, in a table that fits into the cache, how
// many columns have their entries in which rows, and how many of them of different signs: those of
// equal signs less the others are the product of the two rows, and all of a row are its load, which
// stands on the diagonal. Rows of one block have no column in common.
func (m *sjlt) gram(packed bool) []float64 {
	n, s := int(m.block), m.sparsity
	width := bits.Len(uint(2*n - 1)) // an entry's bits
	counts := make([][]uint32, s*s)  // by row of the earlier block, row of the later one, and sign
	counter := m.counter
	if packed {
		counter = m.packedCounter
	}
	count := counter(counts, width)
	m.eachPart(func(part []uint32, r int, _ uint64) { count(part, r) })
	sums := make([]float64, m.rows*m.rows)
	for r := range s {
		for t := range r {
			for a := range n {
				row := counts[r*s+t][a<<width:]
				for b := range n {
					i, j := t*n+a, r*n+b
					equal, other := float64(row[2*b]), float64(row[2*b+1])
					sums[i*m.rows+j], sums[j*m.rows+i] = equal-other, equal-other
					if r == t+1 {
						sums[i*(m.rows+1)] += equal + other
					}
					if t == 0 && r == s-1 {
						sums[j*(m.rows+1)] += equal + other
					}
				}
			}
		}
	}
	return sums
}

// packs reports whether pairs fit into 16 bits and there are enough columns that it takes less time
// to count them four in a word. The tables for that take 256 KiB for each pair of blocks, and 30
// MiB in all at most.
func (m *sjlt) packs() bool {
	width := bits.Len(uint(2*m.block - 1))
	return m.block<<width <= 1<<16 && m.sparsity <= 16 && m.dim >= uint64(m.sparsity)<<13
}

// counter returns a function that is given the entries of each block of some columns, block by
// block, and counts the pairs with those of the blocks before. An entry is kept with its row in
// front of room for another entry, so that the bits of the two do not overlap except for the last,
// the sign: for a pair it says whether the signs differ.
func (m *sjlt) counter(counts [][]uint32, width int) func(part []uint32, r int) {
	n, s := int(m.block), m.sparsity
	parts := make([][]uint32, s)
	for r := range parts {
		parts[r] = make([]uint32, min(columnsAtOnce, m.dim))
		for t := range r {
			counts[r*s+t] = make([]uint32, n<<width)
		}
	}
	return func(part []uint32, r int) {
		for t, other := range parts[:r] {
			table := counts[r*s+t]
			for i, e := range part {
				table[e^other[i]]++
			}
		}
		for i, e := range part {
			parts[r][i] = e>>1<<width | e&1
		}
	}
}

// packedCounter is counter for pairs of 16 bits, four in a word.
func (m *sjlt) packedCounter(counts [][]uint32, width int) func(part []uint32, r int) {
	const signs = 0x0001_0001_0001_0001
	s, words := m.sparsity, (min(columnsAtOnce, m.dim)+3)/4
	parts, packed := make([][]uint64, s), make([]uint64, words)
	tables := make([]*[1 << 16]uint32, s*s)
	for r := range parts {
		parts[r] = make([]uint64, words)
		for t := range r {
			tables[r*s+t] = new([1 << 16]uint32)
			counts[r*s+t] = tables[r*s+t][:]
		}
	}
	return func(part []uint32, r int) {
		clear(packed)
		pack(packed, part)
		for t, other := range parts[:r] {
			countPairs(tables[r*s+t], packed, other, len(part))
		}
		for i, word := range packed {
			parts[r][i] = word&^signs<<(width-1) | word&signs
		}
	}
}

// pack puts four entries below 2¹⁶ into a word each.
func pack(words []uint64, entries []uint32) {
	for len(entries) >= 4 {
		words[0] = uint64(entries[0]) | uint64(entries[1])<<16 | uint64(entries[2])<<32 | uint64(entries[3])<<48
		entries, words = entries[4:], words[1:]
	}
	for i, e := range entries {
		words[0] |= uint64(e) << (16 * i)
	}
}

// countPairs counts the first n of the packed pairs.
func countPairs(counts *[1 << 16]uint32, a, b []uint64, n int) {
	a, b = a[:(n+3)/4], b[:(n+3)/4]
	for i := range n / 4 {
		pair := a[i] ^ b[i]
		counts[uint16(pair)]++
		counts[uint16(pair>>16)]++
		counts[uint16(pair>>32)]++
		counts[uint16(pair>>48)]++
	}
	for i := n &^ 3; i < n; i++ {
		counts[uint16((a[i/4]^b[i/4])>>(16*(i%4)))]++
	}
}
