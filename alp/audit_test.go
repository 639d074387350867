package alp

import (
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// The audits release tables and lists of real size. Of the entries, those without a common cell
// among them are audited all at once, amid others that they may collide with: all have the one or
// all have the other of two values Δ apart, and each is a sample of what happens to one entry. The
// event has the ratio e^ε for one of them alone: the upper value lies at a threshold of its column
// and the cell shows the threshold's output or more, with probabilities ½ and ½e^{−ε′}, ε′ what the
// columns have of ε; and, of a listed entry, the list's value is no less than the true one, so that
// e^{ε−ε′} comes from the list below Turn, and all of e^ε above.

// audit is where the upper value of a pair lies.
type audit struct {
	name    string
	params  Params
	column  int     // counted from 0 outwards, −1 for the last; with above, any
	last    bool    // at the last threshold of the column, else the first that is no less than Δ
	listed  bool    // the event needs a list value, too
	above   bool    // above Turn: the event is the list's alone
	minus   bool    // a negative value
	control float64 // how many times the budget must be found out
}

var audits = []audit{
	// two thirds of ε alone: the list has the rest, and shows nothing
	{name: "default", params: Params{Epsilon: 1, Delta: 1e-6, Sparsity: 1500}, control: 3},
	{name: "default/listed", params: Params{Epsilon: 1, Delta: 1e-6, Sparsity: 1500}, column: -1, last: true, listed: true, control: 2},
	{name: "default/large", params: Params{Epsilon: 1, Delta: 1e-6, Sparsity: 1500}, listed: true, above: true, control: 2},
	{name: "pure/listed", params: Params{Epsilon: 1, Dim: 1 << 40, Sparsity: 1500}, column: -1, last: true, listed: true, control: 2},
	{name: "composition", params: Params{Epsilon: 1, Delta: 1e-6, Sparsity: 1500, Structure: Composition}, column: -1, last: true, listed: true, control: 2},
	{name: "ramp", params: Params{Epsilon: 1, Max: 40, Sparsity: 1500, Bits: 300, Variant: Variant{Levels: 2, Alpha: 3}}, control: 2},
	// a change of Δ at once loses ln(1+ε) only
	{name: "linear", params: Params{Epsilon: 1, Max: 8, Sparsity: 1500, Bits: 300, Variant: Variant{Linear: true, Alpha: 1}}, control: 4},
	{name: "columns", params: Params{Epsilon: 1, Max: 40, Sparsity: 1500, Variant: Variant{Levels: 8, Columns: 3}}, control: 2},
	{name: "histogram", params: Params{Epsilon: 1, Max: 10, Sparsity: 1500, Integers: true, Bits: 300, Variant: Variant{Levels: 2, Alpha: 1}}, control: 2},
	{name: "signed", params: Params{Epsilon: 1, Max: 20, Sparsity: 1500, Signed: true, Variant: Variant{Levels: 4, Columns: 2}}, minus: true, control: 2},
}

// target is what an audit looks at: the two values, in steps, the column and the least output of
// the event.
type target struct {
	values [2]int64
	column int
	output uint8
}

func (a audit) target(s *shape) target {
	distance := int64(s.params.sensitivity() / s.step)
	if a.above {
		return target{values: [2]int64{s.turn + distance, s.turn + 2*distance}}
	}
	column := (a.column + s.half) % s.half
	at := func(l int) int64 { return int64(s.width+2*middle(s.width, s.code.levels, l)+1) / 2 }
	l := 1
	for l < s.code.levels-1 && (at(l) < distance || a.last) {
		l++
	}
	upper := int64(column*s.width) + max(at(l), distance)
	t := target{[2]int64{upper - distance, upper}, column, uint8(l)}
	if a.minus {
		t.values = [2]int64{-t.values[0], -t.values[1]}
		t.column = s.half - 1 - column
	} else if s.params.Signed {
		t.column += s.half
	}
	return t
}

// audited returns indices that have no cell in common.
func audited(s *shape, n int) (indices []uint64) {
	taken := map[uint64]bool{}
search:
	for index := uint64(1 << 20); len(indices) < n; index++ {
		cells := s.locate(index, nil)
		for _, cell := range cells {
			if taken[cell] {
				continue search
			}
		}
		for _, cell := range cells {
			taken[cell] = true
		}
		indices = append(indices, index)
	}
	return indices
}

// hits counts for how many of the audited entries the event happens, where they all have the value,
// and drawn is what is drawn from.
func (a audit) hits(t *testing.T, s, drawn *shape, value int64, indices []uint64, releases int) (count int64) {
	target := a.target(s)
	var entries []total
	var cells []uint64
	for _, index := range indices {
		entries, cells = append(entries, total{Key: index, Steps: value}), append(cells, s.locate(index, nil)[target.column])
	}
	for i := range uint64(500) {
		entries = append(entries, total{Key: i, Steps: int64(float64(i%60) / s.step)})
	}
	sparse.SortEntries(entries)
	var src noise.Source
	for range releases {
		var list *sparse.Vector[uint64]
		if s.hasList {
			list = dptest.OK(drawn.releaseList(&src, entries))(t)
		}
		table := drawn.drawGiven(&src, entries, list)
		for i, index := range indices {
			if (a.above || table.at(cells[i]) >= target.output) && (!a.listed || list.Estimate(index) >= float64(s.phi(target.values[1]))) {
				count++
			}
		}
	}
	return count
}

// No audit finds more than ε; with the law of twice the budget (or a little more where the event
// has less than all of ε), every one does. The bounds hold with 1 − 1e-10, and those of the
// controls are 6.4 standard deviations and more above what is asked.
func TestAudit(t *testing.T) {
	const keys, releases = 400, 24
	for i, a := range audits {
		t.Run(a.name, func(t *testing.T) {
			skipMost(t, i+2) // default/listed is one that stays
			a.params.Seed[5] = 1
			s := dptest.OK(a.params.shape())(t)
			over := s
			eta := s.params.columnEta() * a.control
			over.code = columnCode(s.width, s.code.levels, decayOf(eta))
			if s.params.Linear {
				over.code = linearCode(s.width, decayOf(eta))
			}
			over.list.Epsilon *= a.control
			indices := audited(&s, keys)
			values := a.target(&s).values
			bound := func(drawn *shape) float64 {
				const n = keys * releases
				lower, upper := a.hits(t, &s, drawn, values[0], indices, releases), a.hits(t, &s, drawn, values[1], indices, releases)
				return max(dptest.EpsilonLowerBound(upper, n, lower, n, a.params.Delta, 1-1e-10), dptest.EpsilonLowerBound(n-lower, n, n-upper, n, a.params.Delta, 1-1e-10))
			}
			dptest.Alarm(t, 2e-10) // two directions
			dptest.Alarm(t, 1e-10) // the control
			found := bound(&s)
			require.LessOrEqual(t, found, a.params.Epsilon)
			require.Greater(t, found, 0.25*a.params.Epsilon, "the event says nothing")
			require.Greater(t, bound(&over), a.params.Epsilon, "%g times the budget must be found out", a.control)
		})
	}
}
