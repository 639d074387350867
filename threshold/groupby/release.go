package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// Release spends the budget and returns the private groups. The Builder gives up its data; a second
// Release returns an error that wraps [ErrReleased]. After a [Discovery], Release returns such an
// error until [Builder.SecondPass] is called, and the Builder keeps its data.
func (b *Builder[K]) Release() (*Groups[K], error) {
	begun := true
	private.Use(b.secret, func(s *state[K], begun *bool) { *begun = s.pass != unbegunPass }, &begun)
	if !begun {
		return nil, check.NoDataError("groupby: Release: the Builder", "has not begun its second pass: call SecondPass, and add all users once more")
	}
	s, err := private.Take(b.secret, "groupby: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return s.finish(), nil
}

// finish releases what the state holds.
func (s *state[K]) finish() *Groups[K] {
	if s.pass == twoPasses {
		return s.releaseRetained()
	}
	return s.release(s.shows(s.calibrated.kernel, s.calibrated.weight))
}

// group is a released key with its noisy sums, in steps.
type group[K hashing.Key] struct {
	key                 K
	weight, rest, value int64
	scale               float64  // with Values
	cells               []uint32 // of the quantiles and cuts: see state.cut
	weights             []int64  // between their edges
}

// release draws independently for each key and sorts what is shown, so the distribution of what is
// released does not depend on the order of arrival. A key without weight gets no draw: it is
// hidden, whatever its count.
func (s *state[K]) release(show func(i int) (weight int64, ok bool)) *Groups[K] {
	p := s.params
	g := &Groups[K]{params: p}
	if s.table.width > 0 {
		s.chosen = s.choose()
	}
	g.chosen, g.noises = s.chosen, p.noises(s.calibrated, s.chosen)
	rests, values := s.noise(s.calibrated.rest(s.chosen)), s.noise(s.calibrated.value(s.chosen))
	var numbers []uint32
	for i, e := range s.table.cells {
		weight, ok := show(i)
		if !ok {
			s.others = sum(s.others, e.others)
			continue
		}
		r := group[K]{key: s.table.keys[i]}
		if p.weighs() {
			r.weight = weight
		}
		if !p.KeysOnly {
			r.rest = s.restOf(i) + rests()
		}
		if p.columns() == 1 {
			r.value = e.value + values()
		}
		g.groups, numbers = append(g.groups, r), append(numbers, uint32(i))
	}
	s.quantiles(g.groups, numbers)
	s.learn(g, numbers)
	slices.SortFunc(g.groups, func(a, b group[K]) int { return wire.Compare(a.key, b.key) })
	g.groups = slices.Clip(slices.Clone(g.groups))
	if p.weighs() {
		g.threshold = s.calibrated.kernel.Threshold
	}
	if !p.KeysOnly {
		g.shortfall = s.shorts[s.chosen.clip] + s.noise(s.calibrated.shortfall)()
	}
	if p.Others {
		g.others = s.others + s.noise(s.calibrated.others)()
	}
	g.addUp()
	return g
}

// noise returns what draws exact normal noise, rounded to steps, or discrete Laplace noise where δ
// is 0; 0 where the scale is 0, of what is not released or is the same for all users.
func (s *state[K]) noise(scale float64) func() int64 {
	if scale == 0 {
		return func() int64 { return 0 }
	}
	normal, err := noise.NewGaussian(scale)
	laplace, other := noise.NewDiscreteLaplace(scale)
	switch {
	case err != nil || other != nil:
		panic("groupby: no noise for a valid calibration") // unreachable
	case s.params.pure():
		return func() int64 { return laplace.SampleInt(&s.src) }
	}
	return func() int64 { return int64(normal.Sample(&s.src, 1)) }
}
