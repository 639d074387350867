package column

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file moves a Builder between the machines of one trusted pipeline. It is the only way but
// Release that leads out of it, and what it gives is private.

// privateBuilder is the kind of private state, unlike those of other packages.
const privateBuilder = byte(wire.KindColumn)

const privateVersion = 2

// AppendPrivateState appends what the Builder holds to dst. WHAT IT APPENDS IS PRIVATE DATA: exact
// sums or, if the range is learned, the rows, for machines as trusted as this one. Every release of
// the state spends the budget again. The error wraps [ErrReleased].
func (b *Builder) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(b.secret, dst, "column: AppendPrivateState: the Builder", (*state).appendState)
}

func (s *state) appendState(dst []byte) []byte {
	kind, p, t := privateBuilder, s.params, s.totals
	if s.bound > 0 {
		t.rows = s.kept.len()
	}
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, privateFields(&kind, &p, &t))
	for _, x := range s.kept.sorted() {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// RestorePrivateState replaces what the Builder holds by a state from [Builder.AppendPrivateState].
// The error wraps [ErrReleased], [ErrMismatch] if the Params differ, or [ErrFormat]; the Builder is
// then unchanged.
func (b *Builder) RestorePrivateState(data []byte) error {
	return private.Restore(b.secret, data, "column: RestorePrivateState: the Builder", (*state).readState)
}

func (s *state) readState(data []byte) error {
	r := wire.NewReader("column", data)
	r.Header(wire.KindPrivate, privateVersion)
	var kind byte
	var p Params
	var t totals
	r.Fields(privateFields(&kind, &p, &t))
	var rows []float64
	for r.Err() == nil && p.learns() && int64(len(rows)) < t.rows {
		rows = append(rows, r.Float64())
	}
	switch {
	case r.Err() != nil:
	case kind != privateBuilder:
		r.Fail("another kind of state")
	case !t.possible() || p.learns() && t != totals{rows: int64(len(rows))}:
		r.Fail("sums that no rows have")
	case !valid(rows, p.bound()):
		r.Fail("rows that are not as they are kept")
	case p != s.params && r.Done() == nil:
		return check.MismatchError("column", "Params", s.params, p)
	}
	if err := r.Done(); err != nil {
		return err
	}
	if s.kept = (kept{last: rows}); s.bound == 0 {
		s.totals = t
	}
	return nil
}

// possible reports whether this number of rows can have these sums, and is small enough that sums
// of many states fit.
func (t *totals) possible() bool {
	n, first, second := float64(t.rows), t.first.Float64(), t.second.Float64()
	return t.rows >= 0 && t.rows <= maxRows && first >= -n*half && first <= n*half && second >= 0 && second <= n*half*half
}

// privateFields are what a state consists of, after the header.
func privateFields(kind *byte, p *Params, t *totals) []wire.Field {
	return append(append([]wire.Field{wire.Byte(kind)}, p.fields()...),
		wire.Signed(&t.rows), wire.Signed(&t.first.Hi), wire.Uint(&t.first.Lo), wire.Signed(&t.second.Hi), wire.Uint(&t.second.Lo))
}
