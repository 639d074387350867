package misragries

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Histogram is a released histogram: public, immutable, safe for concurrent readers. All that it
// computes is post-processing and costs no budget.
//
// What it says of the count f of a key, in all that was counted, rests on c ≤ f ≤ c + u, where c is
// what the sketch or the sum holds for it (0 if nothing) and u the undercount: the number D of
// decrements, or n/(k+1), see [Histogram.Undercount].
//
// The zero Histogram, neither released nor decoded, has no keys, NaN for all else, and no encoding.
type Histogram[K hashing.Key] struct {
	params   Params
	law      calibration
	sketches int                 // how many went into a sum; else 1
	lost     int64               // in units, with noise: see calibration.lost
	counts   []sketch.Counter[K] // sorted by key, in units, all at the threshold or above
	vector   *sparse.Vector[K]   // in the place of counts, for SparseVector
}

// newHistogram returns a Histogram without counts.
func newHistogram[K hashing.Key](p Params, c calibration) *Histogram[K] {
	p.Method = c.method
	return &Histogram[K]{params: p, law: c, sketches: 1}
}

// promisedLength returns n/(k+1), +Inf if no bound on n was promised.
func (h *Histogram[K]) promisedLength() float64 {
	if h.params.MaxLength == 0 {
		return math.Inf(1)
	}
	return float64(h.params.MaxLength) / (float64(h.params.Counters) + 1)
}

// by returns the mechanism, nil for the zero Histogram.
func (h *Histogram[K]) by() method[K] { return methodOf[K](h.law.method) }

// Params returns the parameters of the release. Where they left the Method open, they name the
// one that was chosen.
func (h *Histogram[K]) Params() Params { return h.params }

// Method returns the method that was used.
func (h *Histogram[K]) Method() Method { return h.law.method }

// Input returns what the release started from.
func (h *Histogram[K]) Input() Input { return h.law.input }

// Guarantee returns the (ε, δ) of the Params, or ε alone for PureUniverse: for one element of the
// streams, for one user where MaxElements is more than 1, and for one user in any case where the
// release is that of a UserBuilder. The zero Histogram promises nothing.
func (h *Histogram[K]) Guarantee() budget.Guarantee {
	if h.law.method == Auto {
		return budget.Guarantee{}
	}
	return h.params.guarantee(h.law)
}

// Threshold returns the least noisy count that is released; for PureUniverse, the least
// that was.
func (h *Histogram[K]) Threshold() float64 {
	if h.law.method == Auto {
		return math.NaN()
	}
	return h.by().threshold(h)
}

// Len returns the number of released keys.
func (h *Histogram[K]) Len() int {
	if h.law.method == Auto {
		return 0
	}
	return h.by().length(h)
}

// String says what was released under which guarantee, and by which mechanism.
func (h *Histogram[K]) String() string {
	name := h.law.method.String()
	if h.law.method != Auto {
		name = h.by().name(h)
	}
	return fmt.Sprintf("misragries.Histogram: %d keys of count ≥ %.6g from %d counters by %s, %v", h.Len(), h.Threshold(), h.params.Counters, name, h.Guarantee())
}
