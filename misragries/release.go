package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
)

// Release spends the budget and returns the private histogram, by the mechanism that the Params
// name or the one that suits what the Builder holds: for one stream Algorithm 2 of the paper, see
// [Mechanism]. The Builder gives up its data; a second Release returns an error that wraps
// [ErrReleased].
func (b *Builder[K]) Release() (*Histogram[K], error) {
	s, err := private.Take(b.secret, "misragries: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return releaseSketch(new(noise.Source), b.params, s.law, &s.sketch, s.given)
}

// releaseSketch releases one sketch, with counters from elsewhere or without.
func releaseSketch[K hashing.Key](src *noise.Source, p Params, c calibration, s *sketch[K], given bool) (*Histogram[K], error) {
	h, by := newHistogram[K](p, c), mechanismOf[K](c.mechanism)
	held := by.prepare(src, c, s.plain())
	held.unknown = given
	if err := by.draw(src, h, held); err != nil { // only of public numbers
		return nil, err
	}
	return h, nil
}
