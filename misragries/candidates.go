package misragries

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/sparse"
)

// Input is what a release starts from.
type Input uint8

const (
	// OneStream is the sketch of one stream: a Builder.
	OneStream Input = iota
	// GivenCounters is a sketch from elsewhere: a Builder of FromCounters.
	GivenCounters
	// Merged is a sketch that others were merged into: Builder.Merge.
	Merged
	// Summed is a sum of reduced sketches: a Sum.
	Summed
	// Users is a sketch of users with several keys: a UserBuilder.
	Users

	lastInput = Users
)

var inputNames = []string{"OneStream", "GivenCounters", "Merged", "Summed", "Users"}

// String returns the name of the constant.
func (in Input) String() string {
	return enum.Name(in, inputNames, "Input")
}

// Candidate is a mechanism that is possible for an input, with what it needs.
type Candidate struct {
	Method Method
	// Threshold is the least noisy count that is released; where the k largest of
	// all Dim are, about the k-th largest noise, −Inf if all are.
	Threshold float64
	// Hidden95 is what a sketch must hold of a key for it to be released with a
	// probability of 95 %, 0 where all keys are.
	Hidden95 float64
	// StdDev is the standard deviation of the noise of an estimate, with that of
	// one private shift.
	StdDev float64
	// Bias is what a count loses for each sketch besides its share n/(k+1) of the
	// elements: the private shift on average, and 0 else.
	Bias float64
	// Sparse is the mechanism of package threshold, for SparseVector.
	Sparse sparse.Method
}

// Candidates returns the mechanisms that are possible for the input under these Params, whatever
// Method they name: the one that Auto takes first, if it is possible, then by increasing
// threshold. Nothing depends on data. It returns an error that wraps [ErrParams] if there is none,
// or the Params are invalid.
//
// Auto takes the least threshold, with two exceptions: for one stream KeptZeros (or FreedZeros,
// for given counters) is taken before ReducedSum, which loses more of each count than it gains;
// and a private shift, which adds a bias with each sketch, is only taken by name. Where δ = 0
// there is only PureUniverse, and where δ > 0 that is only taken by name, but for users where
// nothing else is possible.
func (p Params) Candidates(in Input) ([]Candidate, error) {
	calibrated, err := p.candidates(in)
	if err != nil {
		return nil, err
	}
	list := make([]Candidate, len(calibrated))
	for i, c := range calibrated {
		list[i] = c.Candidate
	}
	return list, nil
}

// calibrated is a Candidate with all its numbers.
type calibrated struct {
	Candidate
	law calibration
}

func (p Params) candidates(in Input) ([]calibrated, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if in > lastInput {
		return nil, fault.Params("misragries", "Input", in, "one of the constants")
	}
	var list []calibrated
	var first error
	for _, m := range possible[in] {
		q := p
		q.Method = m
		c, err := q.candidate(in, 1)
		if err == nil {
			list = append(list, c)
		} else if first == nil {
			first = err
		}
	}
	if len(list) == 0 {
		return nil, first
	}
	head := 1
	if in == Users {
		head = 0
	}
	slices.SortStableFunc(list[head:], func(a, b calibrated) int { return cmp.Compare(a.rank(), b.rank()) })
	return list, nil
}

// rank is the threshold, and more where Auto does not take the mechanism.
func (c Candidate) rank() float64 {
	if methodOf[uint64](c.Method).pure() {
		return math.Inf(1)
	}
	return c.Threshold
}

// candidate returns what the mechanism of p needs for a sum of so many sketches, or for one.
func (p Params) candidate(in Input, sketches int) (calibrated, error) {
	law, err := p.check(in)
	if err != nil {
		return calibrated{}, err
	}
	h := newHistogram[uint64](p, law)
	h.sketches = sketches
	c, err := methodOf[uint64](law.method).candidate(h)
	return calibrated{c, law}, err
}
