package jl

import "math/bits"

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
