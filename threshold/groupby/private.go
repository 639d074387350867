package groupby

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file moves a Builder between the machines of one trusted pipeline. It is the only way but
// Release that leads out of it, and what it gives is private.

// privateBuilder is the kind of private state, unlike those of other packages, which are 16 times
// their wire.Kind and a few more.
const privateBuilder byte = 0xf8

const privateVersion = 1

// AppendPrivateState appends all that the Builder holds to dst. WHAT IT APPENDS IS PRIVATE DATA,
// the sums of all keys without noise, protected by nothing. It is for a pipeline that moves its
// builders between machines as trusted as this one, and must not reach a disk, a log or a person
// that the data themselves may not reach. To publish, use [Builder.Release].
//
// The Builder stays as it is. The bytes depend neither on the order of the users nor on how they
// were split among builders that were merged, as long as no user has more than MaxKeys keys. Every
// release of the state, here or where it was restored, spends the budget again: k of them have the
// guarantee Times(k). The error wraps [ErrReleased].
func (b *Builder[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	s := private.Enter(b.secret)
	if s == nil {
		return dst, fmt.Errorf("groupby: AppendPrivateState: the Builder is %w", fault.ErrReleased)
	}
	defer private.Leave(b.secret)
	keys := wire.KeysOf[K]()
	kind, class, p, shortfall := privateBuilder, keys.Class(), s.params, s.shortfall
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, privateFields(&kind, &class, &p, &shortfall))
	entries := slices.Clone(s.table.entries)
	slices.SortFunc(entries, func(a, b entry[K]) int { return cmp.Compare(a.key, b.key) })
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(entries)))
	for _, e := range entries {
		dst = keys.Append(dst, e.key)
		for _, x := range [4]int64{e.weight, e.rest, e.value, e.others} {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
		}
	}
	return dst, nil
}

// RestorePrivateState replaces what the Builder holds by a state that [Builder.AppendPrivateState]
// gave. The error wraps [ErrReleased], [ErrMismatch] if that Builder had other Params, or
// [ErrFormat]; the Builder is then unchanged.
func (b *Builder[K]) RestorePrivateState(data []byte) error {
	s := private.Enter(b.secret)
	if s == nil {
		return fmt.Errorf("groupby: RestorePrivateState: the Builder is %w", fault.ErrReleased)
	}
	defer private.Leave(b.secret)
	r, keys := wire.NewReader("groupby", data), wire.KeysOf[K]()
	r.Header(wire.KindPrivate, privateVersion)
	var kind byte
	var class wire.KeyClass
	var p Params
	var shortfall int64
	r.Fields(privateFields(&kind, &class, &p, &shortfall))
	switch {
	case r.Err() != nil:
		return r.Err()
	case kind != privateBuilder || class != keys.Class():
		r.Fail("another kind of state")
		return r.Err()
	case p != s.params:
		return sameParams(s.params, p)
	case shortfall < 0 || shortfall > limit:
		r.Fail("a sum that is none")
	}
	t, err := readTable[K](r, keys)
	if err != nil {
		return err
	}
	s.table, s.shortfall = t, shortfall
	return nil
}

// privateFields are what a state begins with, after the header.
func privateFields(kind *byte, class *wire.KeyClass, p *Params, shortfall *int64) []wire.Field {
	return append([]wire.Field{wire.Byte(kind), wire.Byte(class)}, append(p.fields(), wire.Signed(shortfall))...)
}

// readTable reads the cells, which are all that is left.
func readTable[K hashing.Key](r *wire.Reader, keys wire.Keys[K]) (t table[K], err error) {
	n := r.Count(math.MaxInt32, keys.MinSize()+4*8)
	if r.Err() != nil {
		return t, r.Err()
	}
	t = newTable[K](n)
	for i := range n {
		e := entry[K]{keys.Read(r), cell{r.Int64(), r.Int64(), r.Int64(), r.Int64()}}
		switch {
		case i > 0 && !(t.entries[i-1].key < e.key):
			r.Fail("keys not in ascending order")
		case min(e.weight, e.others) < 0 || max(e.weight, e.others, e.rest, e.value) > limit || min(e.rest, e.value) < -limit:
			r.Fail("a sum that is none")
		}
		if r.Err() != nil {
			return t, r.Err()
		}
		t.add(e.key, e.cell)
	}
	return t, r.Done()
}
