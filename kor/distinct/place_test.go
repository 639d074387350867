package distinct

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// split returns the cell of a key and f.
func (h *placement) split(key uint64) (cell, f uint64) { return bits.Mul64(h.cells, h.word(key)) }

// at returns the word and the bit of a key.
func (h *placement) at(key uint64) (word, bit uint64) {
	cell, f := h.split(key)
	return h.starts[bits.Len64(f)] + cell>>6, 1 << (cell & 63)
}

// regular are key sets without randomness, on which simple hash functions are too even or too
// uneven.
var regular = map[string]func(i uint64) uint64{
	"run": func(i uint64) uint64 { return i }, "high bits": func(i uint64) uint64 { return i << 50 }, "multiples": func(i uint64) uint64 { return 1000 * i },
	"grid": func(i uint64) uint64 { return i&31 | i>>5<<32 }, "squares": func(i uint64) uint64 { return i * i },
	"gray": func(i uint64) uint64 { return i ^ i>>1 }, "two runs": func(i uint64) uint64 { return i<<44 | i }, "middle": func(i uint64) uint64 { return i << 32 },
	"floats": func(i uint64) uint64 { return math.Float64bits(float64(i)) }, "pages": func(i uint64) uint64 { return i << 12 },
}

// The number of ones of each level, and of all together, have the law that fully random functions
// give: over many seeds the mean and the variance of what the keys of a regular set leave are
// within 7 standard errors. The seeds are the same in every run.
func TestRegularKeys(t *testing.T) {
	const n, levels = 64, 10
	seeds := dptest.Full(20_000, 1000)
	for name, key := range regular {
		for _, keys := range []int{100, 2000} {
			var sum, squares [levels + 1]float64
			list := make([]uint64, keys)
			for i := range list {
				list[i] = key(uint64(i))
			}
			table := make([]uint64, levels)
			for i := range seeds {
				place := newPlacement(hashing.Seed{1, byte(i), byte(i >> 8)}, n, 1, levels)
				clear(table)
				place.setAll(table, list)
				all := 0.0
				for level, word := range table {
					z := float64(bits.OnesCount64(word))
					sum[level] += z
					squares[level] += z * z
					all += z
				}
				sum[levels] += all
				squares[levels] += all * all
			}
			total, totalVar := 0.0, 0.0
			empty := func(r float64) float64 { return math.Pow(1-r, float64(keys)) }
			check := func(level int, mean, variance float64) {
				m := sum[level] / float64(seeds)
				v := squares[level]/float64(seeds) - m*m
				if z := (m - mean) / math.Sqrt(variance/float64(seeds)); math.Abs(z) > 7 {
					t.Errorf("%s, %d keys, level %d: mean %.3f, want %.3f (%.1f standard errors)", name, keys, level, m, mean, z)
				}
				if z := (v/variance - 1) / math.Sqrt(2.2/float64(seeds)); variance > 1 && math.Abs(z) > 7 {
					t.Errorf("%s, %d keys, level %d: variance %.3f, want %.3f (%.1f standard errors)", name, keys, level, v, variance, z)
				}
			}
			for level := range levels {
				r := rate(level, levels) / n
				one, two := empty(r), empty(2*r)
				mean, variance := n*(1-one), n*(one-one*one)+n*(n-1)*(two-one*one)
				check(level, mean, variance)
				total, totalVar = total+mean, totalVar+variance
				for other := range level {
					s := rate(other, levels) / n
					totalVar += 2 * n * n * (empty(r+s) - one*empty(s))
				}
			}
			check(levels, total, totalVar)
		}
	}
}

// One key at a time and in slices, of any length and with keys of every level, what a Builder, a
// RunningBuilder and a WindowBuilder hold is what the placement says of each key. Most keys have a
// cell to themselves, so none can be forgotten.
func TestEveryAdd(t *testing.T) {
	for _, levels := range []int{1, 2, 8, 9, 11, 64} {
		p := Params{Epsilon: 1, Cells: 5003, Levels: levels, Seed: hashing.Seed{3}}
		place, flat := newPlacement(p.Seed, p.Cells, p.stride(), levels), newPlacement(p.Seed, p.Cells, p.Cells, levels)
		table, stamps := make([]uint64, p.words()), make([]uint8, p.Cells*levels)
		deep := 0
		keys := append(run(1000, 6000), place.k0) // the last one has f = 0
		_, f := place.split(place.k0)
		require.Zero(t, f)
		for _, key := range keys {
			word, bit := place.at(key)
			table[word] |= bit
			stamps[flat.cell(key)] = 30
			if _, f := place.split(key); f>>56 == 0 {
				deep++
			}
		}
		require.Greater(t, deep, 3)
		for _, size := range []int{1, 2, 7, len(keys)} {
			b, running, windows := builder(t, p), runningBuilder(t, p), windowBuilder(t, p, 0)
			for list := range slices.Chunk(keys, size) {
				b.Add(list...)
				running.Add(list...)
				windows.Add(list...)
			}
			require.Equal(t, table, held(b.secret).table)
			require.Equal(t, table, held(running.secret).table)
			require.Equal(t, stamps, held(windows.secret).stamps)
		}
	}
}
