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
// estimators themselves. TestNoiseIsAsStated has the noise of releases. TestEstimators is all of it
// together, with -long at the size where the variance shows too.

// noisy are all kinds of noise on all transforms.
func noisy() map[string]Params { return withNoise(cases()) }

// withNoise returns the transforms with all kinds of noise.
func withNoise(transforms map[string]Params) map[string]Params {
	all := map[string]Params{}
	for name, p := range transforms {
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

// medium are transforms of 64 rows, for which the estimates are close to normal.
func medium() map[string]Params {
	return map[string]Params{
		"SJLT, s = 1": {Dim: 128, Rows: 64}, "SJLT, s = 8": {Dim: 128, Rows: 64, Sparsity: 8}, "SRHT": {Dim: 128, Rows: 64,
			Transform: SRHT},
		"Rademacher": {Dim: 128, Rows: 64, Transform: Rademacher}, "Normal": {Dim: 128, Rows: 64, Transform: Normal}, "FJLT": {Dim: 128,
			Rows: 64, Transform: FJLT},
	}
}

// balanced returns two vectors, of integers where those are asked for, so long that the transform
// and the noise have like shares in the variance of the estimates.
func balanced(p Params, n disturbance) (x, y []float64, v lengths) {
	r := rand.New(rand.NewPCG(12, p.Dim))
	k, noise := float64(p.Rows), n.output.two+n.input.two*float64(p.Dim)/float64(p.Rows)
	size := math.Sqrt(3 * k * noise / float64(p.Dim))
	x, y = make([]float64, p.Dim), make([]float64, p.Dim)
	for j := range x {
		x[j], y[j] = size*r.NormFloat64(), size*r.NormFloat64()
		if p.Integers {
			x[j], y[j] = math.Round(x[j]), math.Round(y[j])
		}
	}
	return x, y, lengthsOf(x, y)
}

// Unbiased, for each transform, noise and estimator; the two parties have different ε. The mean of
// n ≥ 200 estimates is off by 8 of its standard errors, which are the formula's, with a probability
// below 3·10⁻¹⁰: 1.3·10⁻¹⁵ for a normal mean, times e^{8³γ/6√n} ≤ 2·10⁵ (Cramér), as the skewness
// is γ < 2 where the kurtosis is below 5 (Pearson: γ² ≤ kurtosis − 1).
//
// With -long, 4000 seeds, 800 where the noise depends on them, and with -deep, 10⁵: then the bias
// is within 4 standard errors and the variance within 3 % of the formula. The estimates' kurtosis,
// printed, is below 4.6, so that 3 % are at least 5 standard errors.
func TestEstimators(t *testing.T) {
	for name, p := range withNoise(medium()) {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && p.sensitivityDependsOnSeed() {
				t.Skip("the matrix of every seed has to be looked at")
			}
			if p.Transform == Normal && name != "Normal, ℓ₂" && name != "Normal, Laplace" && !dptest.Long() {
				t.Skip("half a second each: the other transforms are tested with this noise")
			}
			testEstimators(t, p)
		})
	}
}

// drawn are the matrices of the default run, which each kind of noise takes again.
var drawn = map[Params]matrix{}

func (p Params) known() matrix {
	if dptest.Long() {
		return p.newMatrix()
	}
	key := Params{Transform: p.Transform, Dim: p.Dim, Rows: p.Rows, Sparsity: p.Sparsity, Change: p.Change, Seed: p.Seed}
	if drawn[key] == nil {
		drawn[key] = p.newMatrix()
	}
	return drawn[key]
}

func testEstimators(t *testing.T, p Params) {
	q := p // the other party's
	if q.Rho > 0 {
		q.Rho *= 2
	} else {
		q.Epsilon *= 1.5
	}
	n := max(seeds(200), 200)
	switch { // the matrix of every seed has to be looked at
	case !p.sensitivityDependsOnSeed() || dptest.Deep():
	case dptest.Long():
		n = 800
	default:
		n = 200
	}
	p.Seed, q.Seed = seed(0), seed(0)
	m := p.known()
	cp := dptest.OK(p.calibrate(m))(t)
	cq := dptest.OK(q.calibrate(m))(t)
	x, y, v := balanced(p, p.noiseOf(cp.noise, p.Input))
	norm, distance, dot := &tally{truth: v.xx}, &tally{truth: v.zz}, &tally{truth: v.xy}
	for i := range n {
		p.Seed, q.Seed = seed(i), seed(i)
		m := p.known()
		a, b := p.noiseOf(cp.noise, p.Input), p.noiseOf(cq.noise, q.Input)
		if p.sensitivityDependsOnSeed() {
			cp = dptest.OK(p.calibrate(m))(t)
			cq = dptest.OK(q.calibrate(m))(t)
			a, b = p.noiseOf(cp.noise, p.Input), p.noiseOf(cq.noise, q.Input)
			p.addConditional(m, x, y, a, b, v, norm, distance, dot)
		} else {
			norm.variance += p.spread().distance(a, v.xx, v.x4)
			distance.variance += p.spread().distance(a.plus(b), v.zz, v.z4)
			dot.variance += p.spread().inner(a, b, v.xx, v.yy, v.xy, v.aligned)
		}
		s, o := sketchOf(p, m, cp, x), sketchOf(q, m, cq, y)
		norm.add(s.SquaredNorm())
		d := dptest.OK(s.SquaredDistance(o))(t)
		distance.add(d)
		d = dptest.OK(s.Dot(o))(t)
		dot.add(d)
	}
	for what, a := range map[string]*tally{"SquaredNorm": norm, "SquaredDistance": distance, "Dot": dot} {
		a.variance /= a.n
		ratio, stderr := a.spread()
		t.Logf("%-16s bias %+.2f standard errors, variance/formula %.4f ± %.4f, kurtosis %.2f", what, a.bias(), ratio, stderr,
			a.fourth*a.n/(a.square*a.square))
		most := 8.0
		if dptest.Deep() {
			most = 4
			require.InDelta(t, 1, ratio, 0.03, "%s: variance", what)
		}
		dptest.Alarm(t, 3e-10)
		require.LessOrEqual(t, math.Abs(a.bias()), most, "%s: bias", what)
	}
}

// sketchOf returns what New, AddDense and Release make of a vector, with a calibration that is
// known.
func sketchOf(p Params, m matrix, c calibration, x []float64) *Sketch {
	b := p.setup(m, c).builder()
	b.AddDense(x)
	return peek(b).release()
}

// sensitivityDependsOnSeed reports whether the scale of the noise is computed from the matrix.
func (p Params) sensitivityDependsOnSeed() bool { return !p.outlined() && !p.Input }

// addConditional adds the variances where the noise depends on the matrix: that of the transform,
// and that of the noise given the matrix, which weighs the rows as they are. Its mean over seeds is
// the variance, as the estimates are unbiased given the matrix.
func (p Params) addConditional(m matrix, x, y []float64, a, b disturbance, v lengths, norm, distance, dot *tally) {
	const grid = 1 << 20
	ix, iy := make([]int64, len(x)), make([]int64, len(x))
	for j := range x {
		ix[j], iy[j] = int64(x[j]*grid), int64(y[j]*grid)
	}
	c := p.factor() / grid
	var xx, yy, zz float64
	sx, sy := apply(m, ix), apply(m, iy)
	for i := range sx {
		r, s := float64(sx[i])*c, float64(sy[i])*c
		xx, yy, zz = xx+r*r, yy+s*s, zz+(r-s)*(r-s)
	}
	var none disturbance
	given := func(n cumulants, length float64) float64 {
		return 4*n.two*length + float64(p.Rows)*(n.four+2*n.two*n.two)
	}
	norm.variance += p.spread().distance(none, v.xx, v.x4) + given(a.output, xx)
	distance.variance += p.spread().distance(none, v.zz, v.z4) + given(a.output.plus(b.output), zz)
	dot.variance += p.spread().inner(none, none, v.xx, v.yy, v.xy, v.aligned) + b.output.two*xx + a.output.two*yy +
		float64(p.Rows)*a.output.two*b.output.two
}
