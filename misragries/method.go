package misragries

import (
	"iter"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// Method is a way to release a sketch. Auto takes the one that is right for what the Builder
// holds, as listed with each.
type Method uint8

const (
	// Auto chooses: see [Params.Candidates].
	Auto Method = iota
	// KeptZeros is Algorithm 2 of the paper: zero counters kept, shared and own discrete
	// Laplace noise. For one stream; the default there.
	KeptZeros
	// FreedZeros is the same for a sketch that frees counters at zero (section 5.1). For
	// counters from elsewhere, see [FromCounters], where it is the default, and for one stream.
	FreedZeros
	// SparseVector releases the positive counters as a sparse vector of at most k keys, of
	// which a neighbour changes up to k by one, all one way (package threshold, by correlated
	// Gaussian noise mostly). For merged sketches and for users with several keys, the default
	// there; and for one stream.
	SparseVector
	// ReducedSum releases the sum of reduced sketches (Algorithm 3), with noise that does not
	// grow with the number of sketches. The default of [Sum]; also for one stream.
	ReducedSum
	// ShiftedSum is ReducedSum with a private shift of each sketch: a lower threshold, and more
	// bias with each sketch.
	ShiftedSum
	// PureUniverse needs Dim and is ε-private without δ (section 6): the reduced sketch with
	// noise on all Dim keys, of which the k largest are released. The default where Delta is 0.
	// For one stream.
	PureUniverse

	lastMethod = PureUniverse
)

var methodNames = []string{
	"Auto", "KeptZeros", "FreedZeros", "SparseVector", "ReducedSum", "ShiftedSum", "PureUniverse",
}

// String returns the name of the constant.
func (m Method) String() string {
	return enum.Name(m, methodNames, "Method")
}

// possible lists the mechanisms of each input. Auto takes the first that does without δ where there
// is none; else the first, or for Users the one with the least threshold.
var possible = [...][]Method{
	OneStream:     {KeptZeros, FreedZeros, ReducedSum, ShiftedSum, SparseVector, PureUniverse},
	GivenCounters: {FreedZeros, ReducedSum, ShiftedSum, SparseVector, PureUniverse},
	Merged:        {SparseVector, PureUniverse},
	Summed:        {ReducedSum, ShiftedSum, PureUniverse},
	Users:         {SparseVector, KeptZeros, PureUniverse},
}

// methodOf returns what implements a constant that [possible] lists, nil for others.
func methodOf[K hashing.Key](m Method) method[K] {
	switch m {
	case KeptZeros:
		return keptZeros[K]{}
	case FreedZeros:
		return freedZeros[K]{}
	case SparseVector:
		return sparseVector[K]{}
	case ReducedSum:
		return reducedSum[K]{}
	case ShiftedSum:
		return shiftedSum[K]{}
	case PureUniverse:
		return pureUniverse[K]{}
	}
	return nil
}

// method is all that there is to a way to release. Each has a file of its own, and no other code
// knows which one it works with. Keys matter to some of the methods only: those that plan are
// called for any type of keys.
//
// A Histogram without counts, see Params.planned, stands for what is known before there is data.
type method[K hashing.Key] interface {
	// pure reports whether it does without δ.
	pure() bool
	// calibrate returns the numbers for valid Params and a possible Input, or which of the
	// Params leaves none. What a sketch lost may be unknown, as of given counters; then nothing
	// is spent on it.
	calibrate(p Params, in Input, unknown bool) (calibration, error)
	// candidate returns what h, which is planned, costs, and reach a bound that the noise of one
	// noisy count exceeds with probability at most tail.
	candidate(h *Histogram[K]) (Candidate, error)
	reach(h *Histogram[K], tail float64) float64

	// prepare returns what is released of a sketch. Of several sketches the sums are.
	prepare(src *noise.Source, c calibration, s *sketch.Sketch[K]) contents[K]
	// draw spends the budget and writes to h, which has Params and calibration.
	draw(src *noise.Source, h *Histogram[K], held contents[K]) error

	// name says which mechanism it is.
	name(h *Histogram[K]) string
	// length returns the number of released keys, find the noisy count of one, and all those of
	// all, sorted by key.
	length(h *Histogram[K]) int
	find(h *Histogram[K], key K) (v float64, found bool)
	all(h *Histogram[K]) iter.Seq2[K, float64]
	// reading returns what a noisy count says of the true one, and estimate the best of it.
	reading(h *Histogram[K], v float64, s Side) float64
	estimate(h *Histogram[K], v float64) float64
	// threshold returns the least count that is released (about, where that is known after
	// the release alone), and certain the least that is sure to be, also where it ties with one
	// that is not.
	threshold(h *Histogram[K]) float64
	certain(h *Histogram[K]) float64
	// stdDev returns the standard deviation of the noise of a reading.
	stdDev(h *Histogram[K], s Side) float64
	// interval is Histogram.Interval, and undercount Histogram.Undercount, for valid arguments.
	interval(h *Histogram[K], key K, confidence float64) (lo, hi float64)
	undercount(h *Histogram[K], confidence float64) float64
	// slack returns s such that, with the given confidence, all keys of true count f ≥ certain +
	// s at once are released, with v ≥ f − s.
	slack(h *Histogram[K], confidence float64) float64
	// sure returns the noisy count from which on, with the given confidence, the true counts of
	// all released keys are at least f.
	sure(h *Histogram[K], f, confidence float64) float64
	// errorBound returns what the estimates of all keys at once are off by at most, besides
	// n/(k+1).
	errorBound(h *Histogram[K], confidence float64) float64

	// encode appends all that follows the head of an encoding, and decode reads and checks it.
	encode(h *Histogram[K], dst []byte) ([]byte, error)
	decode(h *Histogram[K], r *wire.Reader)
}

// contents are what a Builder, a Sum or a UserBuilder held, in units.
type contents[K hashing.Key] struct {
	counters []sketch.Counter[K] // sorted by key
	lost     int64               // what a key may have more than its counter: see calibration.lost
	unknown  bool                // nothing is known of that
}
