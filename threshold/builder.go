package threshold

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/totals"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// Builder sums values by key. It holds private data: it prints nothing of it, encodes nothing, and Release is the only
// way out. One goroutine at a time may use it.
type Builder[K hashing.Key] struct {
	state **state[K] // twice removed: fmt, slog and the encoders get no further than an address
}

// state is nil once released.
type state[K hashing.Key] struct {
	params Params
	law    calibration
	keys   wire.Keys[K]
	totals totals.Table[K] // in steps
	src    noise.Source
}

// maxTotal is where a total saturates, in steps. Noise is below it with all but a probability of e^{−1000}.
const maxTotal = 1 << 61

// New returns an empty Builder, or an error that wraps [ErrParams]. It calibrates the mechanism, which takes microseconds, or up to some
// 0.1 s for CorrelatedGaussian, a second where ε is far below 1 or δ above 1e-3.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	law, err := p.choose()
	if err != nil {
		return nil, err
	}
	keys := wire.KeysOf[K]()
	if err := keys.CheckDim("threshold", p.Dim); err != nil {
		return nil, err
	}
	p.Mechanism = law.mechanism
	p.Delta, p.Sensitivity, p.MaxValue, p.FalseKeys = p.Delta+0, p.Sensitivity+0, p.MaxValue+0, p.FalseKeys+0 // no −0
	s := &state[K]{params: p, law: law, keys: keys, totals: totals.New[K](maxTotal)}
	return &Builder[K]{&s}, nil
}

// Add adds the value to the total of the key. NaN counts as 0, and totals saturate at ±2⁶¹ steps of the grid, which are at
// least 2⁴⁴ times the noise or the limit of one value, whichever is less. With Dim, keys outside [0, Dim) are ignored. So are new keys once
// there are 2³² − 1, where the guarantee ends.
//
// The value may be what one user contributes or what many do. Whether one user stays within the limits of the Params is for the
// caller to know, as Add does not; [Builder.AddUser] sees to it. What counts is the change of the values that are added: under L1 the sum of
// their absolute changes, over all calls, is at most Sensitivity. Where MaxKeys is given, what one user changes of a key must be in
// one value, or in values that are that user's alone and of one sign.
//
// A value off the grid goes to one of the two grid points next to it at random, with the right mean. Where MaxKeys is given it goes to the one
// nearer to 0, and a value below 0 counts as 0 unless Signed: users add, and do not take back. Integers are rounded to the nearest.
//
// A string key is kept as it is, so the memory it shares stays alive: clone substrings of large buffers. After Release, and on a
// Builder that New did not make, Add does nothing: the release is final. A caller that cannot be sure asks [Builder.Released] first.
func (b *Builder[K]) Add(key K, value float64) {
	if b.Released() {
		return
	}
	s := *b.state
	if s.outside(key) {
		return
	}
	s.totals.Add(key, s.steps(value))
}

// outside reports whether the key is none of the Dim keys.
func (s *state[K]) outside(key K) bool {
	return s.params.Dim > 0 && s.keys.Bits(key) >= s.params.Dim // a negative key has bits of 2⁶³ or more, and Dim is at most that
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

// Released reports whether the Builder has been released, and Add therefore ignores what it is given.
func (b *Builder[K]) Released() bool { return b.state == nil || *b.state == nil }

// Release spends the budget and returns the private vector. The Builder gives up its data; a second Release returns an error that
// wraps [ErrReleased].
func (b *Builder[K]) Release() (*Vector[K], error) {
	if b.Released() {
		return nil, fmt.Errorf("threshold: Release: the Builder is %w", fault.ErrReleased)
	}
	s := *b.state
	*b.state = nil
	return s.release(), nil
}

const redacted = "threshold.Builder (private)"

// Format prints a fixed text under every verb.
func (b Builder[K]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// LogValue logs a fixed text.
func (b Builder[K]) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText encodes a fixed text, so that JSON and XML hold nothing else.
func (b Builder[K]) MarshalText() ([]byte, error) { return []byte(redacted), nil }
