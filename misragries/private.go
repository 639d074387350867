package misragries

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// This file moves a Builder, a Sum or a UserBuilder between the machines of one trusted pipeline.
// It is the only way but Release that leads out of them, and what it gives is private.

// The kinds of private state.
const (
	privateBuilder = 1
	privateSum     = 2
	privateUsers   = 3
)

const privateVersion = 4

// privateHead are the fields that a state begins with.
func (p *Params) privateHead(kind *byte, class *wire.KeyClass) []wire.Field {
	return append([]wire.Field{wire.Byte(kind), wire.Byte(class)}, p.fields()...)
}

// appendState appends a head and what write appends.
func appendState[K hashing.Key, S any](held private.State[S], kind byte, p Params, name string, dst []byte, write func(s *S, dst []byte) []byte) ([]byte, error) {
	return private.Append(held, dst, "misragries: AppendPrivateState: the "+name, func(s *S, dst []byte) []byte {
		class := wire.KeysOf[K]().Class()
		dst = wire.AppendFields(wire.AppendHeader(dst, wire.KindPrivate, privateVersion), p.privateHead(&kind, &class))
		return write(s, dst)
	})
}

// restoreState reads a head with these Params, and the rest by read, which returns what stores it
// or an error.
func restoreState[K hashing.Key, S any](held private.State[S], kind byte, p Params, name string, data []byte, read func(r *wire.Reader, s *S) (func(), error)) error {
	return private.Restore(held, data, "misragries: RestorePrivateState: the "+name, func(s *S, data []byte) error {
		var got Params
		var gotKind byte
		var class wire.KeyClass
		r := wire.NewReader("misragries", data)
		r.Header(wire.KindPrivate, privateVersion)
		r.Fields(got.privateHead(&gotKind, &class))
		switch {
		case r.Err() != nil:
			return r.Err()
		case gotKind != kind:
			r.Fail("another kind of state")
		case class != wire.KeysOf[K]().Class():
			r.Fail("keys of another type")
		case got != p:
			return check.MismatchError("misragries", "Params", p, got)
		}
		store, err := read(r, s)
		if done := r.Done(); done != nil {
			return done
		}
		if err != nil {
			return err
		}
		store()
		return nil
	})
}

// AppendPrivateState appends all that the Builder holds to dst. WHAT IT APPENDS IS PRIVATE DATA,
// keys and exact counts, for machines as trusted as this one. Each release of a restored state
// spends the budget again. The error wraps [ErrReleased].
func (b *Builder[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	return appendState[K](b.secret, privateBuilder, b.params, "Builder", dst, func(s *sketch.Stream[K], dst []byte) []byte {
		dst = wire.AppendFields(dst, []wire.Field{wire.Flags(&s.Merged, &s.Given)})
		return s.Sketch.Append(dst)
	})
}

// RestorePrivateState replaces what the Builder holds by a state of [Builder.AppendPrivateState].
// The error wraps [ErrReleased], [ErrMismatch] for other Params, or [ErrFormat]; the Builder is
// then unchanged.
func (b *Builder[K]) RestorePrivateState(data []byte) error {
	p := b.params
	return restoreState[K](b.secret, privateBuilder, p, "Builder", data, func(r *wire.Reader, s *sketch.Stream[K]) (func(), error) {
		d := sketch.Stream[K]{Sketch: *sketch.New[K](p.Counters), Dim: p.Dim}
		r.Fields([]wire.Field{wire.Flags(&d.Merged, &d.Given)})
		d.Read(r, p.Counters, p.Dim)
		var err error
		switch {
		case d.Merged:
			err = p.allowed()
		case d.Given:
			_, _, err = p.check(givenCounters)
		default:
			_, _, err = p.check(oneStream)
		}
		return func() { *s = d }, err
	})
}

// AppendPrivateState appends PRIVATE DATA, as [Builder.AppendPrivateState] does.
func (b *UserBuilder[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	return appendState[K](b.secret, privateUsers, b.params, "UserBuilder", dst, func(s *userState[K], dst []byte) []byte {
		return s.sketch.Append(dst)
	})
}

// RestorePrivateState is [Builder.RestorePrivateState] for a UserBuilder.
func (b *UserBuilder[K]) RestorePrivateState(data []byte) error {
	return restoreState[K](b.secret, privateUsers, b.params, "UserBuilder", data, func(r *wire.Reader, s *userState[K]) (func(), error) {
		restored := b.empty()
		restored.Read(r, b.params.Counters, b.params.Dim)
		return func() { s.sketch = restored }, nil
	})
}

// fields are those of a Sum without its units.
func (s *sumState[K]) fields() []wire.Field {
	return []wire.Field{wire.Int(&s.sketches, math.MaxInt32), wire.Signed(&s.lost), wire.Flags(&s.unknown)}
}

// AppendPrivateState appends PRIVATE DATA, as [Builder.AppendPrivateState] does.
func (t *Sum[K]) AppendPrivateState(dst []byte) ([]byte, error) {
	return appendState[K](t.secret, privateSum, t.params, "Sum", dst, func(s *sumState[K], dst []byte) []byte {
		keys, units := wire.KeysOf[K](), slices.Clone(s.units.Sums())
		sketch.Sort(units)
		n := len(units)
		dst = wire.AppendFields(dst, append(s.fields(), wire.Int(&n, math.MaxInt32)))
		for _, c := range units {
			dst = wire.AppendFields(keys.Append(dst, c.Key), []wire.Field{wire.Signed(&c.Count)})
		}
		return dst
	})
}

// RestorePrivateState is [Builder.RestorePrivateState] for a Sum.
func (t *Sum[K]) RestorePrivateState(data []byte) error {
	p := t.params
	return restoreState[K](t.secret, privateSum, p, "Sum", data, func(r *wire.Reader, s *sumState[K]) (func(), error) {
		d := sumState[K]{units: sketch.NewTable[K]()}
		if r.Fields(d.fields()); d.lost < 0 || d.lost > sketch.Limit {
			r.Fail("a wrong number of elements")
		}
		keys := wire.KeysOf[K]()
		n := r.Count(math.MaxInt32, keys.MinSize()+8)
		var units []sketch.Counter[K]
		for i := 0; i < n && r.Err() == nil; i++ {
			c := sketch.Counter[K]{Key: keys.Read(r), Count: r.Int64()}
			if c.Count < 1 || c.Count > sketch.Limit || p.Dim > 0 && sketch.Outside(c.Key, p.Dim) {
				r.Fail("an impossible count")
				break
			}
			units = append(units, c)
		}
		if d.units.Add(units); len(d.units.Sums()) < n {
			r.Fail("a key twice")
		}
		return func() { s.sketches, s.units, s.lost, s.unknown = d.sketches, d.units, d.lost, d.unknown }, nil
	})
}
