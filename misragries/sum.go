package misragries

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise"
)

// Sum adds up the sketches of many streams, each reduced first, for one release whose noise does not grow with the number of sketches
// (section 6 of the paper, and sumlaw.go). It is the default for distributed use. It holds private data, as a Builder does, and up to k
// keys for each sketch. One goroutine at a time may use it.
//
// The threshold depends on k, and is largest near k = 16. At ε = 1, δ = 1e-6:
//
//	k           1     2      4      16     64     256    1024   2²⁰
//	threshold   7.5   13.3   18.2   23.3   19.8   16.9   15.3   13.7
type Sum[K hashing.Key] struct {
	state **sumState[K] // as in Builder
}

// sumState is nil once released.
type sumState[K hashing.Key] struct {
	params   Params
	law      scheme
	sketches int
	units    map[K]int64
	src      noise.Source
}

// NewSum returns an empty Sum for sketches with these Params, or an error that wraps [ErrParams].
func NewSum[K hashing.Key](p Params) (*Sum[K], error) {
	l, err := checkFor[K](p, Summed)
	if err != nil {
		return nil, err
	}
	p.Delta += 0 // no −0
	s := &sumState[K]{params: p, law: l, units: map[K]int64{}}
	return &Sum[K]{&s}, nil
}

// Add adds the sketch of one stream, a Builder that nothing was merged into, which gives up its data. The streams must be
// disjoint: an element is in one of them. How many sketches are added is public.
//
// The error wraps [ErrMismatch] if the Params are not those of the Sum or something was merged into the Builder, and [ErrReleased] if either
// was released. Then nothing has changed.
func (t *Sum[K]) Add(b *Builder[K]) error {
	if t.Released() || b == nil || b.Released() {
		return fmt.Errorf("misragries: Sum.Add: the Sum or the Builder is %w", fault.ErrReleased)
	}
	s, o := *t.state, *b.state
	switch {
	case s.params != o.params:
		return fault.Mismatch("misragries", "Params", s.params, o.params)
	case o.input == Merged: // its neighbours differ in other ways
		return fmt.Errorf("misragries: Sum.Add: sketches were merged into the Builder, and only that of one stream can be reduced: %w", fault.ErrMismatch)
	}
	*b.state = nil
	for _, c := range inUnits(&s.src, s.law, o.sketch.positive(), s.params.Counters) {
		s.add(c.key, c.count)
	}
	s.sketches++
	return nil
}

// add adds to the units of the key, which saturate.
func (s *sumState[K]) add(key K, units int64) {
	s.units[key] = saturate(uint64(s.units[key]) + uint64(units))
}

// Merge adds what the other Sum holds, which gives up its data: a Sum of Sums is the Sum of all their sketches, in any order. The streams
// of both must be disjoint. The error wraps [ErrMismatch] if the Params differ, and [ErrReleased] if either was released. Then nothing has
// changed.
func (t *Sum[K]) Merge(other *Sum[K]) error {
	if t.Released() || other == nil || other.Released() {
		return fmt.Errorf("misragries: Sum.Merge: a Sum is %w", fault.ErrReleased)
	}
	s, o := *t.state, *other.state
	switch {
	case s == o:
		return intoItself("a Sum")
	case s.params != o.params:
		return fault.Mismatch("misragries", "Params", s.params, o.params)
	}
	*other.state = nil
	for key, count := range o.units {
		s.add(key, count)
	}
	s.sketches = int(min(int64(s.sketches)+int64(o.sketches), math.MaxInt32))
	return nil
}

// Released reports whether the Sum has been released.
func (t *Sum[K]) Released() bool { return t.state == nil || *t.state == nil }

// Release spends the budget and returns the private histogram of all streams together. The Sum gives up its data; a second Release returns an
// error that wraps [ErrReleased].
func (t *Sum[K]) Release() (*Histogram[K], error) {
	if t.Released() {
		return nil, fmt.Errorf("misragries: Release: the Sum is %w", fault.ErrReleased)
	}
	s := *t.state
	*t.state = nil
	h := newHistogram[K](s.params, Summed, s.law)
	h.sketches = max(1, s.sketches)
	units := make([]counter[K], 0, len(s.units))
	for key, count := range s.units {
		units = append(units, counter[K]{key, count})
	}
	sortCounters(units)
	h.counts = releaseRounded(&s.src, s.law, units)
	return h, nil
}

const redactedSum = "misragries.Sum (private)"

// Format prints a fixed text under every verb.
func (t Sum[K]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redactedSum) }

// LogValue logs a fixed text.
func (t Sum[K]) LogValue() slog.Value { return slog.StringValue(redactedSum) }

// MarshalText encodes a fixed text, so that JSON and XML hold nothing else.
func (t Sum[K]) MarshalText() ([]byte, error) { return []byte(redactedSum), nil }
