package series

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret[K hashing.Key] = private.State[state[K]]

// Builder counts a continuing stream, and releases a part of the series at the end of each step. It
// holds private data, which it never prints. One goroutine at a time may use it; concurrent use
// panics if detected.
type Builder[K hashing.Key] struct {
	secret[K]
	params  Params
	promise budget.Guarantee
}

// state is what a Builder holds. Which keys are known, since when and at which rate is public.
type state[K hashing.Key] struct {
	params      Params
	calibration calibration
	steps       int // that are closed
	draw        publisher[K]

	known []member[K] // sorted by key
	at    map[K]int   // index into known; none with Dim, where it is the key
	keys  wire.Keys[K]

	unknown  tally[K]                 // exact discovery
	sketches []*misragries.Builder[K] // the other discovery: one for each span

	users    map[string]*bucket // those whose buckets may not be full
	elements [2]sums            // of all users: those that count, and those that are seen
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

// New returns a Builder at the beginning of step 0, or an error that wraps [ErrParams]. ε above 20,
// or δ above 0.01, protects hardly anybody.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	p, c, err := checked[K](p)
	if err != nil {
		return nil, err
	}
	b := &Builder[K]{private.New(state[K]{params: p, calibration: c, keys: wire.KeysOf[K](), draw: &noisy[K]{calibration: c}, users: map[string]*bucket{}}), p, p.Guarantee()}
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
			if s.sketches[i], err = misragries.New[K](c.sketch); err != nil {
				return nil, err // none: calibrate has asked
			}
		}
	}
	return b, nil
}

// checked returns the Params with all defaults filled in and their laws, for keys of type K.
func checked[K hashing.Key](p Params) (Params, calibration, error) {
	p = p.normal()
	c, err := p.calibrate()
	if err == nil {
		err = wire.KeysOf[K]().CheckDim("series", uint64(p.Dim))
	}
	return p, c, err
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

// Guarantee is that of the Params, for all Slices together. The zero Builder promises nothing.
func (b *Builder[K]) Guarantee() budget.Guarantee { return b.promise }

// Released reports whether this is the zero Builder, which ignores its arguments.
func (b *Builder[K]) Released() bool { return private.Released(b.secret) }

// Add counts one element of the open step: O(1), without allocation for a known key. With
// MaxElements use [Builder.AddFor], or Step refuses. A new string key is copied; with Counters it
// is stored as it is.
func (b *Builder[K]) Add(key K) { b.AddN(key, 1) }

// AddN counts n elements of one key, as n calls of Add do, and none if n is negative. With Counters
// an n above 2³² makes the Builder give up its data, and Step returns an error. A count saturates
// at 2⁵².
func (b *Builder[K]) AddN(key K, n int) {
	const most = 1 << 32
	if b.params.Counters > 0 && int64(n) > most {
		private.Poison(b.secret, "was given more than 2³² elements at once, and its Params have Counters: count in larger units, or without Counters")
		return
	}
	if b.params.MaxElements > 0 {
		private.Poison(b.secret, "was given an element without a user, and its Params have MaxElements: use AddFor")
		return
	}
	if s := private.Enter(b.secret); s != nil {
		if n > 0 {
			s.add(key, n)
		}
		private.Leave(b.secret)
	}
}

// AddFor counts elements of one user in the open step, one for each of the keys; it may be called
// many times. It returns how many of them count: an exact, PRIVATE number.
//
// With MaxElements = m every user starts with Burst tokens. In the order of the keys, each element
// takes a token if there is one; only those count. During the longest of the Spans m tokens come
// back, one by one, up to Burst, at times that differ from user to user: one whose elements come
// evenly, at most m in that span, loses none. With Dim, keys outside of Dim take no token. Without
// MaxElements the Builder gives up its data, and Step returns an error.
//
// The user's name is private, and is forgotten some time after the tokens are complete again. A
// person with two names is two users; all elements under the empty name are those of one.
func (b *Builder[K]) AddFor(user string, keys []K) (counted int) {
	if b.params.MaxElements == 0 {
		private.Poison(b.secret, "was given elements of a user, and its Params have no MaxElements: use Add, which protects single elements, or set MaxElements")
		return 0
	}
	if s := private.Enter(b.secret); s != nil {
		counted = s.addFor(user, keys)
		private.Leave(b.secret)
	}
	return counted
}

func (s *state[K]) addFor(user string, keys []K) (counted int) {
	left, seen := s.bucket(user), 0
	for _, key := range keys {
		if outside(key, s.params.Dim) {
			continue
		}
		if left.sights == 0 {
			break // and no token is left
		}
		left.sights--
		seen++
		if left.tokens > 0 {
			left.tokens--
			s.add(key, 1)
			counted++
		}
	}
	if seen > 0 {
		s.elements[0].raise(int64(counted))
		s.elements[1].raise(int64(seen))
		s.keep(user, left)
	}
	return counted
}

// add counts n elements. Whether their key is known is public, and does not change within a step.
func (s *state[K]) add(key K, n int) {
	if s.params.Dim > 0 {
		if i := s.keys.Bits(key); i < uint64(len(s.known)) {
			s.known[i].sums.raise(int64(n))
		}
		return
	}
	if i, known := s.at[key]; known {
		s.known[i].sums.raise(int64(n))
		return
	}
	if s.sketches == nil {
		s.unknown.add(key, n)
		return
	}
	for _, sketch := range s.sketches {
		for range n {
			sketch.Add(key)
		}
	}
}

// limit is where a count saturates.
const limit = 1 << 52

// sums are the counts of one key in the open nodes of nested spans, each without what the shorter
// ones hold: an element adds to the first alone.
type sums [maxSpans]int64

// raise counts n ≥ 0 elements. A sum that saturates keeps its distance to that of a neighbour: both
// are cut at the same number.
func (s *sums) raise(n int64) { s[0] = min(s[0]+min(n, limit), limit) }

// carry closes the node of the i-th of n spans: the next longer one takes over its count. It
// returns the count.
func (s *sums) carry(i, n int) int64 {
	count := s[i]
	s[i] = 0
	if i+1 < n {
		s[i+1] = min(s[i+1]+count, limit)
	}
	return count
}

// tally counts keys in nested spans.
type tally[K hashing.Key] struct {
	at   map[K]int // index into rows
	rows []row[K]
}

type row[K hashing.Key] struct {
	key  K
	sums sums
}

// add counts n elements. It copies a key that is new: what is counted lives for weeks.
func (t *tally[K]) add(key K, n int) {
	i, found := t.at[key]
	if !found {
		i = len(t.rows)
		if t.at == nil {
			t.at = map[K]int{}
		}
		key = wire.Clone(key)
		t.at[key] = i
		t.rows = append(t.rows, row[K]{key: key})
	}
	t.rows[i].sums.raise(int64(n))
}

// of returns the count of a key in the open node of the i-th span, which is due to close: the nodes
// of shorter spans have been carried.
func (t *tally[K]) of(key K, i int) int64 {
	at, found := t.at[key]
	if !found {
		return 0
	}
	return t.rows[at].sums[i]
}

// carry closes the node of the i-th of n spans. With the longest one all is forgotten.
func (t *tally[K]) carry(i, n int) {
	if i == n-1 {
		*t = tally[K]{}
		return
	}
	for at := range t.rows {
		t.rows[at].sums.carry(i, n)
	}
}
