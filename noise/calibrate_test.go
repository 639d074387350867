package noise

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/search"
)

// outside are the numbers that no calibration takes as a sensitivity, ρ or σ.
var outside = []float64{0, math.Copysign(0, -1), -1, -0x1p-900, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 0x1p-1022, 0x1p-901, 0x1p901, math.MaxFloat64}

// requireParams asserts that err is ErrParams and names the field and its value.
func requireParams(t *testing.T, err error, field string, value float64) {
	t.Helper()
	require.ErrorIs(t, err, ErrParams, "%s = %g", field, value)
	assert.Contains(t, err.Error(), fmt.Sprintf("noise: %s = %v: want ", field, value))
	assert.Contains(t, err.Error(), "[2⁻")
}

func TestCalibrationRejects(t *testing.T) {
	for _, v := range outside {
		_, err := LaplaceScale(v, 1)
		requireParams(t, err, "epsilon", v)
		_, err = LaplaceScale(1, v)
		requireParams(t, err, "sensitivity", v)
		_, err = GaussianSigmaZCDP(v, 1)
		requireParams(t, err, "rho", v)
		_, err = GaussianSigmaZCDP(1, v)
		requireParams(t, err, "sensitivity", v)
		_, err = GaussianSigma(1, 1e-6, v)
		requireParams(t, err, "sensitivity", v)
		_, err = GaussianDelta(1, 1, v)
		requireParams(t, err, "sensitivity", v)
		_, err = GaussianDelta(v, 1, 1)
		requireParams(t, err, "sigma", v)
		_, err = GaussianLogDelta(v, 1, 1)
		requireParams(t, err, "sigma", v)
		if v != 0 {
			_, err = GaussianSigma(v, 1e-6, 1)
			requireParams(t, err, "epsilon", v)
		}
		if v != 0 && v != -1 && v != -0x1p-900 {
			_, err = GaussianDelta(1, v, 1)
			requireParams(t, err, "epsilon", v)
		}
	}
	for _, v := range []float64{0, -1, 1, 1.5, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, math.MaxFloat64} {
		_, err := GaussianSigma(1, v, 1)
		requireParams(t, err, "delta", v)
	}
	// Arguments in range with a result out of range.
	_, err := LaplaceScale(0x1p-900, 2)
	requireParams(t, err, "sensitivity", 2)
	_, err = LaplaceScale(0x1p900, 0.5)
	requireParams(t, err, "sensitivity", 0.5)
	_, err = GaussianSigmaZCDP(0x1p-900, 0x1p500)
	requireParams(t, err, "sensitivity", 0x1p500)
	_, err = GaussianSigmaZCDP(0x1p900, 0x1p-500)
	requireParams(t, err, "sensitivity", 0x1p-500)
	_, err = GaussianSigma(0, 1e-300, 1)
	requireParams(t, err, "sensitivity", 1)
	_, err = GaussianSigma(1, 1e-6, 0x1p900)
	requireParams(t, err, "sensitivity", 0x1p900)
	_, err = GaussianSigma(1e9, 1e-6, 0x1p-900)
	requireParams(t, err, "sensitivity", 0x1p-900)
	_, err = GaussianDelta(0x1p-900, 1, 2)
	requireParams(t, err, "sensitivity", 2)
	_, err = GaussianDelta(0x1p900, 1, 0.5)
	requireParams(t, err, "sensitivity", 0.5)
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

func TestLeastSafe(t *testing.T) {
	for _, edge := range []float64{-40, -3, -1e-300, -5e-324, 0, 5e-324, 1e-9, 39, 40} {
		assert.Equal(t, max(edge, math.Nextafter(-40, 0)), search.Float(-40, 40, func(x float64) bool { return x >= edge }))
	}
	assert.Equal(t, 40.0, search.Float(-40, 40, func(float64) bool { return false }))
}
