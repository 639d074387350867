package groupby

import (
	"encoding"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// sampleOf returns Groups with what a reader computes filled in.
func sampleOf[K int64 | string | uint32](p Params, threshold, shortfall, others int64, groups ...group[K]) *Groups[K] {
	p = p.normal()
	law, _ := p.sizes()
	g := &Groups[K]{params: p, noises: p.noises(law, choice{}), threshold: threshold, groups: groups, shortfall: shortfall, others: others}
	g.addUp()
	return g
}

func sampleWords() *Groups[string] {
	g := sampleOf(Params{Epsilon: 1, Delta: 1e-6, Others: true}, 30<<20, 3<<20, -5, group[string]{key: "", weight: 31 << 20, rest: 7},
		group[string]{key: "pear", weight: 30 << 20, rest: -77}, group[string]{key: "quince", weight: 1 << 45})
	g.named, g.nameless = true, 1331
	return g
}

func sampleInts() *Groups[int64] {
	return sampleOf(Params{Epsilon: 0.5, Delta: 1e-9, Min: -2, Max: 8, most: 7, FullKeys: 4, CountShare: 0.25, Relation: budget.Replace}, 1, -1, 0,
		group[int64]{key: math.MinInt64, weight: 1, rest: 2, value: 3}, group[int64]{key: -1, weight: 1 << 40, rest: -1 << 40, value: 1},
		group[int64]{key: math.MaxInt64, weight: 5, rest: 6, value: math.MinInt32})
}

func sampleKeys() *Groups[uint32] {
	return sampleOf(Params{Epsilon: 2, Delta: 1e-6, KeysOnly: true}, 0, 0, 0, group[uint32]{key: 0}, group[uint32]{key: math.MaxUint32})
}

func samplePasses() *Groups[int64] {
	return sampleOf(Params{Epsilon: 1, Delta: 1e-6, Passes: 2, Max: 1, FullKeys: 36}, 0, 5, 0, group[int64]{key: 1, rest: -3, value: 4})
}

func sampleListed() *Groups[string] {
	return sampleOf(Params{Epsilon: 1, most: 2, listed: true, Others: true, Max: 5}, 0, 0, 7, group[string]{key: "no", rest: -3, value: 4}, group[string]{key: "yes", rest: 1 << 40})
}

// sampleChosen has a FullKeys that was chosen, number 7 of 9 that were asked about.
func sampleChosen() *Groups[uint32] {
	g := sampleOf(Params{Epsilon: 1, Delta: 1e-6, Passes: 2, Releases: 30, FullKeys: AutoFullKeys}, 0, 5, 0, group[uint32]{key: 7, rest: 1 << 40})
	law, _ := g.params.sizes()
	g.chosen = choice{7, 9}
	g.noises = g.params.noises(law, g.chosen)
	return g
}

func sampleQuantiles() *Groups[int64] {
	return sampleOf(Params{Epsilon: 1, Delta: 1e-6, Levels: [8]float64{0.5, 0.9}, Max: 100, Resolution: 1}, 30<<20, 0, 0,
		group[int64]{key: -1, weight: 31 << 20, rest: 5000 << 24, cells: []uint32{3, 5, 6, 6, 6, 100}, weights: []int64{1 << 20, 5, -7, 1 << 20, 0, 4 << 20, 1, 2, 3}},
		group[int64]{key: 7, weight: 40 << 20, cells: make([]uint32, 6), weights: make([]int64, 9)})
}

func sampleAverage() *Groups[int64] {
	return sampleOf(Params{Epsilon: 1, Delta: 1e-6, Max: 1, Average: true}, 30<<20, 5, 0, group[int64]{key: 1, weight: 31 << 20, rest: -3, value: 4})
}

// samples are the objects of the golden files, by name.
func samples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{"words.hex": sampleWords(), "ints.hex": sampleInts(), "keys.hex": sampleKeys(), "passes.hex": samplePasses(), "listed.hex": sampleListed(), "chosen.hex": sampleChosen(),
		"quantiles.hex": sampleQuantiles(), "values.hex": sampleValues(), "average.hex": sampleAverage()}
}

func TestCodec(t *testing.T) {
	dptest.Codec[Groups[string]](t, sampleWords(), dptest.DeepEqual)
	dptest.Codec[Groups[int64]](t, sampleInts(), dptest.DeepEqual)
	dptest.Codec[Groups[uint32]](t, sampleKeys(), dptest.DeepEqual)
	dptest.Codec[Groups[int64]](t, samplePasses(), dptest.DeepEqual)
	dptest.Codec[Groups[string]](t, sampleListed(), dptest.DeepEqual)
	dptest.Codec[Groups[uint32]](t, sampleChosen(), dptest.DeepEqual)
	require.Equal(t, 32, sampleChosen().FullKeys())
	dptest.Codec[Groups[int64]](t, sampleQuantiles(), dptest.DeepEqual)
	dptest.Codec[Groups[int64]](t, sampleValues(), dptest.DeepEqual)
	dptest.Codec[Groups[int64]](t, sampleAverage(), dptest.DeepEqual)
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) { dptest.GoldenDumps(t, samples()) }

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sampleWords, sampleWords, map[string]func(*Groups[string]){
		"bad epsilon":      func(g *Groups[string]) { g.params.Epsilon = math.NaN() },
		"no δ":             func(g *Groups[string]) { g.params.Delta = 0 },
		"a default":        func(g *Groups[string]) { g.params.CountShare = 0 },
		"another default":  func(g *Groups[string]) { g.params.FullKeys = 0 },
		"three passes":     func(g *Groups[string]) { g.params.Passes = 3 },
		"no releases":      func(g *Groups[string]) { g.params.Releases = 0 },
		"many releases":    func(g *Groups[string]) { g.params.Releases = mostReleases + 1 },
		"two passes":       func(g *Groups[string]) { g.params.Passes = 2 }, // have no weights
		"no relation":      func(g *Groups[string]) { g.params.Relation = 0 },
		"unknown relation": func(g *Groups[string]) { g.params.Relation = 3 },
		"negative zero":    func(g *Groups[string]) { g.params.Min = math.Copysign(0, -1) },
		// nothing is left for Others
		"all for counts":    func(g *Groups[string]) { g.params.CountShare = 1 - minShare },
		"keys out of order": func(g *Groups[string]) { g.groups[0], g.groups[1] = g.groups[1], g.groups[0] },
		"key twice":         func(g *Groups[string]) { g.groups[1].key = "" },
		"too few":           func(g *Groups[string]) { g.groups[1].weight = g.threshold - 1 },
		"too many":          func(g *Groups[string]) { g.groups[1].weight = math.MaxInt64 },
		"rest too large":    func(g *Groups[string]) { g.groups[1].rest = math.MinInt64 },
		"rest of nothing":   func(g *Groups[string]) { g.params.most = 1 },
		"no threshold":      func(g *Groups[string]) { g.threshold = 0 },
		"a huge threshold":  func(g *Groups[string]) { g.threshold = math.MaxInt64 },
		"shortfall":         func(g *Groups[string]) { g.shortfall = math.MaxInt64 },
		"others":            func(g *Groups[string]) { g.others = math.MaxInt64 },
		"nameless":          func(g *Groups[string]) { g.nameless = math.MinInt64 },
		"nameless, no name": func(g *Groups[string]) { g.named = false },
		"nameless, Replace": func(g *Groups[string]) { g.params.Relation, g.params.CountShare = budget.Replace, 0.25 },
		"others unasked":    func(g *Groups[string]) { g.params.Others = false },
		"keys with counts":  func(g *Groups[string]) { g.params.KeysOnly, g.params.FullKeys, g.params.CountShare = true, 0, 0 },
	})
	dptest.Spoiled(t, sampleChosen, sampleChosen, map[string]func(*Groups[uint32]){
		"not asked":     func(g *Groups[uint32]) { g.chosen.clip = 9 },
		"asked often":   func(g *Groups[uint32]) { g.chosen.asked = 14 },
		"never asked":   func(g *Groups[uint32]) { g.chosen = choice{} },
		"chosen anyway": func(g *Groups[uint32]) { g.params.FullKeys = 32 },
		"below":         func(g *Groups[uint32]) { g.params.FullKeys = -2 },
		"without δ":     func(g *Groups[uint32]) { g.params.Delta = 0 },
	})
	dptest.Spoiled(t, sampleListed, sampleListed, map[string]func(*Groups[string]){
		"no list":      func(g *Groups[string]) { g.params.listed = false },
		"a short one":  func(g *Groups[string]) { g.groups = g.groups[:1] },
		"an empty one": func(g *Groups[string]) { g.groups = nil },
		"δ denormal":   func(g *Groups[string]) { g.params.Delta = 5e-324 },
		"a share":      func(g *Groups[string]) { g.params.CountShare = 0.5 },
		"two passes":   func(g *Groups[string]) { g.params.Passes = 2 },
		"a threshold":  func(g *Groups[string]) { g.threshold = 1 },
	})
	dptest.Spoiled(t, sampleQuantiles, sampleQuantiles, map[string]func(*Groups[int64]){
		"no levels": func(g *Groups[int64]) {
			g.params.Levels, g.params.QuantileShare, g.params.Resolution = [8]float64{}, 0, 0
		},
		"other levels":    func(g *Groups[int64]) { g.params.Levels[1] = 0.5 },
		"a level more":    func(g *Groups[int64]) { g.params.Levels[2] = 0.99 },
		"behind the last": func(g *Groups[int64]) { g.params.Levels[5] = 0.99 },
		"a share":         func(g *Groups[int64]) { g.params.QuantileShare = 0 },
		"a resolution":    func(g *Groups[int64]) { g.params.Resolution = 1000 },
		"beyond the axis": func(g *Groups[int64]) { g.groups[0].cells[5] = 101 },
		"cells falling":   func(g *Groups[int64]) { g.groups[0].cells[4] = 5 },
		"a huge weight":   func(g *Groups[int64]) { g.groups[0].weights[8] = math.MinInt64 },
	})
	words, _ := sampleWords().MarshalBinary()
	require.ErrorIs(t, new(Groups[int]).UnmarshalBinary(words), ErrFormat, "another key type")
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

func useDecoded(t *testing.T, data []byte) {
	tryDecode[string](t, data)
	tryDecode[int64](t, data)
	tryDecode[uint32](t, data)
}

// tryDecode checks that every method works on what decodes.
func tryDecode[K string | int64 | uint32](t *testing.T, data []byte) {
	g := dptest.Decoded[Groups[K]](t, data)
	if g == nil {
		return
	}
	inside := func(lo, x, hi float64) { require.True(t, lo <= x && x <= hi, "%v not in [%v, %v]", x, lo, hi) }
	var absent K
	keys := []K{absent}
	for key, x := range g.All() {
		require.Equal(t, g.Params().KeysOnly, math.IsNaN(x))
		keys = append(keys, key)
	}
	for range g.Top(3) {
	}
	for _, key := range keys {
		for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
			lo, hi := g.Interval(key, confidence)
			least, most := g.SumInterval(key, confidence)
			bottom, top := g.MeanInterval(key, confidence)
			for _, level := range g.params.levels() {
				low, high := g.QuantileInterval(key, level, confidence)
				require.True(t, low <= high && low >= g.noises.scale.least || low < 0 && g.params.Max == 0 && low <= high)
				if x := g.Quantile(key, level); x == x {
					inside(low, x, high)
				}
				low, high = g.RankInterval(key, level, confidence)
				require.True(t, low <= 0 && high >= 0)
			}
			if !g.Params().KeysOnly {
				require.True(t, lo >= 0 && lo <= hi, "[%v, %v]", lo, hi)
				if low, high := g.Shortfall(confidence); true {
					require.True(t, low >= 0 && low <= high)
				}
			}
			if g.params.values() {
				if x := g.Sum(key); x == x {
					inside(least, x, most)
				} else {
					require.True(t, !g.Has(key) || g.blind())
				}
				require.True(t, bottom <= top && (g.Params().Values || bottom >= g.Params().Min && top <= g.Params().Max))
			}
		}
	}
	require.Equal(t, g.Params().Values, !math.IsNaN(g.Radius()))
	for _, key := range keys {
		require.False(t, g.Lost(key) < 0 || g.Scale(key) < 0)
	}
	require.NotContains(t, g.String(), "NaN")
	require.Equal(t, g.Params().Others, !math.IsNaN(g.Others()))
	require.True(t, g.Guarantee().Promises())
}

func FuzzRestorePrivateState(f *testing.F) {
	p := Params{Epsilon: 1, Delta: 1e-6, most: 1, KeysOnly: true, Others: true}
	b := dptest.OK(New[string](p))(f)
	b.AddUser([]string{"a", "b"})
	p = twice
	p.most = 2
	kept := dptest.OK(New[string](p))(f)
	valued(kept)(split(func(yield func(string, float64) bool) { _ = yield("a", 1) && yield("b", -1) }))
	give(kept, "b")
	spread := dptest.OK(New[string](percentiles))(f)
	spread.AddUserValues([]string{"a", "b"}, []float64{1, -2})
	p = percentiles
	p.Passes = 2
	sampled := dptest.OK(New[string](p))(f)
	sampled.AddUserValues([]string{"a", "b"}, []float64{1, -2})
	halves := dptest.OK(New[string](learning))(f)
	halves.AddUserValues([]string{"a", "b"}, []float64{1e9, -2})
	for _, b := range []*Builder[string]{b, kept, spread, sampled, halves} {
		before := dptest.OK(b.AppendPrivateState(nil))(f)
		f.Add(before)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, b := range []*Builder[string]{b, kept, spread, sampled, halves} {
			dptest.RestoresOrStays(t, b, data)
		}
	})
}
