package alp

import (
	"math"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// The fast way reads the cells that cells reads, and gives the estimate that the tables give, in
// every layout that has it.
func TestDirect(t *testing.T) {
	only := Params{Epsilon: 1, Sparsity: 300, Structure: ColumnsOnly, Max: 40}
	for _, f := range []func(p *Params){
		func(*Params) {}, func(p *Params) { p.Levels = 2 }, func(p *Params) { p.Levels, p.Columns = 2, 12 }, func(p *Params) { p.Levels, p.Columns = 16, 3 },
		func(p *Params) { p.Levels, p.Columns = 256, 1 }, func(p *Params) { p.Levels, p.Columns = 64, 2 }, func(p *Params) { p.Signed = true },
		func(p *Params) { p.Signed, p.TwoVectors = true, true }, func(p *Params) { p.Base, p.Max = 2, 1000 }, func(p *Params) { p.Integers, p.Epsilon, p.Columns = true, 2, 3 },
		func(p *Params) { p.Bits = 0.1 }, func(p *Params) { p.Linear, p.Columns = true, 5 },
		func(p *Params) { p.Structure, p.Delta, p.Max = SplitAxis, 1e-6, 0 }, func(p *Params) { p.Structure, p.Dim, p.Max, p.Levels, p.Columns = Composition, math.MaxUint64, 0, 4, 5 },
	} {
		q := only
		f(&q)
		values := make([]float64, 300)
		for i := range values {
			values[i] = float64(i%81 - 20)
		}
		p := released(t, q, values)
		d := p.decoder
		require.NotNil(t, d.direct, "%+v", q)
		for i := range 600 {
			cells := p.outputs(scatter(i), nil)
			key := uint64(0)
			for j, o := range slices.Backward(cells) {
				require.Less(t, int(o), p.shape.code.levels, "column %d", j)
				key = key<<p.shape.cellBits | uint64(o)
			}
			require.Equal(t, key, d.direct.key(scatter(i)), "%+v", q)
			positive, negative := p.shape.bothSides(cells)
			require.Equal(t, p.shape.inUnits(d.median(positive, negative, d.list.find(scatter(i)), d.odds)), p.Estimate(scatter(i)), "%+v", q)
		}
		inBatches(t, p)
	}
	for _, f := range []func(p *Params){func(p *Params) { p.Independent = true }, func(p *Params) { p.Levels, p.Columns = 2, 13 }} {
		q := only
		f(&q)
		p := released(t, q, nil)
		require.Nil(t, p.decoder.direct)
		inBatches(t, p)
	}
	inBatches(t, new(Projection))
	only.Dim = math.MaxUint64
	inBatches(t, released(t, only, nil))
}

// inBatches requires the same estimates one by one, twice, and in batches of all lengths, also of a
// decoded copy and under another prior: what one has computed of listed entries serves the others.
func inBatches(t *testing.T, p *Projection) {
	t.Helper()
	other := dptest.OK(p.WithPrior(Prior{Zero: 0.9}))(t)
	bits := func(values ...float64) (b []uint64) {
		for _, v := range values {
			b = append(b, math.Float64bits(v))
		}
		return b
	}
	for _, p := range []*Projection{p, other} {
		for n := range 130 {
			indices, dst := []uint64{0, math.MaxUint64}, []float64{1, 2, 3}
			for i := range n {
				indices = append(indices, scatter(i*7%600))
			}
			one := make([]float64, len(indices))
			for i, index := range indices {
				one[i] = p.Estimate(index)
			}
			require.Equal(t, bits(one...), bits(p.Estimates(indices, dst)...), "%d", n)
		}
		require.Empty(t, p.Estimates(nil, nil))
	}
	if p.decoder == nil {
		return
	}
	data := dptest.OK(p.MarshalBinary())(t)
	copied := new(Projection)
	require.NoError(t, copied.UnmarshalBinary(data))
	for i := range 600 {
		require.Equal(t, bits(p.Estimate(scatter(i))), bits(copied.Estimate(scatter(i))))
	}
}

// A listed entry far below the end of the columns, hundreds of scales of the list's noise from it,
// is estimated as well as any other: within 16 standard deviations of the list.
func TestFarTurn(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	values := []float64{50, 100, 200, 1000, 4990, 5010, 7000}
	for _, turn := range []float64{2000, 5000, 20_000} {
		p := released(t, Params{Epsilon: 1, Delta: 1e-6, Sparsity: 100, Variant: Variant{Turn: turn}}, values)
		for i, v := range values {
			require.InDelta(t, v, p.Estimate(scatter(i)), 16*math.Sqrt2*16/5)
			lo, hi := p.Interval(scatter(i), 1-1e-9)
			require.True(t, lo <= v && v <= hi, "%v in [%v, %v]", v, lo, hi)
		}
	}
}
