package approx

import (
	"fmt"
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Mechanism makes the estimates of a randomized algorithm differentially private by adding noise
// (Tětek; see [Params]). It holds no data. It answers as many queries as its Params say, from one
// execution of the algorithm, and all of them together are ε-private. The execution's own
// randomness must stay secret, as part of the privacy comes from it. For another execution make
// another Mechanism, and compose the guarantees ([budget.Compose]).
//
// It is safe for concurrent use.
type Mechanism struct {
	promised
	noise gridNoise

	mu   sync.Mutex
	src  noise.Source
	left int
}

// New returns a Mechanism with the least noise for the Params. The error wraps [ErrParams].
//
// For experiments, values that protect hardly anybody are accepted: ε above 20, δ above 0.01.
func New(p Params) (*Mechanism, error) {
	n, err := p.choose()
	if err != nil {
		return nil, err
	}
	return &Mechanism{promised: promised{p.normalized().withNoise(n.noise)}, noise: n, left: p.queries()}, nil
}

// promised are Params that are kept.
type promised struct{ params Params }

// Params returns the parameters, with the Noise that is used; for a search, with all defaults
// filled in.
func (p promised) Params() Params { return p.params }

// Guarantee returns what all queries of one Mechanism, or all rounds of one search, promise
// together: spend it once.
func (p promised) Guarantee() budget.Guarantee {
	if p.params.Advice != (Advice{}) { // of a search that was planned or decoded
		return budget.PureDP(p.params.Epsilon, p.params.Protects)
	}
	return p.params.Guarantee()
}

// Release returns the estimate with noise. It is clamped to ±Max; NaN counts as 0. The error wraps
// [ErrReleased]; whether it is returned depends only on the number of calls.
func (m *Mechanism) Release(estimate float64) (Value, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left <= 0 {
		return Value{}, fmt.Errorf("approx: all queries of the Mechanism are answered: %w", check.ErrReleased)
	}
	m.left--
	steps := roundedSteps(estimate, m.params.Max, m.noise.step) + m.noise.sample(&m.src)
	return Value{m.promised, m.noise, min(max(steps, -mostReleased), mostReleased)}, nil
}

// mostReleased is an upper bound on a release, in steps. Noise beyond 2⁶¹ steps is not told
// apart, and with any estimate is above this: clamping the sum is post-processing of the exact sum.
const mostReleased = 1 << 60

// roundedSteps clamps x to ±limit, or to what a grid holds if limit is 0, and rounds it to a
// multiple of step. It returns that in steps, at most limitSteps in size. The quotient is exact, or
// so small that it rounds to 0.
func roundedSteps(x, limit, step float64) int64 {
	if x != x {
		return 0
	}
	if limit > 0 {
		x = min(max(x, -limit), limit)
	}
	return int64(math.RoundToEven(min(max(x/step, -limitSteps), limitSteps)))
}
