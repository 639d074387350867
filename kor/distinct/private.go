package distinct

import (
	"encoding/binary"
	"slices"

	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file moves a Builder between the machines of one trusted pipeline, or over a restart. It is
// the only way but Release that leads out of it, and what it gives is private.

// The kinds of private state, unlike those of other packages.
const (
	privateBuilder = byte(wire.KindDistinct)<<4 + iota
	privateRunning
	privateWindows
)

const privateVersion = 1

// AppendPrivateState appends all that the Builder holds to dst. WHAT IT APPENDS IS PRIVATE DATA,
// the table without noise, protected by nothing. It is for a pipeline that moves its builders
// between machines as trusted as this one, and must not reach a disk, a log or a person that the
// set itself may not reach. To publish, use [Builder.Release].
//
// The Builder stays as it is. The bytes are a function of the Params and the set: neither the order
// of the keys, nor duplicates, nor how they were split among builders that were merged leaves a
// trace. Every release of the state, here or where it was restored, spends ε again: k of them cost
// exactly kε. The error wraps [ErrReleased].
func (b *Builder) AppendPrivateState(dst []byte) ([]byte, error) {
	s := private.Enter(b.secret)
	if s == nil {
		return dst, private.Missing(b.secret, "distinct: AppendPrivateState: the Builder")
	}
	defer private.Leave(b.secret)
	return appendWords(appendPrivate(dst, privateBuilder, s.params), s.table), nil
}

// RestorePrivateState replaces what the Builder holds by a state that [Builder.AppendPrivateState]
// gave. The error wraps [ErrReleased], [ErrMismatch] if that Builder had other Params, or
// [ErrFormat]; the Builder is then unchanged.
func (b *Builder) RestorePrivateState(data []byte) error {
	s := private.Enter(b.secret)
	if s == nil {
		return private.Missing(b.secret, "distinct: RestorePrivateState: the Builder")
	}
	defer private.Leave(b.secret)
	r, err := readPrivate(data, privateBuilder, s.params)
	if err != nil {
		return err
	}
	table := readTable(r, s.params)
	if err := r.Done(); err != nil {
		return err
	}
	s.table = table
	return nil
}

// AppendPrivateState appends all that the RunningBuilder holds to dst, PRIVATE DATA as with
// [Builder.AppendPrivateState]: for a restart, say. One of the two goes on, not both: slots that
// are released from a state and again from a copy of it spend ε twice. The error wraps
// [ErrReleased].
func (b *RunningBuilder) AppendPrivateState(dst []byte) ([]byte, error) {
	s := private.Enter(b.runningSecret)
	if s == nil {
		return dst, private.Missing(b.runningSecret, "distinct: AppendPrivateState: the RunningBuilder")
	}
	defer private.Leave(b.runningSecret)
	dst = wire.AppendFields(appendPrivate(dst, privateRunning, s.params), s.fields())
	return appendWords(dst, s.table), nil
}

// fields are those of a RunningBuilder without its Params and its table.
func (s *runningState) fields() []wire.Field {
	return []wire.Field{wire.Int(&s.slots, maxSlots), wire.Signed(&s.ones), wire.Signed(&s.released)}
}

// RestorePrivateState replaces what the RunningBuilder holds by a state that
// [RunningBuilder.AppendPrivateState] gave. The errors are those of [Builder.RestorePrivateState].
func (b *RunningBuilder) RestorePrivateState(data []byte) error {
	s := private.Enter(b.runningSecret)
	if s == nil {
		return private.Missing(b.runningSecret, "distinct: RestorePrivateState: the RunningBuilder")
	}
	defer private.Leave(b.runningSecret)
	r, err := readPrivate(data, privateRunning, s.params)
	if err != nil {
		return err
	}
	var d runningState
	r.Fields(d.fields())
	d.table = readTable(r, s.params)
	if r.Err() == nil && (d.ones < 0 || d.ones > ones(d.table) || d.released > maxOnes || d.released < -maxOnes) {
		r.Fail("an impossible count")
	}
	if err := r.Done(); err != nil {
		return err
	}
	s.table, s.slots, s.ones, s.released = d.table, d.slots, d.ones, d.released
	return nil
}

// AppendPrivateState appends all that the WindowBuilder holds to dst, PRIVATE DATA as with
// [Builder.AppendPrivateState]: for a restart, say. A day that is released from a state and again
// from a copy of it spends ε twice. The error wraps [ErrReleased].
func (b *WindowBuilder) AppendPrivateState(dst []byte) ([]byte, error) {
	s := private.Enter(b.windowSecret)
	if s == nil {
		return dst, private.Missing(b.windowSecret, "distinct: AppendPrivateState: the WindowBuilder")
	}
	defer private.Leave(b.windowSecret)
	dst = wire.AppendFields(appendPrivate(dst, privateWindows, s.params), s.fields())
	return append(dst, s.stamps...), nil
}

// fields are those of a WindowBuilder without its Params and its stamps.
func (s *windowState) fields() []wire.Field {
	return []wire.Field{wire.Int(&s.day, maxSlots), wire.Flags(&s.done)}
}

// RestorePrivateState replaces what the WindowBuilder holds, its day included, by a state that
// [WindowBuilder.AppendPrivateState] gave. The errors are those of [Builder.RestorePrivateState].
func (b *WindowBuilder) RestorePrivateState(data []byte) error {
	s := private.Enter(b.windowSecret)
	if s == nil {
		return private.Missing(b.windowSecret, "distinct: RestorePrivateState: the WindowBuilder")
	}
	defer private.Leave(b.windowSecret)
	r, err := readPrivate(data, privateWindows, s.params)
	if err != nil {
		return err
	}
	var d windowState
	r.Fields(d.fields())
	if r.Err() == nil && r.Remaining() != len(s.stamps) {
		r.Fail("not as many cells as the Params say")
	}
	stamps := slices.Clone(r.Bytes(len(s.stamps)))
	if slices.ContainsFunc(stamps, func(stamp uint8) bool { return stamp > today }) {
		r.Fail("a cell that was set after today")
	}
	if err := r.Done(); err != nil {
		return err
	}
	s.stamps, s.day, s.done = stamps, d.day, d.done
	return nil
}

// privateFields are what a state begins with, after the header.
func privateFields(kind *byte, p *Params) []wire.Field {
	return append([]wire.Field{wire.Byte(kind)}, p.fields()...)
}

func appendPrivate(dst []byte, kind byte, p Params) []byte {
	return wire.AppendFields(wire.AppendHeader(dst, wire.KindPrivate, privateVersion), privateFields(&kind, &p))
}

// readPrivate reads the head of a state of that kind and of these Params.
func readPrivate(data []byte, want byte, params Params) (*wire.Reader, error) {
	r := wire.NewReader("distinct", data)
	r.Header(wire.KindPrivate, privateVersion)
	var kind byte
	var p Params
	r.Fields(privateFields(&kind, &p))
	switch {
	case r.Err() != nil:
	case kind != want:
		r.Fail("another kind of state")
	case p != params:
		return nil, sameParams(params, p)
	}
	return r, r.Err()
}

func appendWords(dst []byte, words []uint64) []byte {
	for _, word := range words {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// readTable reads a table, which is all that is left.
func readTable(r *wire.Reader, p Params) []uint64 {
	if r.Err() != nil {
		return nil
	}
	if uint64(r.Remaining()) != 8*p.words() {
		r.Fail("not as many bits as the Params say")
		return nil
	}
	words := make([]uint64, p.words())
	for i := range words {
		words[i] = r.Uint64()
	}
	for last := p.stride() - 1; last < len(words); last += p.stride() {
		if words[last]&^p.lastWord() != 0 {
			r.Fail("ones behind the cells of a level")
		}
	}
	return words
}
