package distinct

import (
	"encoding/binary"
	"fmt"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file moves a Builder between the machines of one trusted pipeline. It is the only way but
// Release that leads out of it, and what it gives is private.

// privateBuilder is the kind of private state, unlike those of other packages.
const privateBuilder = byte(wire.KindDistinct)<<4 + iota

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
		return dst, fmt.Errorf("distinct: AppendPrivateState: the Builder is %w", fault.ErrReleased)
	}
	defer private.Leave(b.secret)
	kind, p := privateBuilder, s.params
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, privateFields(&kind, &p))
	return appendWords(dst, s.table), nil
}

// RestorePrivateState replaces what the Builder holds by a state that [Builder.AppendPrivateState]
// gave. The error wraps [ErrReleased], [ErrMismatch] if that Builder had other Params, or
// [ErrFormat]; the Builder is then unchanged.
func (b *Builder) RestorePrivateState(data []byte) error {
	s := private.Enter(b.secret)
	if s == nil {
		return fmt.Errorf("distinct: RestorePrivateState: the Builder is %w", fault.ErrReleased)
	}
	defer private.Leave(b.secret)
	r := wire.NewReader("distinct", data)
	r.Header(wire.KindPrivate, privateVersion)
	var kind byte
	var p Params
	r.Fields(privateFields(&kind, &p))
	switch {
	case r.Err() != nil:
		return r.Err()
	case kind != privateBuilder:
		r.Fail("another kind of state")
		return r.Err()
	case p != s.params:
		return sameParams(s.params, p)
	}
	table := readTable(r, p)
	if err := r.Done(); err != nil {
		return err
	}
	s.table = table
	return nil
}

// privateFields are what a state begins with, after the header.
func privateFields(kind *byte, p *Params) []wire.Field {
	return append([]wire.Field{wire.Byte(kind)}, p.fields()...)
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
