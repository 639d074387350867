package alp

import (
	"math/big"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// layouts are Params with words that cells fill and such that they do not, with one line to a block
// and with many.
var layouts = []Params{
	{Epsilon: 1, Max: 40, Sparsity: 100, Variant: Variant{Levels: 2}}, {Epsilon: 1, Max: 40, Sparsity: 100, Variant: Variant{Linear: true}}, {Epsilon: 1, Max: 40, Sparsity: 100, Variant: Variant{Levels: 4, Columns: 3}},
	{Epsilon: 1, Max: 40, Sparsity: 100, Variant: Variant{Levels: 8}}, {Epsilon: 1, Max: 40, Sparsity: 100, Variant: Variant{Levels: 32, Columns: 2}}, {Epsilon: 1, Max: 40, Sparsity: 100, Variant: Variant{Levels: 128, Columns: 2}},
	{Epsilon: 1, Max: 40, Sparsity: 100, Variant: Variant{Levels: 256, Columns: 1}}, {Epsilon: 1, Max: 600, Sparsity: 100, Variant: Variant{Levels: 2}}, {Epsilon: 1, Max: 30, Sparsity: 100, Signed: true},
	{Epsilon: 1, Max: 30, Sparsity: 100, Variant: Variant{Levels: 8, Independent: true}}, {Epsilon: 1, Max: 300, Sparsity: 100, Signed: true, Variant: Variant{Linear: true, Independent: true}},
}

// Cells lie in their column and block, whole blocks are cache lines, and the table has the
// bits that were asked for.
func TestCellsLieWhereTheyShould(t *testing.T) {
	for _, p := range layouts {
		s := dptest.OK(p.shape())(t)
		if !p.Independent {
			require.Zero(t, s.words%8)
			require.GreaterOrEqual(t, s.positions, uint64(minPositions))
		}
		r := s.params
		cells, wanted := float64(s.cells())*float64(s.columns), r.cellsEach(s.width)*float64(r.Sparsity)
		require.GreaterOrEqual(t, cells, wanted)
		require.LessOrEqual(t, cells, wanted+float64(s.blockCells())+float64(s.columns))
		for index := range uint64(1000) {
			cells := s.locate(index, nil)
			require.Len(t, cells, s.columns)
			for j, cell := range cells {
				if s.column(cell) != j || cells[0]/(s.words*s.wordCells) != cell/(s.words*s.wordCells) {
					t.Fatalf("cell %d of index %d: another column or block", j, index)
				}
			}
		}
	}
}

// The places of an index are as good as random: uniform in each column, and two indices of a block
// meet in two columns as often as independent ones do.
func TestPlacesAreUniform(t *testing.T) {
	for _, independent := range []bool{false, true} {
		s := dptest.OK(Params{Epsilon: 1, Max: 40, Sparsity: 5, Variant: Variant{Levels: 8, Columns: 5, Independent: independent}}.shape())(t)
		const n = 200000
		counts := make([][]int64, s.columns)
		meetings := make([]int64, 4)
		var last [4][]uint64
		for i := range uint64(n) {
			cells := s.locate(i, nil)
			for j, cell := range cells {
				if counts[j] == nil {
					counts[j] = make([]int64, s.cells())
				}
				block, place := cell/(s.words*s.wordCells), cell%(s.words*s.wordCells)
				counts[j][block*s.positions+place-uint64(j)*s.positions]++
			}
			block := cells[0] / (s.words * s.wordCells) % 4
			if other := last[block]; other != nil && other[0]/(s.words*s.wordCells) == cells[0]/(s.words*s.wordCells) {
				pair := 0
				if other[0] == cells[0] {
					pair++
				}
				if other[4] == cells[4] {
					pair += 2
				}
				meetings[pair]++
			}
			last[block] = cells
		}
		uniform := make([]float64, s.cells())
		for i := range uniform {
			uniform[i] = 1 / float64(s.cells())
		}
		for j := range counts {
			// 16 bits for a place: within a relative positions/2¹⁶ of uniform, which n cannot see
			dptest.ChiSquare(t, "places", counts[j], uniform, 1e-10)
		}
		if independent {
			// pairwise independent over the seed; a fixed one can say nothing about consecutive
			// indices
			continue
		}
		meet := 1 / float64(s.positions)
		dptest.ChiSquare(t, "meetings", meetings, []float64{(1 - meet) * (1 - meet), meet * (1 - meet), meet * (1 - meet), meet * meet}, 1e-10)
	}
}

// Blocked and independent layouts have the same law of what an entry's cells show where no two
// entries share a cell: it is that of the code. So do all columns.
func TestLayoutsAgreeInLaw(t *testing.T) {
	releases := dptest.Full(6000, 3000)
	for _, p := range []Params{
		{Epsilon: 1, Max: 12, Sparsity: 20, Integers: true, Variant: Variant{Levels: 8, Columns: 2}}, {Epsilon: 1, Max: 12, Sparsity: 20, Integers: true, Variant: Variant{Levels: 2}},
		{Epsilon: 1, Max: 12, Sparsity: 20, Integers: true, Signed: true, Variant: Variant{Levels: 4, Columns: 1}},
	} {
		var histograms [2][]int64
		for layout := range histograms {
			p.Independent = layout == 1
			p.Seed[1] = 77
			s := dptest.OK(p.shape())(t)
			entries := []total{{Key: 3, Steps: 5}, {Key: 8, Steps: 12}}
			if p.Signed {
				entries[1].Steps = -7
			}
			for s.locate(3, nil)[0] == s.locate(8, nil)[0] || shareCell(&s, 3, 8) {
				// another seed, until they are apart
				p.Seed[2]++
				s = dptest.OK(p.shape())(t)
			}
			var src noise.Source
			counts := make([]int64, 2*s.columns*s.code.levels)
			joint := make([]int64, s.code.levels*s.code.levels)
			for range releases {
				table := s.draw(&src, entries, nil)
				for i, e := range entries {
					for j, cell := range s.locate(e.Key, nil) {
						counts[(i*s.columns+j)*s.code.levels+int(table.at(cell))]++
					}
				}
				cells := s.locate(3, nil)
				joint[int(table.at(cells[0]))*s.code.levels+int(table.at(s.locate(8, nil)[0]))]++
			}
			for i, e := range entries {
				for j := range s.columns {
					expected := make([]float64, s.code.levels)
					for o := range expected {
						expected[o] = s.code.prob(s.size(e.Steps, j), o)
					}
					from := (i*s.columns + j) * s.code.levels
					dptest.ChiSquare(t, "cells of an entry", counts[from:from+s.code.levels], expected, 1e-10)
				}
			}
			histograms[layout] = joint
		}
		dptest.Homogeneity(t, "layouts", histograms[0], histograms[1], 1e-10)
	}
}

func shareCell(s *shape, a, b uint64) bool {
	other := s.locate(b, nil)
	for j, cell := range s.locate(a, nil) {
		if cell == other[j] {
			return true
		}
	}
	return false
}

// Empty cells have the law of the code at 0, for every size of a cell, and what is no cell is 0.
func TestFillHasTheLaw(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	for _, p := range layouts {
		p.Sparsity = 2000
		s := dptest.OK(p.shape())(t)
		var src noise.Source
		v := Projection{shape: s, table: s.draw(&src, nil, nil)}
		require.True(t, s.canonical(&v.table))
		expected := make([]float64, s.code.levels)
		for o := range expected {
			expected[o] = s.code.prob(0, o)
		}
		for _, counts := range v.histogram() {
			observed := make([]int64, len(counts))
			for o, n := range counts {
				observed[o] = int64(n)
			}
			dptest.ChiSquare(t, "empty cells", observed, expected, 1e-10)
		}
	}
}

// Where the guide decides an output, it is that of all points with these first bits; it leaves at
// most one entry a threshold open.
func TestGuideIsExact(t *testing.T) {
	for i, p := range layouts {
		if i%3 > 0 && !dptest.Long() {
			continue
		}
		s := dptest.OK(p.shape())(t)
		sampler, open := newSampler(&s.code, 1<<20), 0
		most := new(big.Int).SetUint64(sampler.most)
		for i, output := range sampler.guide {
			if output == 0 {
				open++
				continue
			}
			// the points in [low, high)
			low, high := new(big.Int).Mul(most, big.NewInt(int64(i))), new(big.Int).Mul(most, big.NewInt(int64(i+1)))
			for l := 1; l < s.code.levels; l++ {
				tail := new(big.Int).Lsh(new(big.Int).SetUint64(s.code.tail(0, l)), guideBits)
				if l <= int(output) {
					require.True(t, high.Cmp(tail) <= 0, "%d: a point is not below tail %d", i, l)
				} else {
					require.True(t, low.Cmp(tail) >= 0, "%d: a point is below tail %d", i, l)
				}
			}
		}
		require.LessOrEqual(t, open, 2*(s.code.levels-2))
	}
}
