package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
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

// Whatever the scale and the step, CheckStep says whether Sample draws numbers: finite multiples of
// the step, or NaN each time.
func TestCheckStep(t *testing.T) {
	var src Source
	type sampler interface {
		Sample(src *Source, step float64) float64
		draws(step float64) bool
	}
	scales := []float64{0x1p-900, 1e-200, 0x1p-40, 1, 1e6, 0x1p46, 0x1.01p46, 0x1p47, 0x1p50, 8.64e13, 1e200, 0x1p900}
	steps := []float64{0x1p-1074, 0x1p-1000, 0x1p-946, 0x1p-100, 0x1p-46, 0.5, 1, 2, 0x1p46, 0x1p840, 0x1p854, 0x1p900, 0x1p962, 0x1p963, 0x1p1023,
		0, math.Copysign(0, -1), -1, 3, 1.5, math.NaN(), math.Inf(1), math.Inf(-1)}
	all := map[string][]sampler{"zero": {Laplace{}, Gaussian{}, Pareto{}, Student{}, Staircase{}, DiscreteLaplace{}, Geometric{}, DiscreteGaussian{}}}
	for _, x := range scales {
		all["built"] = append(all["built"], dptest.OK(NewLaplace(x))(t), dptest.OK(NewGaussian(x))(t), dptest.OK(NewStaircase(1, x, 0.3))(t), dptest.OK(NewStaircase(1e-9, x, 0.3))(t))
		for _, shape := range []float64{1.01, 3, 40} {
			for _, d := range []func() (sampler, error){
				func() (sampler, error) { return NewPareto(shape, x) },
				func() (sampler, error) { return NewStudent(shape, x) },
			} {
				if d, err := d(); err == nil {
					all["built"] = append(all["built"], d)
				}
			}
		}
		if x <= mostDiscrete {
			all["built"] = append(all["built"], dptest.OK(NewDiscreteLaplace(x))(t), dptest.OK(NewGeometric(x))(t), dptest.OK(NewDiscreteGaussian(x))(t))
		}
	}
	accepted := 0
	for which, distributions := range all {
		for _, d := range distributions {
			for _, step := range steps {
				err := CheckStep(d, step)
				if err == nil {
					accepted++
					require.Equal(t, "built", which)
				} else {
					require.ErrorIs(t, err, ErrParams)
				}
				for range 5 {
					x := d.Sample(&src, step)
					require.Equal(t, err != nil, math.IsNaN(x), "%T%+v at %g: %g", d, d, step, x)
					require.False(t, math.IsInf(x, 0), "%T%+v at %g", d, d, step)
				}
			}
		}
	}
	require.Greater(t, accepted, 300)
	day := dptest.OK(NewLaplace(86400e9))(t)
	require.ErrorIs(t, CheckStep(day, 1), ErrParams)
	require.NoError(t, CheckStep(day, 2))
}

func TestSampleRefusesGridsItCannotHold(t *testing.T) {
	var src Source
	for _, name := range append(continuous, discrete...) {
		d := newSampled(t, name, 3)
		for _, step := range []float64{0, -1, 0.3, 3, math.NaN(), math.Inf(1), math.Inf(-1)} {
			require.True(t, math.IsNaN(d.Sample(&src, step)), "%s, step %v", name, step)
		}
		huge := newSampled(t, name, 0x1p47)
		require.True(t, math.IsNaN(huge.Sample(&src, 0.5)), name)
		require.False(t, math.IsNaN(huge.Sample(&src, 2)), name)
		require.Equal(t, 0.0, newSampled(t, name, 1).Sample(&src, 0x1p1000), name)
	}
	for _, d := range []sampled{Laplace{}, Gaussian{}, DiscreteLaplace{}, DiscreteGaussian{}, Geometric{}} {
		require.True(t, math.IsNaN(d.Sample(&src, 1)), "%T: the zero value is no distribution", d)
	}
}
