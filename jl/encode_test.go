package jl

import (
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/calibrated"
)

// sample is a sum of two releases.
func sample() *Sketch {
	p := Params{Dim: math.MaxUint64, Rows: 4, Sparsity: 2, Seed: hashing.Seed{1, 15: 9}, Epsilon: 1.5, Change: L1(2),
		Noise: Laplace}
	return &Sketch{params: p, step: 0x1p-20, values: []int64{0, -1, 1 << 40, -maxValue}, terms: []term{
		{identity{9}, 1.5, 0, 0, onGrid(inSteps(Laplace, 3e6), 0x1p-20), false},
		{identity{1, 7}, 0, 0, 0.25, onGrid(inSteps(Gaussian, 1e6), 0x1p-20), false},
	}, releases: []identity{{1, 7}, {9}}}
}

func samples() map[string]*Sketch {
	integers := sample()
	integers.params.Integers, integers.params.Noise, integers.step = true, DiscreteLaplace, 1
	integers.terms = []term{{identity{3}, 1.5, 0, 0, inSteps(DiscreteLaplace, 2.5), false}}
	integers.releases = []identity{{3}}
	fjlt := sample()
	fjlt.params = Params{Transform: FJLT, Dim: 33, Rows: 4, Seed: hashing.Seed{7}, Rho: 0.5, Change: L2(0),
		Noise: Gaussian, Input: true}
	fjlt.terms = []term{{identity{4}, 0, 0, 0.5, onGrid(inSteps(Gaussian, 1e6), 0x1p-20), true}}
	fjlt.releases = []identity{{4}}
	row := sample()
	row.params.Sparsity, row.params.Noise, row.params.Change = 1, Staircase, OneCoordinate(2)
	row.terms = []term{{identity{5}, 1.5, 0, 0, calibrated.Noise{Kind: calibrated.Staircase, Scale: 3e6 * 0x1p-20, Shape: 1.5, Step: 0x1p-20}, false}}
	row.releases = []identity{{5}}
	return map[string]*Sketch{"sum.hex": sample(), "integers.hex": integers, "fjlt.hex": fjlt, "row.hex": row}
}

func TestCodec(t *testing.T) {
	for _, s := range samples() {
		dptest.Codec[Sketch](t, s, dptest.DeepEqual)
	}
}

// What a release gives decodes to the same sketch, for every transform and kind of noise.
func TestCodecOfReleases(t *testing.T) {
	for name, p := range noisy() {
		p.Seed, p.Change.size = seed(1), math.Copysign(0, -1)
		b := dptest.OK(New(p))(t)
		b.Add(3, 17)
		s := dptest.OK(b.Release())(t)
		d, size := dptest.RoundTrip(t, s, name)
		require.Equal(t, planned(p).Bytes, size)
		require.Equal(t, s, d, name)
		require.Equal(t, s.SquaredNorm(), d.SquaredNorm())
	}
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	dptest.GoldenDumps(t, samples())
}

// The transforms are fixed too: parties with different versions and machines have the same matrix.
func TestGoldenTransforms(t *testing.T) {
	var b strings.Builder
	for _, p := range []Params{
		{Dim: 1 << 40, Rows: 30, Sparsity: 3}, {Dim: 1 << 40, Rows: 64, Transform: Rademacher}, {Dim: 20, Rows: 8,
			Transform: SRHT}, {Dim: 20, Rows: 8, Transform: FJLT},
		{Dim: 20, Rows: 8, Transform: Normal},
	} {
		p.Seed = hashing.Seed{1, 2, 3}
		m := p.newMatrix()
		for _, j := range []uint64{0, 7, 19} {
			column := make([]int64, p.Rows)
			if c, ok := m.(columns); ok {
				rows := make([]fixed, p.Rows)
				c.add(rows, j, fixed{whole: 1})
				for i, v := range rows {
					column[i] = v.whole
				}
			} else {
				x := make([]int64, p.Dim)
				x[j] = 1
				column = apply(m, x)
			}
			for _, v := range column {
				b.WriteString(" ")
				b.WriteString(strconv.FormatInt(v, 10))
			}
			b.WriteString("\n")
		}
	}
	dptest.Golden(t, "transforms.txt", b.String())
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sample, sample, map[string]func(*Sketch){
		"bad epsilon":        func(s *Sketch) { s.params.Epsilon = math.NaN() },
		"another epsilon":    func(s *Sketch) { s.params.Epsilon = 2 },
		"no seed":            func(s *Sketch) { s.params.Seed = hashing.Seed{} },
		"Dim":                func(s *Sketch) { s.params.Dim = 0 },
		"no noise kind":      func(s *Sketch) { s.params.Noise = AutoNoise },
		"another kind":       func(s *Sketch) { s.terms[0].noise.Kind = calibrated.DiscreteLaplace },
		"Gaussian without δ": func(s *Sketch) { s.terms[1].rho = 0; s.terms[1].epsilon = 1 },
		"both ε and ρ":       func(s *Sketch) { s.terms[1].epsilon = 1 },
		"input":              func(s *Sketch) { s.terms[0].input = true },
		"no scale":           func(s *Sketch) { s.terms[1].noise.Scale = 0 },
		"NaN scale":          func(s *Sketch) { s.terms[1].noise.Scale = math.NaN() },
		"a release twice":    func(s *Sketch) { s.terms[1].release = s.terms[0].release },
		"noise of integers": func(s *Sketch) {
			s.terms[1].noise = inSteps(DiscreteLaplace, 2)
			s.terms[1].rho = 0
			s.terms[1].epsilon = 1
			s.step = 1
		},
		"too much noise":       func(s *Sketch) { s.terms[1].noise.Scale = 2 * maxScale * s.step },
		"coarse noise":         func(s *Sketch) { s.terms[0].noise.Scale = s.step },
		"negative zero":        func(s *Sketch) { s.terms[1].delta = math.Copysign(0, -1) },
		"negative zero Delta":  func(s *Sketch) { s.params.Delta = math.Copysign(0, -1) },
		"step":                 func(s *Sketch) { s.step = 0.75 },
		"step 0":               func(s *Sketch) { s.step = 0 },
		"infinite step":        func(s *Sketch) { s.step = math.Inf(1) },
		"sparsity":             func(s *Sketch) { s.params.Sparsity = 3 },
		"rows":                 func(s *Sketch) { s.values = s.values[:3] },
		"no rows":              func(s *Sketch) { s.values = nil },
		"value too large":      func(s *Sketch) { s.values[0] = maxValue + 1 },
		"least value":          func(s *Sketch) { s.values[0] = math.MinInt64 },
		"relation":             func(s *Sketch) { s.params.Change.norm = l2 + 1 },
		"L2 in one coordinate": func(s *Sketch) { s.params.Change = Change{norm: l2, one: true} },
		"transform":            func(s *Sketch) { s.params.Transform = lastTransform + 1 },
	})
	require.ErrorIs(t, dptest.Err(new(Sketch).MarshalBinary()), ErrFormat)
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	s := dptest.Decoded[Sketch](t, data)
	if s == nil {
		return
	}
	if s.Params().Rows <= 64 && s.Terms() <= 64 {
		useAll(t, s, s, []float64{0, 0.9, 1 - 0x1p-53}[crc32.ChecksumIEEE(data)%3])
	}
}

// twin returns a sketch of the same numbers from other releases.
func (s *Sketch) twin() *Sketch {
	t := *s
	t.terms = slices.Clone(s.terms)
	for i := range t.terms {
		t.terms[i].release = newIdentity()
	}
	t.releases = identities(t.terms)
	return &t
}

// useAll calls every method: none panics, and none is NaN but for Cosine.
func useAll(t *testing.T, s, o *Sketch, confidence float64) {
	if shared(s.releases, o.releases) {
		o = o.twin()
	}
	number := func(x float64, err error) {
		if err != nil {
			require.ErrorIs(t, err, ErrMismatch)
			return
		}
		require.False(t, math.IsNaN(x))
	}
	interval := func(lo, hi float64, err error) {
		if err != nil {
			require.ErrorIs(t, err, ErrMismatch)
			return
		}
		require.True(t, lo <= hi, "[%v, %v]", lo, hi)
	}
	number(s.SquaredNorm(), nil)
	number(s.SquaredDistance(o))
	number(s.Dot(o))
	if _, err := s.Cosine(o); err != nil {
		require.ErrorIs(t, err, ErrMismatch)
	}
	lo, hi := s.SquaredNormInterval(confidence)
	interval(lo, hi, nil)
	interval(s.SquaredDistanceInterval(o, confidence))
	interval(s.DotInterval(o, confidence))
	number(s.Row(0), nil)
	require.GreaterOrEqual(t, s.stdDev(), 0.0)
	require.NotZero(t, s.Guarantee())
	require.Equal(t, s.Params().Rows, len(s.values))
	require.NotContains(t, s.String(), "NaN")
	sum, err := s.Sum(o)
	if err != nil {
		require.ErrorIs(t, err, ErrMismatch)
		return
	}
	number(sum.SquaredNorm(), nil)
}

// Squares of squares of numbers on the coarsest and on the finest grid that decode are out of
// range. The intervals are not: in steps they are those of a grid of 1.
func TestIntervalsOnEveryGrid(t *testing.T) {
	on := func(step float64) *Sketch {
		s := sample()
		s.values[3] = 5 << 30
		s.step = step
		for i := range s.terms {
			s.terms[i].noise = onGrid(s.terms[i].noise, step)
		}
		back, _ := dptest.RoundTrip(t, s)
		return back
	}
	unit := on(1)
	for _, step := range []float64{0x1p-300, 0x1p-20, 0x1p200, 0x1p300} {
		s := on(step)
		useAll(t, s, s, 0.9)
		useAll(t, s, unit, 0.9)
		for _, confidence := range []float64{0, 0.9} {
			wantLow, wantHigh := unit.SquaredNormInterval(confidence)
			low, high := s.SquaredNormInterval(confidence)
			require.Equal(t, [2]float64{wantLow * step * step, wantHigh * step * step}, [2]float64{low, high})
			wantLow, wantHigh, err := unit.SquaredDistanceInterval(unit.twin(), confidence)
			require.NoError(t, err)
			low, high, err = s.SquaredDistanceInterval(s.twin(), confidence)
			require.NoError(t, err)
			require.Equal(t, [2]float64{wantLow * step * step, wantHigh * step * step}, [2]float64{low, high})
			wantLow, wantHigh, err = unit.DotInterval(unit.twin(), confidence)
			require.NoError(t, err)
			low, high, err = s.DotInterval(s.twin(), confidence)
			require.NoError(t, err)
			require.Equal(t, [2]float64{wantLow * step * step, wantHigh * step * step}, [2]float64{low, high})
		}
	}
	saturated := sample() // the greatest numbers on the coarsest grid
	saturated.step = 0x1p300
	for i := range saturated.terms {
		saturated.terms[i].noise = onGrid(inSteps(Noise(saturated.terms[i].noise.Kind), maxScale), 0x1p300)
	}
	for i := range saturated.values {
		saturated.values[i] = maxValue
	}
	useAll(t, saturated, saturated, 0.9)
	useAll(t, saturated, unit, 0.9)
}
