package groupby

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Discovery is the first of two passes, for data that can be read twice. It finds the keys that
// many users have. [Discovery.Release] then returns a [Builder] for the second. Begin that pass by
// [Builder.SecondPass] and add all users once more: it finds further keys and counts all of them.
//
//	first, err := groupby.NewDiscovery[string](groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2})
//	// for each user: first.AddUser(keys)
//	b, err := first.Release()
//	b.SecondPass()
//	// for each user: b.AddUser(keys)
//	groups, err := b.Release()
//
// One guarantee covers both passes: spend it on the Discovery's Release alone. A Builder of [New]
// with Passes 2 does both passes in one Release, from memory. It counts a little better, since it
// knows which keys of a user are shown before it clips.
//
// FullKeys, if it is chosen, is chosen from all keys of each user when the Discovery is released.
//
// A Discovery holds private data, as a [Builder] does, and is for one goroutine at a time.
type Discovery[K hashing.Key] struct {
	base[state[K]]
}

// NewDiscovery returns an empty Discovery, or an error that wraps [ErrParams], also where Passes is
// 1. It calibrates both passes, as [New] does.
//
// For experiments an ε above 20 is accepted too, which protects hardly anybody.
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

// AddUser adds one user with all keys of that user, as [Builder.AddUser] does. A first pass takes
// keys alone, with Min and Max or Levels too: leave out a key whose only value is NaN. After
// Release AddUser does nothing.
func (d *Discovery[K]) AddUser(keys []K) {
	s := private.Enter(d.secret)
	if s == nil {
		return
	}
	s.gather(keys, nil)
	s.pass.add(s)
	private.Leave(d.secret)
}

// Merge adds the users of another Discovery, which gives up its data, as [Builder.Merge] does.
func (d *Discovery[K]) Merge(other *Discovery[K]) error {
	if other == nil {
		return merge(d.secret, secret[state[K]]{})
	}
	return merge(d.secret, other.secret)
}

// Release spends the budget of both passes: it releases the first pass and returns a Builder for
// the second, which knows the keys that were found and is otherwise empty. The release of that
// Builder costs nothing more. It refuses until the second pass is begun: see [Builder.SecondPass].
// To split the second pass among machines, begin it, copy the Builder to them before anything is
// added ([Builder.AppendPrivateState]), and merge their Builders.
//
// The Discovery gives up its data; a second call returns an error that wraps [ErrReleased].
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

// SecondPass begins the second pass of a Builder that [Discovery.Release] returned: now add all
// users to it once more. Without it the keys that were found would be released as if nobody had
// them, so Release returns an error until SecondPass is called, and a user who is added before
// takes the Builder its data. For another Builder, or a second time, SecondPass does nothing.
func (b *Builder[K]) SecondPass() {
	private.Use(b.secret, func(s *state[K], begun pass[K]) {
		if s.pass == unbegun[K]() {
			s.pass = begun
		}
	}, pass[K](secondPass[K]{begun: true}))
}
