package series

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise"
)

// calibration are the laws of all that is published. series_proof.md has the theorem.
type calibration struct {
	known     noise.DiscreteLaplace // of each count of a known key, in every span
	found     noise.DiscreteLaplace // of each count of exact discovery, in every span
	threshold int64                 // from which on exact discovery shows a key
	sketch    misragries.Params     // of each sketch; zero for exact discovery
	// of the numbers of elements of all users that count and that are seen, in
	// every span; zero without MaxElements
	elements [2]noise.DiscreteLaplace
}

// shareOfElements is the share of ε that the numbers of elements have with MaxElements.
const shareOfElements = 1.0 / 32

// leastDelta is the least δ of one element: an eighth of it is a normal float64.
const leastDelta = 0x1p-1000

// calibrate checks normal Params and returns their laws. With L spans and D discovery spans, and
// ε₁, δ₁ for one element, each node of a known key is ε₁/L-private and each discovery node (ε₁/D,
// δ₁/D)-private: scales are rounded up, shares down.
func (p Params) calibrate() (calibration, error) { return calibrations.Get(p, p.calibrateAnew) }

// calibrations are those that were made.
var calibrations memo.Table[Params, calibration]

func (p Params) calibrateAnew() (c calibration, err error) {
	if err := p.validate(); err != nil {
		return c, err
	}
	epsilon, delta := p.element()
	if p.Dim == 0 && !(delta >= leastDelta) {
		return c, bad("MaxElements", p.MaxElements, "a smaller number, or a larger Delta: the δ that is left for one element is out of range")
	}
	laplace := func(shares int, epsilon float64) (noise.DiscreteLaplace, error) {
		law, err := noise.NewDiscreteLaplace(exact.QuotientUp(float64(shares), epsilon))
		if err != nil {
			err = bad("Epsilon", p.Epsilon, "a larger number, or a smaller MaxElements: the noise is out of range")
		}
		return law, err
	}
	if c.known, err = laplace(len(used(&p.Spans)), epsilon); err != nil {
		return calibration{}, err
	}
	if p.MaxElements > 0 {
		// A user moves 16 times as many elements that are seen.
		for i, share := range [2]float64{0.25, 0.75 / seenTimes} {
			each := p.Epsilon * shareOfElements * share / p.group() * exact.Down
			if c.elements[i], err = laplace(len(used(&p.Spans)), each); err != nil {
				return calibration{}, err
			}
		}
	}
	if p.Dim > 0 {
		return c, nil
	}
	shares := len(used(&p.Discovery))
	each := delta / float64(shares) * exact.Down
	if p.Counters == 0 {
		if c.found, err = laplace(shares, epsilon); err != nil {
			return calibration{}, err
		}
		c.threshold = leastThreshold(c.found.Scale(), each)
		return c, nil
	}
	c.sketch = p.sketchParams(epsilon/float64(shares)*exact.Down, each)
	if !c.sketch.Guarantee().Promises() {
		return calibration{}, bad("Counters", p.Counters, "a smaller number, or a larger Epsilon or Delta: there is no such sketch")
	}
	return c, nil
}

// element returns the ε₁ and δ₁ of one element. What a user does in one of the longest spans, at
// any place, removes B + m of the elements that count and adds B others, at most, where m is
// MaxElements and B is Burst. So
//
//	ε₁ = 31/32·ε/(2B + m),  δ₁·(1 + e^ε₁ + … + e^(n−1)ε₁) = δ₁·(e^(nε₁) − 1)/(e^ε₁ − 1) = δ
//
// by the rule of groups, with n = 2B + m for sketches. In exact discovery the steps that add an
// element have no δ, and come last: n = B + m. Both are rounded down: an exponent below 2¹¹ is off
// by 2⁻⁴² at most.
func (p Params) element() (epsilon, delta float64) {
	if p.MaxElements == 0 {
		return p.Epsilon, p.Delta
	}
	all := p.group()
	keys := p.Epsilon * (1 - shareOfElements)
	group := keys
	if p.Counters == 0 {
		group *= float64(p.Burst+p.MaxElements) / all
	}
	epsilon = keys / all * exact.Down
	delta = p.Delta * math.Exp(epsilon-group) * (math.Expm1(-epsilon) / math.Expm1(-group)) * (1 - 0x1p-38)
	return epsilon, delta
}

// group returns by how many elements that count a user's steps change all that counts, at most.
func (p *Params) group() float64 { return float64(2*p.Burst + p.MaxElements) }

// leastThreshold returns the least integer τ with η ≤ δ and η ≤ 1 − q, where η = Pr[L ≥ τ − 1] is
// the probability that a key of one element is shown, L has scale b, and q = e^(−1/b).
func leastThreshold(b, delta float64) int64 {
	want := min(math.Log(delta), math.Log(-math.Expm1(-1/b)))
	want -= 0x1p-40 * max(1, -want)
	return exact.LeastInt(1, func(tau int64) bool { return exact.LogLaplaceTail(b, tau-1) <= want })
}
