package threshold

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// Builder sums values by key. It holds private data: it prints nothing of it, encodes nothing, and Release is the only
// way out. One goroutine at a time may use it.
type Builder[K hashing.Key] struct {
	state **state[K] // twice removed: nothing that walks a Builder by reflection and prints gets past an address
}

// state is nil once released.
type state[K hashing.Key] struct {
	params Params
	law    calibration
	keys   wire.Keys[K]
	totals table[K] // in steps
	src    noise.Source
}

// maxTotal is where a total saturates, in steps. Noise is below it with all but a probability of e^{−1000}.
const maxTotal = 1 << 61

// New returns an empty Builder, or an error that wraps [ErrParams]. It calibrates the mechanism, which takes up to some
// 0.1 s where MaxKeys is in the thousands and the mechanism is left open.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	law, err := p.choose()
	if err != nil {
		return nil, err
	}
	keys := wire.KeysOf[K]()
	if p.Dim > 0 {
		if keys.Class() == wire.TextKey {
			return nil, fault.Params("threshold", "Dim", p.Dim, "0 for keys that are strings: with Dim the keys are integers")
		}
		if last, ok := keys.FromBits(p.Dim - 1); !ok || keys.Class() == wire.SignedKey && p.Dim > 1<<63 {
			return nil, fault.Params("threshold", "Dim", p.Dim, fmt.Sprintf("such that Dim − 1 is a key of type %T", last))
		}
	}
	p.Mechanism = law.mechanism
	s := &state[K]{params: p, law: law, keys: keys, totals: newTable[K]()}
	return &Builder[K]{&s}, nil
}

// Add adds the value to the total of the key. NaN counts as 0, and totals saturate at ±2⁶¹ steps of the grid, which are at
// least 2⁴⁴ times the noise or the limit of one value, whichever is less (2⁶¹ for Integers). With Dim, keys outside [0, Dim) are ignored;
// so are new keys once there are 2³² − 1.
//
// The value may be what one user contributes or what many do. Whether one user stays within the limits of the Params is for the
// caller to know, as Add does not; [Builder.AddUser] sees to it.
//
// A value off the grid goes to the nearest grid point if MaxKeys or Integers is given, and else to one of the two next to it
// at random, with the right mean.
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
	s.totals.add(key, s.steps(value))
}

// outside reports whether the key is none of the Dim keys.
func (s *state[K]) outside(key K) bool {
	return s.params.Dim > 0 && s.keys.Bits(key) >= s.params.Dim // a negative key has bits of 2⁶³ or more, and Dim is at most that
}

// steps returns the value on the grid.
func (s *state[K]) steps(value float64) int64 {
	if math.IsNaN(value) {
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
	if s.params.MaxKeys == 0 && !s.params.Integers && (y != math.Trunc(y) || y == 0) {
		y = noise.RandomizedRound(&s.src, value, s.law.step) / s.law.step
	}
	return int64(math.Round(y))
}

// saturatingSum returns a + b, at most ±maxTotal. Both are within that.
func saturatingSum(a, b int64) int64 { return min(max(a+b, -maxTotal), maxTotal) }

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
