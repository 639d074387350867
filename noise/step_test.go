package noise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

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

func TestPowerOfTwo(t *testing.T) {
	for n := -1074; n <= 1023; n++ {
		require.True(t, powerOfTwo(math.Ldexp(1, n)), n)
		require.False(t, powerOfTwo(-math.Ldexp(1, n)), n)
		require.False(t, n > -1074 && powerOfTwo(math.Nextafter(math.Ldexp(1, n), 0)) && n != -1073, n)
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 3, 0.75, math.Inf(1), math.Inf(-1), math.NaN(), 3 * 5e-324} {
		require.False(t, powerOfTwo(x), x)
	}
}
