package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/fault"
)

// Way is a way to release what many servers have counted.
type Way uint8

const (
	// SumThem: one server adds up the reduced sketches of all, and releases the sum: [Sum].
	SumThem Way = iota
	// SumThemShifted is SumThem with a private shift of each sketch: Params with Mechanism
	// ShiftedSum.
	SumThemShifted
	// MergeThem: one server merges the sketches, and releases one: [Builder.Merge].
	MergeThem
	// ReleaseEach: every server releases its own, and anybody adds them up: [Combine].
	ReleaseEach
)

var wayNames = []string{"sum reduced sketches", "sum shifted sketches", "merge sketches", "release each, then add"}

// String says what to do.
func (w Way) String() string {
	return enum.Name(w, wayNames, "Way")
}

// Plan is what a way costs. In all of them a key also loses up to N/(k+1) of its count to the
// sketches, N the elements of all streams.
type Plan struct {
	Way Way
	// Hidden is a count from which on a key with a noise of 0 is released, wherever
	// it was counted: the threshold, with the bias; for ReleaseEach, where a key
	// can be below the threshold on every server, that many times over.
	Hidden float64
	// StdDev is the standard deviation of the noise of a key that is stored
	// everywhere.
	StdDev float64
	// Bias is what a key stored everywhere loses on average besides, to the private
	// shifts.
	Bias float64
	// Keys is the most keys that one server holds at a time.
	Keys int64
}

// Plan returns what each way to release the sketches of so many servers would cost under these
// Params, before anything is merged. Nothing depends on data. Ways that the Params do not allow are
// left out.
//
// Summing is right unless the keys do not fit: its noise does not grow with the servers. Merging
// holds 2k keys at most, and pays with noise that grows with √k. Releasing each needs nobody's
// trust, and pays with the number of servers.
//
// It returns an error that wraps [ErrParams] if the Params are invalid or allow no way at all, or
// sketches is below 1.
func (p Params) Plan(sketches int) ([]Plan, error) {
	if sketches < 1 || sketches > math.MaxInt32 {
		return nil, fault.Params("misragries", "sketches", sketches, "an integer in [1, 2³¹)")
	}
	p.Mechanism = Auto
	m, k := float64(sketches), int64(p.Counters)
	var plans []Plan
	l, refused := p.check(Summed)
	if refused == nil {
		plans = append(plans, Plan{SumThem, l.lowest(), l.stdDev(), 0, k * int64(sketches)})
	}
	p.Mechanism = ShiftedSum
	if l, err := p.check(Summed); err == nil {
		bias := m * l.counts(l.sum.offset)
		shifts := discreteLaplace(l.sum.shift).Variance() / (l.per * l.per)
		plans = append(plans, Plan{SumThemShifted, l.lowest() + bias, math.Sqrt(l.stdDev()*l.stdDev() + m*shifts), bias, k * int64(sketches)})
	}
	p.Mechanism = SparseVector
	if c, err := p.candidate(Merged); err == nil {
		plans = append(plans, Plan{MergeThem, c.Threshold, c.StdDev, 0, 2 * k})
	}
	p.Mechanism = KeptZeros
	if l, err := p.check(OneStream); err == nil {
		plans = append(plans, Plan{ReleaseEach, m*(l.lowest()-1) + 1, math.Sqrt(m) * l.stdDev(), 0, k})
	}
	if len(plans) == 0 {
		return nil, refused
	}
	return plans, nil
}
