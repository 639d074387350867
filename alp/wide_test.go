package alp

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// Columns so wide that the list would hold whatever reaches the middle of their first bin: the list
// leaves nothing to learn from them, and still they are read.
func TestColumnsFarWiderThanTheList(t *testing.T) {
	b := dptest.OK(New(Params{Epsilon: 3, Delta: 1e-9, Dim: 1000, Sparsity: 2, Integers: true, Structure: Composition, Variant: Variant{Levels: 2, Linear: true, Alpha: 4e5, Columns: 8, Turn: 1.5e6}}))(t)
	b.Add(1, 5)
	b.Add(2, 1e6)
	p := dptest.OK(b.Release())(t)
	for index := range uint64(1000) {
		x := p.Estimate(index)
		lo, hi := p.Interval(index, 0.9)
		require.True(t, !math.IsNaN(x) && lo <= hi, "%v, [%v, %v]", x, lo, hi)
	}
}

// Whatever cells a table shows, also thousands that contradict one another, weigh as numbers.
func TestOddsOfContradictoryCells(t *testing.T) {
	b := dptest.OK(New(Params{Epsilon: 1, Sparsity: 2, Max: 2500, Structure: ColumnsOnly, Variant: Variant{Levels: 2, Alpha: 2}}))(t)
	p := dptest.OK(b.Release())(t)
	d := p.decoder
	tables := d.pvalues.get(d)[0]
	side := d.flat[0]
	require.Greater(t, side.columns, 1000)
	outputs := make([]uint8, side.columns)
	for _, from := range []int{0, side.columns / 2, side.columns} { // zeros, then ones
		for j := range outputs {
			outputs[j] = 0
			if j >= from {
				outputs[j] = 1
			}
		}
		log := make([]float64, side.used)
		side.odds(outputs, log)
		for b, x := range log {
			require.False(t, math.IsNaN(x), "bin %d", b)
		}
		a := d.accept(0, tables, outputs, 0.05, 0.05)
		require.True(t, a.lo <= a.hi, "[%v, %v]", a.lo, a.hi)
	}
}
