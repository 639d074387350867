package arete

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
)

// samples are fixed values of each law, not released: the layout does not hang on a calibration.
func samples() map[string]*Value {
	return map[string]*Value{
		"jump.hex": {
			params: Params{Epsilon: 3, Sensitivity: 0.5, Relation: budget.Replace, Law: Jump},
			noise:  distribution{law: Jump, size: 29, copies: 1, jump: jump{29, 20, 34, 0.342, 1 << 60, 1 << 60}},
			point:  -77, parties: 1, need: 1,
		},
		"arete.hex": {
			params: Params{Epsilon: 8, Law: DiscreteArete, Parties: 1000},
			noise:  distribution{law: DiscreteArete, size: 195, copies: 1, arete: discrete{195, 0.0198, 156.25, 5}},
			point:  1 << 40, shared: true, parties: 1000, need: 900,
		},
		"jumpalone.hex": {
			params: Params{Epsilon: 3, Objective: MeanSquare, Law: Jump, Integers: true, Sensitivity: 5},
			noise:  distribution{law: Jump, size: 5, copies: 1, jump: jump{5, 0, 5, 0.475, 936963127260479488, 936964226772107264}},
			point:  8, shared: true, parties: 5, need: 3,
		},
		"laplace.hex": {
			params: Params{Epsilon: 2, Sensitivity: 4, Integers: true, Law: DiscreteLaplace},
			noise:  distribution{law: DiscreteLaplace, size: 4, copies: 1, scale: 2},
			point:  12, parties: 1, need: 1,
		},
		"gaussian.hex": {
			params: Params{Epsilon: 1, Delta: 1e-6, Law: Gaussian},
			noise:  distribution{law: Gaussian, size: 1 << 14, copies: 1, scale: 70000},
			point:  -12345, shared: true, parties: 10, need: 8,
		},
		"rho.hex": {
			params: Params{Rho: 0.5, Sensitivity: 3, Integers: true, Law: Gaussian},
			noise:  distribution{law: Gaussian, size: 3 << 15, copies: 1, scale: 98305},
			point:  5 << 15, parties: 1, need: 1,
		},
		"prime.hex": {
			params: Params{Epsilon: 1, Sensitivity: 10, Integers: true, Law: DiscreteLaplace, Modulus: prio3},
			noise:  distribution{law: DiscreteLaplace, size: 10, copies: 1, scale: 10},
			point:  -5, shared: true, parties: 2, need: 1,
		},
	}
}

func TestCodec(t *testing.T) {
	dptest.GoldenDumps(t, samples())
	for _, v := range samples() {
		dptest.Codec[Value](t, v, dptest.DeepEqual)
	}
}

func TestCodecOfReleases(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1}, {Epsilon: 3, Sensitivity: 7}, {Epsilon: 6, Law: DiscreteArete}, {Epsilon: 4, Integers: true, Sensitivity: 5}, {Epsilon: check.MinEpsilon},
		{Epsilon: check.MaxEpsilon, Integers: true, Sensitivity: 9}, {Epsilon: 2, Sensitivity: math.Copysign(0, -1)}, {Epsilon: check.MinEpsilon, Integers: true, Sensitivity: check.MaxInteger},
		{Epsilon: 50, Integers: true, Sensitivity: 3, Law: DiscreteArete}, {Epsilon: check.MaxEpsilon, Law: DiscreteLaplace, Integers: true},
		{Epsilon: 4, Parties: 1000}, {Epsilon: 4, Objective: MeanSquare}, {Epsilon: 36, Parties: maxParties}, {Epsilon: 1, Delta: 1e-9, Law: Gaussian, Parties: maxParties}, {Rho: check.MaxRho}, {Rho: check.MinRho, Integers: true, Sensitivity: check.MaxInteger}, {Rho: 1, Integers: true, Sensitivity: 7, Delta: math.Copysign(0, -1)},
		{Epsilon: 1, Modulus: prio3}, {Epsilon: 1, Integers: true, Modulus: 11}, {Epsilon: 3, Integers: true, Modulus: 1 << 32}, {Epsilon: 3, Modulus: math.MaxUint64},
		{Epsilon: check.MinEpsilon, Delta: check.MinDelta, Law: Gaussian}, {Epsilon: check.MaxEpsilon, Delta: maxDelta, Law: Gaussian, Sensitivity: check.MinReal},
	} {
		m := dptest.OK(New(p))(t)
		s := dptest.OK(m.Share(4, 1))(t)
		sum := dptest.OK(s.Sum(math.MinInt64, 4))(t)
		single := dptest.OK(m.Release(12))(t)
		for _, v := range []*Value{single, sum} {
			w, size := dptest.RoundTrip(t, v, "%+v", p)
			require.Equal(t, v, w)
			require.Equal(t, v.String(), w.String())
			require.Equal(t, 118, size)
		}
	}
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	for name, spoil := range map[string]func(j, a, l, g *Value){
		"no law":         func(j, a, l, g *Value) { j.params.Law = Auto },
		"unknown law":    func(j, a, l, g *Value) { j.params.Law = 9 },
		"another law":    func(j, a, l, g *Value) { l.params.Law = Jump },
		"epsilon":        func(j, a, l, g *Value) { j.params.Epsilon = math.NaN() },
		"negative zero":  func(j, a, l, g *Value) { a.params.Sensitivity = math.Copysign(0, -1) },
		"half integer":   func(j, a, l, g *Value) { l.params.Sensitivity = 3.5 },
		"relation":       func(j, a, l, g *Value) { j.params.Relation = 3 },
		"no parties":     func(j, a, l, g *Value) { j.parties = 0 },
		"too few":        func(j, a, l, g *Value) { a.parties = 899 },
		"too many":       func(j, a, l, g *Value) { a.parties = maxParties + 1 },
		"point":          func(j, a, l, g *Value) { a.point = math.MaxInt64 },
		"no steps":       func(j, a, l, g *Value) { a.noise.size = 0 },
		"many steps":     func(j, a, l, g *Value) { a.noise.size = 1 << 50 },
		"core":           func(j, a, l, g *Value) { j.noise.jump.core = math.Inf(1) },
		"negative core":  func(j, a, l, g *Value) { j.noise.jump.core = math.Copysign(0, -1) },
		"width":          func(j, a, l, g *Value) { j.noise.jump.width = 0 },
		"jumps":          func(j, a, l, g *Value) { j.noise.jump.jumps = math.NaN() },
		"no tail":        func(j, a, l, g *Value) { j.noise.jump.again = 0 },
		"only tail":      func(j, a, l, g *Value) { j.noise.jump.beyond = math.MaxUint64 },
		"shape":          func(j, a, l, g *Value) { a.noise.arete.shape = 1.5 },
		"scales crossed": func(j, a, l, g *Value) { a.noise.arete.core = 200 },
		"no noise":       func(j, a, l, g *Value) { l.noise.scale = 0 },
		"not shared":     func(j, a, l, g *Value) { a.shared = false },
		"too steep":      func(j, a, l, g *Value) { j.noise.jump.again = 1 << 59 },
		"less tail":      func(j, a, l, g *Value) { a.noise.arete.tail = 24 },
		"less noise":     func(j, a, l, g *Value) { l.noise.scale = 1.999 },
		"less normal":    func(j, a, l, g *Value) { g.noise.scale = 69000 },
		"coarse shares":  func(j, a, l, g *Value) { g.noise.size, g.noise.scale, g.need, g.parties = 1, 4.273, 1000, 1000 },
		"delta":          func(j, a, l, g *Value) { g.params.Delta = 1e-9 },
		"many parties":   func(j, a, l, g *Value) { a.params.Parties = maxParties + 1 },
		"no delta":       func(j, a, l, g *Value) { g.params.Delta = 0 },
		"negative zeros": func(j, a, l, g *Value) { g.params.Rho = math.Copysign(0, -1) },
		"pure delta":     func(j, a, l, g *Value) { l.params.Delta = 1e-9 },
		"modulus of two": func(j, a, l, g *Value) { l.params.Modulus = 2 },
		"tight modulus":  func(j, a, l, g *Value) { g.params.Modulus = 20 << 14 },
		"beyond modulus": func(j, a, l, g *Value) { g.params.Modulus, g.point = 20<<14+1, 10<<14+1 },
	} {
		s := samples()
		j, a, l, g := s["jump.hex"], s["arete.hex"], s["laplace.hex"], s["gaussian.hex"]
		spoil(j, a, l, g)
		rejected := 0
		for original, v := range s {
			before := dptest.OK(samples()[original].MarshalBinary())(t)
			data := dptest.OK(v.MarshalBinary())(t)
			if string(before) == string(data) {
				continue
			}
			require.ErrorIs(t, new(Value).UnmarshalBinary(data), ErrFormat, name)
			rejected++
		}
		require.Equal(t, 1, rejected, name)
	}
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	v := dptest.Decoded[Value](t, data)
	if v == nil {
		return
	}
	for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
		lo, hi := v.Interval(confidence)
		require.True(t, lo <= v.Estimate() && v.Estimate() <= hi, "%v not in [%v, %v]", v.Estimate(), lo, hi)
	}
	require.NotContains(t, v.String(), "NaN")
	require.GreaterOrEqual(t, v.StdDev(), 0.0)
	present, needed := v.Parties()
	require.True(t, 1 <= needed && needed <= present)
	require.True(t, v.Guarantee().Promises())
}
