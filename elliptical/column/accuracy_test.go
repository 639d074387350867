package column

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// dataset is a column with its public range.
type dataset struct {
	name     string
	min, max float64
	values   []float64
}

// datasets6 are the six columns of the accuracy table, n values each.
func datasets6(n int) (all []dataset) {
	rng := rand.New(rand.NewPCG(7, 8))
	make := func(name string, lo, hi float64, draw func() float64) {
		d := dataset{name: name, min: lo, max: hi}
		for range n {
			d.values = append(d.values, draw())
		}
		all = append(all, d)
	}
	make("ages", 0, 100, func() float64 { return math.Floor(min(max(40+18*rng.NormFloat64(), 0), 100)) })
	make("incomes", 0, 200_000, func() float64 { return 40_000 * rng.ExpFloat64() })
	make("Bernoulli .01", 0, 1, func() float64 {
		if rng.Float64() < 0.01 {
			return 1
		}
		return 0
	})
	make("latencies", 0, 1000, func() float64 { return 20 * math.Exp(1.5*rng.NormFloat64()) })
	make("uniform", -1, 1, func() float64 { return 2*rng.Float64() - 1 })
	make("baskets", 0, 50, func() float64 { return min(1+math.Floor(9*rng.ExpFloat64()), 50) })
	return all
}

// truth returns the five numbers of the clamped values.
func (d dataset) truth() (v [StdDev + 1]float64) {
	n := float64(len(d.values))
	v[Count] = n
	for _, x := range d.values {
		v[Sum] += min(max(x, d.min), d.max)
	}
	v[Mean] = v[Sum] / n
	for _, x := range d.values {
		y := min(max(x, d.min), d.max) - v[Mean]
		v[Variance] += y * y / n
	}
	v[StdDev] = math.Sqrt(v[Variance])
	return v
}

// again returns releases of the same column.
func again(t testing.TB, p Params, d dataset) func() *Summary {
	p.Min, p.Max = d.min, d.max
	b := builder(t, p, d.values...)
	s := held(b)
	return func() *Summary {
		r := &Summary{params: s.params, law: s.law, values: s.law.release(&s.totals)}
		if s.params.Relation == budget.Replace {
			r.rows = s.rows
		}
		return r
	}
}

// regimes are the guarantees and relations that are tested for accuracy.
var regimes = []Params{
	{Epsilon: 1, Want: Mean}, {Epsilon: 1}, {Rho: 0.5, Want: Mean}, {Rho: 0.5}, {Epsilon: 1, Relation: budget.Replace}, {Rho: 0.5, Relation: budget.Replace},
}

// Each interval covers at least with its confidence, at n where the noise matters and where the
// first order is not all. A count below the one-sided bound of Clopper and Pearson at 1e-11 has
// that probability.
func TestCoverage(t *testing.T) {
	runs := dptest.Full(400, 60)
	if dptest.Deep() {
		runs = 4000
	}
	const alarm = 1e-11
	for _, n := range []int{10, 1000} {
		for at, d := range datasets6(n) {
			if !dptest.Long() && (at%2 == 0 || (at%4 == 1) != (n == 10)) {
				continue
			}
			truth := d.truth()
			for _, p := range regimes {
				release := again(t, p, d)
				var covered [StdDev + 1][2]int64
				for run := range runs {
					s := release()
					var ends [2][2]float64 // of the Variance
					for of := Count; of <= StdDev; of++ {
						if !s.has(of) {
							continue
						}
						for i, confidence := range []float64{0.8, 0.95} {
							lo, hi := math.Sqrt(ends[i][0]), math.Sqrt(ends[i][1])
							if of < StdDev || run == 0 {
								lo, hi = s.Interval(of, confidence)
							}
							if of == StdDev {
								require.True(t, lo == math.Sqrt(ends[i][0]) && hi == math.Sqrt(ends[i][1]))
							}
							ends[i] = [2]float64{lo, hi}
							if lo <= truth[of] && truth[of] <= hi {
								covered[of][i]++
							}
						}
					}
				}
				for of := Count; of <= StdDev; of++ {
					if p.moments() == 1 && of > Mean {
						continue
					}
					for i, confidence := range []float64{0.8, 0.95} {
						t.Logf("%s, n = %d, %v at %g, %v: %.3f", d.name, n, of, confidence, release().Guarantee(), float64(covered[of][i])/float64(runs))
						_, upper := dptest.ClopperPearson(covered[of][i], int64(runs), 1-alarm)
						dptest.Alarm(t, alarm)
						require.GreaterOrEqual(t, upper, confidence, "%s, n = %d, %v of %+v: %d of %d", d.name, n, of, p, covered[of][i], runs)
					}
				}
			}
		}
	}
}

// The root mean square errors are those of the formulas in doc.go, and StdErr says them. With 2000
// runs the mean square is off by 6.7·√(5/2000) = 34 % with probability below 2e-11 (kurtosis of
// Laplace noise at most 6), and so the root by 17 %. What is not of the first order adds less than
// 3 % at n = 5000.
func TestErrors(t *testing.T) {
	runs := dptest.Full(20000, 2000)
	for at, d := range datasets6(5000) {
		if at%2 > 0 && !dptest.Long() {
			continue
		}
		truth := d.truth()
		n, h := float64(len(d.values)), (d.max-d.min)/2
		m := (truth[Mean] - d.min - h) / h // of t
		v := truth[Variance] / (h * h)
		for _, p := range regimes {
			release := again(t, p, d)
			var squares [StdDev + 1]float64
			for range runs {
				s := release()
				for of := Count; of <= Variance; of++ {
					squares[of] += math.Pow(s.Value(of)-truth[of], 2) / float64(runs)
				}
			}
			var want [StdDev + 1]float64 // variances, in units of the noise
			lambda := 41.0 / 40
			a := m*m - v // the influence of a row on the variance is t² − 2mt + a
			switch {
			case p.Relation == budget.Replace && p.Rho > 0:
				want = [StdDev + 1]float64{Mean: 2 / p.Rho, Variance: (4*m*m*4 + 77*77/4096.0) / (2 * p.Rho)}
			case p.Relation == budget.Replace:
				want = [StdDev + 1]float64{Mean: 2 * 81 / 16.0, Variance: 2 * 81 / 16.0 * (1 + 4*m*m)}
			case p.Rho > 0 && p.moments() == 1:
				want = [StdDev + 1]float64{Count: 1 / p.Rho, Mean: (1 + m*m) / p.Rho}
			case p.Rho > 0: // l₀ = 1 − t² and l±, at 0 and ±1
				want = [StdDev + 1]float64{Count: 3 / (2 * p.Rho), Mean: (2 + 3*m*m) / (2 * p.Rho)}
				want[Variance] = (a*a + math.Pow(1-2*m+a, 2) + math.Pow(1+2*m+a, 2)) / (2 * p.Rho)
			case p.moments() == 1:
				want = [StdDev + 1]float64{Count: 4, Mean: 4 * (1 + m*m)}
			default:
				scale := 2 * lambda * lambda
				want = [StdDev + 1]float64{Count: 3 * scale, Mean: (2 + 3*m*m) * scale}
				want[Variance] = scale * (math.Pow(a-0.6, 2) + math.Pow(1-2*m+a, 2) + math.Pow(1+2*m+a, 2))
			}
			s := release()
			for of := Count; of <= Variance; of++ {
				unit := 1.0
				switch of {
				case Sum:
					continue
				case Mean:
					unit = h / n
				case Variance:
					unit = h * h / n
				}
				if p.moments() == 1 && of > Mean || of == Count && p.Relation == budget.Replace {
					continue
				}
				dptest.Alarm(t, 2e-11)
				require.InEpsilon(t, 1, math.Sqrt(squares[of]/want[of])/unit, 0.2, "%s, %v of %+v", d.name, of, p)
				require.InEpsilon(t, math.Sqrt(want[of])*unit, s.StdErr(of), 0.1, "%s, %v of %+v", d.name, of, p)
			}
			require.InEpsilon(t, s.StdErr(Variance)/2/s.Value(StdDev), s.StdErr(StdDev), 1e-9)
		}
	}
}

// Where rows cannot be told from none, the interval of the mean is all of the range; where they
// can, it is as wide as the noise over the rows.
func TestMeanInterval(t *testing.T) {
	d := datasets6(100_000)[0]
	s := again(t, Params{Epsilon: 1}, d)()
	lo, hi := s.Interval(Mean, 0.95)
	require.Less(t, hi-lo, 0.01)
	lo, hi = s.Interval(Variance, 0.95)
	require.Less(t, hi-lo, 1.0)
	for _, p := range []Params{{Epsilon: 0x1p-20, Min: -5, Max: 7}, {Rho: 0x1p-40, Min: -5, Max: 7}} {
		s = released(t, p, 1, 2, 3)
		s.values = sample(p, 1, 2, 3).values
		lo, hi = s.Interval(Mean, 0.95)
		require.True(t, lo == -5 && hi == 7)
		lo, hi = s.Interval(StdDev, 0.95)
		require.True(t, lo == 0 && hi == 6)
	}
}

// The interval of a count that comes with a mean is as wide as its Laplace noise needs.
func TestCountInterval(t *testing.T) {
	s := released(t, Params{Epsilon: 0.5, Max: 1, Want: Mean}, make([]float64, 1000)...)
	rows, _, _ := s.forms()
	lo, hi := s.Interval(Count, 0.95)
	require.Equal(t, [3]float64{2, 2, 0}, rows.noise) // of two equal ones: (1 + x/2)·e^−x
	x := (hi - lo) / 2 / 2
	require.InDelta(t, 0.05, (1+x/2)*math.Exp(-x), 0.001)
}
