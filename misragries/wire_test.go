package misragries

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// sample is one small release and the name of its golden file.
type sample struct {
	name string
	h    *Histogram[int]
}

var inputNames = []string{"onestream", "givencounters", "merged", "summed", "users"}

// samples returns a release for every mechanism of every input, by the same randomness each time.
func samples(t testing.TB) (all []sample) {
	eachPath(func(_ string, in input, m Method, p Params) {
		p.MaxLength = 170
		if in != users && in != merged && !mechanisms[m].top {
			p.MaxElements, p.Delta = 2, 0.25
		}
		r := fill(t, in, p, repeat(90, 0, 80))
		if tt, ok := t.(*testing.T); ok {
			cryptotest.SetGlobalRandom(tt, 1234)
		}
		h := dptest.OK(r.Release())(t)
		all = append(all, sample{strings.ToLower(fmt.Sprintf("%s-%v.hex", inputNames[in], m)), h})
	})
	return all
}

func TestCodecOfEveryPath(t *testing.T) {
	for i, s := range samples(t) {
		if !dptest.Long() && i%6 != 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) { dptest.Codec[Histogram[int]](t, s.h, dptest.DeepEqual) })
	}
	// No keys, and all of them.
	p := Params{Counters: 4, Epsilon: 1, Delta: 1e-3}
	dptest.Codec(t, draw(t, summed, p, nil), func(a, b *Histogram[int]) bool { return a.String() == b.String() })
	p.Dim, p.Method = 3, PureUniverse
	h := draw(t, oneStream, p, repeat(3))
	require.Equal(t, 3, h.Len())
	require.True(t, math.IsInf(h.threshold(), -1))
	dptest.Codec[Histogram[int]](t, h, dptest.DeepEqual)
}

// A decoded histogram answers as the released one does.
func TestDecodedAnswers(t *testing.T) {
	for _, s := range samples(t) {
		back, _ := dptest.RoundTrip(t, s.h, s.name)
		require.Equal(t, s.h.String(), back.String())
		for _, key := range []int{0, 1, 2, 77} {
			lo, hi := s.h.Interval(key, 0.9)
			lo2, hi2 := back.Interval(key, 0.9)
			require.Equal(t, [3]float64{s.h.Estimate(key), lo, hi}, [3]float64{back.Estimate(key), lo2, hi2})
		}
		require.Equal(t, s.h.DetectionLimit(0.9), back.DetectionLimit(0.9))
	}
}

// What is written today can be read by every later version.
func TestGoldenFilesOfEveryPath(t *testing.T) {
	for _, s := range samples(t) {
		data := dptest.OK(s.h.MarshalBinary())(t)
		dptest.Store(t, s.name, hex.Dump(data))
		golden := undump(t, dptest.Stored(t, s.name))
		h := dptest.Decoded[Histogram[int]](t, golden)
		require.NotNil(t, h, s.name)
		// Calibration may differ in the last bit on other platforms, and draws with it, so
		// what is compared is the layout.
		require.Equal(t, s.h.Params(), h.Params())
		require.Equal(t, data[:54], golden[:54], "%s: the encoding changed", s.name)
	}
}

// undump reads what hex.Dump wrote.
func undump(t testing.TB, dump string) (data []byte) {
	for line := range strings.Lines(dump) {
		text := strings.ReplaceAll(line[8:min(58, len(line))], " ", "")
		part := dptest.OK(hex.DecodeString(text))(t)
		data = append(data, part...)
	}
	return data
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidPaths(t *testing.T) {
	byName := map[string]*Histogram[int]{}
	for _, s := range samples(t) {
		byName[strings.TrimSuffix(s.name, ".hex")] = s.h
	}
	for name, c := range map[string]struct {
		from  string
		spoil func(h *Histogram[int])
	}{
		"a merged sketch by KeptZeros":       {"onestream-keptzeros", func(h *Histogram[int]) { h.calibration.input = merged }},
		"a sum by KeptZeros":                 {"onestream-keptzeros", func(h *Histogram[int]) { h.calibration.input = summed }},
		"given counters with zeros":          {"onestream-keptzeros", func(h *Histogram[int]) { h.calibration.input = givenCounters }},
		"given counters with decrements":     {"givencounters-freedzeros", func(h *Histogram[int]) { h.lost = 1 }},
		"a length without noise":             {"summed-reducedsum", func(h *Histogram[int]) { h.calibration.lost = 0 }},
		"half the noise of the length":       {"summed-reducedsum", func(h *Histogram[int]) { h.calibration.lost /= 2 }},
		"a length of given counters":         {"givencounters-reducedsum", func(h *Histogram[int]) { h.calibration.lost = 100 }},
		"a length of a negative scale":       {"summed-reducedsum", func(h *Histogram[int]) { h.calibration.lost = -h.calibration.lost }},
		"noise of W":                         {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.lost = 100 }},
		"W below 0":                          {"summed-trimmedsum", func(h *Histogram[int]) { h.lost = -1 }},
		"W above 2⁶²":                        {"summed-trimmedsum", func(h *Histogram[int]) { h.lost = 1<<62 + 1 }},
		"W that is not known":                {"summed-trimmedsum", func(h *Histogram[int]) { h.known = false }},
		"W of given counters":                {"givencounters-trimmedsum", func(h *Histogram[int]) { h.known = true }},
		"no W of one stream":                 {"onestream-trimmedsum", func(h *Histogram[int]) { h.known, h.lost = false, 0 }},
		"D that is not known":                {"onestream-keptzeros", func(h *Histogram[int]) { h.known, h.lost = false, 0 }},
		"the whole ε for a length":           {"summed-reducedsum", func(h *Histogram[int]) { h.known = false }},
		"no such input":                      {"onestream-keptzeros", func(h *Histogram[int]) { h.calibration.input = lastInput + 1 }},
		"no sketches":                        {"summed-reducedsum", func(h *Histogram[int]) { h.sketches = 0 }},
		"a negative number of sketches":      {"summed-reducedsum", func(h *Histogram[int]) { h.sketches = -1 }},
		"two sketches of one stream":         {"onestream-reducedsum", func(h *Histogram[int]) { h.sketches = 2 }},
		"MaxElements beyond its limit":       {"onestream-keptzeros", func(h *Histogram[int]) { h.params.MaxElements = maxElements + 1 }},
		"no MaxElements for users":           {"users-keptzeros", func(h *Histogram[int]) { h.params.MaxElements = 0 }},
		"more MaxElements than counters":     {"users-keptzeros", func(h *Histogram[int]) { h.params.MaxElements = 5 }},
		"more keys of users than counters":   {"users-sparsevector", func(h *Histogram[int]) { h.params.MaxElements = 5 }},
		"a group too large for its noise":    {"onestream-keptzeros", func(h *Histogram[int]) { h.params.MaxElements = 200 }},
		"a count below the threshold":        {"summed-trimmedsum", func(h *Histogram[int]) { h.counts[0].Count = h.calibration.Threshold - 1 }},
		"keys out of order":                  {"summed-trimmedsum", func(h *Histogram[int]) { slices.Reverse(h.counts) }},
		"a key outside Dim":                  {"onestream-pureuniverse", func(h *Histogram[int]) { h.counts[3].Key = 1000 }},
		"a negative key":                     {"onestream-pureuniverse", func(h *Histogram[int]) { h.counts[0].Key = -1 }},
		"a key too few":                      {"onestream-pureuniverse", func(h *Histogram[int]) { h.counts = h.counts[1:] }},
		"a universe without Dim":             {"onestream-pureuniverse", func(h *Histogram[int]) { h.params.Dim = 0 }},
		"a universe of 2⁶³ + 1 integers":     {"onestream-pureuniverse", func(h *Histogram[int]) { h.params.Dim = 1<<63 + 1 }},
		"a universe with a threshold":        {"onestream-pureuniverse", func(h *Histogram[int]) { h.calibration.Threshold = 1 }},
		"a universe with rounding":           {"onestream-pureuniverse", func(h *Histogram[int]) { h.calibration.From = 1 }},
		"a shift where there is none":        {"onestream-pureuniverse", func(h *Histogram[int]) { h.calibration.Shift = 3 }},
		"an offset where there is none":      {"summed-reducedsum", func(h *Histogram[int]) { h.calibration.Offset = 3 }},
		"no shift":                           {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Shift = 0 }},
		"a negative offset":                  {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Offset = -1 }},
		"no rounding":                        {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.From = 0 }},
		"rounding above the threshold":       {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.From = h.calibration.Threshold }},
		"no threshold":                       {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Threshold = 0 }},
		"no noise":                           {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Scale = 0 }},
		"infinite noise":                     {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Scale = math.Inf(1) }},
		"NaN for a shift":                    {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Shift = math.NaN() }},
		"δ = 0 with a threshold":             {"onestream-freedzeros", func(h *Histogram[int]) { h.params.Delta = 0 }},
		"half the noise of FreedZeros":       {"onestream-freedzeros", func(h *Histogram[int]) { h.calibration.Scale /= 2 }},
		"half the noise of a universe":       {"onestream-pureuniverse", func(h *Histogram[int]) { h.calibration.Scale /= 2 }},
		"half the noise of a shifted sum":    {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Scale /= 2 }},
		"half the offset of a sum":           {"summed-trimmedsum", func(h *Histogram[int]) { h.calibration.Offset /= 2 }},
		"a sum for a smaller δ":              {"summed-reducedsum", func(h *Histogram[int]) { h.params.Delta = 1e-9 }},
		"a group that leaves no δ":           {"summed-reducedsum", func(h *Histogram[int]) { h.params.Epsilon, h.params.Delta, h.params.MaxElements = 1000, 1e-100, 2 }},
		"a vector for fewer counters":        {"merged-sparsevector", func(h *Histogram[int]) { h.params.Counters = 3 }},
		"a vector for more counters":         {"merged-sparsevector", func(h *Histogram[int]) { h.params.Counters = 5 }},
		"a vector of another ε":              {"merged-sparsevector", func(h *Histogram[int]) { h.params.Epsilon = 0.5 }},
		"a vector of another δ":              {"users-sparsevector", func(h *Histogram[int]) { h.params.Delta = 0.01 }},
		"a vector of one element for groups": {"merged-sparsevector", func(h *Histogram[int]) { h.params.MaxElements = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			original, found := byName[c.from]
			require.True(t, found)
			h := *original
			h.counts = slices.Clone(h.counts)
			c.spoil(&h)
			data := dptest.OK(h.MarshalBinary())(t)
			var back Histogram[int]
			require.ErrorIs(t, back.UnmarshalBinary(data), ErrFormat)
			require.Equal(t, Histogram[int]{}, back)
		})
	}
	for m := range 256 { // only the one that it is
		data := dptest.OK(byName["onestream-keptzeros"].MarshalBinary())(t)
		data[9] = byte(m)
		require.Equal(t, Method(m) != KeptZeros, new(Histogram[int]).UnmarshalBinary(data) != nil, m)
	}
	// Of any other input than the one it is for, a mechanism is not valid.
	for _, s := range samples(t) {
		h := *s.h
		for in := range lastInput + 2 {
			h.calibration.input = in
			data := dptest.OK(h.MarshalBinary())(t)
			if in > lastInput || !slices.Contains(possible[in], h.params.Method) {
				require.ErrorIs(t, new(Histogram[int]).UnmarshalBinary(data), ErrFormat, "%s as %v", s.name, in)
			}
		}
	}
}

// A decoder holds the Dim of a sum against the type of its keys as NewSum does, whatever keys were
// released.
func TestDecodeChecksDim(t *testing.T) {
	for dim, fits := range map[uint64]bool{0: true, 1 << 32: true, 1<<32 + 1: false, math.MaxUint64: false} {
		p := Params{Counters: 4, Epsilon: 1, Delta: 0.05, Dim: dim}
		s := dptest.OK(NewSum[uint64](p))(t)
		h := dptest.OK(s.Release())(t)
		data := dptest.OK(h.MarshalBinary())(t)
		require.NoError(t, new(Histogram[uint64]).UnmarshalBinary(data))
		err := new(Histogram[uint32]).UnmarshalBinary(data)
		if fits {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrFormat)
		}
		_, err = NewSum[uint32](p)
		require.Equal(t, fits, err == nil)
	}
}
