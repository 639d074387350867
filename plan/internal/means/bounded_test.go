package means

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// columnOf returns n rows of one number each, and their mean.
func columnOf(rng *rand.Rand, n int, draw func(*rand.Rand) float64) ([][]float64, []float64) {
	x, mean := make([][]float64, n), 0.0
	for j := range x {
		x[j] = []float64{draw(rng)}
		mean += x[j][0] / float64(n)
	}
	return x, []float64{mean}
}

// Whatever noise does, both ends lie in the public range and in order: where they would cross, as
// at a low confidence, it is all of the range. (Of n = 17, d = 70, ρ = ½ 137 of 19,950 crossed, and
// at ρ = 2⁻³⁰ an interval of [−1, 1] began at 4227.)
func TestIntervalBoundedIsInOrder(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(55, 56)) // test data
	crossed, all := 0, 0
	for _, rho := range []float64{0x1p-30, 0.01, 0.5, 100} {
		for _, d := range []int{1, 70} {
			for _, p := range []Params{{Relation: budget.Replace}, {Relation: budget.AddRemove}, {Relation: budget.AddRemove, Rows: 17}, {NonNegative: true, Relation: budget.AddRemove}} {
				p.Rho, p.Dim, p.Max = rho, d, 1
				x := make([][]float64, 17)
				for j := range x {
					x[j] = make([]float64, d)
					for i := range x[j] {
						x[j][i] = 4*rng.Float64() - 2
					}
				}
				for _, method := range []Method{Auto, Adaptive, Plain} {
					p.Method = method
					m := release(t, p, x)
					least, most := m.ranges().of(m.Params, 0)
					for i := range d {
						for _, confidence := range []float64{0, 0.1, 0.5, 0.95, 1 - 1e-9} {
							lo, hi := m.Bounded(i, confidence)
							require.True(t, least <= lo && lo <= hi && hi <= most, "%+v: [%v, %v] at %v", p, lo, hi, confidence)
							if all++; lo == least && hi == most && confidence < 0.5 {
								crossed++
							}
						}
					}
				}
			}
		}
	}
	require.Greater(t, crossed, all/100, "ends that cross are tried")
}

// IntervalBounded holds for rows that were made to break it, in every coordinate: most are 0, and a
// few as far out as they can be, all to one side, so that clipping takes the whole mean; or all lie
// near the end of the range, where the noise of a private n decides.
func TestIntervalBoundedAgainstTheWorst(t *testing.T) {
	const n, d = 2000, 2
	replaced := Params{Rho: 0.5, Dim: d, Max: 100, Resolution: 1, Shares: Shares{Divisor: 0.05}, Relation: budget.Replace}
	private, places := replaced, replaced
	private.Relation, places.Relation, places.Rows = budget.AddRemove, budget.AddRemove, n+20
	for _, c := range []struct {
		p        Params
		far      int
		base     float64
		releases int
	}{
		{replaced, 1, 0, dptest.Full(2000, 60)}, {replaced, 10, 0, dptest.Full(2000, 60)}, {replaced, 60, 0, dptest.Full(2000, 60)},
		{private, 10, 0, dptest.Full(2000, 60)}, {private, 100, 90, dptest.Full(2000, 60)}, {places, 10, 0, dptest.Full(2000, 60)},
	} {
		x, mean := make([][]float64, n), make([]float64, d)
		for j := range x {
			if x[j] = []float64{c.base, c.base}; j < c.far {
				x[j][0], x[j][1] = -100, 50
			}
			mean[0], mean[1] = mean[0]+x[j][0]/n, mean[1]+x[j][1]/n
		}
		p, far, releases := c.p, c.far, c.releases
		bounded, plain, all := int64(0), int64(0), int64(releases*d)
		for range releases {
			m := release(t, p, x)
			plain += covered(m, mean, 0.9)
			for i, want := range mean {
				lo, hi := m.Bounded(i, 0.9)
				if lo <= want && want <= hi {
					bounded++
				}
			}
		}
		t.Logf("%v, %d rows far out: IntervalBounded %d of %d, Interval %d", p.Relation, far, bounded, all, plain)
		dptest.Alarm(t, 1e-10)
		_, upper := dptest.ClopperPearson(bounded, all, 1-1e-10)
		require.GreaterOrEqual(t, upper, 0.9)
		if far == 10 && p.Relation == budget.Replace {
			// about what is clipped: Interval knows nothing of it
			require.Less(t, plain, all/2)
		}
	}
}

// Where the number of rows is private the interval leaves room for the most that there may be.
func TestIntervalBoundedOfPrivateRows(t *testing.T) {
	const confidence = 0.9
	p := Params{Rho: 0.5, Dim: 2, Max: 100, Resolution: 1, Shares: Shares{Divisor: 0.05}, Relation: budget.AddRemove}
	x := make([][]float64, 200)
	for j := range x {
		x[j] = []float64{50, float64(j % 7)}
	}
	m := release(t, p, x)
	z := math.Sqrt2 * math.Erfinv(1-2*(1-confidence)/3)
	rows := cap1(m.Rows) + z/math.Sqrt(2*countShare*p.Rho)
	d := m.gamma() * cap1(m.Rows)
	for i := range 2 {
		lo, hi := m.Bounded(i, confidence)
		c := m.Centre(i)
		sum, sd := (m.Values[i]-c)*d, m.noiseOfSum(i)*d
		reach := func(away float64) float64 { return away*d - z*math.Hypot(sd, away*m.relative()*d) }
		require.LessOrEqual(t, lo, -100+max((reach(c+100)+sum)/rows, 0)+1e-6)
		require.GreaterOrEqual(t, hi, 100-max((reach(100-c)-sum)/rows, 0)-1e-6)
		require.Less(t, hi-lo, 190.0)
	}
}

// Where nothing is clipped IntervalBounded is Interval, but for what rounding can take; where
// nothing is known of what was there is none; where C is far too small it is the whole range.
func TestIntervalBoundedWhere(t *testing.T) {
	x, _ := columnOf(rand.New(rand.NewPCG(53, 54)), 1000, (*rand.Rand).NormFloat64)
	p := Params{Rho: 1, Dim: 1, Max: 10, Relation: budget.Replace}
	plain := p
	plain.Method = Plain
	m := release(t, plain, x)
	lo, hi := m.NoiseInterval(0, 0.9)
	from, to := m.Bounded(0, 0.9)
	require.InDelta(t, lo, from, 1e-6)
	require.InDelta(t, hi, to, 1e-6)
	require.True(t, from <= lo && hi <= to)
	undivided, private, passes := p, p, p
	undivided.Steps.Undivided, private.Steps.Undivided = true, true
	private.Relation = budget.AddRemove
	passes.NonNegative, passes.Method = true, TwoPass
	for _, p := range []Params{undivided, private, passes} {
		lo, hi := release(t, p, x).Bounded(0, 0.9)
		least, most := (*ranges)(nil).of(p, 0)
		require.Equal(t, []float64{least, most}, []float64{lo, hi}, "the public range: %+v", p)
	}
	m = release(t, p, x)
	m.Divisor = m.Rows * leastGamma
	lo, hi = m.Bounded(0, 0.5)
	require.Equal(t, []float64{-10, 10}, []float64{lo, hi})
}

// Symmetric rows need less noise with a deeper clipping, which ruins skewed ones; Margin multiplies
// C. C of the normal law is 1.5 with an eighth clipped and 3.3 with eleven of 20,000.
func TestSymmetricAndMargin(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(55, 56)) // test data
	p := Params{Rho: 0.5, Dim: 1, Max: 1000, Resolution: 0.01, Relation: budget.Replace}
	deep, wide := p, p
	deep.Symmetric, wide.Margin = true, 4
	normal, _ := columnOf(rng, 2000, (*rand.Rand).NormFloat64)
	m := release(t, p, normal)
	require.Less(t, release(t, deep, normal).Errors[0], 0.85*m.Errors[0])
	require.Greater(t, release(t, wide, normal).Limit, 1.5*m.Limit)
	skewed, mean := columnOf(rng, 20_000, (*rand.Rand).ExpFloat64)
	bias := func(p Params) (sum float64) {
		for range 20 {
			sum += (release(t, p, skewed).Values[0] - mean[0]) / 20
		}
		return sum
	}
	require.Greater(t, math.Abs(bias(deep)), 3*math.Abs(bias(p)))
}
