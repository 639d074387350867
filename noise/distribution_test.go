package noise

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// testDistribution is a distribution with what the common tests need to know about it.
type testDistribution struct {
	distribution
	name     string
	scale    float64 // a typical size of X
	discrete bool
	positive bool      // no mass below 0; else symmetric
	ends     []float64 // the discontinuities of the density
}

func testDistributions(t *testing.T, scales ...float64) []testDistribution {
	t.Helper()
	var all []testDistribution
	for _, s := range scales {
		l := dptest.OK(NewLaplace(s))(t)
		g := dptest.OK(NewGaussian(s))(t)
		all = append(all, testDistribution{l, fmt.Sprint("Laplace ", s), s, false, false, nil}, testDistribution{g, fmt.Sprint("Gaussian ", s), s, false, false, nil})
		if s <= mostDiscrete {
			dl := dptest.OK(NewDiscreteLaplace(s))(t)
			dg := dptest.OK(NewDiscreteGaussian(s))(t)
			ge := dptest.OK(NewGeometric(s))(t)
			all = append(all, testDistribution{dl, fmt.Sprint("DiscreteLaplace ", s), s, true, false, nil},
				testDistribution{dg, fmt.Sprint("DiscreteGaussian ", s), s, true, false, nil}, testDistribution{ge, fmt.Sprint("Geometric ", s), s, true, true, nil})
		}
	}
	return all
}

func TestAccessors(t *testing.T) {
	l, _ := NewLaplace(3)
	g, _ := NewGaussian(4)
	dl, _ := NewDiscreteLaplace(5)
	dg, _ := NewDiscreteGaussian(6)
	ge, _ := NewGeometric(7)
	p, _ := NewPareto(1.5, 8)
	s, _ := NewStudent(2.5, 9)
	assert.Equal(t, []float64{3, 4, 5, 6, 7, 1.5, 8, 2.5, 9}, []float64{l.Scale(), g.Sigma(), dl.Scale(), dg.Sigma(), ge.Scale(), p.Shape(), p.Scale(), s.Shape(), s.Scale()})
	stairs, _ := NewStaircase(0.5, 3, math.Copysign(0, -1))
	epsilon, sensitivity, gamma := stairs.Parameters()
	assert.Equal(t, []float64{0.5, 3, 0}, []float64{epsilon, sensitivity, gamma})
	assert.False(t, math.Signbit(gamma))
	assert.Equal(t, 5.0, dptest.OK(NewCorrelatedGaussian(4, 3))(t).Marginal().Sigma())
}

func TestEnds(t *testing.T) {
	inf := math.Inf(1)
	all := testDistributions(t, 0x1p-900, 0.01, 1, 16, 1e9, 0x1p50, 0x1p900)
	for _, unit := range []float64{0x1p-900, 1, 0x1p900} {
		all = append(all, heavyDistributions(t, unit)...)
	}
	for _, d := range all {
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

// Survival falls, CDF rises and both add up to 1, the density is symmetric, and logarithms are
// those of the survival and the density.
func TestMonotoneAndComplementary(t *testing.T) {
	all := testDistributions(t, 0.01, 0.3, 1, 7.3, 15.9, 16, 1000, 1e12)
	for _, unit := range []float64{0x1p-900, 1, 0x1p900} {
		all = append(all, heavyDistributions(t, unit)...)
	}
	for _, d := range all {
		last, lastLog := 1.0, 0.0
		for z := -50.0; z <= 50; z += 0.09 * float64(dptest.Fewer(1, 4)) {
			x := z * d.scale
			s, logS, p := d.Survival(x), d.LogSurvival(x), d.Prob(x)
			assert.LessOrEqual(t, s, last*(1+1e-13), "%s at %g", d.name, x)
			assert.LessOrEqual(t, logS, lastLog+1e-13*math.Abs(logS), "%s at %g", d.name, x)
			assert.InDelta(t, 1, s+d.CDF(x), 4e-15, "%s at %g", d.name, x)
			if s > 1e-290 {
				assert.InEpsilon(t, s, math.Exp(logS), 2e-12, "%s at %g", d.name, x)
			}
			if !d.positive {
				assert.Equal(t, p, d.Prob(-x))
			}
			if p*d.scale > 1e-290 && p > 1e-290 && !math.IsInf(p, 1) { // else a denormal on the way
				assert.InEpsilon(t, p, math.Exp(d.LogProb(x)), 2e-12, "%s at %g", d.name, x)
			}
			last, lastLog = s, logS
		}
	}
}

// Quantile is the inverse of CDF: of a continuous distribution as far as CDF can tell, of a
// discrete distribution exactly.
func TestQuantile(t *testing.T) {
	all := testDistributions(t, 0x1p-900, 0.01, 0.2, 0.9, 1, 3, 15.9, 16.1, 1000, 1e9, 0x1p50)
	light := len(all)
	for _, unit := range []float64{1, 0.3, 0x1p-900, 0x1p200} {
		all = append(all, heavyDistributions(t, unit)...)
	}
	for i, d := range all {
		limit := 4e-12
		if i < light {
			limit = 4e-13 // x to 2⁻⁵³ moves CDF by 700·2⁻⁵³, or 1369·2⁻⁵³
		}
		if s, ok := d.distribution.(Staircase); ok && s.formulas.epsilon > 3 {
			limit = math.Inf(1) // a float64 x does not determine CDF at the end of a step
		}
		last := math.Inf(-1)
		for _, p := range []float64{1e-300, 1e-50, 1e-17, 1e-9, 1e-4, 0.01, 0.1, 0.2, 0.4, 0.4999, 0.5 - 1e-12, 0.5, 0.5 + 1e-12, 0.7, 0.99, 1 - 1e-9, 1 - 0x1p-53} {
			x := d.Quantile(p)
			assert.GreaterOrEqual(t, x, last, "%s at %g", d.name, p)
			last = x
			low, tail := d.CDF(x), min(p, 1-p)
			if p > 0.5 {
				low = d.Survival(x)
			}
			switch {
			case math.IsInf(x, 0): // out of range indeed
				assert.GreaterOrEqual(t, d.LogSurvival(math.MaxFloat64)+1e-12, math.Log(tail), "%s at %g", d.name, p)
			case !d.discrete:
				assert.InDelta(t, p, d.CDF(x), 1e-12, "%s at %g", d.name, p)
				assert.LessOrEqual(t, math.Abs(low/tail-1), limit, "%s at %g", d.name, p)
			case math.Abs(x) >= 1<<52:
			case p <= 0.5:
				assert.True(t, x == math.Floor(x) && low >= p && d.CDF(x-1) < p, "%s at %g: %g", d.name, p, x)
			default:
				assert.True(t, x == math.Floor(x) && low <= 1-p && d.Survival(x-1) > 1-p, "%s at %g: %g", d.name, p, x)
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
	assert.InEpsilon(t, 2*s*s, l.Variance(), 1e-15)
	assert.InEpsilon(t, s, l.MeanAbs(), 1e-15)
	assert.InEpsilon(t, s*s, g.Variance(), 1e-15)
	assert.InEpsilon(t, s*math.Sqrt(2/math.Pi), g.MeanAbs(), 1e-15)
	for _, d := range testDistributions(t, 0x1p-900, 0x1p50) { // no NaN at the ends
		assert.GreaterOrEqual(t, d.Variance(), 0.0)
		assert.GreaterOrEqual(t, d.MeanAbs(), 0.0)
	}
	wide, _ := NewDiscreteGaussian(0x1p50)
	assert.InEpsilon(t, 0x1p100, wide.Variance(), 1e-15)
	assert.InEpsilon(t, 0x1p50*math.Sqrt(2/math.Pi), wide.MeanAbs(), 1e-15)
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

// The tails on both sides are those of testdata, which reference.py and heavy.py have written: they
// sum and integrate with 80 digits by mpmath and share no formula with this package but the
// definitions.
func TestTails(t *testing.T) {
	for _, c := range []struct {
		file, name string
		parameters int
		limit      float64
		build      func(p []float64) (distribution, error)
	}{
		{"reference", "laplace", 1, 2e-15, func(p []float64) (distribution, error) { return NewLaplace(p[0]) }},
		{"reference", "gaussian", 1, 1e-14, func(p []float64) (distribution, error) { return NewGaussian(p[0]) }},
		{"reference", "discretelaplace", 1, 2e-15, func(p []float64) (distribution, error) { return NewDiscreteLaplace(p[0]) }},
		{"reference", "discretegaussian", 1, 1e-13, func(p []float64) (distribution, error) { return NewDiscreteGaussian(p[0]) }},
		{"reference", "geometric", 1, 1e-15, func(p []float64) (distribution, error) { return NewGeometric(p[0]) }},
		{"heavy", "pareto", 2, 2e-13, func(p []float64) (distribution, error) { return NewPareto(p[0], p[1]) }},
		{"heavy", "student", 2, 2e-13, func(p []float64) (distribution, error) { return NewStudent(p[0], p[1]) }},
		{"heavy", "staircase", 3, 1e-14, func(p []float64) (distribution, error) { return NewStaircase(p[0], p[1], p[2]) }},
	} {
		columns := c.parameters + 3
		if c.name == "geometric" {
			columns++ // its CDF
		}
		var survival, cdf, log dptest.Worst
		for _, row := range dptest.Rows(t, "testdata/"+c.file+".txt", c.name, columns) {
			d := dptest.OK(c.build(row))(t)
			x, want, logWant := row[c.parameters], row[c.parameters+1], row[c.parameters+2]
			if want > 0x1p-1000 || want == 0 && c.file == "reference" {
				survival.See(d.Survival(x), want, row...)
				switch below := -math.Floor(x) - 1; { // Pr[X ≤ below] = Pr[X > x]
				case c.name == "geometric":
					cdf.See(d.CDF(x), row[4], row...)
				case !strings.HasPrefix(c.name, "discrete"):
					cdf.See(d.CDF(-x), want, row...)
				case math.Abs(below) < 1<<53:
					cdf.See(d.CDF(below), want, row...)
				}
			}
			if math.Abs(logWant) > 0x1p-1000 {
				log.See(d.LogSurvival(x), logWant, row...)
			}
		}
		survival.Check(t, c.name+" Survival", c.limit)
		cdf.Check(t, c.name+" CDF", c.limit)
		log.Check(t, c.name+" LogSurvival", c.limit)
	}
}
