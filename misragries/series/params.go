package series

import (
	"cmp"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxSpans    = 8
	maxSpan     = 1 << 20
	maxKnown    = 1 << 24
	maxElements = 1 << 20
	maxRetire   = 1 << 30
	maxCounters = 1 << 28
	maxSteps    = math.MaxInt32
)

// Params are the public numbers of a series of releases. They are comparable. Epsilon and Delta are
// required, or Dim instead of Delta; all other fields may be 0.
type Params struct {
	// Epsilon is ε of the whole series, in [2⁻³⁰, 2¹⁰].
	Epsilon float64
	// Delta is δ of the whole series, in [1e-300, 1); 0 with Dim.
	Delta float64
	// Spans are the lengths, in steps, of the nodes in which known keys are
	// counted: 1 first, each at most 2²⁰ and a multiple of the one before, and 0
	// after the last. All 0 stands for 1, 4, 24, 168. Each has an equal share of
	// ε.
	Spans [8]int
	// Discovery are the lengths of the nodes that show unknown keys. They are like
	// Spans, but the first may be above 1. All 0 stands for 1, 24, 168. Each
	// additional one raises the threshold of all.
	Discovery [8]int
	// Counters is 0 to count unknown keys exactly, in memory that grows with their
	// number in the longest discovery span. Else it is k, in [1, 2²⁸], for the
	// Misra-Gries sketch that counts them in each span.
	Counters int
	// Dim, at most 2²⁰, is the number of possible keys if it is above 0: the
	// integers 0 to Dim−1 are all known from the first step on, and others are
	// ignored. Then Delta, Discovery, Counters, MaxKnown and Retire are 0.
	Dim int
	// MaxKnown, at most 2²⁴, bounds the keys that are known together; those with
	// the largest published count per step stay. 0 stands for 2¹⁶.
	MaxKnown int
	// Retire is the published count, at most 2³⁰, below which a known key is
	// forgotten at the end of one of the longest Spans. 0 forgets none.
	Retire int
	// MaxElements, at most 2²⁰, is the number of elements of one user that count
	// within the longest of the Spans, on average: see [Builder.AddFor]. With 0
	// the guarantee is for one element.
	MaxElements int
	// Burst, at most 2²⁰, is the largest number of tokens of a user. 0 stands for
	// half of MaxElements, rounded up.
	Burst int
}

// bad returns the error for a field.
func bad(field string, value any, want string) error {
	return check.ParamsError("series", field, value, want)
}

// normal returns the Params with all defaults filled in, and without −0.
func (p Params) normal() Params {
	p.Delta += 0
	if p.Spans == [maxSpans]int{} {
		p.Spans = [maxSpans]int{1, 4, 24, 168}
	}
	if p.MaxElements > 0 && p.Burst == 0 {
		p.Burst = p.MaxElements/2 + p.MaxElements%2
	}
	if p.Dim != 0 {
		return p
	}
	if p.Discovery == [maxSpans]int{} {
		p.Discovery = [maxSpans]int{1, 24, 168}
	}
	p.MaxKnown = cmp.Or(p.MaxKnown, 1<<16)
	return p
}

// validate checks the fields of normal Params.
func (p Params) validate() error {
	if err := check.Epsilon("series", p.Epsilon, check.MaxEpsilon); err != nil {
		return err
	}
	if err := check.Delta("series", p.Delta); err != nil {
		return err
	}
	switch {
	case p.Dim < 0 || p.Dim > maxElements:
		return bad("Dim", p.Dim, "an integer in [0, 2²⁰]")
	case p.Spans[0] != 1 || !nested(p.Spans):
		return bad("Spans", p.Spans, "1, then multiples of the one before up to 2²⁰, then 0")
	case p.MaxElements < 0 || p.MaxElements > maxElements:
		return bad("MaxElements", p.MaxElements, "an integer in [0, 2²⁰]")
	case p.Burst < 0 || p.Burst > maxElements || p.MaxElements == 0 && p.Burst != 0:
		return bad("Burst", p.Burst, "an integer in [0, 2²⁰], and 0 without MaxElements")
	case p.Dim > 0 && p != (Params{Epsilon: p.Epsilon, Spans: p.Spans, Dim: p.Dim, MaxElements: p.MaxElements, Burst: p.Burst}):
		return bad("Dim", p.Dim, "0, or none of Delta, Discovery, Counters, MaxKnown and Retire: they are for unknown keys")
	case p.Dim > 0:
		return nil
	case p.Delta == 0:
		return bad("Delta", p.Delta, "a number in [1e-300, 1), or Dim: unknown keys are shown only with δ > 0")
	case !nested(p.Discovery):
		return bad("Discovery", p.Discovery, "lengths up to 2²⁰, each a multiple of the one before, then 0")
	case p.Counters < 0 || p.Counters > maxCounters:
		return bad("Counters", p.Counters, "0 or an integer in [1, 2²⁸]")
	case p.MaxKnown < 1 || p.MaxKnown > maxKnown:
		return bad("MaxKnown", p.MaxKnown, "0 or an integer in [1, 2²⁴]")
	case p.Retire < 0 || p.Retire > maxRetire:
		return bad("Retire", p.Retire, "an integer in [0, 2³⁰]")
	}
	return nil
}

// nested reports whether spans are positive multiples of the ones before, up to the first 0.
func nested(spans [maxSpans]int) bool {
	last := 1
	for i, s := range spans {
		switch {
		case s == 0 && i > 0 && last > 0:
			last = 0
		case s == 0 && i > 0:
		case last == 0 || s < 1 || s > maxSpan || s%last != 0 || i > 0 && s == last:
			return false
		default:
			last = s
		}
	}
	return true
}

// used returns the spans without the zeros behind them.
func used(spans *[maxSpans]int) []int {
	for i, s := range spans {
		if s == 0 {
			return spans[:i]
		}
	}
	return spans[:]
}

// longest returns the longest of the Spans, the number of steps of a user that are protected
// together.
func (p *Params) longest() int {
	spans := used(&p.Spans)
	return spans[len(spans)-1]
}

// topDiscovery returns the longest of the Discovery spans.
func (p *Params) topDiscovery() int {
	spans := used(&p.Discovery)
	return spans[len(spans)-1]
}

// Guarantee returns what all Slices together, future ones included, promise: (ε, δ), or ε alone
// with Dim, for one element of the stream; with MaxElements for all that one user does in any steps
// as long as the longest of the Spans. Invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	p = p.normal()
	if _, err := p.calibrate(); err != nil {
		return budget.Guarantee{}
	}
	u := budget.Element(budget.AddRemove)
	if p.MaxElements > 0 {
		u = budget.UserWithin(p.longest(), p.MaxElements, budget.AddRemove)
	}
	if p.Dim > 0 {
		return budget.PureDP(p.Epsilon, u)
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, u)
}

// sketchParams are those of the sketch of one discovery span.
func (p Params) sketchParams(epsilon, delta float64) misragries.Params {
	return misragries.Params{Counters: p.Counters, Epsilon: epsilon, Delta: delta, Method: misragries.KeptZeros}
}

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
		d, err := noise.NewDiscreteLaplace(exact.QuotientUp(float64(shares), epsilon))
		if err != nil {
			err = bad("Epsilon", p.Epsilon, "a larger number, or a smaller MaxElements: the noise is out of range")
		}
		return d, err
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

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)
