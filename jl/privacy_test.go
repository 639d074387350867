package jl

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// peek returns what a Builder holds.
func peek(b *Builder) *state {
	s := private.Enter(b.secret)
	private.Leave(b.secret)
	return s
}

// sums returns the sums of the rows, or of the coordinates where the vector is held.
func sums(s *state) []fixed {
	all := make([]fixed, s.size())
	for i := range all {
		all[i] = s.row(i)
	}
	return all
}

// integers returns what the noise is added to.
func integers(b *Builder) []int64 {
	s := peek(b)
	values := make([]int64, s.size())
	for i, v := range sums(s) {
		values[i] = v.rounded()
	}
	if s.columns == nil && !s.params.Input {
		values = apply(s.matrix, values)
	}
	return values
}

// spent returns how much of the guarantee two inputs use up, by the law of the noise that is drawn:
// at most 1 is private.
func spent(t *testing.T, b *Builder, x, y []int64) float64 {
	t.Helper()
	one, squared, rows := 0.0, 0.0, 0
	for i := range x {
		d := math.Abs(float64(x[i] - y[i]))
		if one += d; d > 0 {
			rows++
		}
		squared += d * d
	}
	s := peek(b)
	switch p := s.params; {
	case Noise(s.noise.Kind) == Staircase && rows > 1:
		return math.Inf(1) // nothing is promised
	case Noise(s.noise.Kind) == Staircase:
		return one / s.noise.Steps()
	case Noise(s.noise.Kind) != Gaussian:
		return one / s.noise.Steps() / p.Epsilon
	case p.Rho > 0:
		return squared / (2 * s.noise.Steps() * s.noise.Steps()) / p.Rho
	case squared == 0:
		return 0
	default:
		delta := dptest.OK(noise.GaussianDelta(s.noise.Steps(), p.Epsilon, math.Sqrt(squared)))(t)
		return delta / p.Delta
	}
}

// neighbour returns the changes of values that make a neighbour, of the kinds that are worst: one
// coordinate by Δ; all coordinates a little; a coordinate by fractions of a step, again and again.
func neighbour(p Params, r *rand.Rand, kind int) []float64 {
	d := make([]float64, p.Dim)
	delta := p.Change.distance()
	switch {
	case kind == 0 || p.Integers || p.Change.one:
		d[r.IntN(len(d))] = delta
	case p.Change.norm == l1:
		for j := range d {
			d[j] = math.Copysign(delta*(1-1e-12)/float64(p.Dim), r.Float64()-0.5)
		}
	default:
		for j := range d {
			d[j] = math.Copysign(delta*(1-1e-12)/math.Sqrt(float64(p.Dim)), r.Float64()-0.5)
		}
	}
	return d
}

// The integers to which the noise is added differ, between neighbours, by no more than the noise is
// made for: for real values off the grid, for values that saturate, for many small changes, for all
// transforms, relations and kinds of noise. The noise is then that of an ideal mechanism (package
// noise tests it). The control has half the noise.
func TestNeighboursOnTheMachine(t *testing.T) {
	worst, broken := 0.0, 0.0
	for name, p := range noisy() {
		r := rand.New(rand.NewPCG(21, uint64(len(name))))
		most := 0.0
		for i := range 12 {
			p.Seed = seed(i)
			p.Change.size = []float64{0, 3, 3, 0x1p-100, 0x1p100}[i%5]
			if p.Integers {
				p.Change.size = float64(i % 3)
			}
			a := dptest.OK(New(p))(t, "%s %v", name, p.Change.size)
			limit := float64(peek(a).limit) * peek(a).noise.Step
			for kind := range 6 {
				a, _ := a.Sibling()
				b, _ := a.Sibling()
				change, base := neighbour(p, r, kind%2), make([]float64, p.Dim)
				scale := p.Change.distance() * []float64{1, 1e5, 1e300, 0.001, 1, 1}[kind]
				for j := range base {
					base[j] = scale * r.NormFloat64()
				}
				for j, v := range base {
					a.Add(uint64(j), v)
					if kind == 4 && !p.Integers { // in a hundred values
						b.Add(uint64(j), v)
						for range 100 {
							b.Add(uint64(j), change[j]/100)
						}
					} else {
						b.Add(uint64(j), v+change[j])
					}
					if kind == 5 { // saturate in between
						a.Add(uint64(j), math.Inf(1))
						b.Add(uint64(j), math.Inf(1))
						a.Add(uint64(j), -limit/3)
						b.Add(uint64(j), -limit/3)
					}
				}
				if kind == 1 {
					// v + change is rounded in float64: 1e5·2⁻⁵² per coordinate, which is none of
					// the mechanism's doing
					continue
				}
				most = max(most, spent(t, a, integers(a), integers(b)))
			}
		}
		require.LessOrEqual(t, most, 1+1e-11, name)
		worst = max(worst, most)
		p.Change.size = 0
		s := dptest.OK(New(p))(t)
		peek(s).noise.Scale /= 2
		o, _ := s.Sibling()
		o.Add(3, 1)
		broken = max(broken, spent(t, s, integers(s), integers(o)))
	}
	require.Greater(t, worst, 0.999, "the bound is attained")
	require.Greater(t, broken, 1.5, "control: half the noise")
}

// Two rows, two columns, the whole output law: no output is more than e^ε times as likely on a
// neighbour, some is as likely as that, and with half the noise some is more.
func TestExactOnTinyProjections(t *testing.T) {
	for _, p := range []Params{
		{Dim: 2, Rows: 2}, {Dim: 2, Rows: 2, Sparsity: 2}, {Dim: 2, Rows: 2, Transform: SRHT}, {Dim: 2, Rows: 2,
			Transform: Rademacher}, {Dim: 2, Rows: 2, Transform: SRHT, Input: true},
		{Dim: 2, Rows: 2, Transform: Normal, Noise: DiscreteLaplace}, {Dim: 2, Rows: 2, Transform: FJLT}, {Dim: 2, Rows: 2,
			Change: L2(1)},
	} {
		for i := range 8 {
			p.Integers, p.Epsilon, p.Seed = true, 1.25, seed(i)
			b, err := New(p)
			if p.Transform == FJLT && err != nil {
				require.Zero(t, p.drawn().norms(l1).one, "a matrix of zeros, which is refused")
				continue
			}
			require.NoError(t, err)
			l := peek(b).noise
			d := dptest.OK(noise.NewDiscreteLaplace(l.Steps()))(t)
			half := dptest.OK(noise.NewDiscreteLaplace(l.Steps() / 2))(t)
			worst, control := 0.0, 0.0
			for x := range 25 {
				for y := range 25 {
					if abs(x/5-y/5)+abs(x%5-y%5) != 1 {
						continue
					}
					a, _ := b.Sibling()
					a.AddDense([]float64{float64(x/5 - 2), float64(x%5 - 2)})
					c, _ := b.Sibling()
					c.AddDense([]float64{float64(y/5 - 2), float64(y%5 - 2)})
					p, q := integers(a), integers(c)
					// The rows are independent, and the ratio is constant beyond both values.
					loss := func(d noise.DiscreteLaplace) (sum float64) {
						for row := range 2 {
							most := math.Inf(-1)
							for _, x := range outputs(p[row], q[row]) {
								most = max(most, d.LogProb(x-float64(p[row]))-d.LogProb(x-float64(q[row])))
							}
							sum += most
						}
						return sum
					}
					worst, control = max(worst, loss(d)), max(control, loss(half))
				}
			}
			require.LessOrEqual(t, worst, p.Epsilon*(1+1e-12), "%+v", p)
			require.Greater(t, control, p.Epsilon*1.2, "%+v", p)
			if p.Change.norm != l2 {
				require.GreaterOrEqual(t, worst, p.Epsilon*(1-1e-12), "%+v: attained", p)
			}
		}
	}
}

func abs(x int) int { return max(x, -x) }

// outputs returns the integers from below both values to above both, a hundred at most, which the
// ends and the values are among.
func outputs(a, b int64) (x []float64) {
	low, high := min(a, b)-2, max(a, b)+2
	for v := low; v <= high; v += max(1, (high-low)/100) {
		x = append(x, float64(v))
	}
	return append(x, float64(a), float64(b), float64(high))
}

// A step as coarse as the unit is for integers: two coordinates that change by ½ each are
// neighbours too, and would cost up to 2ε.
func TestCoarseNoiseIsForIntegers(t *testing.T) {
	require.ErrorIs(t, dptest.Err(New(Params{Dim: 2, Rows: 2, Epsilon: 1, Seed: seed(0), Noise: DiscreteLaplace})), ErrParams)
	require.ErrorIs(t, dptest.Err(New(Params{Dim: 2, Rows: 2, Epsilon: 1, Seed: seed(0), Noise: DiscreteLaplace, Integers: true, Change: L1(0.5)})), ErrParams)

	// Values ½ and ½ go to 1 and 1 and ½ − 0.01 to 0: ℓ₁ distance 0.02 in the data, 2 in the
	// integers.
	b := dptest.OK(New(Params{Dim: 2, Rows: 2, Transform: SRHT, Input: true, Epsilon: 1, Seed: seed(0), Integers: true}))(t)
	c, _ := b.Sibling()
	b.AddDense([]float64{0.51, 0.51})
	c.AddDense([]float64{0.49, 0.49})
	require.InDelta(t, 2, spent(t, b, integers(b), integers(c)), 1e-12, "what the refusal is for")
}

// The release itself, at real size: the worst neighbours and the event that tells them best apart.
// The lower bound on ε is in excess of the truth once in 10¹⁰. The control has half the noise. Its
// bound exceeds ε but once in 10¹⁰: it does so even for the counts that are as far from their
// means, on the wrong side, as happens to each once in 2·10¹⁰.
func TestAudit(t *testing.T) {
	for name, c := range map[string]struct {
		params Params
		// how far on the way from one neighbour to the other: the best, by the law of the control
		event float64
	}{
		"SJLT": {Params{Dim: 1000, Rows: 4}, 1}, "integers": {Params{Dim: 1000, Rows: 4, Integers: true},
			1}, "Gaussian": {Params{Dim: 1000, Rows: 4, Delta: 0.05, Noise: Gaussian}, 1.25},
		"SRHT": {Params{Dim: 4, Rows: 1, Transform: SRHT}, 1}, "input": {Params{Dim: 4, Rows: 4, Transform: SRHT, Input: true},
			1}, "ρ": {Params{Dim: 1000, Rows: 4, Rho: 0.5}, 1.25},
	} {
		if testing.Short() && name != "SJLT" && name != "Gaussian" {
			continue
		}
		p := c.params
		p.Seed = seed(3)
		if p.Rho == 0 {
			p.Epsilon = 1
		}
		first := dptest.OK(New(p))(t)
		direction := difference(first)
		delta := p.Delta
		if p.Rho > 0 {
			delta = 0.05
		}
		epsilon := p.Guarantee().EpsilonAt(delta)

		// As many releases as the control needs.
		half := peek(first).noise
		half.Scale /= 2
		n := int64(1_000)
		for {
			least := extreme(n, exceeds(t, half, c.event-1), false)
			most := extreme(n, exceeds(t, half, c.event), true)
			if dptest.EpsilonLowerBound(least, n, most, n, delta, 1-1e-10) > epsilon {
				break
			}
			n += n / 4
			require.Less(t, n, int64(50_000), "%s: margin of the control", name)
		}
		t.Log(name, n)

		count := func(value, scale float64) (hits int64) {
			for range n {
				b, _ := first.Sibling()
				peek(b).noise.Scale *= scale
				b.Add(2, value)
				s := dptest.OK(b.Release())(t)
				if project(s.values, direction) >= c.event {
					hits++
				}
			}
			return hits
		}
		p0, p1 := count(0, 1), count(1, 1)
		dptest.Audit(t, name, p1, n, p0, n, epsilon, delta, 1e-10)
		dptest.Audit(t, name, p0, n, p1, n, epsilon, delta, 1e-10)
		p0, p1 = count(0, 0.5), count(1, 0.5)
		dptest.Alarm(t, 1e-10)
		require.Greater(t, dptest.EpsilonLowerBound(p1, n, p0, n, delta, 1-1e-10), epsilon, "%s: control", name)
	}
}

// exceeds returns the probability that noise on one coordinate or row is at least x units of the
// data.
func exceeds(t *testing.T, l calibrated.Noise, x float64) float64 {
	t.Helper()
	d, steps := distributionOf(t, l), x/l.Step
	if Noise(l.Kind) == DiscreteLaplace {
		steps = math.Ceil(steps) - 1
	}
	return d.Survival(steps)
}

// extreme returns the count of hits of probability p beyond which, above or below, n draws lie once
// in 2·10¹⁰.
func extreme(n int64, p float64, above bool) int64 {
	b := distuv.Binomial{N: float64(n), P: p}
	if above {
		return int64(sort.Search(int(n), func(hits int) bool { return 1-b.CDF(float64(hits)) <= 5e-11 }))
	}
	return int64(sort.Search(int(n), func(hits int) bool { return b.CDF(float64(hits)) > 5e-11 }))
}

// difference returns the integers of the unit vector 2.
func difference(first *Builder) []int64 {
	b, _ := first.Sibling()
	b.Add(2, 1)
	s := peek(b)
	values := integers(b)
	if s.params.Input {
		values = apply(s.matrix, values)
	}
	return values
}

// project returns where the values lie between 0 and the direction, at 0 and 1.
func project(values, direction []int64) float64 {
	dot, square := 0.0, 0.0
	for i, v := range direction {
		dot += float64(v) * float64(values[i])
		square += float64(v) * float64(v)
	}
	return dot / square
}

// What stands in sensitivity_proof.md beside the sensitivity itself, each against the scale
// that New takes: one step for the cut of the values and √k for the rounding of k rows under
// Gaussian noise, k under Laplace; √Dim for the ℓ₁ norm of ℓ₂ neighbours where the noise is on the
// input. An SJLT with one entry a column has columns of norm 1.
func TestScalesPayForEveryTerm(t *testing.T) {
	const rows = 1024
	gaussian := dptest.OK(New(Params{Dim: 5000, Rows: rows, Epsilon: 1, Delta: 1e-6, Noise: Gaussian, Seed: seed(1)}))(t)
	law := peek(gaussian).noise
	least := dptest.OK(noise.GaussianSigma(1, 1e-6, 1/law.Step+1+math.Sqrt(rows)))(t)
	require.GreaterOrEqual(t, law.Steps(), least*(1-1e-9), "√k is 1e-5 of the scale")
	laplace := dptest.OK(New(Params{Dim: 5000, Rows: rows, Epsilon: 1, Seed: seed(1)}))(t)
	law = peek(laplace).noise
	require.GreaterOrEqual(t, law.Steps(), 1/law.Step+1+rows)
	input := dptest.OK(New(Params{Dim: 64, Rows: 16, Transform: SRHT, Input: true, Change: L2(1), Noise: Laplace, Epsilon: 1, Seed: seed(1)}))(t)
	law = peek(input).noise
	require.GreaterOrEqual(t, law.Steps(), math.Sqrt(64)/law.Step)
}

// A guarantee for one row takes staircase noise where that is less, and nothing else does: it
// promises nothing to neighbours that differ in several coordinates by a little.
func TestRowsOfData(t *testing.T) {
	p := Params{Dim: 100, Rows: 16, Epsilon: 4, Seed: seed(1), Change: OneCoordinate(1)}
	b := dptest.OK(New(p))(t)
	require.Equal(t, budget.PureDP(4, budget.Row(budget.AddRemove)), b.Guarantee())
	law := peek(b).noise
	before, after := p.rounding(Staircase)
	require.GreaterOrEqual(t, law.Steps(), p.Change.distance()/law.Step+before+after, "a step of the staircase has room for what is rounded")
	s := dptest.OK(b.Release())(t)
	require.Equal(t, Staircase, s.Params().Noise)
	require.True(t, s.Guarantee().Equal(p.Guarantee()))
	whole := p
	whole.Change = Change{}
	require.InEpsilon(t, math.Sqrt(0.52), planned(p).StdDev/planned(whole).StdDev, 0.01)
	for _, spoil := range []func(p *Params){
		func(p *Params) { p.Change = Change{} },
		func(p *Params) { p.Sparsity = 2 },
		func(p *Params) { p.Transform = SRHT },
		func(p *Params) { p.Integers = true },
		func(p *Params) { p.Delta = 1e-6 },
		func(p *Params) { p.Epsilon = 0.4 },
		func(p *Params) { p.Epsilon = 600 },
		func(p *Params) { p.Change = L2(1) },
		func(p *Params) { p.Change = Change{norm: l2, one: true} },
	} {
		q := p
		q.Noise = Staircase
		spoil(&q)
		require.ErrorIs(t, dptest.Err(New(q)), ErrParams, "%+v", q)
		require.True(t, q.Guarantee().Equal(budget.Guarantee{}))
	}
	other := dptest.OK(New(whole))(t)
	o := dptest.OK(other.Release())(t)
	require.ErrorIs(t, dptest.Err(s.Sum(o)), ErrMismatch)
	dptest.OK(s.SquaredDistance(o))(t)
}
