package elliptical

import (
	"encoding/hex"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// samples are Sums of each form, made without randomness.
func samples() map[string]*Sum {
	list := map[string]*Sum{}
	for name, p := range map[string]Params{
		"gaussian": {Widths: VectorOf(4, 1, 0.1), Rho: 0.5, Relation: noise.Replace, Power: 1},
		"laplace":  {Widths: VectorOf(4, 1), Lower: VectorOf(0, -3.5), Epsilon: 0.5, Relation: noise.AddRemove, Power: 2},
		"weighted": {Widths: VectorOf(4, 1), Epsilon: 0.5, Delta: 1e-9, Relation: noise.Replace, Power: 2, Shape: Weighted, Weights: VectorOf(1, 3)},
		"count":    {Widths: VectorOf(4, 1), Lower: VectorOf(0, 0.25), Epsilon: 0.5, Relation: noise.AddRemove, Power: 2, Count: true},
	} {
		l := law{laplace: p.laplace(), dim: p.Widths.Len()}
		for i := range p.Widths.Len() {
			l.at = append(l.at, p.box(i, coordinate{step: math.Ldexp(1, i-30), scale: 3.25 + float64(i)}))
		}
		if p.Count {
			l.at = append(l.at, coordinate{step: 0x1p-20, scale: 7.5, high: 1 << 20})
		}
		list[name] = &Sum{p, l, []int64{-12345678901, 1 << 40, 7}[:len(l.at)]}
	}
	p := Params{Ellipsoid: PackSymmetric(tilted), Rho: 0.5, Relation: noise.Replace, Power: 2}
	rows, _ := factor(p.Ellipsoid)
	c := coordinate{step: 0x1p-27, scale: 1.5, low: -radiusSteps, high: radiusSteps}
	list["ellipsoid"] = &Sum{p, law{dim: 3, at: []coordinate{c, c, c}, lower: rows}, []int64{-12345678901, 1 << 40, 7}}
	return list
}

func TestCodec(t *testing.T) {
	for _, s := range samples() {
		dptest.Codec(t, s, func(a, b *Sum) bool { return reflect.DeepEqual(a, b) })
	}
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	for name, s := range samples() {
		path := filepath.Join("testdata", name+".hex")
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		text := hex.Dump(data)
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), text, "%s: the encoding changed", name)
	}
}

// What a release gives decodes to the same Sum.
func TestCodecOfReleases(t *testing.T) {
	list := []Params{{Ellipsoid: PackSymmetric(tilted), Epsilon: 1, Delta: 1e-6}}
	for _, p := range settings() {
		list = append(list, p)
	}
	for _, p := range list {
		b, err := NewBuilder(p)
		require.NoError(t, err)
		b.Add([]float64{1, 0.5})
		s, err := b.Release()
		require.NoError(t, err)
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		var again Sum
		require.NoError(t, again.UnmarshalBinary(data))
		require.Equal(t, s, &again)
	}
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	for name, spoil := range map[string]func(*Sum){
		"no relation":      func(s *Sum) { s.params.Relation = 0 },
		"no power":         func(s *Sum) { s.params.Power = 0 },
		"negative zero":    func(s *Sum) { s.params.Rho = math.Copysign(0, -1) },
		"negative zero δ":  func(s *Sum) { s.params.Delta = math.Copysign(0, -1) },
		"shape":            func(s *Sum) { s.params.Shape = 17 },
		"two guarantees":   func(s *Sum) { s.params.Rho = 1 },
		"width":            func(s *Sum) { s.params.Widths = VectorOf(4, -1) },
		"lower −0":         func(s *Sum) { s.params.Lower.bits = strings.Repeat("\x00", 7) + "\x80" + s.params.Lower.bits[8:] },
		"step":             func(s *Sum) { s.law.at[0].step = 0.75 },
		"negative step":    func(s *Sum) { s.law.at[0].step = -0.5 },
		"infinite step":    func(s *Sum) { s.law.at[0].step = math.Inf(1) },
		"step too fine":    func(s *Sum) { s.law.at[1].step, s.law.at[1].scale = 0x1p-60, 0x1p-30 },
		"no noise":         func(s *Sum) { s.law.at[2].scale = 0 },
		"NaN noise":        func(s *Sum) { s.law.at[2].scale = math.NaN() },
		"too much noise":   func(s *Sum) { s.law.at[1].scale = 0x1p30 },
		"value":            func(s *Sum) { s.steps[2] = math.MinInt64 },
		"large value":      func(s *Sum) { s.steps[0] = maxSteps + 1 },
		"count, no middle": func(s *Sum) { s.params.Lower = VectorOf(-2, -0.5) },
	} {
		s := samples()["count"]
		spoil(s)
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		into := samples()["gaussian"]
		require.ErrorIs(t, into.UnmarshalBinary(data), ErrFormat, name)
		require.Equal(t, samples()["gaussian"], into, name)
	}
}

// All coordinates of an Ellipsoid have one grid and one noise, and its matrix is one that New takes.
func TestDecodeRejectsInvalidEllipsoids(t *testing.T) {
	packed, _ := chain(3)
	for name, spoil := range map[string]func(*Sum){
		"unequal noise":          func(s *Sum) { s.law.at[1].scale *= 1.5 },
		"unequal grids":          func(s *Sum) { s.law.at[2].step /= 2 },
		"not definite":           func(s *Sum) { s.params.Ellipsoid = VectorOf(1, 2, 1, 0, 0, 1) },
		"as good as singular":    func(s *Sum) { s.params.Ellipsoid = VectorOf(packed...) },
		"a diagonal below 2⁻¹⁰⁰": func(s *Sum) { s.params.Ellipsoid = VectorOf(1, 0, 1, 0, 0, 1e-40) },
		"another power":          func(s *Sum) { s.params.Power = 1 },
	} {
		s := samples()["ellipsoid"]
		s.law.at = slices.Clone(s.law.at)
		spoil(s)
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		into := samples()["gaussian"]
		require.ErrorIs(t, into.UnmarshalBinary(data), ErrFormat, name)
		require.Equal(t, samples()["gaussian"], into, name)
	}
}

func TestReaders(t *testing.T) {
	for _, s := range samples() {
		dptest.Readers(t, s)
	}
	m, err := New(Params{Widths: VectorOf(4, 1), Rho: 1})
	require.NoError(t, err)
	for _, public := range []any{&Sum{}, m.Params(), m.Params().Widths} {
		dptest.Readers(t, public)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, s := range samples() {
		data, _ := s.MarshalBinary()
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Sum
		if err := s.UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, ErrFormat)
			require.Equal(t, Sum{}, s)
			return
		}
		again, err := s.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, again, "not canonical")
		for i, x := range s.All() {
			low, high := s.Interval(i, 0.9)
			require.True(t, low <= x && x <= high, "%v not in [%v, %v]", x, low, high)
			require.GreaterOrEqual(t, s.Variance(i), 0.0)
		}
		require.GreaterOrEqual(t, s.ExpectedError(1), 0.0)
		require.NotEmpty(t, s.String())
	})
}
