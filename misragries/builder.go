package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/keyhash"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Builder counts a stream of keys. It holds private data: it prints nothing of it, encodes nothing,
// and Release is the only way out. One goroutine at a time may use it: concurrent use panics, as
// that of a map does.
type Builder[K hashing.Key] struct {
	secret[K]
	params  Params
	promise budget.Guarantee
}

// secret is what a Builder counts.
type secret[K hashing.Key] = private.State[state[K]]

type state[K hashing.Key] struct {
	dim    uint64
	sketch sketch[K]
	// of what the sketch is now; of a merged one, until its release, only mechanism and input
	law   calibration
	given bool // with counters from elsewhere, of which D is not known
}

// New returns an empty Builder, or an error that wraps [ErrParams].
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	return newBuilder[K](p, OneStream)
}

func newBuilder[K hashing.Key](p Params, in Input) (*Builder[K], error) {
	l, err := checkFor[K](p, in)
	if err != nil {
		return nil, err
	}
	p.Delta += 0 // no −0
	s := private.New(state[K]{dim: p.Dim, sketch: *newSketch[K](p.Counters), law: l, given: in == GivenCounters})
	return &Builder[K]{secret: s, params: p, promise: p.guarantee(l)}, nil
}

// Guarantee returns what the release promises: ε, or (ε, δ), for one element of the stream or,
// where MaxElements is more than 1, for one user. It stays the same after a Merge and after the
// Release. The zero Builder promises nothing.
func (b *Builder[K]) Guarantee() budget.Guarantee { return b.promise }

// Add counts one element of the stream: O(1) amortised time, no allocation once the counters are in
// use. Where Dim is given, keys outside [0, Dim) are ignored.
//
// A string key is kept as it is, so the memory it shares stays alive: clone substrings of large
// buffers. After Release, and on a Builder that New did not make, Add does nothing: the release is
// final. A caller that cannot be sure asks [Builder.Released] first.
func (b *Builder[K]) Add(key K) {
	if private.Released(b.secret) { // asked first, the compiler drops what Enter would ask again
		return
	}
	s := private.Enter(b.secret)
	if s.dim != 0 && outside(key, s.dim) {
		private.Leave(b.secret)
		return
	}
	t := &s.sketch
	if t.hasher.IsText() { // comparing strings would need branches anyway
		t.addProbing(key, t.hasher.OfString(key))
		private.Leave(b.secret)
		return
	}
	// Whether a key is stored is as good as random, and a branch on it would cost more than all the
	// rest. So the key is written to the spare entry, behind the others, with a counter of 0; the
	// slot of its hash selects that entry if it is empty, else its own; and the selected entry, if
	// it has the key, is raised by one. If it was the spare one, it has become the last one. What
	// remains are branches that hardly ever go the other way.
	//
	// An empty slot means that the key is not stored (see index), so this is what addProbing does,
	// which does the rest: a slot taken by another key, the spare entry selected where it is the
	// last, and the index of wide slots.
	var h uint64 // Hash would not be inlined
	if t.hasher.IsArray() {
		h = t.hasher.OfArray(key)
	} else {
		h = t.hasher.OfInteger(key)
	}
	slots := t.index.narrow
	if slot := keyhash.Reduce(h, len(slots)); slot < uint64(len(slots)) {
		n, entries := uint64(len(t.entries)), t.entries[:cap(t.entries)]
		entries[n] = entry[K]{key, t.decrements}
		i, count := selectEntry(slots[slot], n)
		if used := entries[:len(entries)-1]; i < uint64(len(used)) && used[i].key == key {
			used[i].total++
			slots[slot] = uint16(i + 1)
			t.entries = t.entries[:count]
			private.Leave(b.secret)
			return
		}
	}
	t.addProbing(key, h)
	private.Leave(b.secret)
}

// outside reports whether an integer key is none of 0, …, dim−1. A negative key has bits of 2⁶³ or
// more, and dim is at most that.
func outside[K hashing.Key](key K, dim uint64) bool { return wire.KeysOf[K]().Bits(key) >= dim }

// Released reports whether the Builder has been released, or merged into another, and Add therefore
// ignores what it is given.
func (b *Builder[K]) Released() bool { return private.Released(b.secret) }

// Merge adds the sketch of the other Builder, which gives up its data: the trusted merge of Agarwal
// et al. (section 7 of the paper), for sketches of streams of different servers that one server may
// see. It takes O(k) time and never more than 2k counters. The merged sketch undercounts by at most
// N/(k+1), N the elements of all streams, in whatever order one merges; elements can be added
// before and after.
//
// Merging hurts the release: neighbours now differ in up to k counters, and the noise grows with
// √k. At ε = 1, δ = 1e-6, k = 1024 the threshold is 423 instead of 17. A [Sum] of reduced sketches
// has 15.5, for more memory; see [Params.Plan].
//
// The error wraps [ErrMismatch] if the Params or the Builder itself are not those of another,
// [ErrReleased] if either was released, and [ErrParams] if the Params ask for a mechanism that no
// merged sketch has. Then nothing has changed.
func (b *Builder[K]) Merge(other *Builder[K]) error {
	if other == nil {
		other = new(Builder[K])
	}
	return private.Merge(b.secret, other.secret, "misragries: Merge", "Builder", func(s, o *state[K]) error {
		if b.params != other.params {
			return fault.Mismatch("misragries", "Params", b.params, other.params)
		}
		m, err := b.params.allowed(Merged)
		if err != nil {
			return err
		}
		s.sketch.plain().merge(o.sketch.plain())
		s.law, s.given = calibration{method: m, input: Merged}, s.given || o.given
		return nil
	})
}

// FromCounters returns a Builder that holds the counters of a standard Misra-Gries sketch from
// elsewhere, one that frees counters at zero, of one stream and with k = Counters. Counters of 0
// are left out. Elements can be added, and other Builders with the same Params merged. That the
// counters are those which that algorithm makes is on the caller: the guarantee rests on it, and
// does not hold for counters of another algorithm or of a merged sketch.
//
// The error wraps [ErrParams] if the Params are wrong, or the counters not such ones on the face of
// it: more than k, one below 0 or above 2⁶², or a key outside [0, Dim). No stream leads to these,
// so the error says nothing about any.
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func FromCounters[K hashing.Key](p Params, counters map[K]int64) (*Builder[K], error) {
	b, err := newBuilder[K](p, GivenCounters)
	if err != nil {
		return nil, err
	}
	if len(counters) > p.Counters {
		return nil, fault.Params("misragries", "counters", "more than Counters", "at most one for each of the sketch's counters")
	}
	given := newSketch[K](p.Counters)
	for key, count := range counters {
		switch {
		case count < 0 || count > limit:
			return nil, fault.Params("misragries", "counters", "one out of range", "counts in [0, 2⁶²]")
		case p.Dim != 0 && outside(key, p.Dim):
			// to leave it out would leave what is no sketch of any stream
			return nil, fault.Params("misragries", "counters", "one outside Dim", "keys in [0, Dim)")
		case count == 0:
			continue
		case len(given.entries) == cap(given.entries)-1:
			given.grow(min(p.Counters, 2*len(given.entries)))
		}
		given.entries = append(given.entries, entry[K]{key, uint64(count)})
	}
	s := private.Enter(b.secret)
	s.sketch.merge(given)
	private.Leave(b.secret)
	return b, nil
}
