package series

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret[K hashing.Key] = private.State[state[K]]

// Builder counts a stream that goes on, and releases a part of the series at the end of each step.
// It holds private data: it prints nothing of it, and [Builder.Step] is the only way out, but for
// what [Builder.AppendPrivateState] gives to the service's own store. One goroutine at a time may
// use it; a call panics where it sees another one at work.
type Builder[K hashing.Key] struct {
	secret[K]
	params  Params
	promise budget.Guarantee
}

// state is what a Builder holds. Which keys are known, since when and at which rate is public.
type state[K hashing.Key] struct {
	params Params
	law    calibration
	steps  int // that are closed
	draw   publisher[K]

	known []member[K] // sorted by key
	at    map[K]int   // index into known; none with Dim, where it is the key
	keys  wire.Keys[K]

	unknown  tally[K]                 // exact discovery
	sketches []*misragries.Builder[K] // the other discovery: one for each span

	users map[string]*visits // what each was given with in the last of the longest Spans
}

// member is a known key.
type member[K hashing.Key] struct {
	key   K
	since int  // the first step in which it is counted as known
	rate  rate // public
	sums  sums // private
}

// rate is a published count and the steps it is of: by it the keys are ranked that stay.
type rate struct {
	count int64
	steps int
}

func (r rate) perStep() float64 { return float64(r.count) / float64(r.steps) }

// New returns a Builder at the beginning of step 0, or an error that wraps [ErrParams].
func New[K hashing.Key](p Params) (*Builder[K], error) {
	p, law, err := check[K](p)
	if err != nil {
		return nil, err
	}
	b := &Builder[K]{private.New(state[K]{params: p, law: law, keys: wire.KeysOf[K](), draw: &noisy[K]{law: law}, users: map[string]*visits{}}), p, p.Guarantee()}
	s := private.Enter(b.secret)
	defer private.Leave(b.secret)
	s.known = make([]member[K], p.Dim)
	for i := range s.known {
		s.known[i].key, _ = s.keys.FromBits(uint64(i))
	}
	s.index()
	if p.Counters > 0 {
		s.sketches = make([]*misragries.Builder[K], len(used(&p.Discovery)))
		for i := range s.sketches {
			if s.sketches[i], err = misragries.New[K](law.sketch); err != nil {
				return nil, err // none: calibrate has asked
			}
		}
	}
	return b, nil
}

// check returns the Params with all defaults filled in and their laws, for keys of type K.
func check[K hashing.Key](p Params) (Params, calibration, error) {
	p = p.normal()
	law, err := p.calibrate()
	if err == nil {
		err = wire.KeysOf[K]().CheckDim("series", uint64(p.Dim))
	}
	return p, law, err
}

// index makes the index of the known keys.
func (s *state[K]) index() {
	if s.params.Dim > 0 {
		return
	}
	s.at = make(map[K]int, len(s.known))
	for i := range s.known {
		s.at[s.known[i].key] = i
	}
}

// Params returns the parameters, with all defaults filled in.
func (b *Builder[K]) Params() Params { return b.params }

// Guarantee returns what all Slices together promise, those of all future steps included: a ledger
// spends it once, when the series begins. A Builder that New did not make promises nothing.
func (b *Builder[K]) Guarantee() budget.Guarantee { return b.promise }

// Released reports whether the Builder was not made by New, and therefore ignores what it is given.
// Steps can be released without end.
func (b *Builder[K]) Released() bool { return private.Released(b.secret) }

// Add counts one element of the open step: O(1), without allocation for a known key. With
// MaxElements it counts nothing, as the user is not known: see [Builder.AddUser]. A new string key
// is copied, so it may be part of a large buffer; with Counters the sketches keep it as it is.
func (b *Builder[K]) Add(key K) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	if s.params.MaxElements == 0 {
		s.add(key)
	}
	private.Leave(b.secret)
}

// AddUser counts elements of one user in the open step. With MaxElements = p, an element counts if
// fewer than p of that user came before it within the longest of the Spans, this step included. So
// at most p count in any as many steps. Elements that do not count are remembered too: a user who
// always brings more than p does not count again before bringing fewer. Without MaxElements all
// elements count.
//
// The user's name is private, and is forgotten when the user has been away for two of the longest
// Spans, or sooner. It must always be the same: a person with two names is two users.
func (b *Builder[K]) AddUser(user string, keys ...K) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	for _, key := range keys[:s.admit(user, len(keys))] {
		s.add(key)
	}
	private.Leave(b.secret)
}

// add counts one element. Whether its key is known is public, and does not change within a step.
func (s *state[K]) add(key K) {
	if s.params.Dim > 0 {
		if i := s.keys.Bits(key); i < uint64(len(s.known)) {
			s.known[i].sums.raise(1)
		}
		return
	}
	if i, known := s.at[key]; known {
		s.known[i].sums.raise(1)
		return
	}
	if s.sketches == nil {
		s.unknown.add(key)
		return
	}
	for _, sketch := range s.sketches {
		sketch.Add(key)
	}
}
