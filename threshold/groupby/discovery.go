package groupby

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Discovery is the first of two passes, for data that can be read twice. It finds the keys that
// many users have. [Discovery.Release] then returns a [Builder] for the second: call
// [Builder.SecondPass], and add all users once more. That finds further keys and counts all of
// them.
//
// One guarantee covers both passes: spend it on the Discovery's Release alone. FullKeys, if it is
// chosen, is chosen from all keys of each user. A Discovery is private, and for one goroutine at a
// time, as a Builder is.
type Discovery[K hashing.Key] struct {
	base[state[K]]
}

// NewDiscovery returns an empty Discovery, as [New] does; the error wraps [ErrParams] also where
// Passes is 1. An ε above 20 protects hardly anybody.
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

// AddUser adds one user, as [Builder.AddUser] does, but keys alone, with Min and Max or Levels too:
// leave out a key whose only value is NaN.
func (d *Discovery[K]) AddUser(keys []K) {
	s := private.Enter(d.secret)
	if s == nil {
		return
	}
	s.gather(keys, nil)
	s.pass.add(s)
	private.Leave(d.secret)
}

// Merge adds the users of another Discovery, as [Builder.Merge] does.
func (d *Discovery[K]) Merge(other *Discovery[K]) error {
	if other == nil {
		return merge(d.secret, secret[state[K]]{})
	}
	return merge(d.secret, other.secret)
}

// Release spends the budget of both passes and returns a Builder for the second, with the keys that
// were found, whose Release costs nothing more. To split the second pass among machines, begin it
// ([Builder.SecondPass]), copy the Builder to them before anything is added
// ([Builder.AppendPrivateState]), and merge. A second call returns an error that wraps
// [ErrReleased].
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

// SecondPass begins the second pass of a Builder that [Discovery.Release] returned. Before it,
// Release returns an error, and adding a user makes the Builder give up its data. For another
// Builder, or a second time, SecondPass does nothing.
func (b *Builder[K]) SecondPass() {
	private.Use(b.secret, func(s *state[K], begun pass[K]) {
		if s.pass == unbegun[K]() {
			s.pass = begun
		}
	}, pass[K](secondPass[K]{begun: true}))
}
