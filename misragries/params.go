package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrFormat   = fault.ErrFormat
	ErrReleased = fault.ErrReleased
	ErrMismatch = fault.ErrMismatch
)

const (
	maxCounters = 1 << 28
	maxElements = 1 << 20 // of one user or event, and keys of one user
)

// Params are the public numbers of a release. They are comparable, and every method answers before
// any data is seen.
//
// Counters, Epsilon and Delta are required, or Dim in the place of Delta. All other fields may be
// 0; what that means stands with each.
type Params struct {
	// Counters is k, the number of counters, in [1, 2²⁸]. A stream of n elements
	// is counted with an error of at most n/(k+1). Memory grows with the distinct
	// keys seen, up to Size.
	Counters int
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰]. There is no default.
	Epsilon float64
	// Delta is δ, in [1e-300, 1); or 0, for a purely ε-private release, which
	// needs Dim.
	Delta float64

	// Dim is the number of possible keys, which are then the integers 0 to Dim−1;
	// others are ignored, and what the release says of keys is of these. 0 stands
	// for an unbounded key space of any key type.
	Dim uint64
	// MaxElements is m, the most elements of one user or event in a Builder or a
	// Sum, at most 2²⁰; 0 is 1. They may be any elements of the stream, also equal
	// ones, and the guarantee is that of a group. AddN cuts what one call adds at
	// m. A UserBuilder has MaxKeys.
	MaxElements int
	// MaxKeys is m in a UserBuilder: the most distinct keys of one AddUser, in [1,
	// Counters]. All else has MaxElements.
	MaxKeys int
	// MaxLength is a promise about the data: that there are never more elements in
	// all (of keys below Dim, where that is given). It bounds the sketch error in
	// Interval and the readings. 0 promises nothing; then a noisy number of
	// decrements or elements bounds it, but not where there were counters from
	// elsewhere.
	MaxLength uint64
	// Method is how the release is drawn. 0 chooses.
	Method Method
	// Sparse is, for SparseVector, the mechanism of package threshold. 0 chooses
	// the one with the least threshold.
	Sparse sparse.Method
}

func (p Params) validate() error {
	if p.Counters < 1 || p.Counters > maxCounters {
		return fault.Params("misragries", "Counters", p.Counters, "an integer in [1, 2²⁸]")
	}
	if err := limits.Epsilon("misragries", p.Epsilon, limits.MaxEpsilon); err != nil {
		return err
	}
	if err := limits.Delta("misragries", p.Delta); err != nil {
		return err
	}
	switch {
	case p.Delta == 0 && p.Dim == 0:
		return fault.Params("misragries", "Delta", p.Delta, "a number in [1e-300, 1), or Dim, without which there is no release at δ = 0")
	case p.MaxElements < 0 || p.MaxElements > maxElements:
		return fault.Params("misragries", "MaxElements", p.MaxElements, "an integer in [0, 2²⁰]")
	case p.MaxKeys < 0 || p.MaxKeys > maxElements:
		return fault.Params("misragries", "MaxKeys", p.MaxKeys, "an integer in [0, 2²⁰]")
	case p.Method > lastMethod:
		return fault.Params("misragries", "Method", p.Method, "one of the constants")
	case p.Sparse > sparse.DenseLaplace:
		return fault.Params("misragries", "Sparse", p.Sparse, "one of the constants of package threshold")
	}
	return nil
}

// one is the input of one Builder, or of a UserBuilder where the Params have MaxKeys.
func (p Params) one() Input {
	if p.MaxKeys > 0 {
		return Users
	}
	return OneStream
}

// Guarantee returns what a release of these Params by a Builder of [New] promises, or with MaxKeys
// by a [UserBuilder], as all the planning methods do: ε where it is PureUniverse, else (ε, δ), for
// one element of the stream or, where MaxElements is more than 1 or there is MaxKeys, for one user.
// Params that the constructor refuses promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	c, err := p.check(p.one())
	if err != nil {
		return budget.Guarantee{}
	}
	return p.guarantee(c)
}

// planned returns a Histogram without counts: what is known before there is data.
func (p Params) planned() (h *Histogram[uint64], by method[uint64], ok bool) {
	c, err := p.check(p.one())
	if err != nil {
		return nil, nil, false
	}
	return newHistogram[uint64](p, c), methodOf[uint64](c.method), true
}

// Threshold returns the least noisy count that a Builder of one stream releases; with PureUniverse,
// which has none, it is 0. For all else see [Params.Candidates]. NaN if the
// Params are invalid.
func (p Params) Threshold() float64 {
	h, by, ok := p.planned()
	if !ok {
		return math.NaN()
	}
	return by.threshold(h)
}

// StdDev returns the standard deviation of the noise of one released count of one stream. NaN if
// the Params are invalid.
func (p Params) StdDev() float64 {
	h, by, ok := p.planned()
	if !ok {
		return math.NaN()
	}
	return by.stdDev(h, Upper)
}

// ErrorBound returns a bound on |estimate − true count| for all keys at once that holds with the
// given confidence, for one stream of n elements, or n keys of users: n/(k+1) from the sketch, the
// largest noise of k counters (of all Dim keys for PureUniverse), and the
// threshold, as the estimate of a key that is not released is 0. NaN if an argument is invalid.
func (p Params) ErrorBound(n, confidence float64) float64 {
	h, by, ok := p.planned()
	if !ok || !(n >= 0) || !limits.Confidence(confidence) {
		return math.NaN()
	}
	return n/(float64(p.Counters)+1) + by.errorBound(h, confidence)
}

// Size returns the bytes that a Builder holds for uint64 keys once all counters are in use: 37 a
// counter, or 31 where they are 2¹⁶ or more; a UserBuilder may have MaxKeys counters more. String
// keys take 16 bytes more, besides their text; and it is some 90 bytes a counter from an AddN on. 0
// if the Params are invalid.
func (p Params) Size() int {
	c, err := p.check(p.one())
	if err != nil {
		return 0
	}
	counters := p.Counters
	if c.together {
		counters += p.MaxKeys
	}
	return int(min(sketch.Size(counters), math.MaxInt)) // 32-bit platforms
}
