package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
