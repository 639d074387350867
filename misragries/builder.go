package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Builder counts a stream of keys. It holds private data, which it never prints. One goroutine at a
// time may use it; concurrent use panics if detected. Release takes its data: then adding does
// nothing.
type Builder[K hashing.Key] struct {
	base[sketch.Stream[K]]
}

// base is what a Builder, a Sum and a UserBuilder have in common.
type base[S any] struct {
	secret[S]
	params      Params
	calibration calibration // of what a constructor makes
	promise     budget.Guarantee
}

// secret is what one of them holds.
type secret[S any] = private.State[S]

// Guarantee is what the release promises.
func (b *base[S]) Guarantee() budget.Guarantee { return b.promise }

// Released reports whether the data were released or merged.
func (b *base[S]) Released() bool { return private.Released(b.secret) }

// New returns an empty Builder, or an error that wraps [ErrParams]. ε above 20, or δ above 0.01,
// protects hardly anybody.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	return newBuilder[K](p, oneStream)
}

func newBuilder[K hashing.Key](p Params, in input) (*Builder[K], error) {
	p, c, err := checkFor[K](p, in)
	if err != nil {
		return nil, err
	}
	s := private.New(sketch.Stream[K]{Sketch: *sketch.New[K](p.Counters), Dim: p.Dim, Given: in == givenCounters})
	return &Builder[K]{base[sketch.Stream[K]]{s, p, c, p.guarantee(c)}}, nil
}

// kind is what the calibration depends on besides the Params.
type kind struct{ given, merged bool }

// calibrated returns the numbers for what the Builder holds, before it gives that up, and what that
// is. It takes time where others were merged into it, or counters from elsewhere restored.
func (b *Builder[K]) calibrated() (c calibration, of kind, err error) {
	s := private.Enter(b.secret)
	if s == nil {
		return c, of, nil
	}
	defer private.Leave(b.secret)
	of = kind{s.Given, s.Merged}
	in := oneStream
	if s.Given {
		in = givenCounters
	}
	if s.Merged {
		m, err := b.params.named(merged)
		if err == nil {
			c, err = b.params.calibrate(m, merged, s.Given)
		}
		return c, of, err
	}
	if in == b.calibration.input {
		return b.calibration, of, nil
	}
	_, c, err = b.params.check(in)
	return c, of, err
}

// Add counts one element. A string key is not copied: clone substrings of large buffers.
func (b *Builder[K]) Add(key K) { sketch.Add(b.secret, key) }

// AddSlice adds the keys in order.
func (b *Builder[K]) AddSlice(keys []K) { sketch.AddSlice(b.secret, keys) }

// AddN counts n elements of the key. With MaxElements = m one event is protected: a call, with n
// clipped to [0, m]; noise and threshold grow about m times. Without it, n above 1 makes the
// Builder give up its data, and Release returns an error. Elements above 1.5·2⁶² in a counter,
// decrements included, do not count.
func (b *Builder[K]) AddN(key K, n int) {
	if n > 1 && b.params.MaxElements == 0 {
		private.Poison(b.secret, "was given several elements at once, and its Params have no MaxElements")
		return
	}
	sketch.AddN(b.secret, key, uint64(max(0, min(n, b.params.most()))))
}

// Merge adds the sketch of the other Builder, which gives up its data. The result undercounts by at
// most N/(k+1) for N elements in all streams. The error wraps [ErrMismatch] if the Params differ or
// other is b itself, [ErrReleased] if either was released, and [ErrParams] if merged sketches do
// not have the Method. On an error nothing changes.
func (b *Builder[K]) Merge(other *Builder[K]) error {
	if other == nil {
		other = new(Builder[K])
	}
	return private.Merge(b.secret, other.secret, "misragries: Merge", "Builder", func(s, o *sketch.Stream[K]) error {
		if b.params != other.params {
			return check.MismatchError("misragries", "Params", b.params, other.params)
		}
		if err := b.params.allowed(); err != nil {
			return err
		}
		s.Sketch.Merge(&o.Sketch, b.params.Counters)
		s.Merged, s.Given = true, s.Given || o.Given
		return nil
	})
}

// Release spends the budget and returns the private histogram. A second Release returns an error
// that wraps [ErrReleased].
func (b *Builder[K]) Release() (*Histogram[K], error) {
	c, of, err := b.calibrated()
	if err != nil {
		return nil, err
	}
	return b.releaseBy(c, of)
}

// releaseBy releases what the Builder holds if the calibration is for that: another goroutine may
// have merged a sketch into it since, or restored one, of which no error but this one would tell.
func (b *Builder[K]) releaseBy(c calibration, of kind) (*Histogram[K], error) {
	const doing = "misragries: Release: the Builder"
	s, err := private.Take(b.secret, doing)
	if err != nil {
		return nil, err
	}
	if (kind{s.Given, s.Merged}) != of {
		return nil, check.NoDataError(doing, "was used by two goroutines at once, so its data are dropped")
	}
	return releaseSketch(new(noise.Source), b.params, c, &s.Sketch, s.Given), nil
}

// contents are what a Builder, a Sum or a UserBuilder held, in units.
type contents[K hashing.Key] struct {
	counters []sketch.Counter[K] // sorted by key, unless they are units
	lost     int64               // what a key may have more than its counter: D, the length, or W
	unknown  bool                // nothing is known of that
}

// releaseSketch releases one sketch, with counters from elsewhere or without.
func releaseSketch[K hashing.Key](src *noise.Source, p Params, c calibration, s *sketch.Sketch[K], given bool) *Histogram[K] {
	held := prepare(src, c, p.Counters, s)
	held.unknown = given
	return release(src, p, c, 1, held)
}

// prepare returns what is released of a sketch, or added up where several are.
func prepare[K hashing.Key](src *noise.Source, c calibration, k int, s *sketch.Sketch[K]) (held contents[K]) {
	switch is := c.is(); {
	case is.zeros:
		held.counters, held.lost = s.Counters(), s.Decrements()
	case is.reduced:
		held.counters, held.lost = sketch.Reduced(s.Unsorted(), k), s.Length(k)
	case is.trimmed:
		most := c.Cap + discreteLaplace(c.CapScale).SampleInt(src)
		held.counters, held.lost = s.Trimmed(thresholds.Least(k), most, discreteLaplace(c.Shift).SampleInt(src)+c.Offset)
	default:
		held.counters, held.lost = s.Positive(), s.Decrements()
	}
	return held
}

// release spends the budget.
func release[K hashing.Key](src *noise.Source, p Params, c calibration, sketches int, held contents[K]) *Histogram[K] {
	p.Method = c.method
	h := &Histogram[K]{params: p, calibration: c, sketches: sketches, known: !held.unknown}
	switch is := c.is(); {
	case is.shared:
		h.counts, h.lost = releaseShared(src, c, held.counters, held.lost)
	case is.sparse:
		h.counts, h.lost = releaseSparse(src, c.sparse, held.counters, held.lost)
		h.known = c.sparse.Params().Beside
	case is.top:
		sketch.Sort(held.counters)
		h.counts = topOfUniverse(src, c.noise(), p.Counters, p.Dim, held.counters)
	default:
		h.counts = releaseRounded(src, c, held.counters)
		h.lost = held.lost // W
	}
	if c.is().reduced {
		h.lost = 0
		if h.known = h.known && c.lost > 0; h.known {
			h.lost = cutSum(held.lost, discreteLaplace(c.lost).SampleInt(src))
		}
	}
	if !h.known {
		h.lost, h.calibration.lost = 0, 0
	}
	return h
}

// releaseShared adds to every counter the same η and an own L and drops what is below the
// threshold, in the order of the keys: thresholds/keptzeros_proof.md and
// thresholds/freedzeros_proof.md. The number of decrements moves against the counters, so it takes
// −η, which is free.
//
// The proof compares η = x on one side with x or x − 1 on the other, where each common c + η is the
// same or one of them is one apart, and D − η is the same. Saturating these sums keeps that;
// saturating c itself would not.
func releaseShared[K hashing.Key](src *noise.Source, c calibration, counters []sketch.Counter[K], decrements int64) ([]sketch.Counter[K], int64) {
	d := c.noise()
	eta := d.SampleInt(src)
	var released []sketch.Counter[K]
	for _, one := range counters {
		y := cutSum(one.Count, eta)
		if x, shown := d.SampleTail(src, c.Threshold-y); shown {
			released = append(released, sketch.Counter[K]{Key: one.Key, Count: y + x})
		}
	}
	return released, cutSum(decrements, -eta)
}

// cutSum returns min(count + eta, 2⁶²), count ≥ 0.
func cutSum(count, eta int64) int64 {
	if eta > sketch.Limit-count {
		return sketch.Limit
	}
	return count + eta
}
