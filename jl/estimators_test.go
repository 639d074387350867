package jl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// The estimators are tested in three steps, each with a derived tolerance. TestLengthPreserving has
// the transforms, without noise. Given the transform, the mean and the variance over the noise are
// sums over the law of the noise, which TestConditionalMoments makes in full, through the
// estimators themselves. TestNoiseIsAsStated has the noise of releases.

// noisy are all kinds of noise on all transforms.
func noisy() map[string]Params {
	all := map[string]Params{}
	for name, p := range cases() {
		p.Epsilon = 1
		all[name+", Laplace"] = p
		p.Integers, p.Epsilon = true, 2
		all[name+", discrete Laplace"] = p
		p.Integers, p.Delta, p.Noise = false, 1e-3, Gaussian
		all[name+", Gaussian"] = p
		p.Epsilon, p.Delta, p.Rho = 0, 0, 0.5
		all[name+", ρ"] = p
		if p.Transform == SRHT || p.Transform == FJLT {
			p.Input = true
			all[name+", input ρ"] = p
			p.Epsilon, p.Rho, p.Noise = 1, 0, 0
			all[name+", input Laplace"] = p
		}
		if p.Transform == SJLT && p.sparsity() == 1 {
			p.Epsilon, p.Rho, p.Noise, p.Change = 4, 0, 0, OneCoordinate(1)
			all[name+", staircase"] = p
			p.Change = Change{}
		}
		p.Input, p.Change = false, L2(1)
		p.Epsilon, p.Delta, p.Rho, p.Noise = 1, 1e-3, 0, 0
		all[name+", ℓ₂"] = p
	}
	return all
}

// distribution is that of noise in steps, before it is rounded to integers.
type distribution interface {
	Prob(x float64) float64
	CDF(x float64) float64
	Survival(x float64) float64
}

// inSteps returns noise on integers, onGrid the same on another grid.
func inSteps(kind Noise, scale float64) calibrated.Noise {
	return calibrated.Noise{Kind: kind.kind(), Scale: scale, Step: 1}
}

func onGrid(n calibrated.Noise, step float64) calibrated.Noise {
	n.Scale, n.Step = n.Scale/n.Step*step, step
	return n
}

func distributionOf(t *testing.T, n calibrated.Noise) distribution {
	t.Helper()
	n = onGrid(n, 1)
	switch Noise(n.Kind) {
	case DiscreteLaplace:
		return dptest.OK(noise.NewDiscreteLaplace(n.Scale))(t)
	case Laplace:
		return dptest.OK(noise.NewLaplace(n.Scale))(t)
	case Staircase:
		return dptest.OK(noise.NewStaircase(n.Shape, n.Scale, dptest.OK(noise.StaircaseGammaVariance(n.Shape))(t)))(t)
	}
	return dptest.OK(noise.NewGaussian(n.Scale))(t)
}

// massOf returns the probability of each integer.
func massOf(t *testing.T, l calibrated.Noise) func(x float64) float64 {
	d := distributionOf(t, l)
	if Noise(l.Kind) == DiscreteLaplace {
		return d.Prob
	}
	return func(x float64) float64 { return d.Survival(x-0.5) - d.Survival(x+0.5) }
}

// masses returns the law of noise in steps, as far as it is above 10⁻¹⁴ or so.
func masses(t *testing.T, l calibrated.Noise) map[int64]float64 {
	t.Helper()
	reach, prob, all := int64(34*(l.Steps()))+2, massOf(t, l), map[int64]float64{}
	switch Noise(l.Kind) {
	case Gaussian:
		reach = int64(7*(l.Steps())) + 2
	case Staircase:
		reach = int64(60*(l.Steps())/l.Shape) + 2
	}
	for x := -reach; x <= reach; x++ {
		all[x] = prob(math.Abs(float64(x)))
	}
	return all
}

// Given the transform, over all values that the noise of one row of either party can take: the
// estimates have the means ‖Sx‖², ‖S(x−y)‖² and ⟨Sx, Sy⟩ and the variances of Lemma 4.3 with both
// parties' moments. Rows add up. So with TestLengthPreserving the estimators are unbiased and have
// the stated variance.
func TestConditionalMoments(t *testing.T) {
	const vx, vy = 5, -3 // rows of Sx and Sy, in steps
	laws := []calibrated.Noise{inSteps(Laplace, 2.5), inSteps(DiscreteLaplace, 0.4), inSteps(DiscreteLaplace, 3), inSteps(Gaussian, 3)}
	for _, p := range []Params{
		{Dim: 16, Rows: 1}, {Dim: 16, Rows: 1, Transform: SRHT}, {Dim: 16, Rows: 1, Transform: Rademacher}, {Dim: 16, Rows: 1,
			Transform: Normal}, {Dim: 16, Rows: 1, Transform: FJLT},
	} {
		for i, a := range laws {
			b := laws[(i+1)%len(laws)]
			a, b = onGrid(a, 0.5), onGrid(b, 0.5)
			p.Epsilon, p.Seed = 1, seed(0)
			var norm, distance, dot tally
			add := func(to *tally, weight, d float64) {
				to.n += weight
				to.sum += weight * d
				to.square += weight * d * d
			}
			massesB := masses(t, b)
			for n, weightA := range masses(t, a) {
				x := newSketch(p, a, []int64{vx + n})
				add(&norm, weightA, x.SquaredNorm())
				for m, weightB := range massesB {
					y := newSketch(p, b, []int64{vy + m})
					d, err := x.SquaredDistance(y)
					xy, err2 := x.Dot(y)
					if err != nil || err2 != nil {
						t.Fatal(err, err2)
					}
					add(&distance, weightA*weightB, d)
					add(&dot, weightA*weightB, xy)
				}
			}
			unit := 0.5 * p.factor()
			xx, yy, zz, xy := vx*vx*unit*unit, vy*vy*unit*unit, (vx-vy)*(vx-vy)*unit*unit, vx*vy*unit*unit
			ka, kb := p.noiseOf(a, false).output, p.noiseOf(b, false).output
			both := ka.plus(kb)
			check := func(what string, got tally, mean, variance float64) {
				t.Helper()
				require.InDelta(t, 1, got.n, 1e-9)
				sd := math.Sqrt(variance)
				require.InDelta(t, mean, got.sum, 1e-8*(sd+math.Abs(mean)), "%s of %v: mean", what, p.Transform)
				require.InEpsilon(t, variance, got.square-got.sum*got.sum, 1e-8, "%s of %v: variance", what, p.Transform)
			}
			check("norm", norm, xx, 4*ka.two*xx+ka.four+2*ka.two*ka.two)
			check("distance", distance, zz, 4*both.two*zz+both.four+2*both.two*both.two)
			check("dot", dot, xy, kb.two*xx+ka.two*yy+ka.two*kb.two)
		}
	}
}

// What a release adds to the integers is the noise whose law the sketch states, on every row, for
// each transform and kind of noise.
func TestNoiseIsAsStated(t *testing.T) {
	for name, p := range noisy() {
		if p.Input {
			continue
		}
		p.Seed = seed(2)
		first := dptest.OK(New(p))(t)
		first.Add(3, 7)
		exact, l := integers(first), peek(first).noise
		var samples []float64
		for len(samples) < 1500 {
			b, _ := first.Sibling()
			b.Add(3, 7)
			s := dptest.OK(b.Release())(t)
			require.Equal(t, l, s.terms[0].noise)
			for i, v := range s.values {
				samples = append(samples, float64(v-exact[i]))
			}
		}
		d := distributionOf(t, l)
		cdf := d.CDF
		if Noise(l.Kind) == DiscreteLaplace {
			r := rand.New(rand.NewPCG(3, 4))
			for i := range samples { // a uniform number on top makes it continuous
				samples[i] += r.Float64() - 0.5
			}
			cdf = func(x float64) float64 {
				n := math.Floor(x + 0.5)
				return d.CDF(n-1) + (x+0.5-n)*d.Prob(n)
			}
		}
		dptest.KS(t, name, samples, cdf, 1e-10)
	}
}
