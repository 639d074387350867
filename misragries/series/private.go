package series

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file keeps a Builder in the service's own store between two runs of the service. It is the
// only way but Step that leads out of it, and what it gives is private.

// privateBuilder is the kind of private state, unlike those of other packages.
const privateBuilder byte = 0xfa

const privateVersion = 5

// AppendPrivateState appends all that the Builder holds to dst. WHAT IT APPENDS IS PRIVATE DATA,
// keys, exact counts and the names of users: only those who may read the stream itself may read its
// store. The error wraps [ErrReleased] for the zero Builder.
func (b *Builder[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	s := private.Enter(b.secret)
	if s == nil {
		return dst, private.Missing(b.secret, "series: AppendPrivateState: the Builder")
	}
	defer private.Leave(b.secret)
	return s.appendPrivate(dst)
}

func (s *state[K]) appendPrivate(dst []byte) ([]byte, error) {
	keys := wire.KeysOf[K]()
	kind, class, p, steps := privateBuilder, keys.Class(), s.params, s.steps
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, privateFields(&kind, &class, &p, &steps))
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, uint32(len(s.known)))
	for i := range s.known {
		m := &s.known[i]
		dst = keys.Append(dst, m.key)
		dst = le.AppendUint64(dst, uint64(m.since))
		dst = le.AppendUint64(dst, uint64(m.rate.count))
		dst = le.AppendUint64(dst, uint64(m.rate.steps))
		dst = appendSums(dst, &m.sums)
	}
	rows := slices.SortedFunc(slices.Values(s.unknown.rows), func(a, b row[K]) int { return wire.Compare(a.key, b.key) })
	dst = le.AppendUint32(dst, uint32(len(rows)))
	for i := range rows {
		dst = appendSums(keys.Append(dst, rows[i].key), &rows[i].sums)
	}
	for _, sketch := range s.sketches {
		at := len(dst)
		var err error
		if dst, err = sketch.AppendPrivateState(append(dst, 0, 0, 0, 0)); err != nil {
			return dst[:at], err
		}
		le.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	for i := range s.elements {
		dst = appendSums(dst, &s.elements[i])
	}
	names := wire.KeysOf[string]()
	s.forgetUsers()
	dst = le.AppendUint32(dst, uint32(len(s.users)))
	for _, user := range slices.Sorted(maps.Keys(s.users)) {
		b := s.bucket(user)
		dst = le.AppendUint32(le.AppendUint32(names.Append(dst, user), uint32(b.tokens)), uint32(b.sights))
	}
	return dst, nil
}

// RestorePrivateState replaces what the Builder holds by a state of [Builder.AppendPrivateState].
// published is the number of steps whose Slices have been published: [Timeline.Len] of all of them.
// An older state is refused, as it would draw new noise for public nodes: then begin a new series,
// and spend its guarantee as well.
//
// The error wraps [ErrReleased], [ErrMismatch] if that Builder had other Params or is behind what
// is published or what this Builder has stepped through, or [ErrFormat]; the Builder is then
// unchanged.
func (b *Builder[K]) RestorePrivateState(data []byte, published int) error {
	s := private.Enter(b.secret)
	if s == nil {
		return private.Missing(b.secret, "series: RestorePrivateState: the Builder")
	}
	defer private.Leave(b.secret)
	return s.restorePrivate(data, published)
}

func (s *state[K]) restorePrivate(data []byte, published int) error {
	r, keys := wire.NewReader("series", data), wire.KeysOf[K]()
	r.Header(wire.KindPrivate, privateVersion)
	var kind byte
	var class wire.KeyClass
	var p Params
	var steps int
	r.Fields(privateFields(&kind, &class, &p, &steps))
	switch {
	case r.Err() != nil:
		return r.Err()
	case kind != privateBuilder || class != keys.Class():
		r.Fail("another kind of state")
		return r.Err()
	case p != s.params:
		return check.Equal("series", s.params, p)
	case steps < max(published, s.steps):
		return fmt.Errorf("series: RestorePrivateState: a state after %d steps, and %d are published: %w", steps, max(published, s.steps), check.ErrMismatch)
	}
	known := s.readMembers(r, keys, steps)
	unknown := s.readTally(r, keys, steps)
	var sketches [][]byte
	for range s.sketches {
		sketches = append(sketches, r.Bytes(int(min(r.Uint32(), math.MaxInt32))))
	}
	elements := [2]sums{readSums(r, used(&s.params.Spans), steps), readSums(r, used(&s.params.Spans), steps)}
	for i := range elements[0] {
		if elements[0][i] > elements[1][i] || s.params.MaxElements == 0 && elements[1][i] > 0 {
			r.Fail("impossible numbers of elements")
		}
	}
	users := s.readUsers(r, steps)
	if err := r.Done(); err != nil {
		return err
	}
	fresh, err := New[K](s.params)
	if err != nil {
		return err // none: s has these Params
	}
	made := private.Enter(fresh.secret)
	defer private.Leave(fresh.secret)
	for j, data := range sketches {
		if err := made.sketches[j].RestorePrivateState(data); err != nil {
			return check.FormatError("series", "an invalid sketch")
		}
	}
	s.steps, s.known, s.unknown, s.sketches, s.elements, s.users = steps, known, unknown, made.sketches, elements, users
	s.index()
	return nil
}

// privateFields are what a state begins with, after the header.
func privateFields(kind *byte, class *wire.KeyClass, p *Params, steps *int) []wire.Field {
	return append([]wire.Field{wire.Byte(kind), wire.Byte(class)}, append(p.fields(), wire.Long(steps, maxSteps))...)
}

func appendSums(dst []byte, s *sums) []byte {
	for _, x := range s {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	return dst
}

// readSums reads the counts of a key in open nodes: 0 in those that have just begun.
func readSums(r *wire.Reader, spans []int, steps int) (s sums) {
	for i := range s {
		s[i] = r.Int64()
		switch {
		case s[i] < 0 || s[i] > limit:
			r.Fail("a count that is none")
		case s[i] != 0 && (i >= len(spans) || i > 0 && i < ended(spans, steps)):
			r.Fail("a count in a node that is empty")
		}
	}
	return s
}

// readMembers reads the known keys.
func (s *state[K]) readMembers(r *wire.Reader, keys wire.Keys[K], steps int) []member[K] {
	n := r.Count(max(s.params.MaxKnown, s.params.Dim), keys.MinSize()+8*(3+maxSpans))
	if s.params.Dim > 0 && n != s.params.Dim {
		r.Fail("not all keys")
	}
	if r.Err() != nil {
		return nil
	}
	known := make([]member[K], n)
	for i := range known {
		m := &known[i]
		m.key, m.since = readSince(r, keys, &s.params, i, known[max(i-1, 0)].key, steps)
		count, of := r.Int64(), r.Int64()
		m.sums, m.rate = readSums(r, used(&s.params.Spans), steps), rate{count, int(of)}
		if beyond(count) || s.params.Dim == 0 && (of < 1 || of > maxSpan) || s.params.Dim > 0 && (count != 0 || of != 0) {
			r.Fail("a rate that is none")
		}
		if r.Err() != nil {
			return nil
		}
	}
	return known
}

// readSince reads the i-th known key, and since which step it is: at most that of steps.
func readSince[K hashing.Key](r *wire.Reader, keys wire.Keys[K], p *Params, i int, last K, steps int) (key K, since int) {
	key = keys.Read(r)
	switch at := r.Int64(); {
	case i > 0 && keys.Compare(last, key) >= 0:
		r.Fail("keys not in ascending order")
	case at < 0 || at > int64(steps) || (at == 0) != (p.Dim > 0):
		r.Fail("a key known since an impossible step")
	case p.Dim > 0 && keys.Bits(key) != uint64(i):
		r.Fail("a key outside of Dim")
	case p.Dim == 0 && at%int64(p.Discovery[0]) != 0:
		r.Fail("a key known since a step at which none is found")
	default:
		since = int(at)
	}
	return key, since
}

// readTally reads the counts of unknown keys.
func (s *state[K]) readTally(r *wire.Reader, keys wire.Keys[K], steps int) (t tally[K]) {
	n := r.Count(math.MaxInt32, keys.MinSize()+8*maxSpans)
	if n > 0 && (s.sketches != nil || s.params.Dim > 0) {
		r.Fail("counts of unknown keys beside sketches")
	}
	if r.Err() != nil || n == 0 {
		return t
	}
	t = tally[K]{make(map[K]int, n), make([]row[K], n)}
	for i := range t.rows {
		t.rows[i] = row[K]{keys.Read(r), readSums(r, used(&s.params.Discovery), steps)}
		if i > 0 && wire.Compare(t.rows[i-1].key, t.rows[i].key) >= 0 {
			r.Fail("keys not in ascending order")
		}
		if r.Err() != nil {
			return tally[K]{}
		}
		t.at[t.rows[i].key] = i
	}
	return t
}

// readUsers reads the buckets that are left to users, in the open step.
func (s *state[K]) readUsers(r *wire.Reader, steps int) map[string]*bucket {
	names := wire.KeysOf[string]()
	n := r.Count(math.MaxInt32, names.MinSize()+8)
	users, last := make(map[string]*bucket, min(n, 1<<16)), ""
	for i := range n {
		user, b := names.Read(r), bucket{int(r.Uint32()), int(r.Uint32()), steps}
		full := s.params.fullBucket(steps)
		if i > 0 && !(last < user) || b.tokens < 0 || b.tokens > min(full.tokens, b.sights) || b.sights > full.sights || b == full {
			r.Fail("an impossible user")
		}
		if r.Err() != nil {
			return nil
		}
		users[user], last = &b, user
	}
	return users
}
