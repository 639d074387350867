package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/memo"
)

// The noise is made for the most that the integers to which it is added differ between neighbours,
// with all that the machine rounds: N·(Δ + 1) + k^{1/p} steps where the sketch is updated, N·(Δ + 1
// + Dim^{1/q}) where the vector is held, and N·Δ for integers. N is the norm of the matrix, p that
// of the noise and q that of the relation: sensitivity_proof.md.

// calibration is what New needs to know of the noise.
type calibration struct {
	noise calibrated.Noise
	limit int64 // where the totals saturate, in steps
}

const (
	maxScale = 0x1p45 // of the noise, in steps
	minScale = 0x1p9  // of noise that is rounded
)

// kind returns the kind of noise that is asked for, or chosen.
func (p Params) kind() Noise {
	switch {
	case p.Noise != AutoNoise:
		return p.Noise
	case p.Rho > 0 || p.Delta > 0:
		return Gaussian
	case p.Integers:
		return DiscreteLaplace
	case p.stairs() && p.Epsilon >= 1:
		return Staircase
	}
	return Laplace
}

// calibrate returns the noise for the matrix.
func (p Params) calibrate(m bounded) (calibration, error) {
	n, gain := p.bounds(m), 1.0 // which may take long
	if p.holds() {
		gain = m.gain()
	}
	return p.calibrateKind(p.kind(), n, gain)
}

// variance returns the variance of the estimated squared distance of two sketches with the noise.
func (p Params) variance(noise calibrated.Noise, squared float64) float64 {
	n := p.noiseOf(noise, p.Input)
	return p.spread().distance(n.plus(n), squared, 0)
}

// calibrateKind returns the noise on its grid and the limit for one kind of noise, where n and gain
// are the bounds of the matrix.
func (p Params) calibrateKind(kind Noise, n norms, gain float64) (calibration, error) {
	before, after := p.rounding(kind)
	norm, delta := n.one, p.Change.distance()
	scaled := kind.kind()
	switch kind {
	case Gaussian:
		norm = n.two
	case Staircase: // in its tails as Laplace noise
		scaled = calibrated.Laplace
	}
	// Scales are in proportion to the sensitivity.
	unit, err := calibrated.Calibrate(scaled, p.Epsilon, p.Delta, p.Rho, 1)
	if err != nil {
		return calibration{}, err
	}
	step := p.grid(kind, unit.Scale*norm*delta, before+after/norm, gain)
	c := calibration{calibrated.Noise{Kind: kind.kind(), Step: step}, int64(most / gain)}
	if float64(c.limit)*step < 0x1p10*delta {
		return c, bad("Dim", p.Dim, "fewer coordinates: a vector would overflow 2⁶¹ steps of a grid fine enough for the noise")
	}
	if p.Integers {
		before, after = 0, 0
	}
	least := minScale
	switch kind {
	case DiscreteLaplace: // to the last digit, where the unit is coarse
		least = 0
		c.noise, err = calibrated.Calibrate(calibrated.DiscreteLaplace, p.Epsilon, 0, 0, norm*delta)
	case Staircase:
		c.noise.Scale, c.noise.Shape = up(delta/step+before+after)*step, p.Epsilon
	default:
		c.noise.Scale = up(unit.Scale*(norm*(delta/step+before)+after)) * step
	}
	if err == nil && !c.noise.OnGrid(least, maxScale) {
		err = bad("Epsilon", p.Epsilon, "a number with noise in the range of the grid at this Dim, Rows and Change")
	}
	return c, err
}

// bounds returns the greatest norms of what the noise is added to, for neighbours at distance 1.
func (p Params) bounds(m bounded) norms {
	switch {
	case p.Input && p.Change.norm == l2:
		return norms{up(math.Sqrt(float64(p.Dim))), 1}
	case p.Input:
		return norms{1, 1}
	}
	drawn, ok := m.(matrix)
	if !ok {
		return m.norms(p.Change.norm)
	}
	n, _ := computed.Get(p.selecting(), func() (norms, error) { return drawn.norms(p.Change.norm), nil })
	return n
}

// computed are the norms of the last matrices, which other guarantees for these need, too.
var computed memo.Table[Params, norms]

// rounding returns by how much rounding moves neighbours apart: before the matrix in the norm of
// the relation, and after it in the norm of the noise.
func (p Params) rounding(kind Noise) (before, after float64) {
	root := func(n, r float64) float64 {
		if r == 1 {
			return n
		}
		return up(math.Sqrt(n))
	}
	q, norm := 1.0, 1.0
	if p.Change.norm == l2 {
		q = 2
	}
	if kind == Gaussian {
		norm = 2
	}
	if kind == Staircase { // one row changes
		return 1, 1
	}
	if p.holds() {
		return 1 + root(float64(p.Dim), q), 0
	}
	return 1, root(float64(p.Rows), norm)
}

// grid returns the step: so fine that rounding adds less than 2⁻¹⁶ to the sensitivity and next to
// nothing to the noise, if that leaves room for values of 2²⁴·Δ and more; less fine if not.
func (p Params) grid(kind Noise, noise, rounding, gain float64) float64 {
	delta := p.Change.distance()
	if p.Integers {
		if kind == DiscreteLaplace {
			return 1
		}
		return powerBelow(min(1, noise*0x1p-20))
	}
	step := powerBelow(min(delta*0x1p-16/rounding, noise*0x1p-20))
	if wide := powerBelow(delta * 0x1p24 * gain / most); step < wide {
		step = min(wide, powerBelow(min(delta*0x1p-6/rounding, noise*0x1p-10)))
	}
	return max(step, 2*powerBelow(noise/maxScale*2))
}

// up returns x rounded up by more than the error of the few operations that made it.
func up(x float64) float64 { return x * (1 + 0x1p-48) }

// powerBelow returns the greatest power of two that is at most x > 0.
func powerBelow(x float64) float64 {
	_, exp := math.Frexp(x)
	return math.Ldexp(1, exp-1)
}

// Noise is a kind of noise: for pure ε-privacy, except Gaussian; real-valued and rounded to a fine
// grid, except DiscreteLaplace.
type Noise uint8

const (
	// AutoNoise chooses: see Params.Noise.
	AutoNoise Noise = iota
	// Laplace is Laplace noise.
	Laplace
	// DiscreteLaplace is discrete Laplace noise on the integers, which is less
	// where ε is large.
	DiscreteLaplace
	// Gaussian is normal noise, for δ > 0 or Rho.
	Gaussian
	// Staircase has the least variance if one number changes: for OneCoordinate
	// with an SJLT with s = 1. It has .96 of the variance of Laplace noise at ε
	// = 1, .52 at 4 and .11 at 8.
	Staircase

	lastNoise = Staircase
)

var noiseNames = []string{"AutoNoise", "Laplace", "DiscreteLaplace", "Gaussian", "Staircase"}

// String returns the name.
func (n Noise) String() string { return check.EnumName(n, noiseNames, "Noise") }

// kind returns the distribution: the constants are in one order.
func (n Noise) kind() calibrated.Kind { return calibrated.Kind(n) }
