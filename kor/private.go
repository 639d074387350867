package kor

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// This file moves a Builder or a StreamBuilder between the machines of one trusted pipeline. It is
// the only way but Release and Share that leads out of them, and what it gives is private.

// The two kinds of private state, unlike those of other packages.
const (
	privateBuilder = byte(wire.KindKOR)<<4 + iota
	privateStream
)

const privateVersion = 2 // in version 1 the tables of streams had coins in them

const memberSize = 8 + 4 // bytes of a key of a Builder that counts

// kind returns the kind of the state.
func (s *state) kind() byte {
	if s.stream {
		return privateStream
	}
	return privateBuilder
}

// AppendPrivateState appends what the builder holds to dst: PRIVATE DATA, protected by nothing,
// with CountShare the keys themselves. Every release of it spends ε again. The error wraps
// [ErrReleased].
func (b *base) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(b.secret, dst, "kor: AppendPrivateState: the builder", func(s *state, dst []byte) []byte {
		kind := s.kind()
		dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
		dst = sets.AppendTable(wire.AppendFields(dst, privateFields(&kind, &s.params, &s.origin)), s.table)
		if s.stream {
			return dst
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(len(s.members)))
		for _, key := range slices.Sorted(maps.Keys(s.members)) {
			dst = binary.LittleEndian.AppendUint64(dst, key)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(s.members[key]))
		}
		return dst
	})
}

// RestorePrivateState replaces what the builder holds by such private state. The error wraps
// [ErrReleased], [ErrMismatch] for other Params, or [ErrFormat].
func (b *base) RestorePrivateState(data []byte) error {
	return private.Restore(b.secret, data, "kor: RestorePrivateState: the builder", func(s *state, data []byte) error {
		r := wire.NewReader("kor", data)
		r.Header(wire.KindPrivate, privateVersion)
		var kind byte
		var p Params
		var from origin
		r.Fields(privateFields(&kind, &p, &from))
		switch {
		case r.Err() != nil:
		case kind != s.kind():
			r.Fail("another kind of state")
		case p != s.params:
			return check.Equal("kor", s.params, p)
		}
		table, set := sets.ReadTable(r, s.params.words(), s.params.Cells), s.members
		if !s.stream {
			set = readMembers(r, s.params)
		}
		if err := r.Done(); err != nil {
			return err
		}
		s.table, s.origin, s.members = table, from, set
		return nil
	})
}

// readMembers reads the keys of a Builder that counts, in ascending order; nil for one that does
// not.
func readMembers(r *wire.Reader, p Params) members {
	n := r.Uint64()
	if r.Err() == nil && (n > uint64(r.Remaining())/memberSize || n > 0 && p.CountShare == 0) {
		r.Fail("fewer keys than it says, or keys where none are counted")
	}
	if r.Err() != nil || p.CountShare == 0 {
		return nil
	}
	set, last := make(members, n), uint64(0)
	for i := range n {
		key, steps := r.Uint64(), r.Uint32()
		if i > 0 && key <= last || steps > 1<<countBits {
			r.Fail("an impossible key")
			return nil
		}
		set[key], last = int32(steps), key
	}
	return set
}

// privateFields are what both states begin with, after the header: the kind of state, the Params
// and the origin.
func privateFields(kind *byte, p *Params, from *origin) []wire.Field {
	return append(append([]wire.Field{wire.Byte(kind)}, p.fields()...), wire.Bytes(from[:]))
}
