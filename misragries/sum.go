package misragries

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// Sum adds up the sketches of many streams for one release, whose noise does not grow with their
// number. It holds private data, up to k keys per sketch. One goroutine at a time may use it.
type Sum[K hashing.Key] struct {
	base[sumState[K]]
}

type sumState[K hashing.Key] struct {
	sketches int
	units    sketch.Table[K]
	lost     int64 // of all, in units: W, or their length
	unknown  bool  // of one of them that is not known
	src      noise.Source
}

// NewSum returns an empty Sum, or an error that wraps [ErrParams]. ε above 20, or δ above 0.01,
// protects hardly anybody.
func NewSum[K hashing.Key](p Params) (*Sum[K], error) {
	p, c, err := checkFor[K](p, summed)
	if err != nil {
		return nil, err
	}
	return &Sum[K]{base[sumState[K]]{private.New(sumState[K]{units: sketch.NewTable[K]()}), p, c, p.guarantee(c)}}, nil
}

// Add adds the sketch of one stream: a Builder without merges, which gives up its data. The streams
// must be disjoint; their number is public. Which goroutine gets an element must not depend on
// other elements: choose by connection, by user or at random, not in turn or by queue length.
//
// The error wraps [ErrMismatch] if the Params differ or another Builder was merged into b, and
// [ErrReleased] if either was released. On an error nothing changes.
func (t *Sum[K]) Add(b *Builder[K]) error {
	if b == nil {
		b = new(Builder[K])
	}
	return private.Merge(t.secret, b.secret, "misragries: Sum.Add", "Sum or Builder", func(s *sumState[K], o *sketch.Stream[K]) error {
		switch {
		case t.params != b.params:
			return check.MismatchError("misragries", "Params", t.params, b.params)
		case o.Merged: // its neighbours differ in other ways
			return fmt.Errorf("misragries: Sum.Add: sketches were merged into the Builder, and only that of one stream can be reduced: %w", check.ErrMismatch)
		}
		held := prepare(&s.src, t.calibration, t.params.Counters, &o.Sketch)
		s.units.Add(held.counters)
		s.sketches++
		s.lost = cutSum(s.lost, held.lost)
		s.unknown = s.unknown || o.Given
		return nil
	})
}

// Merge adds the streams of the other Sum, which gives up its data, with the conditions and errors
// of [Sum.Add].
func (t *Sum[K]) Merge(other *Sum[K]) error {
	if other == nil {
		other = new(Sum[K])
	}
	return private.Merge(t.secret, other.secret, "misragries: Merge", "Sum", func(s, o *sumState[K]) error {
		if t.params != other.params {
			return check.MismatchError("misragries", "Params", t.params, other.params)
		}
		s.units.Merge(&o.units)
		s.sketches = int(min(int64(s.sketches)+int64(o.sketches), math.MaxInt32))
		s.lost = cutSum(s.lost, o.lost)
		s.unknown = s.unknown || o.unknown
		return nil
	})
}

// Release is [Builder.Release] for all streams together.
func (t *Sum[K]) Release() (*Histogram[K], error) {
	s, err := private.Take(t.secret, "misragries: Release: the Sum")
	if err != nil {
		return nil, err
	}
	return release(&s.src, t.params, t.calibration, max(1, s.sketches), contents[K]{s.units.Sums(), s.lost, s.unknown}), nil
}

// releaseRounded releases units, whose order it changes, each by the kernel: thresholds/reduced.go
// and thresholds/trimmed_proof.md. It sorts what it releases by key.
//
// A value below R reaches the threshold as R does, if at all. How many of them reach it is
// binomial, which ones is uniform, and the noise beyond the threshold is geometric: so they take
// about one draw together. Draws are made in the order of the keys.
func releaseRounded[K hashing.Key](src *noise.Source, c calibration, units []sketch.Counter[K]) (released []sketch.Counter[K]) {
	d := c.noise()
	beyond := geometric(c.Scale)
	large := 0
	for i, one := range units {
		if one.Count >= c.From {
			units[i], units[large] = units[large], one
			large++
		}
	}
	small := units[large:]
	show := func(list []sketch.Counter[K], tail func(least int64) (int64, bool)) {
		for _, one := range list {
			if count, shown := c.Kernel().Show(one.Count, tail, func() int64 { return beyond.SampleInt(src) }); shown {
				released = append(released, sketch.Counter[K]{Key: one.Key, Count: count})
			}
		}
	}
	sketch.Sort(units[:large])
	show(units[:large], func(least int64) (int64, bool) { return d.SampleTail(src, least) })
	if n := d.CountTail(src, uint64(len(small)), c.Threshold-c.From); n > 0 {
		sketch.Sort(small)
		show(exact.DrawSubset(small, int(n), src.Uint64N), func(least int64) (int64, bool) { return least + beyond.SampleInt(src), true })
	}
	sketch.Sort(released)
	return released
}
