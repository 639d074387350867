package misragries

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sum adds up the sketches of many streams, each reduced first, for one release whose noise does
// not grow with the number of sketches (section 6 of the paper, and reducedsum_delta.go). It is the
// default for distributed use. It holds private data, as a Builder does, and up to k keys for each
// sketch. One goroutine at a time may use it.
//
// The threshold depends on k, and is largest near k = 16. A part of ε is spent on the length of all
// streams, which bounds what the sketches lost. At ε = 1, δ = 1e-6:
//
//	k           1     2      4      16     64     256    1024   2²⁰
//	threshold   9.5   17.3   22.6   25.4   20.6   17.3   15.5   13.7
type Sum[K hashing.Key] struct {
	sumSecret[K]
	params  Params
	law     calibration
	promise budget.Guarantee
}

// sumSecret is what a Sum holds.
type sumSecret[K hashing.Key] = private.State[sumState[K]]

type sumState[K hashing.Key] struct {
	sketches int
	units    map[K]int64
	length   int64 // of all, in units
	unknown  bool  // of one of them the length is not known
	src      noise.Source
}

// NewSum returns an empty Sum for sketches with these Params, or an error that wraps [ErrParams].
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func NewSum[K hashing.Key](p Params) (*Sum[K], error) {
	l, err := checkFor[K](p, Summed)
	if err != nil {
		return nil, err
	}
	p.Delta += 0 // no −0
	s := private.New(sumState[K]{units: map[K]int64{}})
	return &Sum[K]{sumSecret: s, params: p, law: l, promise: p.guarantee(l)}, nil
}

// Guarantee returns what the release promises: (ε, δ) for one element of all streams or, where
// MaxElements is more than 1, for one user, whose elements may be in several streams. It stays the
// same after the Release. The zero Sum promises nothing.
func (t *Sum[K]) Guarantee() budget.Guarantee { return t.promise }

// Add adds the sketch of one stream, a Builder that nothing was merged into, which gives up its
// data. The streams must be disjoint: an element is in one of them. How many sketches are added is
// public.
//
// Goroutines that count one stream together have a Builder each, and a Sum in the end. Which of
// them an element goes to must not depend on other elements: by its connection, its user or at
// random, but not in turn, nor by the length of a queue.
//
// The error wraps [ErrMismatch] if the Params are not those of the Sum or something was merged into
// the Builder, and [ErrReleased] if either was released. Then nothing has changed.
func (t *Sum[K]) Add(b *Builder[K]) error {
	if b == nil {
		b = new(Builder[K])
	}
	return private.Merge(t.sumSecret, b.secret, "misragries: Sum.Add", "Sum or Builder", func(s *sumState[K], o *sketch.Stream[K]) error {
		switch {
		case t.params != b.params:
			return fault.Mismatch("misragries", "Params", t.params, b.params)
		case o.Merged: // its neighbours differ in other ways
			return fmt.Errorf("misragries: Sum.Add: sketches were merged into the Builder, and only that of one stream can be reduced: %w", fault.ErrMismatch)
		}
		held := methodOf[K](t.law.method).prepare(&s.src, t.law, &o.Sketch)
		for _, c := range held.counters {
			s.add(c.Key, c.Count)
		}
		s.sketches++
		s.length = cutSum(s.length, held.lost)
		s.unknown = s.unknown || o.Given
		return nil
	})
}

// add adds to the units of the key, which saturate.
func (s *sumState[K]) add(key K, units int64) {
	s.units[key] = sketch.Saturate(uint64(s.units[key]) + uint64(units))
}

// Merge adds what the other Sum holds, which gives up its data: a Sum of Sums is the Sum of all
// their sketches, in any order. The streams of both must be disjoint. The error wraps [ErrMismatch]
// if the Params differ, and [ErrReleased] if either was released. Then nothing has changed.
func (t *Sum[K]) Merge(other *Sum[K]) error {
	if other == nil {
		other = new(Sum[K])
	}
	return private.Merge(t.sumSecret, other.sumSecret, "misragries: Merge", "Sum", func(s, o *sumState[K]) error {
		if t.params != other.params {
			return fault.Mismatch("misragries", "Params", t.params, other.params)
		}
		for key, count := range o.units {
			s.add(key, count)
		}
		s.sketches = int(min(int64(s.sketches)+int64(o.sketches), math.MaxInt32))
		s.length = cutSum(s.length, o.length)
		s.unknown = s.unknown || o.unknown
		return nil
	})
}

// Released reports whether the Sum has been released.
func (t *Sum[K]) Released() bool { return private.Released(t.sumSecret) }

// Release spends the budget and returns the private histogram of all streams together. The Sum
// gives up its data; a second Release returns an error that wraps [ErrReleased].
func (t *Sum[K]) Release() (*Histogram[K], error) {
	s, err := private.Take(t.sumSecret, "misragries: Release: the Sum")
	if err != nil {
		return nil, err
	}
	h := newHistogram[K](t.params, t.law)
	h.sketches = max(1, s.sketches)
	units := make([]sketch.Counter[K], 0, len(s.units))
	for key, count := range s.units {
		units = append(units, sketch.Counter[K]{Key: key, Count: count})
	}
	sketch.Sort(units)
	if err := methodOf[K](t.law.method).draw(&s.src, h, contents[K]{units, s.length, s.unknown}); err != nil {
		return nil, err
	}
	return h, nil
}
