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
)

// This file moves a Builder or a Sum between the machines of one trusted pipeline. It is the only
// way but Release that leads out of them, and what it gives is private.

// The two kinds of private state.
const (
	privateBuilder = 1
	privateSum     = 2
)

const privateVersion = 3

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
	dst = append(dst, byte(s.law.input), bit(s.given))
	sketch := s.sketch.plain()
	dst = binary.LittleEndian.AppendUint64(dst, sketch.decrements)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(sketch.settled))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(sketch.entries)))
	for _, e := range sketch.entries {
		dst = keys.Append(dst, e.key)
		dst = binary.LittleEndian.AppendUint64(dst, e.total)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(sketch.zeros)))
	for _, key := range sketch.zeros {
		dst = keys.Append(dst, key)
	}
	return dst, nil
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
	in := Input(r.Uint8())
	if in != OneStream && in != GivenCounters && in != Merged {
		r.Fail("an unknown Input")
	}
	given := r.Uint8()
	if given > 1 || in != Merged && (given == 1) != (in == GivenCounters) {
		r.Fail("a wrong origin of the counters")
	}
	sketch := readSketch(r, keys, b.params)
	if err := r.Done(); err != nil {
		return err
	}
	law := calibration{input: in}
	var err error
	switch {
	case in == Merged:
		law.method, err = b.params.allowed(in)
	case in == s.law.input:
		law = s.law
	default:
		law, err = b.params.check(in)
	}
	if err != nil {
		return err
	}
	s.law, s.sketch, s.given = law, *sketch, given == 1
	return nil
}

// bit returns 1 for true.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// mostRestored bounds the counters and D of a restored sketch. No stream comes near, also one that
// went on from FromCounters: 2⁶⁰ elements take a machine decades. And with as many elements after
// it, c and D stay below 1½·2⁶², as merge relies on.
const mostRestored = limit + 1<<60

// readSketch reads a sketch and checks what its methods rely on.
func readSketch[K hashing.Key](r *wire.Reader, keys wire.Keys[K], p Params) *sketch[K] {
	k := p.Counters
	foreign := func(key K) bool { return p.Dim > 0 && outside(key, p.Dim) }
	s := newSketch[K](k)
	if s.decrements = r.Uint64(); s.decrements > mostRestored {
		r.Fail("an impossible number of decrements")
	}
	settled := r.Uint32()
	n := r.Count(k, keys.MinSize()+8)
	if r.Err() != nil {
		return s
	}
	s.grow(max(n, 1))
	for range n {
		e := entry[K]{keys.Read(r), r.Uint64()}
		if r.Err() == nil && (e.total <= s.decrements || e.total-s.decrements > mostRestored || foreign(e.key) || s.find(e.key) >= 0) {
			r.Fail("an impossible counter")
		}
		if r.Err() != nil {
			return s
		}
		s.entries = append(s.entries, e)
		h := s.hasher.Hash(e.key)
		s.index.set(s.index.vacant(h), s.index.tag(h)|uint32(len(s.entries)))
	}
	if s.settled = int(min(settled, math.MaxInt32)); s.settled > n {
		r.Fail("a wrong number of settled counters")
	}
	if n = r.Count(k, keys.MinSize()); n > 0 {
		s.zeros = make([]K, n, k)
	}
	for i := range s.zeros {
		s.zeros[i] = keys.Read(r)
	}
	distinct := slices.Compact(slices.SortedFunc(slices.Values(s.zeros), wire.Compare[K]))
	if len(distinct) != n || slices.ContainsFunc(distinct, foreign) {
		r.Fail("impossible zeros")
	}
	return s
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
	if sketches > math.MaxInt32 || length < 0 || length > limit || unknown > 1 {
		r.Fail("a wrong number of sketches or elements")
	}
	n := r.Count(math.MaxInt32, keys.MinSize()+8)
	units := make(map[K]int64, n)
	for range n {
		key, count := keys.Read(r), r.Int64()
		if _, again := units[key]; r.Err() == nil && (again || count < 1 || count > limit || t.params.Dim > 0 && outside(key, t.params.Dim)) {
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
