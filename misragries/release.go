package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// Release spends the budget and returns the private histogram, by the mechanism that the Params
// name or the one that suits what the Builder holds: for one stream Algorithm 2 of the paper, see
// [Method]. The Builder gives up its data; a second Release returns an error that wraps
// [ErrReleased].
func (b *Builder[K]) Release() (*Histogram[K], error) {
	law, err := b.calibrate()
	if err != nil {
		return nil, err
	}
	s, err := private.Take(b.secret, "misragries: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return releaseSketch(new(noise.Source), b.params, law, &s.Sketch, s.Given)
}

// calibrate returns the numbers for what the Builder holds, before it gives that up.
func (b *Builder[K]) calibrate() (c calibration, err error) {
	s := private.Enter(b.secret)
	if s == nil {
		return c, nil
	}
	defer private.Leave(b.secret)
	if s.Merged {
		m, err := b.params.allowed(Merged)
		if err != nil {
			return c, err
		}
		return methodOf[uint64](m).calibrate(b.params, Merged, s.Given)
	}
	if s.Given {
		return b.params.check(GivenCounters)
	}
	return b.params.check(OneStream)
}

// releaseSketch releases one sketch, with counters from elsewhere or without.
func releaseSketch[K hashing.Key](src *noise.Source, p Params, c calibration, s *sketch.Sketch[K], given bool) (*Histogram[K], error) {
	h, by := newHistogram[K](p, c), methodOf[K](c.method)
	held := by.prepare(src, c, s)
	held.unknown = given
	if err := by.draw(src, h, held); err != nil { // only of public numbers
		return nil, err
	}
	return h, nil
}
