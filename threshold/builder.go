package threshold

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/keytable"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret[K hashing.Key] = private.State[state[K]]

// Builder sums values by key. The caller bounds how far the vectors of neighbouring inputs differ.
// It holds private data, which it never prints or encodes: only Release lets anything out. One
// goroutine at a time may use it; Add and Release panic if they detect concurrent use.
type Builder[K hashing.Key] struct {
	secret[K]
	guarantee budget.Guarantee
}

type state[K hashing.Key] struct {
	params Params
	law    sparse.Law
	keys   wire.Keys[K]
	totals keytable.Totals[K] // in steps
	list   []K                // of NewListed, sorted
	listed map[K]struct{}     // those keys
	src    noise.Source
}

// New returns an empty Builder of a vector whose neighbours are at an ℓ₁ distance of at most
// Sensitivity, or an error that wraps [ErrParams]. It refuses MaxKeys: Add does not know which user
// a value is from. For users use package threshold/groupby, or [NewBounded] if the caller
// guarantees the limit. An ε above 20 or a δ above 0.01 protects hardly anybody.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	if p.MaxKeys != 0 {
		return nil, check.ParamsError("threshold", "MaxKeys", p.MaxKeys, "0 in New: use package threshold/groupby for users, or NewBounded if the caller guarantees it")
	}
	return newBuilder[K](p, nil)
}

// NewBounded returns an empty Builder. The caller must guarantee that the vectors of neighbouring
// inputs differ in at most MaxKeys entries, by at most MaxValue each and Sensitivity in total. The
// counters of a sketch are such a vector, as in package misragries. The error wraps [ErrParams],
// also for a MaxKeys of 0. An ε above 20 or a δ above 0.01 protects hardly anybody.
func NewBounded[K hashing.Key](p Params) (*Builder[K], error) {
	if p.MaxKeys == 0 {
		return nil, check.ParamsError("threshold", "MaxKeys", p.MaxKeys, "an integer in [1, 2²⁰] in NewBounded")
	}
	return newBuilder[K](p, nil)
}

// NewListed returns an empty Builder of a vector over a public list of keys, of any key type: the
// countries of the world, say. Every listed key is released, also one without a value, with Laplace
// noise of scale Sensitivity/ε and no threshold. Other keys are ignored. It is ε-private, so Delta
// is 0. The list replaces Dim. With MaxKeys the caller must guarantee the same as for [NewBounded].
//
// The list must not come from the data, or the release says who is in them. For data of users use
// groupby.NewListed. The error wraps [ErrParams]. An ε above 20 protects hardly anybody.
func NewListed[K hashing.Key](p Params, keys ...K) (*Builder[K], error) {
	if p.Dim != 0 {
		return nil, check.ParamsError("threshold", "Dim", p.Dim, "0 in NewListed: the number of keys")
	}
	keys = slices.Clone(keys)
	wire.Sort(keys)
	keys = slices.Compact(keys)
	p.Dim, p.listed = uint64(len(keys)), true
	return newBuilder(p, keys)
}

// newBuilder returns an empty Builder, of the listed keys if there are some.
func newBuilder[K hashing.Key](p Params, list []K) (*Builder[K], error) {
	if p.listed && len(list) == 0 {
		return nil, check.ParamsError("threshold", "Dim", p.Dim, "at least 1: NewListed needs a list of at least one key")
	}
	law, err := p.inner().Law()
	if err != nil {
		return nil, err
	}
	keys := wire.KeysOf[K]()
	if !p.listed {
		if err := keys.CheckDim("threshold", p.Dim); err != nil {
			return nil, err
		}
	}
	listed := make(map[K]struct{}, len(list))
	for _, key := range list {
		listed[key] = struct{}{}
	}
	s := private.New(state[K]{params: p, law: law, keys: keys, totals: keytable.NewTotals[K](sparse.MaxTotal), list: list, listed: listed})
	return &Builder[K]{s, law.Guarantee()}, nil
}

// Guarantee returns what Release promises: [Params.Guarantee]. The zero Builder promises nothing.
func (b *Builder[K]) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds the value to the total of the key. NaN is no entry: it adds nothing. Totals saturate at
// ±2⁶¹ grid steps. This is at least the smaller of 2⁴⁴ times the noise and 2⁴⁴ times the limit of
// one value. With Dim, keys outside [0, Dim) are ignored; with a list, keys that are not in it.
// After 2³² − 1 keys, new ones are ignored, and the guarantee ends. A string key is not copied.
// After Release, and on the zero Builder, Add does nothing.
//
// The caller bounds how far the values of neighbouring inputs differ, over all calls: the absolute
// changes sum to at most Sensitivity. Where MaxKeys is given, at most MaxKeys keys change, by at
// most MaxValue each; and in each of these keys either one value changes, or one input adds values
// of one sign that the other does not add.
//
// A value between two grid points is rounded to one of them at random, so that the mean is right.
// Where MaxKeys is given it is rounded towards 0, and a value below 0 counts as 0 unless Signed.
func (b *Builder[K]) Add(key K, value float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	if !s.outside(key) {
		s.totals.Add(key, s.steps(value))
	}
	private.Leave(b.secret)
}

// Grow makes room for n more keys: a hint that saves copying.
func (b *Builder[K]) Grow(n int) {
	if s := private.Enter(b.secret); s != nil {
		s.totals.Reserve(n)
		private.Leave(b.secret)
	}
}

// outside reports whether the key is not one of the Dim keys.
func (s *state[K]) outside(key K) bool {
	if s.params.listed {
		_, listed := s.listed[key]
		return !listed
	}
	// a negative key has bits of 2⁶³ or more, and Dim is at most that
	return s.params.Dim > 0 && s.keys.Bits(key) >= s.params.Dim
}

// steps returns the value on the grid.
func (s *state[K]) steps(value float64) int64 {
	users := s.params.MaxKeys > 0
	if math.IsNaN(value) || users && value < 0 && !s.params.Signed {
		return 0
	}
	if s.params.Integers {
		value = math.Round(value)
	}
	step := s.law.Step()
	y := min(max(value/step, -sparse.MaxTotal), sparse.MaxTotal)
	if !users && !s.params.Integers && (y != math.Trunc(y) || y == 0) {
		y = noise.RandomizedRound(&s.src, value, step) / step
	}
	return int64(y)
}

// Released reports whether the Builder has been released.
func (b *Builder[K]) Released() bool { return private.Released(b.secret) }

// Release spends the budget and returns the private vector. The Builder gives up its data; a second
// Release returns an error that wraps [ErrReleased].
func (b *Builder[K]) Release() (*Vector[K], error) {
	s, err := private.Take(b.secret, "threshold: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return &Vector[K]{*sparse.Release(&s.src, s.law, s.totals.Entries(), 0, s.list)}, nil
}
