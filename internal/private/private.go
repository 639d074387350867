// Package private keeps what a Builder counts: the one place where this library holds private data
// between Add and Release.
//
// A Builder embeds a [State] by an unexported alias and reaches it by the functions of this
// package:
//
//	type secret[K hashing.Key] = private.State[state[K]]
//
//	type Builder[K hashing.Key] struct {
//		secret[K]
//		params Params // public
//	}
//
//	func (b *Builder[K]) Add(key K) {
//		s := private.Enter(b.secret)
//		if s == nil {
//			return
//		}
//		s.sketch.add(key)
//		private.Leave(b.secret)
//	}
//
// [Use] is the same in one call.
//
// What that gives:
//
//   - released once: [Take] empties the State, and with it all copies of the Builder;
//   - redaction: Format and LogValue print a fixed text, and MarshalText and UnmarshalText refuse;
//     embedding gives these to the Builder and nothing else. Inside of a user's unexported field,
//     where no method is called, reflection meets a pointer to a pointer, of which fmt, slog and
//     the encoders print an address at most;
//   - concurrent use of a Builder panics, as that of a map does: by a flag without synchronisation,
//     which costs about a nanosecond and sees two goroutines at work soon, but not surely at the
//     first call. Where it is seen the data are dropped, so a caller that recovers from the panic
//     gets an error of Release, not a part of the data;
//   - a wrong call that has no error to return drops the data by [Poison], and Release returns its
//     reason.
package private

import (
	"errors"
	"fmt"
	"log/slog"
	"path"
	"reflect"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
)

// State is private data of type S, shared by all copies. The zero State holds none, like one that
// was taken.
type State[S any] struct{ at *cell[S] }

type cell[S any] struct {
	busy bool
	data *S     // nil from Take, Poison and a concurrent use on
	why  string // there are no data; "" where two goroutines were at work
}

// New returns a State that holds the data.
func New[S any](data S) State[S] { return State[S]{&cell[S]{data: &data}} }

// Enter returns the data for reading and writing up to the next [Leave], or nil if there are none
// (any more): [Missing] says why. It drops the data and panics if another goroutine is in between.
func Enter[S any](s State[S]) *S {
	c := s.at
	if c == nil {
		return nil
	}
	data := c.data
	if data == nil {
		return nil
	}
	if c.busy {
		*c = cell[S]{}
		panic(concurrent)
	}
	c.busy = true
	return data
}

// Leave ends what an [Enter] that returned data began.
func Leave[S any](s State[S]) {
	c := s.at
	if !c.busy {
		c.data = nil
		panic(concurrent)
	}
	c.busy = false
}

// Use calls f with the data, between Enter and Leave, and does nothing if there are none (any
// more). The compiler counts a call of a parameter as cheap, and then knows which function it is:
// so Use and a small f are inlined, into a method of a Builder and with it into the caller's loop.
func Use[S, A any](s State[S], f func(*S, A), arg A) {
	c := s.at
	if c == nil {
		return
	}
	data := c.data
	if data == nil {
		return
	}
	if c.busy {
		*c = cell[S]{}
		panic(concurrent)
	}
	c.busy = true
	f(data, arg)
	if !c.busy {
		c.data = nil
		panic(concurrent)
	}
	c.busy = false
}

// Poison drops the data after a wrong call that has no error to return. The reason completes "the
// Builder …", names no private data, and is what [Take] and [Missing] report from then on. It does
// nothing where there are no data, and must not be called between [Enter] and [Leave].
func Poison[S any](s State[S], reason string) {
	if Enter(s) != nil {
		*s.at = cell[S]{why: reason}
	}
}

// OneOrMany calls one with the only key, or many with all. It is inlined as Use is.
func OneOrMany[B any](b B, keys []uint64, one func(B, uint64), many func(B, []uint64)) {
	if len(keys) == 1 {
		one(b, keys[0])
	} else {
		many(b, keys)
	}
}

// Take returns the data and leaves the State, and all its copies, without. The error is that of
// [Missing] if there are none, or if another goroutine is between [Enter] and [Leave].
func Take[S any](s State[S], doing string) (*S, error) {
	c := s.at
	if c == nil || c.data == nil {
		return nil, Missing(s, doing)
	}
	data := c.data
	if c.busy {
		*c = cell[S]{} // and the call at work panics in Leave
		return nil, Missing(s, doing)
	}
	*c = cell[S]{why: released}
	return data, nil
}

// released is why there are no data after Take.
const released = "is already released"

// Missing returns the error that says why a State has no data. It is a [check.ErrReleased] and
// begins with what the caller does, such as "kor: Release: the Builder".
func Missing[S any](s State[S], doing string) error {
	switch {
	case s.at == nil:
		return check.NoDataError(doing, "is nil or was not made by New")
	case s.at.why == "":
		return check.NoDataError(doing, "was used by two goroutines at once, so its data are dropped")
	}
	return check.NoDataError(doing, s.at.why)
}

// Merge adds the data of from to those of into by add, and takes them. If add refuses, which it
// does before it changes anything, its error is returned and both States keep their data. The other
// errors are those of [Missing], and one that wraps [check.ErrMismatch] where both are one. They
// begin with what the caller does, such as "kor: Merge", and name the Builder that is merged.
func Merge[S, O any](into State[S], from State[O], doing, what string, add func(into *S, from *O) error) error {
	s := Enter(into)
	if s == nil {
		return Missing(into, doing+": the "+what)
	}
	defer Leave(into)
	if any(into) == any(from) {
		return fmt.Errorf("%s: the %s cannot be merged into itself: %w", doing, what, check.ErrMismatch)
	}
	o := Enter(from)
	if o == nil {
		return Missing(from, doing+": the other "+what)
	}
	if err := add(s, o); err != nil {
		Leave(from)
		return err
	}
	*from.at = cell[O]{why: "was merged, and gave up its data"}
	return nil
}

// Append appends what write makes of the data; it is what AppendPrivateState does.
func Append[S any](s State[S], dst []byte, doing string, write func(s *S, dst []byte) []byte) ([]byte, error) {
	data := Enter(s)
	if data == nil {
		return dst, Missing(s, doing)
	}
	defer Leave(s)
	return write(data, dst), nil
}

// Restore has read replace the data, or fail and leave them as they are; it is what
// RestorePrivateState does.
func Restore[S any](s State[S], from []byte, doing string, read func(s *S, from []byte) error) error {
	data := Enter(s)
	if data == nil {
		return Missing(s, doing)
	}
	defer Leave(s)
	return read(data, from)
}

// Released reports whether there are no data (any more).
func Released[S any](s State[S]) bool { return s.at == nil || s.at.data == nil }

// concurrent is the report of two goroutines at one State. It does not name the package, as the
// stack does, so that Enter and Leave are inlined.
const concurrent = "dpsketch: concurrent use of a Builder"

// owner returns the name of the package that S is from, or of that whose room it is in.
func owner[S any]() string {
	of, _, _ := strings.Cut(strings.TrimPrefix(reflect.TypeFor[S]().PkgPath(), "github.com/dpsketch/dpsketch/"), "/internal/")
	return path.Base(of)
}

// redacted is what stands for a State, such as "kor.Builder (private)".
func redacted[S any]() string { return owner[S]() + ".Builder (private)" }

// Format prints a fixed text under every verb.
func (State[S]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted[S]()) }

// LogValue logs a fixed text.
func (State[S]) LogValue() slog.Value { return slog.StringValue(redacted[S]()) }

// MarshalText refuses, so that JSON, XML and gob give an error and no empty object that looks like
// a stored Builder.
func (State[S]) MarshalText() ([]byte, error) {
	return nil, errors.New(owner[S]() + ": a Builder holds private data and has no encoding: release it, or see AppendPrivateState")
}

// UnmarshalText refuses.
func (*State[S]) UnmarshalText([]byte) error {
	return errors.New(owner[S]() + ": a Builder has no encoding to be read from: see RestorePrivateState")
}
