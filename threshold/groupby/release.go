package groupby

import (
	"cmp"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
)

// Release spends the budget and returns the private groups. The Builder gives up its data; a second
// Release returns an error that wraps [ErrReleased].
func (b *Builder[K]) Release() (*Groups[K], error) {
	s, err := private.Take(b.secret, "groupby: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return s.release(), nil
}

// release draws independently for each key and sorts what is shown, so the law of what is released
// does not depend on the order of arrival. A key without weight gets no draw: it is hidden,
// whatever its count.
func (s *state[K]) release() *Groups[K] {
	g := &Groups[K]{params: s.params, law: s.params.noises(s.law)}
	weights, rests, values := s.normal(s.law.weight), s.normal(s.law.rest), s.normal(s.law.value)
	hidden := int64(0)
	for _, e := range s.table.entries {
		shown, ok := s.law.kernel.Show(e.weight, weights, s.src.Uint64N)
		if !ok {
			hidden = sum(hidden, e.others)
			continue
		}
		r := group[K]{key: e.key}
		if !s.params.KeysOnly {
			r.weight, r.rest = shown, e.rest+rests()
		}
		if s.params.values() {
			r.value = e.value + values()
		}
		g.groups = append(g.groups, r)
	}
	slices.SortFunc(g.groups, func(a, b group[K]) int { return cmp.Compare(a.key, b.key) })
	g.groups = slices.Clip(slices.Clone(g.groups))
	if !s.params.KeysOnly {
		g.threshold = s.law.kernel.Threshold
		g.shortfall = s.shortfall + s.normal(s.law.shortfall)()
	}
	if s.params.Others {
		g.others = hidden + s.normal(s.law.others)()
	}
	return g
}

// normal returns what draws exact normal noise, rounded to steps; 0 where σ is 0, of what is not
// released or is the same for all users.
func (s *state[K]) normal(sigma float64) func() int64 {
	if sigma == 0 {
		return func() int64 { return 0 }
	}
	d, err := noise.NewGaussian(sigma)
	if err != nil {
		panic("groupby: no noise for a valid calibration") // unreachable
	}
	return func() int64 { return int64(d.Sample(&s.src, 1)) }
}

// group is a released key with its noisy sums, in steps.
type group[K hashing.Key] struct {
	key                 K
	weight, rest, value int64
}
