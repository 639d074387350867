package threshold

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/totals"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret[K hashing.Key] = private.State[state[K]]

// Builder sums values by key. The caller bounds how far the vectors of neighbouring inputs differ;
// for data of users, whom the library bounds itself, take package threshold/groupby.
//
// It holds private data: it prints nothing of it, encodes nothing, and Release is the only way out.
// One goroutine at a time may use it; Add and Release panic where they see two at work.
type Builder[K hashing.Key] struct {
	secret[K]
	guarantee budget.Guarantee
}

type state[K hashing.Key] struct {
	params Params
	law    calibration
	keys   wire.Keys[K]
	totals totals.Table[K] // in steps
	beside int64           // in steps
	listed list[K]         // of NewListed
	src    noise.Source
}

// maxTotal is where a total saturates, in steps. Noise is below it with all but a probability of
// e^{−1000}.
const maxTotal = 1 << 61

// New returns an empty Builder of a vector whose neighbours are at an ℓ₁ distance of at most
// Sensitivity, or an error that wraps [ErrParams]. It refuses MaxKeys: Add does not know which user
// a value is from, so it cannot keep users within that limit. Package threshold/groupby takes
// users, of any number of keys; [NewBounded] takes the caller's word.
//
// It calibrates the mechanism, which takes microseconds.
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	if p.Listed {
		return nil, fault.Params("threshold", "Listed", p.Listed, "false in New: NewListed takes the list")
	}
	if p.MaxKeys != 0 {
		return nil, fault.Params("threshold", "MaxKeys", p.MaxKeys, "0 in New: package threshold/groupby takes users, NewBounded the caller's word")
	}
	return calibrated(p, list[K]{})
}

// NewBounded returns an empty Builder. The caller promises that the vectors of neighbouring inputs
// differ in at most MaxKeys entries, by at most MaxValue each and Sensitivity in total. The
// counters of a sketch are such a vector, as in package misragries. Nothing enforces the promise;
// for data of users take package threshold/groupby. The error wraps [ErrParams], also for a MaxKeys
// of 0.
//
// It calibrates the mechanism as New does. For CorrelatedGaussian that takes some 2 ms, up to 0.1 s
// where ε is far from 1 or δ above 1e-3. Params that were calibrated before take microseconds.
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func NewBounded[K hashing.Key](p Params) (*Builder[K], error) {
	if p.MaxKeys == 0 {
		return nil, fault.Params("threshold", "MaxKeys", p.MaxKeys, "an integer in [1, 2²⁰] in NewBounded")
	}
	if p.Listed {
		return nil, fault.Params("threshold", "Listed", p.Listed, "false in NewBounded: NewListed takes the list")
	}
	return calibrated(p, list[K]{})
}

// NewCalibrated is New or NewBounded for a Law, which is calibrated already. The error wraps
// [ErrParams], also for the zero Law and for one of listed keys.
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func NewCalibrated[K hashing.Key](l Law) (*Builder[K], error) {
	if l.numbers.method == Auto || l.params.Listed {
		return nil, fault.Params("threshold", "Law", l.numbers.method, "one of Params.Law, and not of listed keys")
	}
	return newBuilder(l, list[K]{})
}

// calibrated returns an empty Builder, of the listed keys if there are some.
func calibrated[K hashing.Key](p Params, listed list[K]) (*Builder[K], error) {
	l, err := p.Law()
	if err != nil {
		return nil, err
	}
	return newBuilder(l, listed)
}

func newBuilder[K hashing.Key](l Law, listed list[K]) (*Builder[K], error) {
	keys := wire.KeysOf[K]()
	if !l.params.Listed {
		if err := keys.CheckDim("threshold", l.params.Dim); err != nil {
			return nil, err
		}
	}
	s := private.New(state[K]{params: l.params, law: l.numbers, keys: keys, totals: totals.New[K](maxTotal), listed: listed})
	return &Builder[K]{s, l.Guarantee()}, nil
}

// Guarantee returns what Release promises, as [Params.Guarantee]: for inputs that differ by no more
// than the Params say, which the caller sees to. A Builder that New did not make promises nothing.
func (b *Builder[K]) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds the value to the total of the key. NaN counts as 0. Totals saturate at ±2⁶¹ grid steps,
// which is at least 2⁴⁴ times the noise or 2⁴⁴ times the limit of one value, whichever is less.
// With Dim, keys outside [0, Dim) are ignored; with a list, keys that are not in it. Once there are
// 2³² − 1 keys, new ones are ignored, and the guarantee ends.
//
// The caller bounds how far the values of neighbouring inputs differ, over all calls: the absolute
// changes sum to at most Sensitivity. Where MaxKeys is given, at most MaxKeys keys change, by at
// most MaxValue each; and in each of these keys either one value changes, or one input adds values
// of one sign that the other does not add.
//
// A value between two grid points is rounded to one of them at random, so that the mean is right.
// Where MaxKeys is given it is rounded towards 0, and a value below 0 counts as 0 unless Signed.
// With Integers, a value is rounded to the nearest integer.
//
// A string key is kept as it is, so the memory it shares stays alive: clone substrings of large
// buffers. After Release, and on a Builder that New did not make, Add does nothing: the release is
// final. A caller that cannot be sure asks [Builder.Released] first.
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

// AddBeside adds the value to the one number that is released beside the keys, always and with
// noise: see [Vector.Beside]. Without Params.Beside it does nothing.
//
// The caller promises that the number moves against the totals of the keys: of two neighbours, one
// has totals that are equal or higher, by at most MaxValue each, and a number that is equal or
// lower, by at most MaxValue. A sketch is an example: its counters, and the number of counts that
// it lost. Values are rounded and saturate as those of keys.
func (b *Builder[K]) AddBeside(value float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	if s.params.Beside {
		s.beside = min(s.beside+s.steps(value), maxTotal)
	}
	private.Leave(b.secret)
}

// Grow makes room for n more keys, so that adding them does not copy the table: a hint, for those
// who know how many to expect.
func (b *Builder[K]) Grow(n int) {
	if s := private.Enter(b.secret); s != nil {
		s.totals.Reserve(n)
		private.Leave(b.secret)
	}
}

// outside reports whether the key is none of the Dim keys.
func (s *state[K]) outside(key K) bool {
	if s.params.Listed {
		return !s.listed.has(key)
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
	y := value / s.law.step
	switch {
	case y >= maxTotal:
		return maxTotal
	case y <= -maxTotal:
		return -maxTotal
	}
	if !users && !s.params.Integers && (y != math.Trunc(y) || y == 0) {
		y = noise.RandomizedRound(&s.src, value, s.law.step) / s.law.step
	}
	return int64(y)
}

// Released reports whether the Builder has been released, and Add therefore ignores what it is
// given.
func (b *Builder[K]) Released() bool { return private.Released(b.secret) }

// Release spends the budget and returns the private vector. The Builder gives up its data; a second
// Release returns an error that wraps [ErrReleased].
func (b *Builder[K]) Release() (*Vector[K], error) {
	s, err := private.Take(b.secret, "threshold: Release: the Builder")
	if err != nil {
		return nil, err
	}
	return s.release(), nil
}
