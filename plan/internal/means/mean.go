package means

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Mean is what a release returns: public, all that package plan encodes.
type Mean struct {
	Params  Params
	Rows    float64 // public, or as released
	Scaled  bool
	Limit   float64 // C
	Divisor float64
	Values  []float64
	Errors  []float64 // standard deviations of the noise of the values
	Centres []float64 // nil for the origin
	Lower   []float64 // the ranges, nil unless given
	Upper   []float64
	Scales  []float64 // nil if none were estimated or given
	Spent   Spent
}

// Spent is what the steps of a release took of ρ.
type Spent struct{ Centre, Scale, Clip, Divisor, Sum float64 }

// Centre returns the centre of coordinate i.
func (m *Mean) Centre(i int) float64 {
	if m.Centres == nil {
		return 0
	}
	return m.Centres[i]
}

// ranges returns the ranges, or nil.
func (m *Mean) ranges() *ranges {
	if m.Lower == nil {
		return nil
	}
	return &ranges{m.Lower, m.Upper}
}

// Wrong says what no release has, or "": of the Params, the single numbers and which lists there
// are, before the lists are read. centred and ranged say whether centres and ranges follow.
func (m *Mean) Wrong(centred, ranged bool) string {
	p, s := m.Params, m.Spent
	plain := ranged && p.Method == Plain && !p.NonNegative // around the middles, or around 0
	sum := s.Centre + s.Scale + s.Clip + s.Divisor + s.Sum
	switch {
	case p.Validate() != nil || p.Resolved() != p || p.Steps.Centre == AutoCentre || p.Method == Auto || p.Margin == 0:
		return "invalid Params"
	case centred != (p.Steps.Centre == Median || plain) && !(plain && p.Relation != budget.Replace):
		return "a centre without medians, or none with them"
	case !(m.Rows >= 0 && m.Rows <= 2*MaxRows) || !p.PrivateRows() && m.Rows != float64(p.Rows):
		return "an impossible number of rows"
	case !(m.Limit > 0 && m.Limit <= math.MaxFloat64) || !(m.Divisor >= 1 && m.Divisor <= 2*MaxRows):
		return "an impossible C or γ"
	case !(s.Centre >= 0 && s.Scale >= 0 && s.Clip >= 0 && s.Divisor >= 0 && s.Sum > 0 && sum <= p.Rho*(1+0x1p-40)):
		return "an impossible use of the budget"
	}
	return ""
}

// RangesFit reports whether the ranges are such as WithRanges makes, and the centre is what Plain
// makes of them.
func (m *Mean) RangesFit() bool {
	r := m.ranges()
	if !r.valid(m.Params) {
		return false
	}
	if m.Centres == nil || !r.centred(m.Params, false) {
		return true
	}
	middle, _ := r.middles()
	return slices.Equal(middle, m.Centres)
}
