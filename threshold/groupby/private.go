package groupby

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file moves a Builder, a Discovery or Rows between the machines of one trusted pipeline.
// Apart from Release it is the only file whose functions let data out, and they are private.

// privateBuilder is the kind of private state, unlike those of other packages, which are 16 times
// their wire.Kind and a few more.
const privateBuilder byte = 0xf8

const privateVersion = 4

// AppendPrivateState appends all that the Builder holds. WHAT IT APPENDS IS PRIVATE DATA, protected
// by nothing, for machines as trusted as this one. Every release of it, here or where it was
// restored, spends the budget again: k releases have the guarantee Times(k). The error wraps
// [ErrReleased].
func (b *Builder[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(b.secret, dst, "groupby: AppendPrivateState: the Builder", (*state[K]).appendState)
}

// RestorePrivateState replaces what the Builder holds by what [Builder.AppendPrivateState] gave.
// The error wraps [ErrReleased], [ErrMismatch] for other Params or another list, or [ErrFormat];
// then nothing changes.
func (b *Builder[K]) RestorePrivateState(data []byte) error {
	return private.Restore(b.secret, data, "groupby: RestorePrivateState: the Builder", (*state[K]).readState)
}

// AppendPrivateState is as [Builder.AppendPrivateState]: PRIVATE DATA.
func (d *Discovery[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(d.secret, dst, "groupby: AppendPrivateState: the Discovery", (*state[K]).appendState)
}

// RestorePrivateState is as [Builder.RestorePrivateState].
func (d *Discovery[K]) RestorePrivateState(data []byte) error {
	return private.Restore(d.secret, data, "groupby: RestorePrivateState: the Discovery", (*state[K]).readState)
}

func (s *state[K]) appendState(dst []byte) []byte {
	keys := wire.KeysOf[K]()
	h := stateHeader{privateBuilder, keys.Class(), byte(slices.Index(allPasses[K](), s.pass)), s.params, s.found, s.chosen, s.others}
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, h.fields())
	dst = appendSums(dst, s.shorts)
	order, ranks := s.table.sorted(s.found) // those found by a first pass stay in front
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(order)))
	for _, i := range order {
		e := s.table.cells[i]
		dst = keys.Append(dst, s.table.keys[i])
		dst = appendSums(dst, []int64{e.weight, e.count, e.value, e.others})
		dst = appendSums(dst, s.table.lost(int(i)))
	}
	return s.appendUsers(s.cellWeights.append(dst, ranks), ranks)
}

// appendUsers appends the retained users in an order that depends on them alone, with the ranks of
// their keys.
func (s *state[K]) appendUsers(dst []byte, ranks []uint32) []byte {
	if s.pass != pass[K](twoPasses[K]{}) {
		return dst
	}
	n := s.numbersOfPairs()
	all := make([][]pair, 0, len(s.users.ends))
	for from, to := range s.users.all {
		user := make([]pair, to-from)
		for j := range user {
			user[j].key = ranks[s.users.keys[from+j]]
			columns := s.params.columns()
			copy(user[j].numbers[:], s.users.sums[columns*(from+j):][:columns])
			if s.cellWeights != nil {
				user[j].numbers[n-1] = withoutBits(int64(s.users.cells[from+j]))
			}
		}
		slices.SortFunc(user, comparePairs)
		all = append(all, user)
	}
	slices.SortFunc(all, func(a, b []pair) int { return slices.CompareFunc(a, b, comparePairs) })
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(all)))
	for _, user := range all {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(user)))
		for _, p := range user {
			dst = binary.LittleEndian.AppendUint32(dst, p.key)
			dst = appendSums(dst, p.numbers[:n])
		}
	}
	return dst
}

func appendSums(dst []byte, sums []int64) []byte {
	for _, x := range sums {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	return dst
}

// readSums reads sums in [least, limit].
func readSums(r *wire.Reader, n int, least int64) []int64 {
	sums := make([]int64, n)
	for i := range sums {
		if sums[i] = r.Int64(); sums[i] < least || sums[i] > limit {
			r.Fail("a sum that is none")
		}
	}
	return sums
}

// pair is a key of a user, by its rank, with the sum of his values or its halves, and behind it the
// value that is picked.
type pair struct {
	key     uint32
	numbers [3]int64
}

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.key, b.key), slices.Compare(a.numbers[:], b.numbers[:]))
}

// numbersOfPairs returns how many numbers of a pair there are.
func (s *state[K]) numbersOfPairs() int {
	if s.cellWeights != nil {
		return s.params.columns() + 1
	}
	return s.params.columns()
}

// stateHeader is what a state begins with, after the header of all encodings.
type stateHeader struct {
	kind   byte
	class  wire.KeyClass
	pass   byte // its number in allPasses
	params Params
	found  int
	chosen choice
	others int64
}

func (h *stateHeader) fields() []wire.Field {
	return append(append([]wire.Field{wire.Byte(&h.kind), wire.Byte(&h.class), wire.Byte(&h.pass)}, h.params.fields()...), wire.Int(&h.found, math.MaxInt32), wire.Short(&h.chosen.clip, mostKeys), wire.Short(&h.chosen.asked, mostKeys), wire.Signed(&h.others))
}

// readState replaces what the state holds. A Discovery takes only those of its kind, and a Builder
// of two passes either of the others.
func (s *state[K]) readState(encoded []byte) error {
	r, keys := wire.NewReader("groupby", encoded), wire.KeysOf[K]()
	r.Header(wire.KindPrivate, privateVersion)
	var h stateHeader
	r.Fields(h.fields())
	if int(h.pass) >= len(allPasses[K]()) {
		r.Fail("the state of another pass")
	}
	if r.Err() != nil {
		return r.Err()
	}
	w := allPasses[K]()[h.pass]
	_, follows := w.(secondPass[K])
	listed := w == pass[K](listedPass[K]{})
	switch {
	case h.kind != privateBuilder || h.class != keys.Class():
		r.Fail("another kind of state")
	case h.params != s.params:
		return check.Equal("groupby", s.params, h.params)
	case w != s.pass && (s.params.Passes == 1 || s.pass == pass[K](firstPass[K]{}) || !follows && w != pass[K](twoPasses[K]{})):
		r.Fail("the state of another pass")
	case h.others < 0 || h.others > limit || h.others > 0 && !(s.params.listed && s.params.Others):
		r.Fail("a sum that is none")
	case follows && !s.possible(h.chosen) || !follows && h.chosen != choice{}:
		r.Fail("a choice that is none")
	case follows && s.params.Values:
		r.Fail("a second pass without its users")
	case h.found > 0 && !follows && !listed:
		r.Fail("found keys before the second pass")
	}
	shorts := readSums(r, len(s.shorts), 0)
	t := readTable(r, keys, h.found, s.table.width)
	weights := s.readCellWeights(r, len(t.keys))
	u := s.readUsers(r, w, len(t.keys))
	if (listed || w == unbegun[K]()) && h.found != len(t.keys) {
		r.Fail("a key that is not listed, or was not found")
	}
	if err := r.Done(); err != nil {
		return err
	}
	if listed {
		if err := sameKeys(s.table.keys[:s.found], t.keys); err != nil {
			return err
		}
	}
	s.pass, s.found, s.chosen, s.shorts, s.others, s.table, s.cellWeights, s.users, s.given = w, h.found, h.chosen, shorts, h.others, t, weights, u, 1
	return nil
}

// readTable reads the cells.
func readTable[K hashing.Key](r *wire.Reader, keys wire.Keys[K], found, width int) (t table[K]) {
	n := r.Count(math.MaxInt32, keys.MinSize()+(4+width)*8)
	if found > n {
		r.Fail("more found keys than keys")
	}
	if r.Err() != nil {
		return t
	}
	t = newTable(newIndex[K](n), width)
	for i := range n {
		key, e := keys.Read(r), cell{r.Int64(), r.Int64(), r.Int64(), r.Int64()}
		switch {
		case i > 0 && i != found && wire.Compare(t.keys[i-1], key) >= 0:
			r.Fail("keys not in ascending order")
		case min(e.weight, e.others, e.count) < 0 || max(e.weight, e.others, e.count, e.value) > limit || e.value < -limit:
			r.Fail("a sum that is none")
		}
		if r.Err() != nil {
			return t
		}
		if at, _ := t.entry(key, t.hasher.Hash(key)); int(at) != i {
			r.Fail("a key twice")
			return t
		}
		t.cells[i] = e
		copy(t.lost(i), readSums(r, width, 0))
	}
	return t
}

// readUsers reads the users that a Builder keeps, of keys below n.
func (s *state[K]) readUsers(r *wire.Reader, w pass[K], n int) (u retainedUsers) {
	if w != pass[K](twoPasses[K]{}) {
		return u
	}
	all, columns := s.numbersOfPairs(), s.params.columns()
	var last []pair
	for range r.Count(math.MaxInt32, 4) {
		var user []pair
		for range r.Count(math.MaxInt32, 4+8*all) {
			p := pair{key: r.Uint32()}
			for c := range all {
				p.numbers[c] = r.Int64()
			}
			u.sums = append(u.sums, p.numbers[:columns]...)
			if s.cellWeights != nil {
				u.cells = append(u.cells, uint32(p.numbers[columns]))
			}
			if int64(p.key) >= int64(n) || s.cellWeights != nil && (!s.scale.isSample(p.numbers[columns]) || withoutBits(p.numbers[columns]) != p.numbers[columns]) {
				r.Fail("a key or a value of a user that is none")
			}
			if k := len(user); k > 0 && user[k-1].key >= p.key {
				r.Fail("a user's keys not in ascending order")
			}
			if r.Err() != nil {
				return u
			}
			user = append(user, p)
			u.keys = append(u.keys, p.key)
		}
		if slices.CompareFunc(last, user, comparePairs) > 0 {
			r.Fail("users not in order")
		}
		last = user
		u.ends = append(u.ends, len(u.keys))
	}
	return u
}

// privateRows is the kind of the private state of Rows.
const privateRows byte = 0xf9

// AppendPrivateState is as [Builder.AppendPrivateState]: PRIVATE DATA, users with their keys.
func (r *Rows[U, K]) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(r.secret, dst, "groupby: AppendPrivateState: the Rows value", (*rowData[U, K]).appendState)
}

// RestorePrivateState is as [Builder.RestorePrivateState].
func (r *Rows[U, K]) RestorePrivateState(data []byte) error {
	return private.Restore(r.secret, data, "groupby: RestorePrivateState: the Rows value", (*rowData[U, K]).readState)
}

// rowsHeader is what a state begins with, after the header of all encodings.
type rowsHeader struct {
	kind        byte
	users, keys wire.KeyClass
	params      Params
	nameless    int64
}

func (h *rowsHeader) fields() []wire.Field {
	return append(append([]wire.Field{wire.Byte(&h.kind), wire.Byte(&h.users), wire.Byte(&h.keys)}, h.params.fields()...), wire.Signed(&h.nameless))
}

// appendState appends the keys in order, and then the users in order: each with his keys, by their
// ranks, and the numbers of the pair.
func (s *rowData[U, K]) appendState(dst []byte) []byte {
	s.flush()
	users, keys := wire.KeysOf[U](), wire.KeysOf[K]()
	h := rowsHeader{privateRows, users.Class(), keys.Class(), s.params, s.nameless}
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, h.fields())
	order, ranks := s.keys.sorted(s.listed) // a list is sorted
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(order)))
	for _, i := range order {
		dst = keys.Append(dst, s.keys.keys[i])
	}
	spans := make([]span, len(s.users.keys))
	for q, user := range s.pairs.all {
		spans[q.words[user.from]>>32] = user
	}
	order, _ = s.users.sorted(0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(order)))
	for _, u := range order {
		q, user := s.pairs.shardOf(u), spans[u]
		dst = users.Append(dst, s.users.keys[u])
		dst = binary.LittleEndian.AppendUint32(dst, uint32(user.to-user.from))
		rows := make([]int, 0, user.to-user.from)
		for i := user.from; i < user.to; i++ {
			rows = append(rows, i)
		}
		rank := func(i int) uint32 { return ranks[uint32(q.words[i])] }
		slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
		for _, i := range rows {
			dst = binary.LittleEndian.AppendUint32(dst, rank(i))
			dst = appendSums(dst, q.row(i, s.numbers))
		}
	}
	return dst
}

// readState replaces the rows by those of a state.
func (s *rowData[U, K]) readState(data []byte) error {
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
	case h.nameless < 0 || h.nameless > limit || h.nameless > 0 && !s.named:
		r.Fail("a number of rows that is none")
	}
	next := newRows[U](s.params, s.calibrated, s.list())
	next.nameless = h.nameless
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
			if s.params.Levels[0] != 0 && !s.scale.isSample(next.numbers[len(next.numbers)-1]) {
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
	return wire.Decoded(r, s, next)
}
