package groupby

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Discovery is the first of two passes, as private as a Builder. Its Release returns a [Builder]
// that finds further keys and counts all: call [Builder.SecondPass], and add all users again.
// FullKeys, if chosen, is chosen from all keys of each user.
type Discovery[K hashing.Key] struct {
	base[state[K]]
}

// NewDiscovery returns an empty Discovery. The error wraps [ErrParams], also for Passes 1 or
// Values. An ε above 20 protects hardly anybody.
func NewDiscovery[K hashing.Key](p Params) (*Discovery[K], error) {
	if p.listed {
		return nil, bad("Params", "of listed keys", "those of keys to be found")
	}
	if p.Passes == 0 {
		p.Passes = 2
	}
	p = p.normal()
	switch err := p.validate(); {
	case err == nil && p.Passes != 2:
		return nil, bad("Passes", p.Passes, "0 or 2 for a Discovery")
	case err == nil && p.Values:
		return nil, bad("Values", p.Values, "false for a Discovery, which keeps no users")
	}
	calibrated, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	return &Discovery[K]{holding(p, newState(p, calibrated, firstPass[K]{}, newIndex[K](0), 0))}, nil
}

// AddUser is as [Builder.AddUser], but always without values: leave out a key whose only value is
// NaN.
func (d *Discovery[K]) AddUser(keys []K) {
	s := private.Enter(d.secret)
	if s == nil {
		return
	}
	s.gather(keys, nil)
	s.pass.add(s)
	private.Leave(d.secret)
}

// Merge is as [Builder.Merge].
func (d *Discovery[K]) Merge(other *Discovery[K]) error {
	if other == nil {
		return merge(d.secret, secret[state[K]]{})
	}
	return merge(d.secret, other.secret)
}

// Release spends the budget of both passes and returns a Builder for the second, whose Release
// costs nothing more. To split that pass among machines, begin it, copy the empty Builder to them
// ([Builder.AppendPrivateState]), and merge. A second call's error wraps [ErrReleased].
func (d *Discovery[K]) Release() (*Builder[K], error) {
	s, err := private.Take(d.secret, "groupby: Release: the Discovery")
	if err != nil {
		return nil, err
	}
	show := s.shows(s.calibrated.first, s.calibrated.discovery)
	var keys []K
	for i, key := range s.table.keys {
		if _, ok := show(i, s.table.cells[i].weight); ok {
			keys = append(keys, key)
		}
	}
	wire.Sort(keys)
	next := &Builder[K]{holding(s.params, newState(s.params, s.calibrated, unbegun[K](), indexOf(keys), len(keys)))}
	private.Use(next.secret, func(s *state[K], at choice) { s.chosen = at }, s.choose(s.noise))
	return next, nil
}

// SecondPass begins the second pass after [Discovery.Release]; before it, adding a user makes the
// Builder give up its data. Otherwise it does nothing.
func (b *Builder[K]) SecondPass() {
	private.Use(b.secret, func(s *state[K], begun pass[K]) {
		if s.pass == unbegun[K]() {
			s.pass = begun
		}
	}, pass[K](secondPass[K]{begun: true}))
}
