package sparse

import (
	"encoding"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func sampleInts() *Vector[int64] {
	return &Vector[int64]{
		Law:    Law{Params{Epsilon: 0.5, Delta: 1e-9, MaxKeys: 16, MaxValue: 0.3, Stored: 64, Method: CorrelatedGaussian}, calibration{CorrelatedGaussian, 0x1p-18, 1e6, 3e5, 1, 12345678, 0}},
		values: []Entry[int64]{{Key: math.MinInt64, Steps: 12345678}, {Key: -1, Steps: 1 << 40}, {Key: math.MaxInt64, Steps: 12345679}},
	}
}

func samplePure() *Vector[uint64] {
	return &Vector[uint64]{
		Law:    Law{Params{Epsilon: 2, Dim: math.MaxUint64, FalseKeys: 0.5, Signed: true, Integers: true, Method: PureLaplace}, calibration{PureLaplace, 1, 0.5, 0, 1, 23, 0}},
		values: []Entry[uint64]{{Key: 0, Steps: -23}, {Key: math.MaxUint64 - 1, Steps: 1 << 61}},
	}
}

func sampleDense() *Vector[int32] {
	return &Vector[int32]{
		Law:    Law{Params{Epsilon: 2, Dim: 2, Method: DenseLaplace}, calibration{DenseLaplace, 0x1p-17, 65536.5, 0, 1, 0, 0}},
		values: []Entry[int32]{{Key: 0, Steps: -23}, {Key: 1, Steps: 0}},
	}
}

func sampleBeside() *Vector[int64] {
	return &Vector[int64]{
		Law:    Law{Params{Epsilon: 0.5, Delta: 1e-9, MaxKeys: 16, MaxValue: 3, Stored: 64, Integers: true, Beside: true, Method: CorrelatedGaussian}, calibration{CorrelatedGaussian, 0x1p-14, 1e6, 3e5, 1, 12345678, 8e5}},
		values: []Entry[int64]{{Key: -1, Steps: 1 << 40}},
		beside: -77,
	}
}

// samples are the objects of the golden files, by name.
func samples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{"words.hex": sample(), "ints.hex": sampleInts(), "pure.hex": samplePure(), "dense.hex": sampleDense(), "beside.hex": sampleBeside()}
}

func TestCodec(t *testing.T) {
	dptest.Codec[Vector[string]](t, sample(), dptest.DeepEqual)
	dptest.Codec[Vector[int64]](t, sampleInts(), dptest.DeepEqual)
	dptest.Codec[Vector[uint64]](t, samplePure(), dptest.DeepEqual)
	dptest.Codec[Vector[int32]](t, sampleDense(), dptest.DeepEqual)
	dptest.Codec[Vector[int64]](t, sampleBeside(), dptest.DeepEqual)
	data := dptest.OK(sampleInts().MarshalBinary())(t)
	require.Len(t, data, FixedSize+3*16)
}

// What a release gives, each mechanism's numbers included, decodes to the same vector.
func TestCodecOfReleases(t *testing.T) {
	single := []Params{{Epsilon: check.MinEpsilon, Delta: 1e-6, Dim: 2, MaxKeys: 2, Method: CorrelatedGaussian}}
	for _, users := range []int{1, 3} { // with one stored key, or so, there is no shared noise
		for _, stored := range []int{1, 2} {
			if (users == 1) != (stored == 1) && !dptest.Long() {
				continue
			}
			single = append(single, Params{Epsilon: 1, Delta: 1e-3, MaxKeys: users, Stored: stored},
				Params{Epsilon: 1, Delta: 1e-3, MaxKeys: users, Stored: stored, Method: CorrelatedGaussian},
				Params{Epsilon: 1, Delta: 1e-3, MaxKeys: users, Dim: uint64(stored), Integers: true, Method: CorrelatedGaussian})
		}
	}
	for i, p := range append(single, []Params{
		{Epsilon: 1, Delta: 1e-3}, {Epsilon: 1, Delta: 1e-3, Integers: true, Signed: true}, {Epsilon: 1, Dim: 1 << 30, FalseKeys: 9},
		{Epsilon: 1, Delta: 1e-3, MaxKeys: 40}, {Epsilon: 1, Delta: 1e-3, MaxKeys: 40, Stored: 40}, {Epsilon: 1, Dim: 5, Method: DenseLaplace},
		{Epsilon: 512, Dim: 9, Integers: true}, {Epsilon: 1e-3, Dim: 9, FalseKeys: 2}, {Epsilon: check.MinEpsilon, Delta: check.MinDelta}, {Epsilon: check.MaxEpsilon, Delta: 0.5, Integers: true},
		{Epsilon: 1, Delta: 1e-3, Sensitivity: math.Copysign(0, -1), FalseKeys: math.Copysign(0, -1)},
		besideParams(1, 1, 1e-3, Auto), besideParams(2, check.MaxEpsilon, 0.5, Laplace), besideParams(40, 1, 1e-3, Gaussian), besideParams(40, check.MinEpsilon, 1e-3, Auto),
	}...) {
		if i%3 > 0 && testing.Short() {
			continue
		}
		l, entries := lawOf(t, p), []Entry[int]{}
		for key := range 5 {
			if p.Dim == 0 || uint64(key) < p.Dim {
				entries = append(entries, Entry[int]{Key: key, Steps: int64(min(math.Ldexp(1/l.Step(), 20*key), MaxTotal))})
			}
		}
		v := Release(new(noise.Source), l, entries, 7, nil)
		w, size := dptest.RoundTrip(t, v, "%+v", p)
		require.Equal(t, v, w)
		bytes := FixedSize + 16*v.Len()
		if p.Beside {
			bytes += 16
		}
		require.Equal(t, bytes, size)
	}
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	dptest.GoldenDumps(t, samples())
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sample, sample, map[string]func(*Vector[string]){
		"value below the threshold": func(v *Vector[string]) { v.values[0].Steps = 29 },
		"negative without sign":     func(v *Vector[string]) { v.params.Signed = false },
		"least integer":             func(v *Vector[string]) { v.values[0].Steps = math.MinInt64 },
		"keys out of order":         func(v *Vector[string]) { v.values[0], v.values[1] = v.values[1], v.values[0] },
		"key twice":                 func(v *Vector[string]) { v.values[1].Key = "" },
		"no mechanism":              func(v *Vector[string]) { v.params.Method = Auto },
		"unknown mechanism":         func(v *Vector[string]) { v.params.Method = LastMethod + 1 },
		"pure without Dim":          func(v *Vector[string]) { v.params.Method = PureLaplace },
		"a list with δ":             func(v *Vector[string]) { v.params.Listed = true },
		"Dim for strings":           func(v *Vector[string]) { v.params.Dim = 5 },
		"no δ":                      func(v *Vector[string]) { v.params.Delta = 0; v.params.Dim = 5 },
		"relation without users":    func(v *Vector[string]) { v.params.Relation = budget.Replace },
		"Gaussian without users":    func(v *Vector[string]) { v.params.Method, v.numbers.from = Gaussian, 1 },
		"Laplace of any real keys":  func(v *Vector[string]) { v.params.Method, v.numbers.from = Laplace, 1 },
		"bad epsilon":               func(v *Vector[string]) { v.params.Epsilon = math.NaN() },
		"negative zero":             func(v *Vector[string]) { v.params.Sensitivity = math.Copysign(0, -1) },
		"step":                      func(v *Vector[string]) { v.numbers.step = 0.75 },
		"negative step":             func(v *Vector[string]) { v.numbers.step = -0.5 },
		"infinite step":             func(v *Vector[string]) { v.numbers.step = math.Inf(1) },
		"no noise":                  func(v *Vector[string]) { v.numbers.scale = 0 },
		"too much noise":            func(v *Vector[string]) { v.numbers.scale = 0x1p49 },
		"shared noise":              func(v *Vector[string]) { v.numbers.shared = 1 },
		"NaN":                       func(v *Vector[string]) { v.numbers.shared = math.NaN() },
		"no R":                      func(v *Vector[string]) { v.numbers.from = 0 },
		"R at the threshold":        func(v *Vector[string]) { v.numbers.from = 30 },
		"no threshold":              func(v *Vector[string]) { v.numbers.threshold = 0 },
		"value too large":           func(v *Vector[string]) { v.values[4].Steps = 1<<62 + 1 },
		"threshold too large":       func(v *Vector[string]) { v.numbers.threshold = MaxTotal },
	})
	dense := sampleDense()
	dense.values = dense.values[:1]
	data, _ := dense.MarshalBinary()
	require.ErrorIs(t, new(Vector[int32]).UnmarshalBinary(data), check.ErrFormat, "not all keys")
	pure := samplePure()
	pure.params.Dim--
	data, _ = pure.MarshalBinary()
	require.ErrorIs(t, new(Vector[uint64]).UnmarshalBinary(data), check.ErrFormat, "a key outside Dim")
	words, _ := sample().MarshalBinary()
	require.ErrorIs(t, new(Vector[int]).UnmarshalBinary(words), check.ErrFormat, "another key type")
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	tryDecode[string](t, data)
	tryDecode[int64](t, data)
	tryDecode[uint32](t, data)
}

// tryDecode checks that every method works on what decodes.
func tryDecode[K string | int64 | uint32](t *testing.T, data []byte) {
	v := dptest.Decoded[Vector[K]](t, data)
	if v == nil {
		return
	}
	for key, x := range v.All() {
		lo, hi := v.Interval(key, 0.9)
		require.True(t, lo <= hi && x == v.Estimate(key), "%v: %v not in [%v, %v]", key, x, lo, hi)
	}
	var absent K
	require.False(t, math.IsNaN(v.Estimate(absent)))
	for _, confidence := range []float64{0, 0.999999999, 1 - 0x1p-53} {
		lo, hi := v.Interval(absent, confidence)
		require.True(t, lo <= hi, "[%v, %v]", lo, hi)
		require.GreaterOrEqual(t, v.ErrorBound(v.Len(), confidence), 0.0)
		require.GreaterOrEqual(t, v.ErrorBound(math.MaxInt, confidence), 0.0)
	}
	require.GreaterOrEqual(t, v.StdDev(), 0.0) // 0 where it underflows
	require.False(t, math.IsNaN(v.Threshold()))
	require.True(t, v.Guarantee().Promises())
}
