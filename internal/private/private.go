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
//   - redaction: Format, LogValue and MarshalText are the only methods of a State, so embedding
//     gives them to the Builder and nothing else. Inside of a user's unexported field, where no
//     method is called, reflection meets a pointer to a pointer, of which fmt, slog and the
//     encoders print an address at most;
//   - concurrent use of a Builder panics, as that of a map does: by a flag without synchronisation,
//     which costs about a nanosecond and sees two goroutines at work soon, but not surely at the
//     first call.
package private

import (
	"fmt"
	"log/slog"
	"path"
	"reflect"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// State is private data of type S, shared by all copies. The zero State holds none, as one that was
// taken.
type State[S any] struct{ at *cell[S] }

type cell[S any] struct {
	busy bool
	data *S // nil from Take on
}

// New returns a State that holds the data.
func New[S any](data S) State[S] { return State[S]{&cell[S]{data: &data}} }

// Enter returns the data for reading and writing up to the next [Leave], or nil if there are none
// (any more). It panics if another goroutine is in between.
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
		panic(concurrent)
	}
	c.busy = true
	return data
}

// Leave ends what an [Enter] that returned data began.
func Leave[S any](s State[S]) {
	c := s.at
	if c.data == nil || !c.busy {
		panic(concurrent)
	}
	c.busy = false
}

// Use calls f with the data, between Enter and Leave, and does nothing if there are none (any
// more). The compiler takes a call of a parameter for cheap, and then knows which function it is:
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
		panic(concurrent)
	}
	c.busy = true
	f(data, arg)
	if c.data != data || !c.busy {
		panic(concurrent)
	}
	c.busy = false
}

// Share returns the data for any number of goroutines at a time, or nil if there are none. It is
// for an S that has locks of its own, and a State that nobody enters or takes: what is released is
// taken out of S.
func Share[S any](s State[S]) *S {
	if s.at == nil {
		return nil
	}
	return s.at.data
}

// OneOrMany calls one with the only key, or many with all. It is inlined as Use is.
func OneOrMany[B any](b B, keys []uint64, one func(B, uint64), many func(B, []uint64)) {
	if len(keys) == 1 {
		one(b, keys[0])
	} else {
		many(b, keys)
	}
}

// Take returns the data and leaves the State, and all its copies, without. The error wraps
// [fault.ErrReleased] if there are none; it begins with what the caller does, such as "kor:
// Release: the Builder". It panics if another goroutine is between [Enter] and [Leave].
func Take[S any](s State[S], doing string) (*S, error) {
	data := Enter(s)
	if data == nil {
		return nil, fmt.Errorf("%s is %w", doing, fault.ErrReleased)
	}
	s.at.data = nil
	return data, nil
}

// Released reports whether there are no data (any more).
func Released[S any](s State[S]) bool { return s.at == nil || s.at.data == nil }

// Same reports whether a and b share their data.
func Same[S any](a, b State[S]) bool { return a.at != nil && a.at == b.at }

// concurrent is the report of two goroutines at one State. It does not name the package, as the
// stack does, so that Enter and Leave are inlined.
const concurrent = "dpsketch: concurrent use of a Builder"

// owner returns the name of the package that S is from.
func owner[S any]() string { return path.Base(reflect.TypeFor[S]().PkgPath()) }

// redacted is what stands for a State, such as "kor.Builder (private)".
func redacted[S any]() string { return owner[S]() + ".Builder (private)" }

// Format prints a fixed text under every verb.
func (State[S]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted[S]()) }

// LogValue logs a fixed text.
func (State[S]) LogValue() slog.Value { return slog.StringValue(redacted[S]()) }

// MarshalText encodes a fixed text, so that JSON and XML hold nothing else.
func (State[S]) MarshalText() ([]byte, error) { return []byte(redacted[S]()), nil }
