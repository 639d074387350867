package distinct

import (
	"fmt"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// RunningBuilder counts the distinct keys since the start, after each slot, a day say. One ε pays
// for all slots, and protects a key's whole history.
type RunningBuilder struct {
	base[runningState, *runningState]
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

const maxSlots = 1<<31 - 1

// NewRunningBuilder returns an empty RunningBuilder. An ε above 20 protects hardly anybody.
func NewRunningBuilder(p Params) (*RunningBuilder, error) {
	p = p.normal()
	law, err := p.classLaw()
	if err = p.windowless(err); err != nil {
		return nil, err
	}
	empty := private.New(runningState{state: newState(p, laws{count: law})})
	return &RunningBuilder{base[runningState, *runningState]{empty, p, p.twoMoves()}}, nil
}

// Add adds keys in the current slot.
func (b *RunningBuilder) Add(keys ...uint64) {
	private.OneOrMany(b, keys, (*RunningBuilder).addOne, (*RunningBuilder).addMany)
}

func (b *RunningBuilder) addOne(key uint64) { private.Use(b.secret, (*runningState).set, key) }

func (b *RunningBuilder) addMany(keys []uint64) { private.Use(b.secret, (*runningState).setAll, keys) }

// Merge adds the set of a Builder, which gives it up, to the current slot. Releasing a copy of it
// would cost ε in addition.
func (b *RunningBuilder) Merge(other *Builder) error {
	return private.Merge(b.secret, sets.OrZero(other).secret, "distinct: Merge", "Builder", func(s *runningState, o *state) error {
		return s.state.absorb(o)
	})
}

// Step closes the current slot and returns the total. Totals can fall by their noise, the number of
// keys cannot: it is at least the lower end of every earlier interval; the maximum of the estimates
// is biased upwards. [ErrReleased] also after 2³¹ − 1 slots.
func (b *RunningBuilder) Step() (*Running, error) {
	s := private.Enter(b.secret)
	if s == nil {
		return nil, private.Missing(b.secret, "distinct: Step: the RunningBuilder")
	}
	defer private.Leave(b.secret)
	if s.slots == maxSlots {
		return nil, fmt.Errorf("distinct: Step: the last slot is %w", check.ErrReleased)
	}
	now := ones(s.table)
	s.released += now - s.closed + s.laws.count.SampleInt(&s.src)
	s.closed = now
	s.slots++
	return &Running{total{release{s.params, numbers{s.released}}, s.slots}}, nil
}

// Running counts distinct keys up to the end of a slot. Its Guarantee is that of all slots.
type Running struct{ total }

// Slots returns the number of slots, 1 in the first.
func (r *Running) Slots() int { return r.slots }

// String describes the release.
func (r *Running) String() string {
	return r.text("distinct.Running", fmt.Sprint("all slots: ", r.Guarantee()), "a count of keys, %d slots", r.slots)
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
	return layout{wire.KindRunning, 1, &r.release, []wire.Field{wire.Int(&r.slots, maxSlots)}, Params.classLaw, func() int { return min(r.slots, 1) }}
}

// AppendBinary appends the encoding.
func (r *Running) AppendBinary(dst []byte) ([]byte, error) { return r.layout().append(dst) }

// MarshalBinary encodes.
func (r *Running) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

// UnmarshalBinary decodes.
func (r *Running) UnmarshalBinary(data []byte) error { return decode(r, data) }
