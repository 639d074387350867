package noise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noisyEstimator returns an estimator of g with a normal error of standard deviation accuracy·max(advice, g): its second moment is what the search asks for.
func noisyEstimator(src *Source, g float64) func(advice, accuracy float64) float64 {
	unit := Gaussian{1}
	return func(advice, accuracy float64) float64 {
		return g + accuracy*max(advice, g)*unit.Sample(src, 0x1p-30)
	}
}

// The search finds advice within a factor of 3, and an estimate within its interval, for g anywhere in the range.
func TestAdviceSearch(t *testing.T) {
	const n = 120
	var src Source
	p := AdviceParams{Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 1000}
	for _, g := range []float64{1, 1.01, 3, 37.5, 512, 1000} {
		estimate := noisyEstimator(&src, g)
		wrong, outside := 0, 0
		s, err := NewAdviceSearch(p)
		require.NoError(t, err)
		for range n {
			s.used = false // planned once
			r, err := s.Release(estimate)
			require.NoError(t, err)
			require.Equal(t, PureDP(1, AddRemove), r.Guarantee())
			require.LessOrEqual(t, r.Rounds(), s.Rounds())
			if y := r.Advice(); !(y > g/3 && y < 2*g) && !(y == p.Max && g > y/2) {
				wrong++
			}
			if lo, hi := r.Interval(0.9); !(lo <= g && g <= hi) {
				outside++
			}
			_, err = s.Release(estimate)
			require.ErrorIs(t, err, ErrReleased)
		}
		// Failure is ⅛, so 15 and 27 (with ⅒ more) are expected at most; more than 38 and 54 have a probability below 1e-7.
		assert.LessOrEqual(t, wrong, 38, "g = %g", g)
		assert.LessOrEqual(t, outside, 54, "g = %g", g)
	}
}

// The plan: accuracy falls as rounds are added, the budget is not exceeded, and the noise of each round is as planned.
func TestAdviceSearchPlan(t *testing.T) {
	last := 1.0
	for _, most := range []float64{2, 8, 64, 1e3, 1e9} {
		s, err := NewAdviceSearch(AdviceParams{Epsilon: 2, Sensitivity: 1e-9, Min: 1, Max: most})
		require.NoError(t, err)
		require.Equal(t, int(math.Ceil(math.Log2(most))), s.Rounds())
		require.Less(t, s.Accuracy(), last)
		last = s.Accuracy()
		require.LessOrEqual(t, float64(s.Rounds())*s.roundEpsilon()+1, 2.0)
		require.Equal(t, 5, s.Params().Runs)
		for y := most; y > 0.5; y /= 2 {
			a, err := s.approximator(y, s.accuracy, searchReach, s.roundEpsilon())
			require.NoError(t, err)
			require.LessOrEqual(t, a.params.ErrorBound(1-0.125/float64(s.Rounds())), y/2, "y = %g of %g", y, most)
			if y <= most/math.Exp2(float64(s.Rounds()-1)) {
				break
			}
		}
	}
}

// Clamping to [0, λy] keeps the error of any estimator of min(g, λy) below λρy where it is below ρ·max(y, g), also where g is far above y: the
// claim in AdviceSearch, for two-point errors of the largest size. The theorem's own assumption fails there.
func TestClampedEstimatorIsAccurate(t *testing.T) {
	const y, rho = 1.0, 0.1
	for _, reach := range []float64{searchReach, finalReach} {
		for _, moment := range []float64{1, 2, 3} {
			for g := 0.0; g < 200; g = g*1.1 + 0.01 {
				for p := 1.0; p > 1e-7; p /= 1.7 {
					size := rho * max(y, g) * math.Pow(p, -1/moment)
					for _, a := range []float64{g - size, g + size} {
						target := min(g, reach*y)
						mistake := math.Abs(min(max(a, 0), reach*y) - target)
						require.LessOrEqual(t, mistake*math.Pow(p, 1/moment), reach*rho*y*(1+1e-12), "g = %g, p = %g", g, p)
					}
				}
			}
		}
	}
}

func TestAdviceSearchRejects(t *testing.T) {
	good := AdviceParams{Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 100}
	_, err := NewAdviceSearch(good)
	require.NoError(t, err)
	for name, set := range map[string]func(*AdviceParams, float64){
		"Epsilon":     func(p *AdviceParams, v float64) { p.Epsilon = v },
		"Sensitivity": func(p *AdviceParams, v float64) { p.Sensitivity = v },
		"Min":         func(p *AdviceParams, v float64) { p.Min = v },
		"Max":         func(p *AdviceParams, v float64) { p.Max = v },
		"Moment":      func(p *AdviceParams, v float64) { p.Moment = v },
		"Failure":     func(p *AdviceParams, v float64) { p.Failure = v },
		"Accuracy":    func(p *AdviceParams, v float64) { p.Accuracy = v },
	} {
		for _, v := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 0x1p-901, 0x1p901} {
			p := good
			set(&p, v)
			_, err := NewAdviceSearch(p)
			require.ErrorIs(t, err, ErrParams, "%s = %g", name, v)
		}
	}
	for _, p := range []AdviceParams{
		{}, {Epsilon: 1, Min: 1, Max: 100}, {Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 1}, {Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 100, Runs: 4},
		{Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 100, Runs: -1}, {Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 100, Moment: 1, Runs: 3},
		{Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 0x1p41}, {Epsilon: 1, Sensitivity: 1e-6, Min: 1, Max: 100, Relation: 9},
	} {
		_, err := NewAdviceSearch(p)
		require.ErrorIs(t, err, ErrParams, "%+v", p)
	}
	zero := Advised{}
	require.True(t, math.IsNaN(zero.Value()))
	require.Contains(t, zero.String(), "not released")
	require.Equal(t, math.Inf(1), zero.Guarantee().EpsilonAt(0))
	s, err := NewAdviceSearch(good)
	require.NoError(t, err)
	r, err := s.Release(func(_, _ float64) float64 { return math.NaN() })
	require.NoError(t, err)
	require.False(t, math.IsNaN(r.Value()))
	require.NotEmpty(t, r.String())
}
