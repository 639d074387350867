package noise

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// outside are the numbers that no calibration takes as a sensitivity, ρ or σ.
var outside = []float64{0, math.Copysign(0, -1), -1, -0x1p-900, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 0x1p-1022, 0x1p-901, 0x1p901, math.MaxFloat64}

// of and ofSecond take a function of one number, or of the second one, for TestRejects.
func of[T any](f func(float64) (T, error)) func(float64) (any, error) {
	return func(x float64) (any, error) { return f(x) }
}

func ofSecond[T any](first float64, f func(x, y float64) (T, error)) func(float64) (any, error) {
	return of(func(x float64) (T, error) { return f(first, x) })
}

// Each argument out of its range, and each result, is an error that names the field and its value.
// A caller who ignores it has a distribution as TestUnbuiltLawsHideTheData looks at, and no number
// that looks like a scale.
func TestRejects(t *testing.T) {
	discrete := append(slices.Clone(outside), 0x1p51)
	notShared := slices.DeleteFunc(slices.Clone(outside), func(x float64) bool { return x == 0 })
	notProbability := []float64{-1, -1e-300, math.Nextafter(1, 2), 1.5, math.NaN(), math.Inf(1), math.Inf(-1)}
	notShape := []float64{0, 1, -1, 0x1p21, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324}
	for _, c := range []struct {
		field string
		bad   []float64
		call  func(float64) (any, error)
	}{
		{"scale", outside, of(NewLaplace)},
		{"sigma", outside, of(NewGaussian)},
		{"scale", discrete, of(NewDiscreteLaplace)},
		{"sigma", discrete, of(NewDiscreteGaussian)},
		{"scale", discrete, of(NewGeometric)},
		{"shared", notShared, of(func(x float64) (CorrelatedGaussian, error) { return NewCorrelatedGaussian(x, 1) })},
		{"own", outside, ofSecond(1, NewCorrelatedGaussian)},
		{"shape", notShape, of(func(x float64) (Pareto, error) { return NewPareto(x, 1) })},
		{"scale", outside, ofSecond(3, NewPareto)},
		{"shape", append(notShape, math.Nextafter(2, 0)), of(func(x float64) (Student, error) { return NewStudent(x, 1) })},
		{"scale", outside, ofSecond(3, NewStudent)},
		{"epsilon", append(slices.Clone(outside), 0x1p-31, 513), of(func(x float64) (Staircase, error) { return NewStaircase(x, 1, 0.5) })},
		{"sensitivity", outside, of(func(x float64) (Staircase, error) { return NewStaircase(1, x, 0.5) })},
		{"gamma", notProbability, of(func(x float64) (Staircase, error) { return NewStaircase(1, 1, x) })},
		{"epsilon", outside, of(StaircaseGamma)},
		{"epsilon", outside, of(StaircaseGammaVariance)},
		{"epsilon", []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 44.1}, of(RandomizedResponse)},
		{"p", notProbability, of(BernoulliAtMost)},
		{"p", append(notProbability, 1), of(BernoulliAtLeast)}, // 1 is no multiple of 2⁻⁶⁴ below 1
		{"epsilon", outside, of(func(x float64) (float64, error) { return LaplaceScale(x, 1) })},
		{"sensitivity", outside, ofSecond(1, LaplaceScale)},
		{"rho", outside, of(func(x float64) (float64, error) { return GaussianSigmaZCDP(x, 1) })},
		{"sensitivity", outside, ofSecond(1, GaussianSigmaZCDP)},
		{"epsilon", notShared, of(func(x float64) (float64, error) { return GaussianSigma(x, 1e-6, 1) })},
		{"delta", []float64{0, -1, 1, 1.5, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, math.MaxFloat64}, of(func(x float64) (float64, error) { return GaussianSigma(1, x, 1) })},
		{"sensitivity", outside, of(func(x float64) (float64, error) { return GaussianSigma(1, 1e-6, x) })},
		{"sigma", outside, of(func(x float64) (float64, error) { return GaussianDelta(x, 1, 1) })},
		{"epsilon", []float64{math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 0x1p-901, 0x1p901}, of(func(x float64) (float64, error) { return GaussianDelta(1, x, 1) })},
		{"sensitivity", outside, of(func(x float64) (float64, error) { return GaussianDelta(1, 1, x) })},
		{"sigma", outside, of(func(x float64) (float64, error) { return GaussianLogDelta(x, 1, 1) })},
		// arguments in range with a result out of range
		{"sensitivity", []float64{2}, ofSecond(0x1p-900, LaplaceScale)},
		{"sensitivity", []float64{0.5}, ofSecond(0x1p900, LaplaceScale)},
		{"sensitivity", []float64{0x1p500}, ofSecond(0x1p-900, GaussianSigmaZCDP)},
		{"sensitivity", []float64{0x1p-500}, ofSecond(0x1p900, GaussianSigmaZCDP)},
		{"sensitivity", []float64{1}, of(func(x float64) (float64, error) { return GaussianSigma(0, 1e-300, x) })},
		{"sensitivity", []float64{0x1p-900}, of(func(x float64) (float64, error) { return GaussianSigma(1e9, 1e-6, x) })},
		{"sensitivity", []float64{0x1p900}, of(func(x float64) (float64, error) { return GaussianSigma(1, 1e-6, x) })},
		{"sensitivity", []float64{2}, of(func(x float64) (float64, error) { return GaussianDelta(0x1p-900, 1, x) })},
		{"sensitivity", []float64{0.5}, of(func(x float64) (float64, error) { return GaussianDelta(0x1p900, 1, x) })},
	} {
		for _, v := range c.bad {
			result, err := c.call(v)
			dptest.Refused(t, err, ErrParams, fmt.Sprintf("noise: %s = %v: want ", c.field, v))
			if x, ok := result.(float64); ok {
				require.True(t, math.IsNaN(x))
			} else {
				require.Zero(t, result)
			}
		}
	}
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
