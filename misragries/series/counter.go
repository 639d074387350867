package series

import (
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// CounterParams are the public numbers of a [Counter]. They are comparable.
type CounterParams struct {
	// Epsilon is ε of the whole series, in [2⁻³⁰, 2¹⁰]. There is no default.
	Epsilon float64
	// Spans are the lengths of the nodes: see [Params].
	Spans [8]int
	// MaxElements is the most elements of one user that count: see [Params].
	MaxElements int
}

// Params returns the Params of the Slices of a [Counter], and so of their [Timeline].
func (p CounterParams) Params() Params {
	return Params{Epsilon: p.Epsilon, Spans: p.Spans, Dim: 1, MaxElements: p.MaxElements}.normal()
}

// Guarantee returns what all releases together promise: ε for one element or, with MaxElements, for
// what one user does in any steps as long as the longest of the Spans. Invalid CounterParams
// promise nothing.
func (p CounterParams) Guarantee() budget.Guarantee { return p.Params().Guarantee() }

// StdErr returns the standard error of an estimate of a window: see [Params.StdErr].
func (p CounterParams) StdErr(steps int) float64 { return p.Params().StdErr(steps) }

// Counter counts one number a step: a series of one key, 0, which is known from the beginning. It
// holds private data as a [Builder] does, and its Slices are read by a [Timeline] of the key 0.
type Counter struct {
	secret[int]
	params  CounterParams
	promise budget.Guarantee
}

// NewCounter returns a Counter at the beginning of step 0, or an error that wraps [ErrParams].
func NewCounter(p CounterParams) (*Counter, error) {
	b, err := New[int](p.Params())
	if err != nil {
		return nil, err
	}
	p.Spans = b.params.Spans
	return &Counter{b.secret, p, b.promise}, nil
}

// builder returns the Builder of the one key.
func (c *Counter) builder() *Builder[int] {
	return &Builder[int]{c.secret, c.params.Params(), c.promise}
}

// Params returns the parameters, with all defaults filled in.
func (c *Counter) Params() CounterParams { return c.params }

// Guarantee returns what all Slices together promise, those of all future steps included: a ledger
// spends it once. A Counter that NewCounter did not make promises nothing.
func (c *Counter) Guarantee() budget.Guarantee { return c.promise }

// Released reports whether the Counter was not made by NewCounter, and therefore ignores what it is
// given. Steps can be released without end.
func (c *Counter) Released() bool { return private.Released(c.secret) }

// Add counts n elements of the open step; none where n is negative. With MaxElements it counts
// nothing: see [Counter.AddUser]. A node saturates at 2⁵² elements.
func (c *Counter) Add(n int) {
	s := private.Enter(c.secret)
	if s == nil {
		return
	}
	if s.params.MaxElements == 0 {
		s.known[0].sums.raise(int64(max(n, 0)))
	}
	private.Leave(c.secret)
}

// AddUser counts n elements of one user in the open step, as [Builder.AddUser] does.
func (c *Counter) AddUser(user string, n int) {
	s := private.Enter(c.secret)
	if s == nil {
		return
	}
	s.known[0].sums.raise(int64(s.admit(user, max(n, 0))))
	private.Leave(c.secret)
}

// Step closes the open step, opens the next one, and returns what is released at its end, as
// [Builder.Step] does.
func (c *Counter) Step() (*Slice[int], error) {
	s := private.Enter(c.secret)
	if s == nil {
		return nil, private.Missing(c.secret, "series: Step: the Counter")
	}
	defer private.Leave(c.secret)
	return s.step()
}

// AppendPrivateState appends all that the Counter holds to dst, for the service's own store. WHAT
// IT APPENDS IS PRIVATE DATA: see [Builder.AppendPrivateState].
func (c *Counter) AppendPrivateState(dst []byte) ([]byte, error) {
	return c.builder().AppendPrivateState(dst)
}

// RestorePrivateState replaces what the Counter holds by a state that AppendPrivateState gave; it
// refuses one that is behind what is published: see [Builder.RestorePrivateState].
func (c *Counter) RestorePrivateState(data []byte, published int) error {
	return c.builder().RestorePrivateState(data, published)
}
