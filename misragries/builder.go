package misragries

import (
	"fmt"
	"log/slog"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise"
)

// Builder counts a stream of keys. It holds private data: it prints nothing of it, encodes nothing,
// and Release is the only way out. One goroutine at a time may use it.
type Builder[K hashing.Key] struct {
	state **state[K] // twice removed: nothing that walks a Builder by reflection and prints gets past an address
}

// state is nil once released.
type state[K hashing.Key] struct {
	params Params
	sketch sketch[K]
}

// New returns an empty Builder, or an error that wraps [ErrParams].
func New[K hashing.Key](p Params) (*Builder[K], error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	s := &state[K]{params: p, sketch: *newSketch[K](p.Counters)}
	return &Builder[K]{&s}, nil
}

// Add counts one element of the stream: O(1) amortised time, no allocation once the counters are in use.
//
// A string key is kept as it is, so the memory it shares stays alive: clone substrings of large buffers.
// After Release, and on a Builder that New did not make, Add does nothing: the release is final. A caller
// that cannot be sure asks [Builder.Released] first.
func (b *Builder[K]) Add(key K) {
	if b.state == nil || *b.state == nil {
		return
	}
	(*b.state).sketch.add(key)
}

// Released reports whether the Builder has been released, and Add therefore ignores what it is given.
func (b *Builder[K]) Released() bool { return b.state == nil || *b.state == nil }

// Release spends the budget and returns the private histogram, by Algorithm 2 of the paper with discrete
// Laplace noise: to every counter, zeros included, the same η and an own L are added, and what is
// below the threshold is dropped. The Builder gives up its data; a second Release returns an error that wraps [ErrReleased].
func (b *Builder[K]) Release() (*Histogram[K], error) {
	if b.Released() {
		return nil, fmt.Errorf("misragries: Release: the Builder is %w", fault.ErrReleased)
	}
	s := *b.state
	*b.state = nil
	var src noise.Source
	return release(&src, s.params, s.sketch.counters(), saturate(s.sketch.decrements)), nil
}

// release draws the noise, in the order of the keys. The number of decrements moves against the counters,
// so it takes −η: see the package documentation for why that is free.
func release[K hashing.Key](src *noise.Source, p Params, counters []counter[K], decrements int64) *Histogram[K] {
	d, tau := p.noise(), p.threshold()
	eta := d.SampleInt(src)
	h := &Histogram[K]{params: p, decrements: decrements - eta}
	for _, c := range counters {
		if v := c.count + eta + d.SampleInt(src); v >= tau {
			h.counts = append(h.counts, counter[K]{c.key, v})
		}
	}
	return h
}

const redacted = "misragries.Builder (private)"

// Format prints a fixed text under every verb.
func (b Builder[K]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// LogValue logs a fixed text.
func (b Builder[K]) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText encodes a fixed text, so that JSON and XML hold nothing else.
func (b Builder[K]) MarshalText() ([]byte, error) { return []byte(redacted), nil }
