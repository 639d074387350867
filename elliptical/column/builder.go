package column

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret = private.State[state]

// Builder adds up the values of a column, or holds them if the range is learned. It never prints
// these private data: only [Builder.Release] and [Builder.AppendPrivateState] let anything out. It
// is for one goroutine at a time; a call panics if it detects a concurrent one. After Release, and
// on the zero Builder, adding does nothing.
type Builder struct {
	secret
	params    Params
	guarantee budget.Guarantee
}

// state is what a Builder holds.
type state struct {
	totals
	kept   kept // where the range is learned
	grid   grid
	law    law
	params Params
	bound  float64 // where the range is learned, else 0
}

// New returns an empty Builder, or an error that wraps [ErrParams]. An ε above 20 or a δ above 0.01
// protects hardly anybody.
func New(p Params) (*Builder, error) {
	planned, err := p.planned()
	if err != nil {
		return nil, err
	}
	p = planned.params
	s := state{grid: p.grid(half), law: planned.law, params: p}
	if p.learns() {
		s.bound = p.bound()
	}
	return &Builder{private.New(s), p, p.summarised()}, nil
}

// Guarantee returns what Release promises; nothing for the zero Builder.
func (b *Builder) Guarantee() budget.Guarantee { return b.guarantee }

// Add adds one row. Values outside [Min, Max], or [−Bound, Bound], are clamped.
func (b *Builder) Add(x float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	switch k := &s.kept; {
	case s.bound > 0 && len(k.last) < cap(k.last) && math.Abs(x) <= s.bound:
		k.last = append(k.last, x+0) // without −0
	case !s.params.isRow(x):
	case s.bound > 0:
		k.add(x, s.bound)
	default:
		s.add(s.grid.place(x))
	}
	private.Leave(b.secret)
}

// AddN adds n rows of one value; none if n is below 1. Above 2³² (2²⁶ if the range is learned) the
// Builder gives up its data, and Release says so.
func (b *Builder) AddN(x float64, n int) {
	most := int64(mostAtOnce)
	if b.params.learns() {
		most = mostKeptAtOnce
	}
	if int64(n) > most {
		private.Poison(b.secret, tooManyRows)
		return
	}
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	switch {
	case n < 1 || !s.params.isRow(x):
	case s.bound > 0:
		for range n {
			s.kept.add(x, s.bound)
		}
	default:
		s.addN(s.grid.place(x), int64(n))
	}
	private.Leave(b.secret)
}

// mostAtOnce and mostKeptAtOnce are how many rows one AddN may add: the latter take half a
// gigabyte.
const mostAtOnce, mostKeptAtOnce = 1 << 32, 1 << 26

// tooManyRows is why a Builder has no data after an AddN beyond that. It does not say how many they
// were, as the numbers of a histogram are private.
const tooManyRows = "was given too many rows at once: AddN takes at most 2³², and 2²⁶ where the range is learned"

// Merge adds the rows of another Builder, which gives up its data. The error wraps [ErrMismatch] if
// the Params (or levels) differ or other is b itself, and [ErrReleased] if one was released. After
// an error nothing has changed.
func (b *Builder) Merge(other *Builder) error {
	if other == nil {
		other = new(Builder)
	}
	return private.Merge(b.secret, other.secret, "column: Merge", "Builder", func(s, o *state) error {
		if b.params != other.params {
			return check.MismatchError("column", "Params", b.params, other.params)
		}
		s.rows += o.rows
		s.first = s.first.Plus(o.first)
		s.second = s.second.Plus(o.second)
		s.kept.merge(&o.kept)
		return nil
	})
}

// Released reports whether the data have been released or merged into another's.
func (b *Builder) Released() bool { return private.Released(b.secret) }

// Release spends the budget and the data, and returns the statistics. A second Release returns an
// error that wraps [ErrReleased]. If Params.Rows is given and not the number of rows, the error
// wraps [ErrMismatch] and the Builder is unchanged.
func (b *Builder) Release() (*Summary, error) {
	if s := private.Enter(b.secret); s != nil {
		rows := s.rows
		private.Leave(b.secret)
		if b.params.Relation == budget.Replace && b.params.Rows > 0 && int64(b.params.Rows) != rows {
			return nil, check.MismatchError("column", "Rows", b.params.Rows, rows)
		}
	}
	s, err := private.Take(b.secret, "column: Release: the Builder")
	if err != nil {
		return nil, err
	}
	if s.bound > 0 {
		return s.learn(), nil
	}
	r := &Summary{params: s.params, law: s.law, values: s.law.release(&s.totals)}
	if s.params.Relation == budget.Replace {
		r.rows = s.rows
	}
	return r, nil
}
