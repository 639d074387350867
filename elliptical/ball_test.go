package elliptical

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// No row is longer than the ball, on any grid; rounded to nearest a quarter of them would be.
func TestRowsStayInTheBall(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3)) // test data
	longer := 0
	for i := range 6000 {
		d := []int{1, 2, 16, 100, 1024}[i%5]
		radius := int64(1) << []int{6, 12, 26, 30}[i%4]
		row, norm := make([]float64, d), 0.0
		for j := range row {
			switch i % 7 {
			case 0:
				row[j] = 1
			case 1:
				row[j] = math.Exp(8 * rng.NormFloat64())
			case 2:
				row[j] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1, 5e-324, 0}[rng.IntN(7)]
			default:
				row[j] = rng.NormFloat64()
			}
			norm += row[j] * row[j]
		}
		step := 1 / float64(radius)
		if i%3 > 0 && !math.IsNaN(norm) && !math.IsInf(norm, 0) {
			for j := range row {
				row[j] /= math.Sqrt(norm) // of norm 1, nearly
			}
		}
		q, squares, nearest := make([]int64, d), uint64(0), 0.0
		within(row, step, radius, q)
		for j, x := range q {
			squares += uint64(x * x)
			y := math.RoundToEven(row[j] / step)
			nearest += y * y
		}
		require.LessOrEqual(t, squares, uint64(radius*radius))
		if nearest > float64(radius)*float64(radius) {
			longer++
		}
		if i%3 > 0 && i%7 > 2 { // no more is lost than a step and a rounding
			for j, x := range q {
				if y := row[j] / step; !(math.Abs(y-float64(x)) <= 1.001+1e-9*float64(radius)*math.Abs(row[j])) {
					t.Fatalf("%v became %d", y, x)
				}
			}
		}
	}
	require.Greater(t, longer, 1000)
}

// Noise and guarantee are those of the ball: the same as an Ellipsoid's, C/√(2ρ) and twice that,
// and of the mean of an unknown number of rows (1 + w²)(d + m²/w²).
func TestBallNoise(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want float64
	}{
		{Params{Rho: .1, NormBound: 1, Dim: 100}, 1 / math.Sqrt(.2)}, {Params{Rho: .1, NormBound: 3, Dim: 7, Relation: budget.Replace}, 6 / math.Sqrt(.2)},
		{Params{Epsilon: 1, Delta: 1e-6, NormBound: 1, Dim: 3}, 4.2247}, {Params{Epsilon: 1, Delta: 1e-9, NormBound: 2, Dim: 3, Relation: budget.Replace}, 2 * 10.9905},
		{Params{Rho: 1e-12, NormBound: 1, Dim: 2}, 1 / math.Sqrt(2e-12)},
	} {
		plan := dptest.OK(c.p.Plan())(t)
		require.InEpsilon(t, c.want, plan.StdDev(0), 1e-4)
		require.GreaterOrEqual(t, plan.StdDev(0), c.want*(1-1e-4))
		require.True(t, c.p.Guarantee().Promises())
	}
	d := 16
	matrix := make([]float64, 0)
	for i := range d {
		for j := range i + 1 {
			if matrix = append(matrix, 0); i == j {
				matrix[len(matrix)-1] = 4
			}
		}
	}
	ball := dptest.OK(Params{Rho: .5, NormBound: 1, Dim: d}.Plan())(t)
	ellipsoid := dptest.OK(Params{Rho: .5, Ellipsoid: VectorOf(matrix...)}.Plan())(t)
	require.InEpsilon(t, ellipsoid.StdDev(3), ball.StdDev(3), 1e-6)
	for _, dim := range []int{1, 4, 16, 100} {
		p := Params{Rho: .5, NormBound: 1, Dim: dim, Count: true}
		m := dptest.OK(New(p))(t)
		w := 1 / m.noise.coordinates[dim].step / float64(m.noise.radius)
		best := math.Pow(float64(dim), -.25)
		require.True(t, w >= best*.7 && w <= best*1.45, "w = %v, best %v", w, best)
		require.InEpsilon(t, math.Sqrt(1+w*w), m.stdDev(0), 1e-6)
		require.InEpsilon(t, math.Sqrt(1+w*w)/w, m.noise.deviation(dim), 1e-6)
	}
}

// Rows of the ball come back, sparse ones too, and a mean with its count. 2³² rows of the bound do
// not overflow.
func TestBallReleases(t *testing.T) {
	p := Params{Rho: 1e4, NormBound: 2, Dim: 3, Count: true}
	b := dptest.OK(NewBuilder(p))(t)
	for range 1000 {
		b.Add([]float64{1, 2, 2}) // of norm 3
		b.AddSparse([]int{1}, []float64{-1})
	}
	s := dptest.OK(b.Release())(t)
	require.InDelta(t, 2000, s.Count(), 1)
	for i, want := range []float64{667, 1333.5 - 1000, 1333.5} {
		require.InDelta(t, want, s.Estimate(i), 1.5)
		lo, hi := s.MeanInterval(i, 1-1e-12)
		require.True(t, lo <= want/2000+1e-3 && want/2000-1e-3 <= hi && hi-lo < .01)
		require.InDelta(t, want/2000, s.Mean(i), .002)
	}
	again, _ := dptest.RoundTrip(t, s)
	require.True(t, dptest.DeepEqual(s, again))
	b = dptest.OK(NewBuilder(Params{Rho: 1, NormBound: 1, Dim: 2}))(t)
	state := private.Enter(b.secret)
	state.full = []exact.Int128{exact.Product128(1<<32, 1<<30), exact.Int128Of(0)}
	state.rows = 1 << 32
	private.Leave(b.secret)
	b.Add([]float64{1, 0})
	s = dptest.OK(b.Release())(t)
	require.InEpsilon(t, 0x1p32, s.Estimate(0), 1e-6)
	m := dptest.OK(New(p))(t)
	require.ErrorIs(t, dptest.Err(m.Release([]float64{1, 2, 3, 4})), ErrParams)
}

func TestBallParams(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"pure": func(p *Params) { p.Rho, p.Epsilon = 0, 1 }, "no Dim": func(p *Params) { p.Dim = 0 }, "Dim": func(p *Params) { p.Dim = 1<<24 + 1 },
		"negative": func(p *Params) { p.NormBound = -1 }, "NaN": func(p *Params) { p.NormBound = math.NaN() }, "Min": func(p *Params) { p.Min = VectorOf(1) },
		"Shape": func(p *Params) { p.Shape = Box }, "Count under Replace": func(p *Params) { p.Count, p.Relation = true, budget.Replace },
		"Weights": func(p *Params) { p.Weights = VectorOf(1) }, "Dim without a ball": func(p *Params) { p.NormBound, p.Min, p.Max, p.Dim = 0, VectorOf(0), VectorOf(1), 1 },
	} {
		p := Params{Rho: 1, NormBound: 1, Dim: 4}
		change(&p)
		require.ErrorIs(t, dptest.Err(New(p)), ErrParams, name)
		require.False(t, p.Guarantee().Promises(), name)
	}
}

// stdDev is [Plan.StdDev].
func (m *Mechanism) stdDev(i int) float64 { return math.Sqrt(m.noise.variance(i)) }
