package plan

import (
	"encoding"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func sampleQuantiles() *Quantiles {
	return &Quantiles{params: QuantileParams{Rho: 0.5, Dim: 2, Rows: 100, Max: 10, Relation: budget.Replace}.resolved(), levels: []float64{0.25, 0.5, 1}, keys: []uint32{7, 7, 1 << 20, 0, 3, 3}}
}

func quantileSamples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{
		"quantiles.hex": sampleQuantiles(),
		"median.hex":    &Quantiles{params: QuantileParams{Rho: 2, Dim: 1, Max: 1, Relation: budget.AddRemove, Base: Log, Search: 9}.resolved(), levels: []float64{0.5}, keys: []uint32{500}},
	}
}

func TestQuantileCodec(t *testing.T) {
	dptest.Codec(t, sampleQuantiles(), dptest.DeepEqual[Quantiles])
	data, err := sampleQuantiles().MarshalBinary()
	require.NoError(t, err)
	require.Len(t, data, sampleQuantiles().Params().Size(3))
}

func TestQuantileGoldenFiles(t *testing.T) { dptest.GoldenDumps(t, quantileSamples()) }

func TestQuantileDecodeRejects(t *testing.T) {
	empty := func() *Quantiles { return new(Quantiles) }
	dptest.Spoiled(t, sampleQuantiles, empty, map[string]func(*Quantiles){
		"rho":             func(q *Quantiles) { q.params.Rho = math.NaN() },
		"relation":        func(q *Quantiles) { q.params.Relation = 0 },
		"no unit":         func(q *Quantiles) { q.params.Unit = 0 },
		"base left open":  func(q *Quantiles) { q.params.Base = AutoBase },
		"level":           func(q *Quantiles) { q.levels[2] = 1.5 },
		"no number":       func(q *Quantiles) { q.levels[2] = math.NaN() },
		"negative zero":   func(q *Quantiles) { q.levels[0] = math.Copysign(0, -1) },
		"order of levels": func(q *Quantiles) { q.levels[0] = 0.75 },
		"a level twice":   func(q *Quantiles) { q.levels[0] = 0.5 },
		"order":           func(q *Quantiles) { q.keys[0] = 8 },
		"beyond the end":  func(q *Quantiles) { q.keys[5] = math.MaxUint32 },
		"one more":        func(q *Quantiles) { q.keys = append(q.keys, 1<<20) },
		"one less":        func(q *Quantiles) { q.keys = q.keys[:5] },
	})
}

func FuzzUnmarshalQuantiles(f *testing.F) {
	dptest.Seeds(f, quantileSamples())
	f.Fuzz(useQuantiles)
}

func TestQuantileEdges(t *testing.T) { dptest.Edges(t, quantileSamples(), useQuantiles) }

func useQuantiles(t *testing.T, data []byte) {
	q := dptest.Decoded[Quantiles](t, data)
	if q == nil {
		return
	}
	require.True(t, q.Guarantee().Promises())
	require.NotContains(t, q.String(), "NaN")
	for i := range min(q.Dim(), 3) {
		last := math.Inf(-1)
		for level, value := range q.All(i) {
			require.True(t, last <= value && math.Abs(value) <= q.Params().Max*(1+1e-9))
			require.Equal(t, value, q.Quantile(i, level))
			last = value
		}
	}
	lo, hi := q.Interval(q.Levels()[0], 0.95)
	require.True(t, lo <= 0 && hi >= 0 || q.Params().Search > 0 && math.IsNaN(hi), "[%v, %v]", lo, hi)
}
