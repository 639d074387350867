package column

import (
	"encoding"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

func sampleQuantiles() *Quantiles {
	return &Quantiles{params: quartiles.normal(), cells: []int{20, 20, 77}}
}

func quantileSamples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{
		"quantiles.hex": sampleQuantiles(), "median.hex": &Quantiles{params: quantilesOf(Params{Rho: 0.5, Min: -1, Max: 1, Resolution: 0.002}).normal(), cells: []int{500}},
	}
}

func TestQuantileCodec(t *testing.T) { dptest.Codec(t, sampleQuantiles(), dptest.DeepEqual[Quantiles]) }

func TestQuantileGoldenFiles(t *testing.T) { dptest.GoldenDumps(t, quantileSamples()) }

func TestQuantileCodecOfReleases(t *testing.T) {
	q := releasedQuantiles(t, quartiles, 1, 2, 3)
	again, _ := dptest.RoundTrip(t, q)
	require.True(t, dptest.DeepEqual(q, again))
}

func TestQuantileDecodeRejects(t *testing.T) {
	empty := func() *Quantiles { return new(Quantiles) }
	dptest.Spoiled(t, sampleQuantiles, empty, map[string]func(*Quantiles){
		"both":           func(q *Quantiles) { q.params.Rho = 1 },
		"NaN":            func(q *Quantiles) { q.params.Epsilon = math.NaN() },
		"relation":       func(q *Quantiles) { q.params.Relation = 0 },
		"no unit":        func(q *Quantiles) { q.params.Resolution = 0 },
		"other unit":     func(q *Quantiles) { q.params.Resolution = 2 },
		"negative zero":  func(q *Quantiles) { q.params.Min = math.Copysign(0, -1) },
		"level":          func(q *Quantiles) { q.params.Levels[1] = 0.25 },
		"no level":       func(q *Quantiles) { q.params.Levels[2] = 0 },
		"order":          func(q *Quantiles) { q.cells[1] = 19 },
		"beyond the end": func(q *Quantiles) { q.cells[2] = 201 },
		"one more":       func(q *Quantiles) { q.cells = append(q.cells, 78) },
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
	p := q.Params()
	require.True(t, q.Guarantee().Promises())
	require.NotContains(t, q.String(), "NaN")
	last := p.Min
	for level, value := range q.All() {
		require.True(t, last <= value && value <= p.Max)
		last = value
		lo, hi := q.RankInterval(level, 0.95)
		require.True(t, lo <= 0 && hi >= 0 && !math.IsInf(hi, 0), "[%v, %v]", lo, hi)
	}
}
