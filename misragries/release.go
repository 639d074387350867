package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
)

// Release spends the budget and returns the private histogram, by the mechanism that the Params
// name or the one that suits what the Builder holds: for one stream Algorithm 2 of the paper, see
// [Method]. The Builder gives up its data; a second Release returns an error that wraps
// [ErrReleased].
func (b *Builder[K]) Release() (*Histogram[K], error) {
	if err := b.calibrate(); err != nil {
		return nil, err
	}
	s, err := private.Take(b.secret, "misragries: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return releaseSketch(new(noise.Source), b.params, s.law, &s.sketch, s.given)
}

// calibrate makes what a merge leaves to do: it is done once, however many are merged, and before
// the Builder gives up its data.
func (b *Builder[K]) calibrate() error {
	s := private.Enter(b.secret)
	if s == nil {
		return nil
	}
	defer private.Leave(b.secret)
	if s.law.input != Merged {
		return nil
	}
	law, err := methodOf[uint64](s.law.method).calibrate(b.params, Merged, s.given)
	if err == nil {
		s.law = law
	}
	return err
}

// releaseSketch releases one sketch, with counters from elsewhere or without.
func releaseSketch[K hashing.Key](src *noise.Source, p Params, c calibration, s *sketch[K], given bool) (*Histogram[K], error) {
	h, by := newHistogram[K](p, c), methodOf[K](c.method)
	held := by.prepare(src, c, s.plain())
	held.unknown = given
	if err := by.draw(src, h, held); err != nil { // only of public numbers
		return nil, err
	}
	return h, nil
}
