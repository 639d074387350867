package noise

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

func TestQuickIntIsTheExactOne(t *testing.T) {
	var random Source
	quick, exact := script(), script()
	for i := range dptest.Full(40_000, 4000) {
		b := math.Ldexp(1+float64(random.Uint64())*0x1p-64, i%36-13) // up to 2²³
		d := discreteLaplace(b)
		w := random.Uint64()
		switch i % 4 {
		case 1: // within twice the margin of an integer
			n := float64(1+random.Uint64()%20) + b*0x1p-35*(2*float64(random.Uint64())*0x1p-64-1)
			w = uint64(min(math.Exp(d.formulas.shift-n/b), 1-0x1p-53)*0x1p64)&^3 | w&3
		case 2:
			w >>= random.Uint64N(64)
		}
		words := []uint64{w, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}
		load(quick, words...)
		load(exact, words...)
		require.Equal(t, d.exactInt(exact), d.SampleInt(quick), "b = %v, words %#x", b, words)
		require.Equal(t, (*exact.state).left, (*quick.state).left, "words that are left")
		if (*quick.state).left == 8*(len(words)-1) {
			at := bufferBytes - (*quick.state).left
			require.Equal(t, make([]byte, 8), (*quick.state).buf[at-8:at], "not wiped")
		}
	}
}

// The shift of a discrete Laplace distribution is ln(2/(1+q)), in 200 digits, to within 2⁻⁴⁹; equal
// scales have equal distributions.
func TestShiftOfDiscreteLaplace(t *testing.T) {
	for i := range 300 {
		b := math.Ldexp(1+float64(i)/300, i%40-12)
		d := dptest.OK(NewDiscreteLaplace(b))(t)
		require.Equal(t, discreteLaplace(b), d)
		// (1+q)·e^shift = 2, tried at shift ± 2⁻⁴⁹.
		const prec = 200
		q := exact.ExpNeg(ratio(1, b), prec)
		side := func(shift float64) int {
			// e^−shift against (1+q)/2
			e := exact.ExpNeg(new(big.Rat).SetFloat64(max(shift, 0)), prec)
			return new(big.Int).Lsh(e.Lo, 1).Cmp(new(big.Int).Add(exact.One(prec), q.Lo))
		}
		require.GreaterOrEqual(t, side(d.formulas.shift-0x1p-49), 0, b)
		require.LessOrEqual(t, side(d.formulas.shift+0x1p-49), 0, b)
	}
	for b, want := range map[float64]float64{0x1p-900: math.Ln2, 0x1p50: 0x1p-51} {
		require.InEpsilon(t, want, discreteLaplace(b).formulas.shift, 1e-12)
	}
}

// Each path by itself has the discrete Laplace distribution, |K| and sign: the one without
// rejection, its rational arithmetic alone, and the one by rejection for large scales.
func TestTwoSided(t *testing.T) {
	var src Source
	for _, b := range []float64{0.4, 1, 9.5} {
		d := discreteLaplace(b)
		for name, draw := range map[string]func() int64{
			"quick": func() int64 { return twoSided(&src, b, d.formulas.shift) },
			"exact": func() int64 {
				w := src.Uint64()
				return withSign(twoSidedExact(&src, newLazy(w>>2, 62), b), w)
			},
		} {
			n := dptest.Full(1_000_000, 50_000)
			if name == "exact" {
				n = dptest.Full(20_000, 1500)
			}
			observed, expected := make([]int64, 81), make([]float64, 81)
			for range n {
				observed[min(max(draw(), -40), 40)+40]++
			}
			for k := range expected {
				expected[k] = d.Prob(float64(k - 40))
			}
			expected[0], expected[80] = d.CDF(-40), d.Survival(39)
			dptest.ChiSquare(t, fmt.Sprint(name, ", b = ", b), observed, expected, 1e-10)
		}
	}
	for _, b := range []float64{0x1p-1060, 0x1p-900} {
		require.Zero(t, twoSided(&src, b, math.Ln2))
	}
}

// At the boundary between n and n − 1, where U·(1+q) = 2qⁿ, both ways of float64 decline, and the
// next digits of U decide: rightly, with either sign.
func TestTwoSidedAtEachBoundary(t *testing.T) {
	const prec = 200
	for _, b := range []float64{0.3, 0.7, 1, 1.5, 3.7, 20, 1000} {
		shift := discreteLaplace(b).formulas.shift
		for n := int64(1); n <= 12 && float64(n) < 30*b; n++ {
			q, power := exact.ExpNeg(ratio(1, b), prec), exact.ExpNeg(ratio(n, b), prec)
			edge := new(big.Int).Lsh(power.Lo, 64+1) // 2⁶⁴·2qⁿ/(1+q), rounded down
			w := edge.Quo(edge, q.Lo.Add(q.Lo, exact.One(prec))).Uint64() &^ 3
			for coin := range uint64(2) {
				_, quick := quickFloor(w|coin, b, shift)
				_, float := floorLog(w|coin, b, shift)
				require.False(t, quick || float, "b = %v, n = %d", b, n)
				for next, want := range map[uint64]int64{0: n, math.MaxUint64: n - 1} {
					src := script(w|coin, next)
					require.Equal(t, withSign(want, coin), twoSided(src, b, shift), "b = %v, n = %d", b, n)
					require.Zero(t, (*src.state).left, "words are left")
				}
			}
		}
	}
}

// For a large scale 0 comes with either sign, and is kept half of the time.
func TestZeroOfLargeScales(t *testing.T) {
	// the first word of a pair is the digit 0 of G, the second one says that the rest is 0, and the
	// coins
	const scale = 0x1p20
	again, keep, negative := uint64(math.MaxUint64-2), uint64(math.MaxUint64-1), uint64(math.MaxUint64)
	for _, last := range []uint64{keep, negative} {
		src := script(0, again, 0, again-1, 0, last)
		require.Zero(t, discreteLaplace(scale).SampleInt(src))
		require.Zero(t, (*src.state).left, "words are left")
	}
}
