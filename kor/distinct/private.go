package distinct

import (
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// This file merges builders, and moves them between the machines of one trusted pipeline, or over a
// restart. It is the only way but Release that leads out of them, and what it gives is private.

// The kinds of private state, unlike those of other packages.
const (
	privateBuilder = byte(wire.KindDistinct)<<4 + iota
	privateRunning
	privateWindows
	privateFrequencies
	privateCohorts
)

const privateVersion = 4 // since 4 that of a CohortBuilder has all days of each cell

// kept is what a builder holds, with what the private state needs of it.
type kept[S any] interface {
	*S
	kind() (kind byte, builder string)
	public() *Params
	append(dst []byte) []byte // all but the Params
	// read reads that, and returns what replaces the data once all is read. The error is that of a
	// state from before the last release that was published or was made here.
	read(r *wire.Reader, published int) (replace func(), err error)
}

// AppendPrivateState appends PRIVATE DATA, unprotected.
func (b *base[S, P]) AppendPrivateState(dst []byte) ([]byte, error) {
	kind, name := P(nil).kind()
	return private.Append(b.secret, dst, "distinct: AppendPrivateState: the "+name, func(s *S, dst []byte) []byte {
		dst = wire.AppendFields(wire.AppendHeader(dst, wire.KindPrivate, privateVersion), privateFields(&kind, P(s).public()))
		return P(s).append(dst)
	})
}

// RestorePrivateState replaces the builder's data.
func (b *base[S, P]) RestorePrivateState(data []byte) error { return b.restore(data, 0) }

func (b *base[S, P]) restore(data []byte, published int) error {
	want, name := P(nil).kind()
	return private.Restore(b.secret, data, "distinct: RestorePrivateState: the "+name, func(s *S, data []byte) error {
		r := wire.NewReader("distinct", data)
		r.Header(wire.KindPrivate, privateVersion)
		var kind byte
		var p Params
		r.Fields(privateFields(&kind, &p))
		switch params := *P(s).public(); {
		case r.Err() != nil:
		case kind != want:
			r.Fail("another kind of state")
		case p != params:
			return check.Equal("distinct", params, p)
		}
		replace, err := P(s).read(r, published)
		if done := r.Done(); done != nil {
			return done
		}
		if err != nil {
			return err
		}
		replace()
		return nil
	})
}

// RestorePrivateState replaces the builder's data. published is [Running.Slots] of the last
// published total, or 0. [ErrMismatch] for a state behind it, or behind this builder, which would
// draw new noise for public slots: begin with a new RunningBuilder, and spend its guarantee as
// well.
func (b *RunningBuilder) RestorePrivateState(data []byte, published int) error {
	return b.restore(data, published)
}

// RestorePrivateState replaces the builder's data. published is [Windows.Day] of the last
// published, or −1. [ErrMismatch] if the state had not released that day, or the last day that this
// builder released.
func (b *WindowBuilder) RestorePrivateState(data []byte, published int) error {
	return b.restore(data, published)
}

// behind returns the error for a state in which fewer slots or days were released than are now.
func behind[N int | int64](what string, state, now N) error {
	if state >= now {
		return nil
	}
	return check.MismatchError("distinct", what, now, state)
}

// privateFields are what a state begins with, after the header.
func privateFields(kind *byte, p *Params) []wire.Field {
	return append(append([]wire.Field{wire.Byte(kind)}, p.fields()...), p.spanFields()...)
}

func (*state) kind() (kind byte, builder string) { return privateBuilder, "Builder" }

func (s *state) public() *Params { return &s.params }

func (s *state) append(dst []byte) []byte { return sets.AppendTable(dst, s.table) }

func (s *state) read(r *wire.Reader, _ int) (replace func(), err error) {
	table := s.params.read(r)
	return func() { s.table = table }, nil
}

// fields are those of a RunningBuilder without its Params and its table.
func (s *runningState) fields() []wire.Field {
	return []wire.Field{wire.Int(&s.slots, maxSlots), wire.Signed(&s.closed), wire.Signed(&s.released)}
}

func (*runningState) kind() (kind byte, builder string) { return privateRunning, "RunningBuilder" }

func (s *runningState) append(dst []byte) []byte {
	return s.state.append(wire.AppendFields(dst, s.fields()))
}

func (s *runningState) read(r *wire.Reader, published int) (replace func(), err error) {
	var d runningState
	r.Fields(d.fields())
	table := s.params.read(r)
	if r.Err() == nil && (d.closed < 0 || d.closed > ones(table) || d.released > maxOnes || d.released < -maxOnes) {
		r.Fail("an impossible count")
	}
	return func() { s.table, s.slots, s.closed, s.released = table, d.slots, d.closed, d.released },
		behind("released slots of the state", d.slots, max(published, s.slots))
}

// fields are those of a WindowBuilder without its Params and its stamps.
func (s *windowState) fields() []wire.Field {
	return []wire.Field{wire.Int(&s.day, maxSlots), wire.Signed(&s.last)}
}

func (*windowState) kind() (kind byte, builder string) { return privateWindows, "WindowBuilder" }

func (s *windowState) public() *Params { return &s.params }

func (s *windowState) append(dst []byte) []byte {
	return append(wire.AppendFields(dst, s.fields()), s.stamps...)
}

func (s *windowState) read(r *wire.Reader, published int) (replace func(), err error) {
	var d windowState
	r.Fields(d.fields())
	switch {
	case r.Err() != nil:
	case d.last < -1 || d.last > int64(d.day):
		r.Fail("a release of an impossible day")
	case r.Remaining() != len(s.stamps):
		r.Fail("not as many cells as the Params say")
	}
	stamps := slices.Clone(r.Bytes(len(s.stamps)))
	if slices.ContainsFunc(stamps, func(stamp uint8) bool { return stamp > s.today }) {
		r.Fail("a cell that was set after today")
	}
	return func() { s.stamps, s.day, s.last = stamps, d.day, d.last },
		behind("last released day of the state", d.last, max(int64(published), s.last))
}

// read reads a table.
func (p *Params) read(r *wire.Reader) []uint64 { return sets.ReadTable(r, p.words(), p.Cells) }
