package noise

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// continuousMirror and integerMirror map x to the y with Pr[X ≤ y] = Pr[X > x].
func continuousMirror(x float64) float64 { return -x }

func integerMirror(x float64) float64 {
	j := math.Floor(x)
	if math.Abs(j) >= 1<<53 {
		return math.NaN()
	}
	return -j - 1
}

// testDistribution is a distribution with what the common tests need to know about it.
type testDistribution struct {
	distribution
	name     string
	scale    float64
	discrete bool
	positive bool // no mass below 0; else symmetric
}

func testDistributions(t *testing.T, scales ...float64) []testDistribution {
	t.Helper()
	var all []testDistribution
	for _, s := range scales {
		l := dptest.OK(NewLaplace(s))(t)
		g := dptest.OK(NewGaussian(s))(t)
		all = append(all, testDistribution{l, fmt.Sprint("Laplace ", s), s, false, false}, testDistribution{g, fmt.Sprint("Gaussian ", s), s, false, false})
		if s <= mostDiscrete {
			dl := dptest.OK(NewDiscreteLaplace(s))(t)
			dg := dptest.OK(NewDiscreteGaussian(s))(t)
			ge := dptest.OK(NewGeometric(s))(t)
			all = append(all, testDistribution{dl, fmt.Sprint("DiscreteLaplace ", s), s, true, false}, testDistribution{dg, fmt.Sprint("DiscreteGaussian ", s), s, true, false},
				testDistribution{ge, fmt.Sprint("Geometric ", s), s, true, true})
		}
	}
	return all
}

func TestNewRejects(t *testing.T) {
	bad := []float64{0, math.Copysign(0, -1), -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 0x1p-1022, 0x1p-901, 0x1p901, math.MaxFloat64}
	for _, v := range bad {
		_, e1 := NewLaplace(v)
		_, e2 := NewGaussian(v)
		_, e3 := NewDiscreteLaplace(v)
		_, e4 := NewDiscreteGaussian(v)
		_, e5 := NewGeometric(v)
		for i, err := range []error{e1, e2, e3, e4, e5} {
			require.ErrorIs(t, err, ErrParams, "%g", v)
			assert.Contains(t, err.Error(), []string{"scale", "sigma"}[i%2])
			assert.Contains(t, err.Error(), fmt.Sprint(v))
			assert.Contains(t, err.Error(), "a number in [2⁻⁹⁰⁰, 2")
		}
	}
	require.ErrorIs(t, dptest.Err(NewDiscreteLaplace(0x1p51)), ErrParams)
	require.ErrorIs(t, dptest.Err(NewDiscreteGaussian(0x1p51)), ErrParams)
	require.ErrorIs(t, dptest.Err(NewGeometric(0x1p51)), ErrParams)
	for _, v := range []float64{0x1p-900, 1, 0x1p50} {
		for _, d := range testDistributions(t, v) {
			assert.NotNil(t, d)
		}
	}
}

func TestAccessors(t *testing.T) {
	l, _ := NewLaplace(3)
	g, _ := NewGaussian(4)
	dl, _ := NewDiscreteLaplace(5)
	dg, _ := NewDiscreteGaussian(6)
	ge, _ := NewGeometric(7)
	assert.Equal(t, []float64{3, 4, 5, 6, 7}, []float64{l.Scale(), g.Sigma(), dl.Scale(), dg.Sigma(), ge.Scale()})
}

func TestZeroLawIsNaN(t *testing.T) {
	for _, d := range []distribution{Laplace{}, Gaussian{}, DiscreteLaplace{}, DiscreteGaussian{}, Geometric{}, Staircase{}, Pareto{}, Student{}} {
		for _, x := range []float64{0, 1, -1, 0.5, math.Inf(1), math.NaN()} {
			for _, got := range []float64{d.CDF(x), d.Survival(x), d.LogSurvival(x), d.Quantile(x), d.Prob(x), d.LogProb(x), d.Mean(), d.Variance(), d.MeanAbs()} {
				assert.True(t, math.IsNaN(got), "%T at %g: %g", d, x, got)
			}
		}
	}
}

func TestEnds(t *testing.T) {
	inf := math.Inf(1)
	for _, d := range testDistributions(t, 0x1p-900, 0.01, 1, 16, 1e9, 0x1p50, 0x1p900) {
		for _, got := range []float64{d.CDF(math.NaN()), d.Survival(math.NaN()), d.LogSurvival(math.NaN()), d.Quantile(math.NaN()), d.Prob(math.NaN()),
			d.LogProb(math.NaN()), d.Quantile(-0.1), d.Quantile(1.1), d.Quantile(inf), d.Quantile(math.Nextafter(1, 2)), d.Quantile(-5e-324)} {
			assert.True(t, math.IsNaN(got), "%s: %g", d.name, got)
		}
		assert.Equal(t, []float64{0, 1, 1, 0}, []float64{d.CDF(-inf), d.CDF(inf), d.Survival(-inf), d.Survival(inf)}, d.name)
		assert.Equal(t, []float64{0, -inf}, []float64{d.LogSurvival(-inf), d.LogSurvival(inf)}, d.name)
		assert.Equal(t, []float64{0, 0, -inf, -inf}, []float64{d.Prob(-inf), d.Prob(inf), d.LogProb(-inf), d.LogProb(inf)}, d.name)
		if d.positive {
			assert.Equal(t, []float64{0, inf, d.MeanAbs()}, []float64{d.Quantile(0), d.Quantile(1), d.Mean()}, d.name)
		} else {
			assert.Equal(t, []float64{-inf, inf, 0}, []float64{d.Quantile(0), d.Quantile(1), d.Mean()}, d.name)
		}
		for _, x := range []float64{5e-324, 1e-300, 1e300, math.MaxFloat64, 1 << 53, 1<<53 + 2, -math.MaxFloat64} {
			// no NaN from overflow
			for i, got := range []float64{d.CDF(x), d.Survival(x), d.LogSurvival(x), d.Prob(x), d.LogProb(x)} {
				assert.False(t, math.IsNaN(got) || i < 3 && got > 1, "%s at %g: %d: %g", d.name, x, i, got)
			}
		}
		for _, p := range []float64{5e-324, 1e-308, 0x1p-53, 0.5, 1 - 0x1p-53} {
			assert.False(t, math.IsNaN(d.Quantile(p)), "%s at %g", d.name, p)
		}
	}
}

// Survival falls, CDF rises and both add up to 1, and the logarithm is that of the survival.
func TestMonotoneAndComplementary(t *testing.T) {
	for _, d := range testDistributions(t, 0.01, 0.3, 1, 7.3, 15.9, 16, 1000, 1e12) {
		last, lastLog := 1.0, 0.0
		for z := -40.0; z <= 40; z += 0.07 * float64(dptest.Fewer(1, 4)) {
			x := z * d.scale
			s, logS := d.Survival(x), d.LogSurvival(x)
			assert.LessOrEqual(t, s, last*(1+1e-13), "%s at %g", d.name, x)
			assert.LessOrEqual(t, logS, lastLog+1e-13*math.Abs(logS), "%s at %g", d.name, x)
			assert.InDelta(t, 1, s+d.CDF(x), 3e-15, "%s at %g", d.name, x)
			if s > 1e-300 {
				assert.InEpsilon(t, s, math.Exp(logS), 1e-12, "%s at %g", d.name, x)
			}
			last, lastLog = s, logS
		}
	}
}

// Quantile is the inverse of CDF: of a continuous distribution as far as CDF can tell, of a
// discrete distribution exactly.
func TestQuantile(t *testing.T) {
	for _, d := range testDistributions(t, 0x1p-900, 0.01, 0.2, 0.9, 1, 3, 15.9, 16.1, 1000, 1e9, 0x1p50) {
		for _, p := range []float64{1e-300, 1e-50, 1e-9, 0.01, 0.2, 0.4999, 0.5, 0.5001, 0.7, 0.99, 1 - 1e-9, 1 - 0x1p-53} {
			x := d.Quantile(p)
			if !d.discrete {
				if p <= 0.5 {
					// x to 2⁻⁵³ moves CDF by 700·2⁻⁵³, or 1369·2⁻⁵³
					assert.InEpsilon(t, p, d.CDF(x), 4e-13, "%s at %g", d.name, p)
				} else {
					assert.InEpsilon(t, 1-p, d.Survival(x), 4e-13, "%s at %g", d.name, p)
				}
				continue
			}
			assert.Equal(t, math.Floor(x), x)
			if math.Abs(x) >= 1<<52 {
				continue
			}
			if p <= 0.5 {
				assert.True(t, d.CDF(x) >= p && d.CDF(x-1) < p, "%s at %g: %g", d.name, p, x)
			} else {
				assert.True(t, d.Survival(x) <= 1-p && d.Survival(x-1) > 1-p, "%s at %g: %g", d.name, p, x)
			}
		}
	}
}

// The density is the derivative of the CDF, the mass its difference, and LogProb their logarithm.
func TestProb(t *testing.T) {
	for _, d := range testDistributions(t, 0.3, 1, 2.7, 15.9, 16, 300, 1e6) {
		for z := 0.05; z < 20; z += 0.313 {
			x := z * d.scale
			if d.discrete {
				x = math.Ceil(x)
				assert.Zero(t, d.Prob(x+0.5))
				assert.Equal(t, math.Inf(-1), d.LogProb(x+0.5))
				if d.Prob(x) > 1e-250 { // cancellation in the difference: up to scale/z
					assert.InEpsilon(t, d.Survival(x-1)-d.Survival(x), d.Prob(x), 1e-14*(2+d.scale), "%s at %g", d.name, x)
				}
			} else {
				// A symmetric difference quotient over 2h, less its h² term: f‴/f is 1/b³ or below
				// (z³+3z)/σ³.
				h := d.scale * 1e-4
				quotient := (d.Survival(x-h) - d.Survival(x+h)) / (2 * h)
				assert.InEpsilon(t, quotient, d.Prob(x), 1e-8*(1+z*z)/6+1e-11, "%s at %g", d.name, x)
			}
			if d.positive {
				assert.Zero(t, d.Prob(-x))
			} else {
				assert.Equal(t, d.Prob(x), d.Prob(-x))
			}
			if d.Prob(x) > 1e-250 {
				assert.InEpsilon(t, d.Prob(x), math.Exp(d.LogProb(x)), 1e-13, "%s at %g", d.name, x)
			}
		}
	}
}

// The masses of a discrete distribution, summed in big.Float without any of the package's formulas,
// give its tails and moments.
func TestDiscreteLawsAgainstExactSums(t *testing.T) {
	scales := []float64{0.2, 0.77, 1, 3.25, 16.5, 15.75, 40}
	for _, scale := range scales[:dptest.Fewer(len(scales), 5)] {
		for _, d := range testDistributions(t, scale)[2:] {
			reach := int(40 * scale)
			if _, ok := d.distribution.(DiscreteGaussian); !ok {
				reach = int(150*scale) + 2
			}
			mass := make([]*big.Float, reach+1)
			total := new(big.Float).SetPrec(200)
			for k := range mass {
				exponent := big.NewRat(int64(k), 1)
				exponent.Quo(exponent, new(big.Rat).SetFloat64(scale))
				if _, ok := d.distribution.(DiscreteGaussian); ok {
					exponent.Mul(exponent, exponent).Quo(exponent, big.NewRat(2, 1))
				}
				mass[k] = bigExpNeg(exponent)
				total.Add(total, mass[k])
				if k > 0 && !d.positive {
					total.Add(total, mass[k])
				}
			}
			var prob, tail, moments dptest.Worst
			sum, first, second := new(big.Float).SetPrec(200), new(big.Float).SetPrec(200), new(big.Float).SetPrec(200)
			for k := reach; k >= 0; k-- {
				want, _ := new(big.Float).Quo(sum, total).Float64()
				if k < reach*2/3 && want > 1e-290 { // else what lies beyond reach matters
					tail.See(d.Survival(float64(k)), want, scale, float64(k))
				}
				sum.Add(sum, mass[k])
				want, _ = new(big.Float).Quo(mass[k], total).Float64()
				if want > 1e-290 {
					at := float64(-k)
					if d.positive {
						at = float64(k)
					}
					prob.See(d.Prob(at), want, scale, float64(k))
				}
				term := new(big.Float).Mul(mass[k], big.NewFloat(float64(k)))
				if !d.positive {
					term.Add(term, term)
				}
				first.Add(first, term)
				second.Add(second, term.Mul(term, big.NewFloat(float64(k))))
			}
			want, _ := first.Quo(first, total).Float64()
			moments.See(d.MeanAbs(), want, scale, 1)
			second.Quo(second, total)
			if d.positive { // first is the mean by now
				second.Sub(second, first.Mul(first, first))
			}
			want, _ = second.Float64()
			moments.See(d.Variance(), want, scale, 2)
			prob.Check(t, d.name+" Prob", 2e-15)
			tail.Check(t, d.name+" Survival", 3e-14)
			moments.Check(t, d.name+" moments", 2e-14)
		}
	}
}

// bigExpNeg returns e^{−x}, x ≤ 2³², to about 190 bits: Taylor's series at x/2³², as far as its
// terms matter, squared 32 times.
func bigExpNeg(x *big.Rat) *big.Float {
	const prec = 320
	y := new(big.Float).SetPrec(prec).SetRat(x)
	y.SetMantExp(y, -32)
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for n := 1; term.Sign() != 0 && term.MantExp(nil) > -prec; n++ {
		term.Mul(term, y).Quo(term, big.NewFloat(float64(-n)))
		sum.Add(sum, term)
	}
	for range 32 {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestMomentsClosedForms(t *testing.T) {
	const s = 2.5
	l, _ := NewLaplace(s)
	g, _ := NewGaussian(s)
	dl, _ := NewDiscreteLaplace(s)
	q := math.Exp(-1 / s)
	assert.InEpsilon(t, 2*s*s, l.Variance(), 1e-15)
	assert.InEpsilon(t, s, l.MeanAbs(), 1e-15)
	assert.InEpsilon(t, s*s, g.Variance(), 1e-15)
	assert.InEpsilon(t, s*math.Sqrt(2/math.Pi), g.MeanAbs(), 1e-15)
	assert.InEpsilon(t, 2*q/(1-q)/(1-q), dl.Variance(), 1e-14)
	assert.InEpsilon(t, 2*q/(1-q*q), dl.MeanAbs(), 1e-14)
	ge, _ := NewGeometric(s)
	assert.InEpsilon(t, q/(1-q), ge.Mean(), 1e-14)
	assert.InEpsilon(t, q/(1-q)/(1-q), ge.Variance(), 1e-14)
	for _, d := range testDistributions(t, 0x1p-900, 0x1p50) { // no NaN at the ends
		assert.GreaterOrEqual(t, d.Variance(), 0.0)
		assert.GreaterOrEqual(t, d.MeanAbs(), 0.0)
	}
	wide, _ := NewDiscreteGaussian(0x1p50)
	assert.InEpsilon(t, 0x1p100, wide.Variance(), 1e-15)
	assert.InEpsilon(t, 0x1p50*math.Sqrt(2/math.Pi), wide.MeanAbs(), 1e-15)
}

// reference returns the rows of testdata/reference.txt for one distribution. The file is written by
// reference.py, which sums and integrates with 80 digits by mpmath and shares no formula with this
// package but the definitions.
func reference(t *testing.T, name string, columns int) [][]float64 {
	t.Helper()
	return dptest.Rows(t, "testdata/reference.txt", name, columns)
}

// distribution has the methods that all distributions of the package share.
type distribution interface {
	CDF(x float64) float64
	Survival(x float64) float64
	LogSurvival(x float64) float64
	Quantile(p float64) float64
	Mean() float64
	Variance() float64
	MeanAbs() float64
	Prob(x float64) float64
	LogProb(x float64) float64
}

// testTails compares a distribution with the reference file, on both sides, to the given relative
// error. mirror maps x to the y with Pr[X ≤ y] = Pr[X > x], or to NaN where that is no float64.
func testTails[T distribution](t *testing.T, name string, limit float64, make func(float64) (T, error), mirror func(float64) float64) {
	var survival, cdf, logSurvival dptest.Worst
	for _, row := range reference(t, name, 4) {
		d := dptest.OK(make(row[0]))(t)
		scale, x, want, logWant := row[0], row[1], row[2], row[3]
		if want > 0x1p-1000 || want == 0 {
			survival.See(d.Survival(x), want, scale, x)
			if mirrored := mirror(x); !math.IsNaN(mirrored) {
				cdf.See(d.CDF(mirrored), want, scale, x)
			}
		}
		if math.Abs(logWant) > 0x1p-1000 {
			logSurvival.See(d.LogSurvival(x), logWant, scale, x)
		}
	}
	survival.Check(t, "Survival", limit)
	cdf.Check(t, "CDF", limit)
	logSurvival.Check(t, "LogSurvival", limit)
}
