package groupby

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file moves Rows between the machines of one trusted pipeline, as private.go does a Builder.

// privateRows is the kind of the private state of Rows.
const privateRows byte = 0xf9

// AppendPrivateState appends all that the Rows hold to dst. WHAT IT APPENDS IS PRIVATE DATA, the
// users with their keys, protected by nothing: see [Builder.AppendPrivateState]. The bytes depend
// neither on the order of the rows nor on how they were split among Rows that were merged. With
// Levels they depend on the random choice of which of a user's values counts. The error wraps
// [ErrReleased].
func (r *Rows[U, K]) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(r.secret, dst, "groupby: AppendPrivateState: the Rows value", (*rows[U, K]).appendState)
}

// RestorePrivateState replaces what the Rows hold by a state that [Rows.AppendPrivateState] gave.
// The error wraps [ErrReleased], [ErrMismatch] if those Rows had other Params, or [ErrFormat]; the
// Rows are then unchanged.
func (r *Rows[U, K]) RestorePrivateState(data []byte) error {
	return private.Restore(r.secret, data, "groupby: RestorePrivateState: the Rows value", (*rows[U, K]).readState)
}

// rowsHeader is what a state begins with, after the header of all encodings.
type rowsHeader struct {
	kind        byte
	users, keys wire.KeyClass
	params      Params
}

func (h *rowsHeader) fields() []wire.Field {
	return append([]wire.Field{wire.Byte(&h.kind), wire.Byte(&h.users), wire.Byte(&h.keys)}, h.params.fields()...)
}

// appendState appends the keys in order, and then the users in order: each with his keys, by their
// ranks, and the numbers of the pair.
func (s *rows[U, K]) appendState(dst []byte) []byte {
	users, keys := wire.KeysOf[U](), wire.KeysOf[K]()
	h := rowsHeader{privateRows, users.Class(), keys.Class(), s.params}
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, h.fields())
	order, ranks := s.keys.sorted(s.listed) // a list is sorted
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(order)))
	for _, i := range order {
		dst = keys.Append(dst, s.keys.keys[i])
	}
	spans := make([]span, len(s.users.keys))
	for q, of := range s.pairs.all {
		spans[q.words[of.from]>>32] = of
	}
	order, _ = s.users.sorted(0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(order)))
	for _, u := range order {
		q, of := s.pairs.of(u), spans[u]
		dst = users.Append(dst, s.users.keys[u])
		dst = binary.LittleEndian.AppendUint32(dst, uint32(of.to-of.from))
		rows := make([]int, 0, of.to-of.from)
		for i := of.from; i < of.to; i++ {
			rows = append(rows, i)
		}
		rank := func(i int) uint32 { return ranks[uint32(q.words[i])] }
		slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
		for _, i := range rows {
			dst = binary.LittleEndian.AppendUint32(dst, rank(i))
			for _, x := range q.row(i, s.numbers) {
				dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
			}
		}
	}
	return dst
}

// readState replaces the rows by those of a state.
func (s *rows[U, K]) readState(data []byte) error {
	r, users, keys := wire.NewReader("groupby", data), wire.KeysOf[U](), wire.KeysOf[K]()
	r.Header(wire.KindPrivate, privateVersion)
	var h rowsHeader
	r.Fields(h.fields())
	switch {
	case r.Err() != nil:
		return r.Err()
	case h.kind != privateRows || h.users != users.Class() || h.keys != keys.Class():
		r.Fail("another kind of state")
	case h.params != s.params:
		return check.Equal("groupby", s.params, h.params)
	}
	next := newRows[U](s.params, s.law, s.list())
	all := r.Count(math.MaxInt32, keys.MinSize())
	var key K
	var list []K
	for i := range all {
		last := key
		if key = keys.Read(r); i > 0 && i != s.listed && keys.Compare(last, key) >= 0 {
			r.Fail("keys not in ascending order")
		}
		if r.Err() != nil {
			return r.Err()
		}
		if i < s.listed {
			list = append(list, key)
		} else if n, _ := next.keys.number(key); int(n) != i {
			r.Fail("a key twice")
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	if err := sameKeys(s.list(), list); err != nil {
		return err
	}
	if all > s.listed && s.params.listed && !s.params.Others {
		r.Fail("a key that is not listed")
	}
	var user, nobody U
	for i := range r.Count(math.MaxInt32, users.MinSize()+4) {
		last := user
		user = users.Read(r)
		n := r.Count(math.MaxInt32, 4+8*len(next.numbers))
		if i > 0 && users.Compare(last, user) >= 0 || n == 0 || next.named && user == nobody {
			r.Fail("users not in ascending order, or one without keys")
		}
		least := uint32(0)
		for range n {
			rank := r.Uint32()
			for c := range next.numbers {
				next.numbers[c] = r.Int64()
			}
			if s.params.Levels[0] != 0 && !s.scale.picked(next.numbers[len(next.numbers)-1]) {
				r.Fail("a value of a user that is none")
			}
			if s.params.Average && next.numbers[s.params.columns()] < 1 {
				r.Fail("a pair without rows")
			}
			if int64(rank) >= int64(len(next.keys.keys)) || rank < least {
				r.Fail("a key of a user that is none")
			}
			if r.Err() != nil {
				return r.Err()
			}
			least = rank + 1
			number, _ := next.users.number(user)
			next.pairs.add(number, rank, next.numbers)
		}
	}
	if err := r.Done(); err != nil {
		return err
	}
	*s = next
	return nil
}
