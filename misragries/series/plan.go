package series

import (
	"fmt"
	"math"
	"math/big"
)

// Plan is how accurate a series will be, before any data is seen.
type Plan struct {
	Params Params // with all defaults filled in
	// StdDev is that of the noise of one published count of a known key.
	StdDev float64
	// Threshold is the least noisy count in a discovery span with which an unknown
	// key is shown; 0 with Dim.
	Threshold float64
	// CountedFrom is, with MaxElements, the number of elements in the longest of
	// the Spans from which on [Window.Counted] tells, at .95, a share of one half
	// from none and all.
	CountedFrom float64
	// Bytes is the length of the encoding of a Slice at whose step only the
	// shortest of the Spans ends and no Discovery span. Without Dim each known
	// integer key adds 24. Each further span that ends adds 8 per key.
	Bytes int
}

// Plan says what to expect of a series. The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	p = p.normal()
	c, err := p.calibrate()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Params: p, StdDev: math.Sqrt(c.known.Variance()), Bytes: 123 + 24*p.Dim}
	if p.MaxElements > 0 {
		plan.Bytes += 16
		for _, law := range c.elements { // half of the elements are above twice the half-widths
			plan.CountedFrom += 4 * newLaplaceSum(law.Scale(), 1).beyond(0.025)
		}
	}
	switch {
	case p.Counters > 0:
		sketch, err := c.sketch.Plan(1)
		if err != nil {
			return Plan{}, err
		}
		plan.Threshold = sketch.Threshold
	case p.Dim == 0:
		plan.Threshold = float64(c.threshold)
	}
	return plan, nil
}

// StdErr returns the standard error of [Window.Estimate] for a key that is always known and a
// window of the last steps: the root mean square over positions of its end in the longest span. NaN
// for a number of steps outside [1, 2²⁰] and for the zero Plan.
func (p Plan) StdErr(steps int) float64 {
	if steps < 1 || steps > maxSpan || p.Params.Spans[0] == 0 {
		return math.NaN()
	}
	spans := used(&p.Params.Spans)
	longest, vars, sum, n := p.Params.longest(), wholes(spans), 0.0, 0
	before := (steps + longest - 1) / longest * longest
	stride := p.Params.stride()
	for at := stride/2 + 1; at <= longest; at += stride {
		now := before + at
		f := leastSquares{spans: spans, vars: vars, since: 0, until: now, from: now - steps, to: now}
		sum += f.window().partVar
		n++
	}
	return math.Sqrt(sum/float64(n)) * p.StdDev
}

// stride returns by how much the positions are apart that stand for all: it shares no factor with a
// span, so they are at all places of the shorter ones.
func (p Params) stride() int {
	const most = 1 << 23 // nodes, which take some tenths of a second
	spans, longest, nodes := used(&p.Spans), p.longest(), 0
	for i, span := range spans[1:] {
		nodes += span / spans[i] // of a window's end
	}
	stride := max(longest/1000, int(int64(longest)*int64(nodes)/most), 1)
	for new(big.Int).GCD(nil, nil, big.NewInt(int64(stride)), big.NewInt(int64(longest))).Int64() > 1 {
		stride++
	}
	return stride
}

// String says the noise of a step, a day and a week of steps, and the threshold.
func (p Plan) String() string {
	text := fmt.Sprintf("standard errors %.3g, %.3g and %.3g for 1, 24 and 168 steps", p.StdErr(1), p.StdErr(24), p.StdErr(168))
	if p.Threshold > 0 {
		text += fmt.Sprintf("; unknown keys are shown from a noisy count of %.4g", p.Threshold)
	}
	return text
}
