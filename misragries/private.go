package misragries

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// This file moves a Builder or a Sum between the machines of one trusted pipeline. It is the only
// way but Release that leads out of them, and what it gives is private.

// The two kinds of private state.
const (
	privateBuilder = 1
	privateSum     = 2
)

const privateVersion = 4

// AppendPrivateState appends all that the Builder holds to dst. WHAT IT APPENDS IS PRIVATE DATA,
// keys and exact counts, protected by nothing. It is for a pipeline that moves its builders between
// machines as trusted as this one, and must not reach a disk, a log or a person that the stream
// itself may not reach. To publish, use [Builder.Release].
//
// The Builder stays as it is. Whoever restores the state and releases it spends the budget; do so
// once. The error wraps [ErrReleased].
func (b *Builder[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	s := private.Enter(b.secret)
	if s == nil {
		return dst, private.Missing(b.secret, "misragries: AppendPrivateState: the Builder")
	}
	defer private.Leave(b.secret)
	keys := wire.KeysOf[K]()
	dst = appendPrivateHead(dst, privateBuilder, keys, b.params)
	dst = append(dst, bit(s.Merged), bit(s.Given))
	return s.Sketch.Append(dst), nil
}

// RestorePrivateState replaces what the Builder holds by a state that [Builder.AppendPrivateState]
// gave. The error wraps [ErrReleased], [ErrMismatch] if that Builder had other Params, or
// [ErrFormat]; the Builder is then unchanged.
func (b *Builder[K]) RestorePrivateState(data []byte) error {
	s := private.Enter(b.secret)
	if s == nil {
		return private.Missing(b.secret, "misragries: RestorePrivateState: the Builder")
	}
	defer private.Leave(b.secret)
	keys := wire.KeysOf[K]()
	r := wire.NewReader("misragries", data)
	if err := readPrivateHead(r, privateBuilder, keys, b.params); err != nil {
		return err
	}
	merged, given := r.Uint8(), r.Uint8()
	if merged > 1 || given > 1 {
		r.Fail("an unknown origin of the counters")
	}
	restored := sketch.New[K](b.params.Counters)
	restored.Read(r, b.params.Counters, b.params.Dim)
	if err := r.Done(); err != nil {
		return err
	}
	in := OneStream
	if given == 1 {
		in = GivenCounters
	}
	if _, err := b.params.check(in); err != nil && merged == 0 {
		return err
	}
	if _, err := b.params.allowed(Merged); err != nil && merged == 1 {
		return err
	}
	s.Sketch, s.Merged, s.Given = *restored, merged == 1, given == 1
	return nil
}

// bit returns 1 for true.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// AppendPrivateState appends all that the Sum holds to dst. WHAT IT APPENDS IS PRIVATE DATA, as
// with [Builder.AppendPrivateState]. The error wraps [ErrReleased].
func (t *Sum[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	s := private.Enter(t.sumSecret)
	if s == nil {
		return dst, private.Missing(t.sumSecret, "misragries: AppendPrivateState: the Sum")
	}
	defer private.Leave(t.sumSecret)
	keys := wire.KeysOf[K]()
	dst = appendPrivateHead(dst, privateSum, keys, t.params)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.sketches))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.length))
	dst = append(dst, bit(s.unknown))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.units)))
	for _, key := range slices.SortedFunc(maps.Keys(s.units), wire.Compare[K]) {
		dst = keys.Append(dst, key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.units[key]))
	}
	return dst, nil
}

// RestorePrivateState replaces what the Sum holds by a state that [Sum.AppendPrivateState] gave.
// The errors are those of [Builder.RestorePrivateState].
func (t *Sum[K]) RestorePrivateState(data []byte) error {
	s := private.Enter(t.sumSecret)
	if s == nil {
		return private.Missing(t.sumSecret, "misragries: RestorePrivateState: the Sum")
	}
	defer private.Leave(t.sumSecret)
	keys := wire.KeysOf[K]()
	r := wire.NewReader("misragries", data)
	if err := readPrivateHead(r, privateSum, keys, t.params); err != nil {
		return err
	}
	sketches := r.Uint32()
	length, unknown := r.Int64(), r.Uint8()
	if sketches > math.MaxInt32 || length < 0 || length > sketch.Limit || unknown > 1 {
		r.Fail("a wrong number of sketches or elements")
	}
	n := r.Count(math.MaxInt32, keys.MinSize()+8)
	units := make(map[K]int64, n)
	for range n {
		key, count := keys.Read(r), r.Int64()
		if _, again := units[key]; r.Err() == nil && (again || count < 1 || count > sketch.Limit || t.params.Dim > 0 && sketch.Outside(key, t.params.Dim)) {
			r.Fail("an impossible count")
		}
		if r.Err() != nil {
			break
		}
		units[key] = count
	}
	if err := r.Done(); err != nil {
		return err
	}
	s.sketches, s.units, s.length, s.unknown = int(sketches), units, length, unknown == 1
	return nil
}

// privateHead are the fields that both states begin with.
func (p *Params) privateHead(state *byte, class *wire.KeyClass) []wire.Field {
	return append([]wire.Field{wire.Byte(state), wire.Byte(class), wire.Byte(&p.Method), wire.Byte(&p.Sparse)}, p.numbers()...)
}

func appendPrivateHead[K hashing.Key](dst []byte, state byte, keys wire.Keys[K], p Params) []byte {
	class := keys.Class()
	return wire.AppendFields(wire.AppendHeader(dst, wire.KindPrivate, privateVersion), p.privateHead(&state, &class))
}

// readPrivateHead is its inverse. The Params must be those of the receiver.
func readPrivateHead[K hashing.Key](r *wire.Reader, state byte, keys wire.Keys[K], want Params) error {
	var p Params
	var gotState byte
	var class wire.KeyClass
	r.Header(wire.KindPrivate, privateVersion)
	r.Fields(p.privateHead(&gotState, &class))
	switch {
	case r.Err() != nil:
	case gotState != state:
		r.Fail("another kind of state")
	case class != keys.Class():
		r.Fail("keys of another type")
	case p != want:
		return fault.Mismatch("misragries", "Params", want, p)
	}
	return r.Err()
}
