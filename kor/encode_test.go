package kor

import (
	"encoding"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func id(b byte) hashing.Seed { return hashing.Seed{b, 1, 2, 3} }

// k returns the least k of an ε that a decoder accepts, with room for the rounding of another
// machine.
func k(epsilon float64) uint64 { return uint64(0x1p64/(math.Exp(epsilon)+1)) + 1<<20 }

func sampleCounted() *Sketch {
	return &Sketch{release{
		params:  Params{Epsilon: 1, Cells: 70, Levels: 3, Seed: id(9), CountShare: 0.25},
		parts:   []part{{id(1), 1, k(0.75), 1}},
		bits:    []uint64{1, 2, 3, 4, math.MaxUint64, 63},
		counted: true, count: -123456789,
	}}
}

func sampleMerged() *Sketch {
	return &Sketch{release{
		params: Params{Epsilon: 2, Cells: 64, Levels: 4, Seed: id(8)},
		parts:  []part{{id(1), 2, k(2), 1}, {id(2), 0.5, k(0.5), 1}, {id(7), 1, 1 << 61, 3}},
		bits:   []uint64{math.MaxUint64, 0, 5, 1 << 63},
	}}
}

func sampleEmpty() *Sketch {
	return &Sketch{release{params: Params{Epsilon: 2, Cells: 5, Levels: 2, Seed: id(8)}, parts: []part{}, bits: make([]uint64, 2)}}
}

func sampleStream() *StreamSketch {
	return &StreamSketch{release{
		params: Params{Epsilon: 3, Cells: 3, Levels: 2, Seed: id(5)}, stream: true,
		parts: []part{{id(1), 3, uint64(0x1p63*math.Exp(-3)) + 1<<20, 1}}, bits: []uint64{7, 1},
	}}
}

// samples are the objects of the golden files, by name.
func samples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{
		"counted.hex": sampleCounted(), "merged.hex": sampleMerged(), "empty.hex": sampleEmpty(), "stream.hex": sampleStream(),
	}
}

func TestCodec(t *testing.T) {
	dptest.Codec[Sketch](t, sampleCounted(), same)
	dptest.Codec[Sketch](t, sampleMerged(), same)
	dptest.Codec[Sketch](t, sampleEmpty(), same)
	dptest.Codec(t, sampleStream(), func(a, b *StreamSketch) bool { return a.equal(&b.release) })
	data := dptest.OK(sampleCounted().MarshalBinary())(t)
	require.Len(t, data, sampleCounted().Params().size())
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	dptest.GoldenDumps(t, samples())
}

// Where a key goes is part of the format too: parties with different versions must meet.
func TestGoldenPlaces(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 1000, Levels: 8, Seed: hashing.Seed{1, 2, 3}}
	b := dptest.OK(New(p))(t)
	for key := range uint64(300) {
		b.ToggleWeighted(key*key*key, 1/float64(1+key%5))
	}
	dptest.Golden(t, "places.hex", hex.Dump(sets.AppendTable(nil, held(b.secret).table)))
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sampleCounted, sampleMerged, map[string]func(*Sketch){
		"bad epsilon":         func(s *Sketch) { s.params.Epsilon = math.NaN() },
		"no cells":            func(s *Sketch) { s.params.Cells = 0 },
		"other cells":         func(s *Sketch) { s.params.Cells = 130 },
		"no levels":           func(s *Sketch) { s.params.Levels = 0 },
		"65 levels":           func(s *Sketch) { s.params.Levels = 65 },
		"zero seed":           func(s *Sketch) { s.params.Seed = hashing.Seed{} },
		"share":               func(s *Sketch) { s.params.CountShare = 1 },
		"negative zero":       func(s *Sketch) { s.params.CountShare, s.counted, s.count = math.Copysign(0, -1), false, 0 },
		"count without share": func(s *Sketch) { s.params.CountShare = 0 },
		"count without flag":  func(s *Sketch) { s.counted = false },
		"count of less ε":     func(s *Sketch) { s.parts[0].epsilon /= 2 },
		"bits of all ε": func(s *Sketch) {
			s.parts[0].k = mustFlips(t, Params{Epsilon: s.params.Epsilon, Cells: 1, Levels: 1, Seed: s.params.Seed}).K()
		},
		"huge count":            func(s *Sketch) { s.count = math.MinInt64 },
		"two releases, a count": func(s *Sketch) { s.parts = append(s.parts, part{id(2), 1, k(0.75), 1}) },
		"order": func(s *Sketch) {
			s.parts = []part{{id(2), 1, k(1), 1}, {id(1), 1, k(1), 1}}
			s.counted, s.count = false, 0
		},
		"twice": func(s *Sketch) {
			s.parts = []part{{id(2), 1, k(1), 1}, {id(2), 1, k(1), 1}}
			s.counted, s.count = false, 0
		},
		"too little noise":      func(s *Sketch) { s.parts[0].k = k(1.001) },
		"no noise":              func(s *Sketch) { s.parts[0].k = 0 },
		"half":                  func(s *Sketch) { s.parts[0].k = 1 << 63 },
		"no flips":              func(s *Sketch) { s.parts[0].flips = 0 },
		"a part of more ε":      func(s *Sketch) { s.parts[0].epsilon = 1.5 },
		"a part of ε = NaN":     func(s *Sketch) { s.parts[0].epsilon = math.NaN() },
		"padding":               func(s *Sketch) { s.bits[1] |= 64 },
		"no parts but bits":     func(s *Sketch) { s.parts, s.counted, s.count = nil, false, 0 },
		"a stream with a share": func(s *Sketch) { s.stream = true },
	})
	dptest.Spoiled(t, sampleMerged, sampleCounted, map[string]func(*Sketch){
		"too little noise":    func(s *Sketch) { s.parts[0].k = k(2.001) },
		"more than the whole": func(s *Sketch) { s.params.Epsilon = 1.5 },
	})
	words, _ := sampleStream().MarshalBinary()
	require.ErrorIs(t, new(Sketch).UnmarshalBinary(words), ErrFormat)
	words, _ = sampleMerged().MarshalBinary()
	require.ErrorIs(t, new(StreamSketch).UnmarshalBinary(words), ErrFormat)
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	if s := dptest.Decoded[Sketch](t, data); s != nil {
		usable(t, &s.release, s.String())
		c := dptest.OK(Compare(s, s))(t)
		for place := range c.Parts {
			sized(t, c.part(place))
		}
		require.NotContains(t, c.String(), "NaN")
		sized(t, s.Total())
	}
	if u := dptest.Decoded[StreamSketch](t, data); u != nil {
		usable(t, &u.release, u.String())
		_, err := CompareStreams(u, u) // streams with common randomness
		require.ErrorIs(t, err, ErrMismatch)
	}
}

// sized checks that every method of a Cardinality works.
func sized(t *testing.T, c Cardinality) {
	require.False(t, math.IsNaN(c.Estimate()))
	require.GreaterOrEqual(t, c.StdErr(), 0.0)
	require.NotContains(t, c.String(), "NaN")
	for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
		lo, hi := c.Interval(confidence)
		require.True(t, lo >= 0 && lo <= hi, "[%v, %v]", lo, hi)
	}
}

// usable checks that every method works on what decodes.
func usable(t *testing.T, s *release, text string) {
	e := s.Estimate()
	require.False(t, math.IsNaN(e) || math.IsInf(e, 0))
	require.False(t, math.IsNaN(s.StdErr()))
	q := s.flipProb()
	require.True(t, q >= 0 && q <= 0.5)
	for _, confidence := range []float64{0, 0.5, 0.99, 1 - 0x1p-53} {
		lo, hi := s.Interval(confidence)
		require.True(t, lo >= 0 && lo <= hi, "[%v, %v]", lo, hi)
	}
	require.NotContains(t, text, "NaN")
	require.Equal(t, s.Releases() == 0, s.Guarantee() == budget.Guarantee{}, "nothing is promised where nothing is shown")
	require.Equal(t, s.Releases() == 0, s.PartyGuarantee() == budget.Guarantee{})
}
