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
	return p.Transform == SRHT || p.Norm == L1 && (p.Transform == SJLT || p.Transform == Rademacher)
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

func (e expected) norms(Norm) norms { return e.bounds }
func (e expected) gain() float64    { return e.most }

// noise returns the noise that New would draw.
func (p Params) noise() (calibration, error) {
	if err := p.validate(); err != nil {
		return calibration{}, err
	}
	return calibrations.Get(p, func() (calibration, error) { return p.calibrate(p.bounded()) })
}

// calibrations are those that were made, by [New] or before it: where the sensitivity is computed
// from the matrix, that takes up to some seconds.
var calibrations memo.Table[Params, calibration]

// Max returns where values, and their sums, saturate (or sums wrap around: see the package's
// documentation): ± so many units of the data. NaN if the Params are invalid.
func (p Params) Max() float64 {
	c, err := p.noise()
	if err != nil {
		return math.NaN()
	}
	return float64(c.limit) * c.law.step
}

// StdDev returns the standard deviation of the noise of one row of the normalised sketch, in the
// units of the data. Where the sensitivity is computed from the matrix (under L2 for all but SRHT,
// and for Normal and FJLT), this and the methods below draw the matrix, as New does, and answer for
// this Seed. NaN if the Params are invalid.
func (p Params) StdDev() float64 {
	c, err := p.noise()
	if err != nil {
		return math.NaN()
	}
	return math.Sqrt(p.spread().correction(p.noiseOf(c.law)) / float64(p.Rows))
}

// DistanceStdErr returns the standard error of SquaredDistance for two sketches of these Params at
// squared = ‖x − y‖₂² and fourth = ‖x − y‖₄⁴, over the Seed and the noise: exactly, by the theorems
// that stand with the transforms. Where the scale of the noise is computed from the matrix, under
// L2 for all but SRHT, and for Normal and FJLT, it is the scale given this Seed: the answer is the
// variance of the transform over the draw of the Seed, plus that of noise of this scale. fourth = 0
// gives an upper bound. NaN if an argument is invalid, as where no vector has these norms.
func (p Params) DistanceStdErr(squared, fourth float64) float64 {
	return math.Sqrt(p.distanceVariance(squared, fourth))
}

func (p Params) distanceVariance(squared, fourth float64) float64 {
	c, err := p.noise()
	if err != nil || !realNorms(squared, fourth) {
		return math.NaN()
	}
	n := p.noiseOf(c.law)
	return max(p.spread().distance(n.plus(n), squared, fourth), 0)
}

// NormStdErr returns the standard error of SquaredNorm at squared = ‖x‖₂² and fourth = ‖x‖₄⁴. NaN
// as for DistanceStdErr.
func (p Params) NormStdErr(squared, fourth float64) float64 {
	return math.Sqrt(p.normVariance(squared, fourth))
}

func (p Params) normVariance(squared, fourth float64) float64 {
	c, err := p.noise()
	if err != nil || !realNorms(squared, fourth) {
		return math.NaN()
	}
	return max(p.spread().distance(p.noiseOf(c.law), squared, fourth), 0)
}

// realNorms reports whether some vector has this ‖x‖₂² and this ‖x‖₄⁴, up to rounding.
func realNorms(squared, fourth float64) bool {
	return squared >= 0 && fourth >= 0 && atMost(fourth, squared*squared)
}

// atMost reports whether x ≤ y up to rounding and underflow.
func atMost(x, y float64) bool { return x <= y*(1+0x1p-20)+0x1p-1000 }

// DotStdErr returns the standard error of Dot at ‖x‖₂², ‖y‖₂², ⟨x, y⟩ and aligned = Σx²y². NaN if
// an argument is invalid, as where there are no such vectors: ⟨x, y⟩² ≤ ‖x‖²‖y‖² and, as Σ_{i<j}
// (xᵢyⱼ + xⱼyᵢ)² ≥ 0, 2·Σx²y² ≤ ‖x‖²‖y‖² + ⟨x, y⟩².
func (p Params) DotStdErr(xx, yy, xy, aligned float64) float64 {
	return math.Sqrt(p.dotVariance(xx, yy, xy, aligned))
}

func (p Params) dotVariance(xx, yy, xy, aligned float64) float64 {
	c, err := p.noise()
	if err != nil || !(xx >= 0 && yy >= 0 && aligned >= 0 && atMost(xy*xy, xx*yy) && atMost(aligned, xx*yy/2+xy*xy/2)) {
		return math.NaN()
	}
	n := p.noiseOf(c.law)
	return max(p.spread().inner(n, n, xx, yy, xy, aligned), 0)
}

// Plan is the best a sketch can do for squared distances of one size.
type Plan struct {
	// Params are those asked about, with the Rows and the Noise of the least
	// variance, and the Sparsity.
	Params Params
	// SquaredLength is the ‖x − y‖₂² planned for.
	SquaredLength float64
	// StdErr is the standard error of the estimated squared distance,
	// RelativeError that over SquaredLength.
	StdErr, RelativeError float64
}

// tooMuch is the relative error from which Warning speaks.
const tooMuch = 0.5

// Warning returns "" if the relative error is at most ½, else a text that says that the distance is
// too small for the noise.
func (p Plan) Warning() string {
	if p.RelativeError <= tooMuch {
		return ""
	}
	return fmt.Sprintf("a squared distance of %.4g is too small for this guarantee: "+
		"with the best number of rows, %d, its estimate has a relative standard deviation of %.2g",
		p.SquaredLength, p.Params.Rows, p.RelativeError)
}

// String says what is planned and how good it is, with the Warning.
func (p Plan) String() string {
	text := fmt.Sprintf("%v, %d rows, sparsity %d, %v: squared distance %.4g ± %.4g", p.Params.Transform, p.Params.Rows,
		p.Params.sparsity(), p.Params.Noise,
		p.SquaredLength, p.StdErr)
	if w := p.Warning(); w != "" {
		text += "; " + w
	}
	return text
}

// Plan returns the number of rows, and the noise, with which the variance of the estimated squared
// distance is least at ‖x − y‖₂² = squared. Rows is ignored, and so is a Sparsity of 0 where the
// noise turns out to be Gaussian and 8 is free.
//
// The transform's variance falls with k and the noise's grows: for an SJLT with Laplace noise
// k* = Z·ε²/(s·√28), .189·Zε²/s, where the variance is 37.2·s·Z/ε², that is a relative error of
// .86, .61, .19 and .061 at Zε² = 50, 100, 1000 and 10⁴; with Gaussian noise k* = Z/(2σ²), and
// 16σ²Z. More rows than that are worse, fewer are faster.
//
// Under L2 an SRHT with Gaussian noise has the least variance, which falls with k up to Dim. Where
// a sketch must take updates, an SJLT with s = 8 and up to 2048 rows is nearly as good (with more
// its noise is up to √s times as large, as [Params.StdDev] says). The search goes by the
// sensitivity that is expected of SJLT and Rademacher matrices; what is returned is that of this
// Seed.
//
// The error wraps [ErrParams]. Plan is not for Normal and FJLT matrices: there try a few Rows with
// DistanceStdErr.
func (p Params) Plan(squared float64) (Plan, error) {
	if !(squared > 0 && squared <= 0x1p500) {
		return Plan{}, bad("squared", squared, "a number above 0, at most 2⁵⁰⁰")
	}
	p.SquaredLength, p.Rows = squared, p.sparsity()
	if err := p.validate(); err != nil {
		return Plan{}, err
	}
	if p.Transform == Normal || p.Transform == FJLT {
		return Plan{}, bad("Transform", p.Transform, "SJLT, SRHT or Rademacher: others have to be drawn for each number of rows")
	}
	plan, err := p.bestRows()
	if err != nil {
		return Plan{}, err
	}
	if p.Transform == SJLT && p.Sparsity == 0 && plan.Params.Noise == Gaussian && plan.Params.Rows >= 64 {
		p.Sparsity, p.Noise = 8, Gaussian
		// Under L1 the noise is the same, and collisions hurt less.
		if other, err := p.bestRows(); err == nil && (p.Norm == L1 || other.StdErr < plan.StdErr) {
			plan = other
		}
	}
	if p.outlined() {
		return plan, nil
	}
	c, err := plan.Params.noise()
	if err != nil {
		return Plan{}, err
	}
	return plan.Params.planned(c.law), nil
}

// planned returns the plan to use these Params.
func (p Params) planned(l law) Plan {
	p.Noise = l.kind
	sd := math.Sqrt(p.variance(l))
	return Plan{Params: p, SquaredLength: p.SquaredLength, StdErr: sd, RelativeError: sd / p.SquaredLength}
}

// bestRows searches the multiples of s. The variance is A/k + B + Ck + … with positive terms, each
// rising or falling in k, so it falls and then rises: a coarse search by factors of √2, then by
// ever smaller steps around the best.
func (p Params) bestRows() (Plan, error) {
	s := p.sparsity()
	most := maxRows / s * s
	switch {
	case p.Transform == SRHT:
		most = int(min(hadamard.Size(p.Dim), maxRows))
	case p.Norm == L2 && p.Transform == Rademacher:
		most = maxDense
	case p.Norm == L2 && s > 1: // beyond, the variance is several times as large
		most = maxGram / s * s
	}
	var best Plan
	try := func(k int) error {
		q := p
		q.Rows = min(max(k/s*s, s), most)
		c, err := q.calibrate(q.predicted())
		if err != nil {
			return err
		}
		if plan := q.planned(c.law); best.Params.Rows == 0 || plan.StdErr < best.StdErr {
			best = plan
		}
		return nil
	}
	var err error
	for k := float64(s); k < 1.5*float64(most) && err == nil; k *= math.Sqrt2 {
		err = try(int(k))
	}
	for step := max(best.Params.Rows/4, s); step >= s && err == nil; step /= 2 {
		for around := best.Params.Rows - 2*step; around <= best.Params.Rows+2*step && err == nil; around += step {
			err = try(around)
		}
	}
	if best.Params.Rows == 0 {
		return best, err
	}
	return best, nil
}
