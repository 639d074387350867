package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Builder counts a stream of keys. It holds private data, which it never prints; Release is the
// only way out, apart from [Builder.AppendPrivateState]. One goroutine at a time may use it;
// concurrent use panics if it is detected.
type Builder[K hashing.Key] struct {
	base[sketch.Stream[K]]
}

// base is what a Builder, a Sum and a UserBuilder have in common.
type base[S any] struct {
	secret[S]
	params  Params
	law     calibration // of what a constructor makes
	promise budget.Guarantee
}

// secret is what one of them holds.
type secret[S any] = private.State[S]

// Guarantee returns what the release promises: ε, or (ε, δ), for one element of all streams or,
// with MaxElements, for one user. A user's elements may be in several streams. The guarantee stays
// the same after a Merge and after the Release. The zero value promises nothing.
func (b *base[S]) Guarantee() budget.Guarantee { return b.promise }

// Released reports whether the data have been released or merged into another's. Then Add and
// AddUser do nothing.
func (b *base[S]) Released() bool { return private.Released(b.secret) }

// New returns an empty Builder, or an error that wraps [ErrParams].
//
// For experiments values are accepted that protect hardly anybody: ε above 20, δ above 0.01.
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
	if in == b.law.input {
		return b.law, of, nil
	}
	_, c, err = b.params.check(in)
	return c, of, err
}

// Add counts one element of the stream, in O(1) amortised time, without allocation once all
// counters are in use. With Dim, keys outside [0, Dim) are ignored.
//
// A string key is kept as it is, so the memory it shares stays alive: clone substrings of large
// buffers. After Release, and on the zero Builder, Add does nothing: the release is final. If you
// are not sure, ask [Builder.Released] first.
func (b *Builder[K]) Add(key K) { sketch.Add(b.secret, key) }

// AddSlice adds the keys in order, as a loop over [Builder.Add] does. For integers it takes about
// 0.7 of that loop's time.
func (b *Builder[K]) AddSlice(keys []K) { sketch.AddSlice(b.secret, keys) }

// AddN counts n elements of the key at once: the bytes of a packet, or the amount of a sale, in a
// unit of the caller's choice. It does the same as n calls of [Builder.Add], in amortised O(1) time
// if the key has a counter, else in O(log k). No comparison-based algorithm can do it in constant
// time: adding k new keys of any weights, and then k of larger weights, removes the first k in the
// order of their weights, and so sorts them.
//
// With MaxElements = m the guarantee protects one event: a call that adds up to m. Noise and
// threshold are about m times those of one element. An n above m counts as m, since the guarantee
// would not hold for more. An n of 0 or below counts nothing. Without MaxElements an n above 1
// would count as 1; instead the Builder gives up its data, and Release returns an error that says
// so.
//
// Once a counter plus all decrements so far reaches 1.5·2⁶², further elements do not count. Only
// 2⁴¹ calls at the largest weight reach this, or large counters from elsewhere.
//
// A [Sum] suits large m: at ε = 1, δ = 1e-6, k = 1024 its threshold is 17.1·m for m = 20 and 17.5·m
// for m = 1500. KeptZeros has 19.8·m and 24.2·m, since it pays for a factor of about m in δ.
func (b *Builder[K]) AddN(key K, n int) {
	if n > 1 && b.params.MaxElements == 0 {
		private.Poison(b.secret, "was given several elements at once, and its Params have no MaxElements")
		return
	}
	sketch.AddN(b.secret, key, uint64(max(0, min(n, b.params.most()))))
}

// Merge adds the sketch of the other Builder, which gives up its data: the trusted merge of Agarwal
// et al. (section 7 of the paper), for sketches of several servers that one server may see. It
// takes O(k) time and at most 2k counters. In whatever order sketches are merged, the result
// undercounts by at most N/(k+1), where N is the number of elements in all streams. Elements can be
// added before and after.
//
// Merging hurts the release: neighbours now differ in up to k counters, and the noise grows with
// √k. At ε = 1, δ = 1e-6, k = 1024 the threshold is 423 instead of 17. A [Sum] of reduced sketches
// has 15.5, for more memory; see [Params.Plan].
//
// The error wraps [ErrMismatch] if the Params differ or other is b itself, [ErrReleased] if either
// was released, and [ErrParams] if the Params ask for a mechanism that merged sketches do not have.
// On an error nothing changes.
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
