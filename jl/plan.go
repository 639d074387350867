package jl

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/hadamard"
	"github.com/dpsketch/dpsketch/internal/memo"
)

// outlined reports whether all that the calibration asks is known without drawing the matrix:
// entries ±1 under L1, and the Hadamard rows under both relations.
func (p Params) outlined() bool {
	return p.Transform == SRHT || p.Change.norm == l1 && (p.Transform == SJLT || p.Transform == Rademacher)
}

// bounded returns the matrix, without its random parts if that is enough.
func (p Params) bounded() bounded {
	switch {
	case !p.outlined():
		return p.drawn()
	case p.Transform == SRHT:
		return outlineSRHT(p)
	case p.Transform == Rademacher:
		return outlineRademacher(p)
	}
	return outlineSJLT(p)
}

// predicted returns what norms the matrix will have, about, without drawing it.
func (p Params) predicted() bounded {
	if p.outlined() {
		return p.bounded()
	}
	k, u, s := float64(p.Rows), float64(p.Dim), float64(p.sparsity())
	switch {
	case p.Transform == Rademacher:
		two := math.Sqrt(u) + math.Sqrt(k)
		return expected{norms{math.Sqrt(k) * two, two}, u}
	case s == 1: // the heaviest row's load
		return expected{norms{math.Sqrt(u), math.Sqrt(u/k + math.Sqrt(2*u/k*math.Log(k)) + 1)}, u}
	}
	two := math.Sqrt(s) * (math.Sqrt(u/k) + 1)
	return expected{norms{min(math.Sqrt(k)*two, s*math.Sqrt(u)), two}, u}
}

// expected stands for a matrix that is not drawn.
type expected struct {
	bounds norms
	most   float64
}

func (e expected) norms(norm) norms { return e.bounds }
func (e expected) gain() float64    { return e.most }

// noise returns the noise that New would draw.
func (p Params) noise() (calibration, error) {
	if err := p.validate(); err != nil {
		return calibration{}, err
	}
	return calibrations.Get(p, func() (calibration, error) { return p.calibrate(p.bounded()) })
}

// calibrations caches calibrations by their Params: where the sensitivity is computed from the
// matrix, one takes up to some seconds.
var calibrations memo.Table[Params, calibration]

// DistanceStdErr returns the standard error of SquaredDistance for two sketches of these Params at
// squared = ‖x − y‖₂² and fourth = ‖x − y‖₄⁴, over the Seed and the noise. fourth = 0 gives an
// upper bound. NaN if no vector has these norms.
func (p Plan) DistanceStdErr(squared, fourth float64) float64 {
	n, ok := p.noise()
	return p.stdErr(n.plus(n), ok, squared, fourth)
}

// stdErr returns the standard error of a squared length with this noise, or NaN if no vector has
// these norms, up to rounding.
func (p Plan) stdErr(n disturbance, ok bool, squared, fourth float64) float64 {
	if !ok || !(squared >= 0 && fourth >= 0 && atMost(fourth, squared*squared)) {
		return math.NaN()
	}
	return math.Sqrt(max(p.Params.spread().distance(n, squared, fourth), 0))
}

// noise returns the noise of one sketch, or false for the zero Plan.
func (p Plan) noise() (disturbance, bool) {
	c, err := p.Params.noise()
	return p.Params.noiseOf(c.noise, p.Params.Input), err == nil
}

// NormStdErr is DistanceStdErr for SquaredNorm, at squared = ‖x‖₂² and fourth = ‖x‖₄⁴.
func (p Plan) NormStdErr(squared, fourth float64) float64 {
	n, ok := p.noise()
	return p.stdErr(n, ok, squared, fourth)
}

// atMost reports whether x ≤ y up to rounding and underflow.
func atMost(x, y float64) bool { return x <= y*(1+0x1p-20)+0x1p-1000 }

// DotStdErr returns the standard error of Dot at ‖x‖₂², ‖y‖₂², ⟨x, y⟩ and aligned = Σx²y². NaN if
// there are no such vectors.
func (p Plan) DotStdErr(xx, yy, xy, aligned float64) float64 {
	n, ok := p.noise()
	if !ok || !(xx >= 0 && yy >= 0 && aligned >= 0 && atMost(xy*xy, xx*yy) && atMost(aligned, xx*yy/2+xy*xy/2)) {
		return math.NaN()
	}
	return math.Sqrt(max(p.Params.spread().inner(n, n, xx, yy, xy, aligned), 0))
}

// Plan is what a release will be for squared distances of one size.
type Plan struct {
	// Params are filled in.
	Params Params
	// StdDev is the standard deviation of the noise of a [Sketch.Row].
	StdDev float64
	Bytes  int // of the encoding of a Sketch
	// Max is the bound at which values and their sums saturate, ±Max in the units
	// of the data. Under L2 the rows of an SJLT with Sparsity above 1 and at most
	// 2048 rows wrap around beyond Max, which takes a vector with ‖x‖₁ > Max.
	Max float64
	// SquaredLength is the ‖x − y‖₂² planned for.
	SquaredLength float64
	// StdErr is the standard error of the estimated squared distance,
	// RelativeError is StdErr/SquaredLength.
	StdErr, RelativeError float64
}

// tooMuch is the relative error from which Warning speaks.
const tooMuch = 0.5

// Warning returns a text if RelativeError is above ½; else "".
func (p Plan) Warning() string {
	if p.RelativeError <= tooMuch {
		return ""
	}
	return fmt.Sprintf("a squared distance of %.4g is too small for this guarantee: "+
		"with %d rows its estimate has a relative standard deviation of %.2g",
		p.SquaredLength, p.Params.Rows, p.RelativeError)
}

// String says what is planned, with the Warning.
func (p Plan) String() string {
	text := fmt.Sprintf("%v, %d rows, sparsity %d, %v: squared distance %.4g ± %.4g", p.Params.Transform, p.Params.Rows,
		p.Params.sparsity(), p.Params.Noise,
		p.SquaredLength, p.StdErr)
	if w := p.Warning(); w != "" {
		text += "; " + w
	}
	return text
}

// Plan returns what a release will be, with the noise for which the estimated squared distance has
// the least variance at ‖x − y‖₂² = squared: with a large ε that is Laplace noise even if δ > 0. If
// Rows is 0, Plan also chooses the number of rows (not for Normal and FJLT matrices), and if
// Sparsity is 0 and the noise Gaussian, a Sparsity of 8 if that adds no noise. The error wraps
// [ErrParams].
//
// The best k is about .189·Zε²/s for an SJLT with Laplace noise, where the relative error is .86,
// .61, .19 and .061 at Zε² = 50, 100, 1000 and 10⁴. With Gaussian noise it is Z/(2σ²), with a
// variance of 16σ²Z.
func (p Params) Plan(squared float64) (Plan, error) {
	if !(squared >= 0 && squared <= 0x1p500) || squared == 0 && p.Rows == 0 {
		return Plan{}, bad("squared", squared, "a number above 0, at most 2⁵⁰⁰, or 0 where Rows is given")
	}
	if p.Rows != 0 {
		return p.planned(squared)
	}
	p.Rows = p.sparsity()
	if err := p.validate(); err != nil {
		return Plan{}, err
	}
	if p.Transform == Normal || p.Transform == FJLT {
		return Plan{}, bad("Transform", p.Transform, "SJLT, SRHT or Rademacher: others have to be drawn for each number of rows")
	}
	best, least, err := p.bestRows(squared)
	if err != nil {
		return Plan{}, err
	}
	if p.Transform == SJLT && p.Sparsity == 0 && best.Noise == Gaussian && best.Rows >= 64 {
		p.Sparsity, p.Noise = 8, Gaussian
		// Under L1 the noise is the same, and collisions hurt less.
		if other, variance, err := p.bestRows(squared); err == nil && (p.Change.norm == l1 || variance < least) {
			best = other
		}
	}
	return best.planned(squared)
}

// kinds returns the kinds of noise that are possible.
func (p Params) kinds() []Noise {
	switch {
	case p.Noise == AutoNoise && p.Delta > 0 && p.Integers:
		return []Noise{DiscreteLaplace, Gaussian}
	case p.Noise == AutoNoise && p.Delta > 0:
		return []Noise{Laplace, Gaussian}
	}
	return []Noise{p.kind()}
}

// planned returns the Plan for the Rows that p has.
func (p Params) planned(squared float64) (Plan, error) {
	var plan Plan
	var failed error
	for _, kind := range p.kinds() {
		q := p
		q.Noise = kind
		c, err := q.noise()
		if err != nil {
			failed = err
			continue
		}
		sd := math.Sqrt(q.variance(c.noise, squared))
		if plan.Bytes == 0 || sd < plan.StdErr {
			plan = Plan{q, math.Sqrt(q.spread().correction(q.noiseOf(c.noise, q.Input)) / float64(q.Rows)), fixedSize + termSize + 8*q.Rows,
				float64(c.limit) * c.noise.Step, squared, sd, sd / squared}
		}
	}
	if plan.Bytes == 0 {
		return plan, failed
	}
	return plan, nil
}

// bestRows searches the multiples of s. The variance is A/k + B + Ck + … with positive terms, each
// rising or falling in k, so it falls and then rises: a coarse search by factors of √2, then by
// ever smaller steps around the best.
func (p Params) bestRows(squared float64) (best Params, least float64, err error) {
	s := p.sparsity()
	most := maxRows / s * s
	switch {
	case p.Transform == SRHT:
		most = int(min(hadamard.Size(p.Dim), maxRows))
	case p.Change.norm == l2 && p.Transform == Rademacher:
		most = maxDense
	case p.Change.norm == l2 && s > 1: // beyond, the variance is several times as large
		most = maxGram / s * s
	}
	least = math.Inf(1)
	try := func(k int) (err error) {
		for _, kind := range p.kinds() {
			q := p
			q.Rows, q.Noise = min(max(k/s*s, s), most), kind
			c, failed := q.calibrate(q.predicted())
			if failed != nil {
				err = failed
			} else if v := q.variance(c.noise, squared); v < least {
				best, least = q, v
			}
		}
		return err
	}
	for k := float64(s); k < 1.5*float64(most) && err == nil; k *= math.Sqrt2 {
		err = try(int(k))
	}
	for step := max(best.Rows/4, s); step >= s && err == nil; step /= 2 {
		for around := best.Rows - 2*step; around <= best.Rows+2*step && err == nil; around += step {
			err = try(around)
		}
	}
	if best.Rows == 0 {
		return best, least, err
	}
	return best, least, nil
}
