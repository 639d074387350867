package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// What rounded decides, rational arithmetic says for every continuation of the digits.
func TestRounded(t *testing.T) {
	var src Source
	undecided := 0
	for i := range dptest.Fewer(20_000, 5_000) {
		b := math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%60)-14)
		if b > maxGridScale {
			continue
		}
		z := normalDraw{m: src.Uint64N(stripEnd)}
		if i%2 == 0 { // near a rounding boundary
			half := (math.Floor(b*float64(z.m)*0x1p-58) + 0.5) / b
			if half < 8 {
				z.m = min(uint64(half*0x1p58)+src.Uint64()%5-2, stripEnd-1)
			}
		}
		got, decided := z.rounded(b)
		if !decided {
			undecided++
			continue
		}
		for _, end := range []uint64{0, math.MaxUint64} {
			// the least and the largest continuation of m
			y := new(big.Int).Lsh(new(big.Int).SetUint64(z.m), 64)
			y.Add(y, new(big.Int).SetUint64(end))
			v := new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), 64+fractions))
			v.Mul(v, new(big.Rat).SetFloat64(b)).Add(v, big.NewRat(1, 2))
			require.Equal(t, new(big.Int).Quo(v.Num(), v.Denom()).Int64(), got, "b = %v, m = %#x", b, z.m)
		}
	}
	require.Positive(t, undecided, "the boundary was not tried")
	for b, want := range map[float64]bool{0x1p-900: true, 0x1p-1074: true, 0: true, 0x1p46: false} {
		k, decided := (&normalDraw{m: stripEnd - 1}).rounded(b)
		require.Equal(t, want, decided, b)
		require.Zero(t, k)
	}
	_, decided := (&normalDraw{m: math.MaxUint64}).rounded(0x1p-900)
	require.False(t, decided, "all digits are needed in the tail")
}

// Rounding from digits, forced.
func TestRoundLazily(t *testing.T) {
	var src Source
	observed, expected := make([]int64, 9), make([]float64, 9)
	for range 2000 {
		observed[min(roundLazily(&src, 8, newLazy(src.Uint64(), 64)), 8)]++
	}
	for k := range expected { // x uniform: ⌊8x + ½⌋
		expected[k] = 1.0 / 8
	}
	expected[0], expected[8] = 1.0/16, 1.0/16
	dptest.ChiSquare(t, "rounding", observed, expected, 1e-10)
}

func TestGaussianDeltaReference(t *testing.T) {
	for _, row := range dptest.Rows(t, "testdata/reference.txt", "delta", 4) {
		got := dptest.OK(GaussianLogDelta(row[0], row[1], row[2]))(t)
		want := row[3]
		if want > -0.1 { // compare 1 − δ
			assert.InEpsilon(t, -math.Expm1(want), -math.Expm1(got), 4e-12, "%g", row)
			assert.GreaterOrEqual(t, got, want)
			continue
		}
		assert.GreaterOrEqual(t, got, want, "%g", row)
		assert.LessOrEqual(t, got, want+4e-12-want*1e-14, "%g", row)
		delta := dptest.OK(GaussianDelta(row[0], row[1], row[2]))(t)
		assert.InEpsilon(t, math.Exp(want), delta, 6e-12, "%g", row)
		assert.GreaterOrEqual(t, delta, math.Exp(want)*(1-1e-15))
	}
}

// quadratureLogDelta evaluates ln δ = ln ∫ max(0, p(x) − e^ε·q(x)) dx for unit Gaussians at 0 and
// −μ on x > t₁, by the trapezoidal rule in s = ln(x − t₁) with a sum of positive terms:
// φ(t₁)·e^{−t₁s−s²/2}·(1 − e^{−μs}). It converges geometrically (the integrand is analytic and
// decays at both ends) and shares nothing with the package.
func quadratureLogDelta(epsilon, mu float64) float64 {
	t1 := (epsilon - mu*mu/2) / mu
	peak := max(0, -t1) // the largest exponent, where e^{−t₁s−s²/2} is e^{t₁²/2}
	sum := 0.0
	const step = 1.0 / 256
	for u := -60.0; u < 6; u += step {
		s := math.Exp(u)
		sum += math.Exp(-t1*s-s*s/2-peak*peak/2) * -math.Expm1(-mu*s) * s
	}
	return math.Log(sum*step) + peak*peak/2 - t1*t1/2 - math.Log(math.Sqrt(2*math.Pi))
}

// δ(σ) ≤ δ by the independent evaluation, and σ·(1 − 1e-8) violates it.
func TestGaussianSigmaSafeAndTight(t *testing.T) {
	for i, epsilon := range []float64{0, 1e-9, 1e-3, 0.1, 1, 3, 10, 100, 1000, 1e5} {
		for j, delta := range []float64{1e-300, 1e-100, 1e-30, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999} {
			if (i+j)%dptest.Fewer(1, 3) != 0 || epsilon == 0 && delta < 1e-250 {
				continue // no σ ≤ 2⁹⁰⁰
			}
			sigma := dptest.OK(GaussianSigma(epsilon, delta, 1))(t, "ε %g δ %g", epsilon, delta)
			reported := dptest.OK(GaussianDelta(sigma, epsilon, 1))(t)
			assert.LessOrEqual(t, reported, delta, "ε %g δ %g", epsilon, delta)
			// What rounding does to the evaluation here: t₁ is off by ε·2⁻⁵², the exponents by t₁
			// times that.
			noise := 1e-12 + 1e-15*math.Log(delta)*math.Log(delta) + 40*math.Sqrt(epsilon)*3e-16
			if mu := 1 / sigma; mu > 1e-20 {
				assert.LessOrEqual(t, quadratureLogDelta(epsilon, mu), math.Log(delta)+noise, "ε %g δ %g", epsilon, delta)
				assert.Greater(t, quadratureLogDelta(epsilon, mu*(1+1e-8)), math.Log(delta)-noise, "ε %g δ %g", epsilon, delta)
			}
			less := dptest.OK(GaussianDelta(sigma*(1-2e-11), epsilon, 1))(t)
			assert.Greater(t, less, delta, "ε %g δ %g: not tight", epsilon, delta)
		}
	}
}

func TestGaussianDeltaLimits(t *testing.T) {
	for _, c := range []struct{ sigma, epsilon, sensitivity, want float64 }{
		{1e-3, 1, 1, 1}, {1e-200, 0, 1, 1}, {1, -0x1p900, 1, 1}, {1, -50, 0x1p-900, 1},
		{1, 1e290 * 0x1p-200, 1, 5e-324}, {0x1p900, 1, 1, 5e-324}, {1, 0x1p900, 0x1p-900, 5e-324},
	} {
		got := dptest.OK(GaussianDelta(c.sigma, c.epsilon, c.sensitivity))(t)
		assert.Equal(t, c.want, got, "%+v", c)
	}
	// Continuous where the formulas change hands: t₁ = 0, and μ = 1.
	for _, mu := range []float64{0.3, 0.999999, 1.000001, 2.5} {
		for _, epsilon := range []float64{mu * mu / 2 * (1 - 1e-9), mu * mu / 2 * (1 + 1e-9), 1e-12, 0, -1e-12} {
			got := dptest.OK(GaussianDelta(1, epsilon, mu))(t)
			want := math.Erfc((epsilon/mu-mu/2)/math.Sqrt2)/2 - math.Exp(epsilon)*math.Erfc((epsilon/mu+mu/2)/math.Sqrt2)/2
			assert.InEpsilon(t, want, got, 1e-11, "μ %g ε %g", mu, epsilon)
		}
	}
}

func FuzzGaussianSigma(f *testing.F) {
	f.Add(1.0, 1e-6, 1.0)
	f.Add(0.0, 0.5, 3.0)
	f.Add(1e5, 1e-300, 0x1p-100)
	f.Add(1e-9, 0.999999, 1e100)
	f.Add(0x1p-900, 0x1p-1022, 0x1p-900)
	f.Fuzz(func(t *testing.T, epsilon, delta, sensitivity float64) {
		sigma, err := GaussianSigma(epsilon, delta, sensitivity)
		if err != nil {
			require.ErrorIs(t, err, ErrParams)
			return
		}
		if !(sigma >= leastParam && sigma <= mostParam) {
			t.Fatalf("σ = %g", sigma)
		}
		got, err := GaussianDelta(sigma, epsilon, sensitivity)
		if err != nil { // sensitivity/σ out of range
			require.ErrorIs(t, err, ErrParams)
			return
		}
		if !(got <= delta) {
			t.Fatalf("δ(σ) = %g > δ = %g at ε = %g, σ = %g", got, delta, epsilon, sigma)
		}
	})
}

// b = LaplaceScale is the least float64 with b·ε ≥ Δ in exact arithmetic, and σ at most a relative
// 2⁻⁵⁰ too large.
func TestScalesRoundUp(t *testing.T) {
	exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	x := uint64(1)
	for range 2000 {
		draw := func() float64 { // 2^[−20, 20), log-uniform, by a linear congruence
			x = x*6364136223846793005 + 1442695040888963407
			return math.Exp2(float64(x>>11)*0x1p-53*40 - 20)
		}
		eps, sens := draw(), draw()
		b := dptest.OK(LaplaceScale(eps, sens))(t)
		require.GreaterOrEqual(t, new(big.Rat).Mul(exact(b), exact(eps)).Cmp(exact(sens)), 0)
		require.Less(t, new(big.Rat).Mul(exact(math.Nextafter(b, 0)), exact(eps)).Cmp(exact(sens)), 0)

		sigma := dptest.OK(GaussianSigmaZCDP(eps, sens))(t)
		enough := func(s float64) bool { // 2ρσ² ≥ Δ²
			v := new(big.Rat).Mul(exact(s), exact(s))
			v.Mul(v, exact(2*eps))
			return v.Cmp(new(big.Rat).Mul(exact(sens), exact(sens))) >= 0
		}
		require.True(t, enough(sigma))
		require.False(t, enough(sigma*(1-0x1p-50)))
	}
	b := dptest.OK(LaplaceScale(0.5, 3))(t)
	assert.Equal(t, 6.0, b)
	sigma := dptest.OK(GaussianSigmaZCDP(0.5, 3))(t)
	assert.Equal(t, 3.0, sigma)
	for _, ends := range [][2]float64{{0x1p-900, 0x1p-900}, {0x1p900, 0x1p900}, {0x1p-450, 0x1p450}} {
		_, err := LaplaceScale(ends[0], ends[1])
		assert.NoError(t, err)
	}
}
