package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Builder counts the users of each key, and their values. It holds private data, which it never
// prints: only [Builder.Release] and [Builder.AppendPrivateState] let anything out. It is for one
// goroutine at a time; a call that sees another at work panics.
//
// Users have values if there are Min and Max, Values or Levels. A call that does not suit the
// Params makes the Builder give up its data; Release then returns an error that says so. After
// Release, and on a zero Builder, adding does nothing. Strings are not copied. A key takes about
// 100 bytes, or 190 if FullKeys is chosen in one pass. After 2³² − 1 keys (or users, of Rows) new
// ones do not count, and the guarantee ends.
type Builder[K hashing.Key] struct {
	base[state[K]]
}

// base is what a Builder, a Discovery and Rows have in common.
type base[S any] struct {
	secret[S]
	params    Params
	guarantee budget.Guarantee
}

// secret is what one of them holds.
type secret[S any] = private.State[S]

func holding[S any](p Params, s S) base[S] { return base[S]{private.New(s), p, p.Guarantee()} }

// Params returns the Params, with defaults filled in.
func (b *base[S]) Params() Params { return b.params }

// Guarantee returns what the release promises.
func (b *base[S]) Guarantee() budget.Guarantee { return b.guarantee }

// Released reports whether the data were released or merged away.
func (b *base[S]) Released() bool { return private.Released(b.secret) }

// New returns an empty Builder, calibrated in at most 50 ms, or microseconds for Params seen
// before. The error wraps [ErrParams]. An ε above 20 protects hardly anybody.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	if p.listed { // of a release by NewListed: its keys are all shown, even if nobody has them
		return nil, bad("Params", "of listed keys", "those of keys to be found: NewListed takes a list")
	}
	p = p.normal()
	if err := p.validateSums(); err != nil {
		return nil, err
	}
	calibrated, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	var w pass[K] = onePass[K]{}
	if p.Passes == 2 {
		w = twoPasses[K]{}
	}
	return &Builder[K]{holding(p, newState(p, calibrated, w, newIndex[K](0), 0))}, nil
}

// maxListed is the most keys of a list.
const maxListed = 1 << 26

// NewListed returns an empty Builder for a public list of keys: the countries of the world, say.
// All are released, even if nobody has them, and all of a user's count; Params.Others counts other
// keys. The list must not come from the data, or the release says who is in them.
//
// With δ = 0 the noise is discrete Laplace, else normal: at ε = 1 a count has a standard deviation
// of 1.5·C², or of 4.4·C with δ = 1e-6, where C² is the smaller of FullKeys and the length of the
// list.
//
// The error wraps [ErrParams], also for no keys, more than 2²⁶, Passes 2, CountShare or KeysOnly.
// An ε above 20 protects hardly anybody.
func NewListed[K hashing.Key](p Params, keys ...K) (*Builder[K], error) {
	p, keys, err := listParams(p, keys)
	if err == nil {
		err = p.validateSums()
	}
	if err != nil {
		return nil, err
	}
	calibrated, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	return &Builder[K]{holding(p, newState(p, calibrated, listedPass[K]{}, indexOf(keys), len(keys)))}, nil
}

// listParams returns the normal Params of a list, and its keys sorted, each once.
func listParams[K hashing.Key](p Params, keys []K) (Params, []K, error) {
	keys = slices.Clone(keys)
	wire.Sort(keys)
	keys = slices.Compact(keys)
	if len(keys) == 0 || len(keys) > maxListed {
		return p, nil, bad("list", len(keys), "one of 1 to 2²⁶ keys")
	}
	p.most, p.listed = min(len(keys), mostKeys), true
	return p.normal(), keys, nil
}

// Grow makes room for n more keys.
func (b *Builder[K]) Grow(n int) {
	if s := private.Enter(b.secret); s != nil {
		s.table.reserve(n)
		private.Leave(b.secret)
	}
}

// AddUser adds one user, without values, with all keys of that user, each counted once. A second
// call, even to a Builder that is merged, is a second user, and the guarantee then protects a call.
func (b *Builder[K]) AddUser(keys []K) {
	if b.params.valued() {
		private.Poison(b.secret, "was given a user without values by AddUser, and its Params have Min and Max, Values or Levels: call AddUserValues")
		return
	}
	b.add(keys, nil)
}

// add adds a user, with values where the Params have any.
func (b *Builder[K]) add(keys []K, values []float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	early := s.pass == unbegun[K]()
	if !early {
		s.gather(keys, values)
		s.pass.add(s)
	}
	private.Leave(b.secret)
	if early {
		private.Poison(b.secret, "was given a user before its second pass: after Discovery.Release call SecondPass, and then add all users once more")
	}
}

// AddUserValues is [Builder.AddUser] with a value for each key, in slices of one length. A repeated
// key has several values. A key whose value is NaN is left out.
func (b *Builder[K]) AddUserValues(keys []K, values []float64) {
	switch {
	case !b.params.valued():
		private.Poison(b.secret, "was given values by AddUserValues, and its Params have no Min and Max, no Values and no Levels")
		return
	case len(keys) != len(values):
		private.Poison(b.secret, "was given keys and values that are not of one length")
		return
	}
	b.add(keys, values)
}

// Merge adds the users of another Builder, which gives up its data; a user in both counts as two.
// The machine must be trusted with all the data. The error wraps [ErrMismatch] if Params, lists,
// passes or Discoveries differ or other is b, and [ErrReleased] if one was released; then nothing
// changes.
func (b *Builder[K]) Merge(other *Builder[K]) error {
	if other == nil {
		other = new(Builder[K])
	}
	return merge(b.secret, other.secret)
}

// merge adds the data of other, and takes it.
func merge[K hashing.Key](into, other secret[state[K]]) error {
	return private.Merge(into, other, "groupby: Merge", "Builder", func(s, o *state[K]) error {
		if err := s.matches(o); err != nil {
			return err
		}
		numbers := make([]uint32, len(o.table.cells))
		for n, key := range o.table.keys {
			if i, ok := s.table.entry(key, s.table.hasher.Hash(key)); ok {
				s.table.cells[i].add(o.table.cells[n])
				addTo(s.table.lost(int(i)), o.table.lost(n))
				numbers[n] = i
			}
		}
		for at, weight := range o.cellWeights {
			s.cellWeights.add(uint64(numbers[at>>32])<<32|at&(1<<32-1), weight)
		}
		s.users.append(o.users, numbers)
		addTo(s.shorts, o.shorts)
		s.others = sum(s.others, o.others)
		return nil
	})
}

// Release spends the budget and returns the private groups. The Builder gives up its data. A second
// call, or one before [Builder.SecondPass], returns an error that wraps [ErrReleased].
func (b *Builder[K]) Release() (*Groups[K], error) {
	begun := true
	private.Use(b.secret, func(s *state[K], begun *bool) { *begun = s.pass != unbegun[K]() }, &begun)
	if !begun {
		return nil, check.NoDataError("groupby: Release: the Builder", "has not begun its second pass: call SecondPass, and add all users once more")
	}
	s, err := private.Take(b.secret, "groupby: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return s.pass.(releasing[K]).release(s), nil
}

// matches returns an error that wraps ErrMismatch if the two states cannot be merged.
func (s *state[K]) matches(o *state[K]) error {
	if err := check.Equal("groupby", s.params, o.params); err != nil {
		return err
	}
	if s.pass != o.pass {
		return check.MismatchError("groupby", "pass", passName(s.pass), passName(o.pass))
	}
	if s.chosen != o.chosen {
		return check.MismatchError("groupby", "FullKeys", s.clip().full, o.clip().full)
	}
	return sameKeys(s.table.keys[:s.found], o.table.keys[:o.found])
}

// sameKeys returns an error that wraps ErrMismatch unless the keys that were found, or listed, are
// equal.
func sameKeys[K hashing.Key](ours, keys []K) error {
	if !slices.Equal(ours, keys) {
		return check.MismatchError("groupby", "Discovery or list", "the keys of one", "those of another")
	}
	return nil
}
