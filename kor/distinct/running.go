package distinct

import (
	"fmt"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type runningSecret = private.State[runningState]

// RunningBuilder counts the distinct keys since the start: after each slot, a day say, it releases
// the running total. One ε pays for all slots, however many, and protects a key with its whole
// history. It holds private data, like a [Builder].
type RunningBuilder struct {
	runningSecret
	params    Params
	guarantee budget.Guarantee
}

// runningState is what a RunningBuilder holds.
type runningState struct {
	state
	slots    int   // number of slots that were closed
	closed   int64 // ones of the table when the last of them was closed
	released int64 // its running total T̃
}

// Theorem. All totals together are ε-private when a key is added to the stream with all its
// occurrences, or removed. Proof. Let T_d be the number of ones after slot d, and I_d = T_d −
// T_{d−1}. Let t be the slot in which the key comes first, and t′ the one in which its cell is set
// by another key, ∞ if never. With the key the cell is set at min(t, t′). If t ≥ t′ nothing
// changes; else I_t grows by 1 and I_t′ falls by 1. So at most two increments move, each by one,
// and each is published with noise of classLaw: the pair is two responses of ε/2, also where the
// stream is chosen by what was released (classes_proof.md). The totals are sums. ∎ The totals
// themselves have sensitivity D.

// overTime returns the curve of a count whose noise is the sum of draws from classLaw.
func (p Params) overTime(slots int) (c curve, ok bool) {
	law, err := p.classLaw()
	if err != nil {
		return curve{}, false
	}
	c = bareCurve(p)
	c.add(law, draws{slots, 1}, draws{})
	return c, true
}

const maxSlots = 1<<31 - 1

// NewRunningBuilder returns the RunningBuilder of an empty set, or an error that wraps [ErrParams].
// CountShare must be 0 or 1.
//
// For experiments an ε above 20 is accepted too, which protects hardly anybody.
func NewRunningBuilder(p Params) (*RunningBuilder, error) {
	p = p.normal()
	law, err := p.classLaw()
	if err == nil {
		err = p.windowless()
	}
	if err != nil {
		return nil, err
	}
	return &RunningBuilder{private.New(runningState{state: newState(p, laws{count: law})}), p, p.twoMoves()}, nil
}

// Guarantee returns what all slots together promise: ε-differential privacy for one key with all
// its occurrences in all slots. Spend it once, before the first slot.
func (b *RunningBuilder) Guarantee() budget.Guarantee { return b.guarantee }

// Released reports whether this is the zero RunningBuilder, where Add does nothing. Others never
// end.
func (b *RunningBuilder) Released() bool { return private.Released(b.runningSecret) }

// Add adds keys in the current slot; see [Builder.Add].
func (b *RunningBuilder) Add(keys ...uint64) {
	private.OneOrMany(b, keys, (*RunningBuilder).addOne, (*RunningBuilder).addMany)
}

func (b *RunningBuilder) addOne(key uint64) {
	private.Use(b.runningSecret, (*runningState).set, key)
}

func (b *RunningBuilder) addMany(keys []uint64) {
	private.Use(b.runningSecret, (*runningState).setAll, keys)
}

func (b *RunningBuilder) seed() hashing.Seed { return b.params.Seed }

// Merge adds the set of a Builder to the current slot; the Builder gives up its data. So servers
// that share a stream keep one Builder each per slot. Nothing may have been released from the
// Builder or from a copy of its private state: that release would cost ε in addition.
//
// The error wraps [ErrMismatch] if the Params differ and [ErrReleased] if one was released. On an
// error nothing changes.
func (b *RunningBuilder) Merge(other *Builder) error {
	return private.Merge(b.runningSecret, orZero(other).secret, "distinct: Merge", "Builder", func(s *runningState, o *state) error {
		return s.state.absorb(o)
	})
}

// Step closes the current slot and returns the running total after it. The error wraps
// [ErrReleased] for the zero RunningBuilder, and after 2³¹ − 1 slots.
func (b *RunningBuilder) Step() (*Running, error) {
	s := private.Enter(b.runningSecret)
	if s == nil {
		return nil, private.Missing(b.runningSecret, "distinct: Step: the RunningBuilder")
	}
	defer private.Leave(b.runningSecret)
	if s.slots == maxSlots {
		return nil, fmt.Errorf("distinct: Step: the last slot is %w", fault.ErrReleased)
	}
	now := ones(s.table)
	s.released += now - s.closed + s.laws.count.SampleInt(&s.src)
	s.closed = now
	s.slots++
	return &Running{s.params, s.slots, numbers{s.released}}, nil
}

// Running is a running total, the number of distinct keys from the start to the end of a slot:
// public, immutable, safe for concurrent readers. Its methods answer NaN on the zero Running.
type Running struct {
	params Params
	slots  int     // number of slots in the total, 0 only in a zero value
	ones   numbers // T̃ alone, with the noise of all these slots
}

// valid reports whether it is no zero value.
func (r *Running) valid() bool { return r != nil && r.slots > 0 }

// Params returns the parameters of the release.
func (r *Running) Params() Params { return r.params }

// Guarantee returns what all totals of the same RunningBuilder promise together.
func (r *Running) Guarantee() budget.Guarantee { return r.params.twoMoves() }

// Slots returns the number of slots in this total, 1 in the first one.
func (r *Running) Slots() int { return r.slots }

// count returns the count.
func (r *Running) count() (c count) {
	if r.valid() {
		c.ones = float64(r.ones[0])
		c.curve, _ = r.params.overTime(r.slots)
	}
	return c
}

// Estimate returns the estimated number of distinct keys; see [Sketch.Estimate].
func (r *Running) Estimate() float64 {
	c := r.count()
	return c.Estimate()
}

// StdErr returns the standard error of the estimate; see [Plan.RunningStdErr].
func (r *Running) StdErr() float64 {
	c := r.count()
	return c.StdErr()
}

// Interval returns bounds on the number of keys at this slot; see [Sketch.Interval].
func (r *Running) Interval(confidence float64) (lo, hi float64) {
	c := r.count()
	return c.Interval(confidence)
}

// String says what was released under which guarantee.
func (r *Running) String() string {
	if !r.valid() {
		return "distinct.Running (empty)"
	}
	return fmt.Sprintf("distinct.Running: a count of keys, %d slots, %d levels of %d cells, all slots: %v", r.slots, r.params.Levels,
		r.params.Cells, r.Guarantee())
}

// The encoding of a Running, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 13, version 1
//	40     Epsilon, CountShare (1), Cells, Levels, Seed, as in a Sketch
//	4      number of slots, at least 1
//	8      number of ones with its noise, two's complement
//
// No other bytes decode to the same Running.
func (r *Running) layout() layout {
	return layout{wire.KindRunning, 1, append(r.params.fields(), wire.Int(&r.slots, maxSlots)), &r.params, Params.classLaw, &r.ones, func() int { return min(r.slots, 1) }}
}

// AppendBinary appends the encoding to dst. The error, which wraps [ErrFormat], is for a Running
// that is neither released nor decoded.
func (r *Running) AppendBinary(dst []byte) ([]byte, error) { return r.layout().append(dst) }

// MarshalBinary returns the encoding.
func (r *Running) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (r *Running) UnmarshalBinary(data []byte) error { return decode(r, data) }
