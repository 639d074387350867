package check

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each field is compared, and named where it differs; NaN is no number that two Params share.
func TestEqual(t *testing.T) {
	type params struct {
		A int
		B [2]float64
		c bool
	}
	require.NoError(t, Equal("p", params{1, [2]float64{2}, true}, params{1, [2]float64{2}, true}))
	for want, other := range map[string]params{"A": {2, [2]float64{}, false}, "B": {1, [2]float64{0, 3}, true}, "c": {c: true, A: 1}} {
		err := Equal("p", params{A: 1}, other)
		require.ErrorIs(t, err, ErrMismatch)
		require.ErrorContains(t, err, "p: "+want+" differs, ")
	}
	nan := params{B: [2]float64{math.NaN()}}
	require.ErrorIs(t, Equal("p", nan, nan), ErrMismatch)
}

type relation uint8

func (r relation) Valid() bool { return r == 1 || r == 2 }

func TestLimits(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	check := func(f func(x float64) error, good, bad []float64) {
		t.Helper()
		for _, x := range good {
			require.NoError(t, f(x), "%g", x)
		}
		for _, x := range append(bad, nan, inf, -inf, -1) {
			err := f(x)
			require.ErrorIs(t, err, ErrParams, "%g", x)
			require.ErrorContains(t, err, "pkg: ")
		}
	}
	check(func(x float64) error { return Epsilon("pkg", x, 44) }, []float64{0x1p-30, 1, 44}, []float64{0, 0x1p-31, 44.5, 1e300})
	check(func(x float64) error { return Delta("pkg", x) }, []float64{0, math.Copysign(0, -1), 1e-300, 0.5, 1 - 0x1p-53}, []float64{1e-301, 1, 2})
	check(func(x float64) error { return Rho("pkg", x) }, []float64{0x1p-60, 1, 0x1p20}, []float64{0, 0x1p-61, 0x1p21})
	check(func(x float64) error { return Real("pkg", "Max", x, false) }, []float64{0, 0x1p-200, 0.3, 0x1p200}, []float64{0x1p-201, 0x1p201, 5e-324})
	check(func(x float64) error { return Real("pkg", "Max", x, true) }, []float64{0, 1, 0x1p30}, []float64{0.5, 1.5, 0x1p31})
	check(func(x float64) error { return EpsilonOrRho("pkg", x, 0, 0) }, []float64{0x1p-30, 1024}, []float64{0, 1025})
	check(func(x float64) error { return EpsilonOrRho("pkg", 0, 0, x) }, []float64{0x1p-60, 0x1p20}, []float64{0, 0x1p21})
	check(func(x float64) error { return EpsilonOrRho("pkg", 1, x, 0) }, []float64{0, 1e-300}, []float64{1e-301, 1})
	check(func(x float64) error { return SketchPlan("pkg", x, 1, 1, 1) }, []float64{5e-324, 0.1, 1}, []float64{0, 1.5})
	check(func(x float64) error { return SketchPlan("pkg", 1, x, 1, 1) }, []float64{1, 1.5, 0x1p64}, []float64{0, 0.5, 0x1p65})
	check(func(x float64) error { return SketchPlan("pkg", 1, 1, int(max(min(x, 99), -99)), 7) }, []float64{1, 7}, []float64{0, 8})
	require.ErrorContains(t, EpsilonOrRho("pkg", 1, 0, 1), "Epsilon")
	require.ErrorContains(t, EpsilonOrRho("pkg", 0, 1e-6, 1), "Delta")
	for r := range relation(4) {
		require.Equal(t, r == 3, Relation("pkg", r) != nil)
	}
	for x, want := range map[float64]bool{0: true, 0.95: true, 1: false, -0.1: false, nan: false, inf: false} {
		require.Equal(t, want, Confidence(x))
	}
}

func TestEnumName(t *testing.T) {
	type kind uint8
	names := []string{1: "One", 2: "Two"}
	for value, want := range map[kind]string{0: "Kind(0)", 1: "One", 2: "Two", 3: "Kind(3)", 255: "Kind(255)"} {
		require.Equal(t, want, EnumName(value, names, "Kind"))
	}
}

func TestEnumText(t *testing.T) {
	type kind uint8
	unnamed, named := []string{1: "One", 3: "Three"}, []string{"None", "One"}
	for value, want := range map[kind]string{0: "", 1: "One", 3: "Three"} {
		text, err := EnumText(value, unnamed, "Kind")
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		back := kind(7)
		require.NoError(t, ParseEnum(&back, text, unnamed, "Kind"))
		require.Equal(t, value, back)
	}
	for _, value := range []kind{2, 4, 255} {
		_, err := EnumText(value, unnamed, "Kind")
		require.ErrorIs(t, err, ErrParams)
	}
	for _, text := range []string{"", "one", "Two", "Kind(0)"} {
		back := kind(7)
		require.ErrorIs(t, ParseEnum(&back, []byte(text), named, "Kind"), ErrFormat)
		require.Equal(t, kind(7), back, "a refused text changes nothing")
	}
}
