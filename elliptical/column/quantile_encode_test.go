package column

import (
	"encoding"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

func sampleQuantiles() *Quantiles {
	p := quartiles.normal()
	return &Quantiles{params: p, axis: p.axis(), rows: 12_345, cells: []int{20, 20, 77}}
}

// sampleMedian has an interval, and octaves.
func sampleMedian() *Quantiles {
	p := quantilesOf(Params{Rho: 0.5, Min: -1, Max: 1}).normal()
	axis := p.axis()
	q := &Quantiles{params: p, axis: axis, rows: -3, cells: []int{int(axis.Cell(.25))}}
	q.ends = [2]int{int(axis.Cell(.125)) + 1, int(axis.Cells()) + 1}
	return q
}

func quantileSamples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{
		"quantiles.hex": sampleQuantiles(), "median.hex": sampleMedian(),
	}
}

func TestQuantileDecodeRejects(t *testing.T) {
	empty := func() *Quantiles { return new(Quantiles) }
	dptest.Spoiled(t, sampleQuantiles, empty, map[string]func(*Quantiles){
		"both":           func(q *Quantiles) { q.params.Rho = 1 },
		"other unit":     func(q *Quantiles) { q.params.Resolution = 2 },
		"negative zero":  func(q *Quantiles) { q.params.Min = math.Copysign(0, -1) },
		"level":          func(q *Quantiles) { q.params.Levels[1] = 0.25 },
		"no level":       func(q *Quantiles) { q.params.Levels[2] = 0 },
		"order":          func(q *Quantiles) { q.cells[1] = 19 },
		"beyond the end": func(q *Quantiles) { q.cells[2] = 201 },
		"rows":           func(q *Quantiles) { q.rows = 1 << 62 },
		"one more":       func(q *Quantiles) { q.cells = append(q.cells, 78) },
	})
	dptest.Spoiled(t, sampleMedian, empty, map[string]func(*Quantiles){
		"an end behind":  func(q *Quantiles) { q.ends[1]++ },
		"an end far off": func(q *Quantiles) { q.ends[0] = maxCells + 2 },
		"a cell":         func(q *Quantiles) { q.cells[0] = q.ends[1] - 1 },
	})
}

func FuzzUnmarshalQuantiles(f *testing.F) {
	dptest.Seeds(f, quantileSamples())
	f.Fuzz(useQuantiles)
}

func useQuantiles(t *testing.T, data []byte) {
	q := dptest.Decoded[Quantiles](t, data)
	if q == nil {
		return
	}
	p := q.Params()
	require.True(t, q.Guarantee().Promises())
	require.NotContains(t, q.String(), "NaN")
	last, most := q.axis.Low, q.axis.High
	require.True(t, p.learns() || last == p.Min && most == p.Max)
	for level, value := range q.All() {
		lo, hi := q.Interval(level, 0.95)
		require.True(t, !(lo < q.axis.Low && !math.IsInf(lo, -1)) && !(hi > most && !math.IsInf(hi, 1)) && lo <= hi)
		if value == value {
			require.True(t, last <= value && value <= most && lo <= value && value <= hi)
			last = value
		}
		lo, hi = q.RankInterval(level, 0.95)
		require.True(t, lo <= 0 && hi >= 0 && !math.IsInf(hi, 0), "[%v, %v]", lo, hi)
	}
}
