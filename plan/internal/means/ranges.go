package means

import (
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// ranges are public ranges of the coordinates, within that of the Params.
type ranges struct{ min, max []float64 }

// WithRanges returns a Mechanism that knows the public range of every coordinate.
func (m *Mechanism) WithRanges(min, max []float64) (*Mechanism, error) {
	p := m.params
	switch {
	case p.Dim == 0:
		return nil, notMade()
	case len(min) != p.Dim:
		return nil, bad("min", len(min), "as many as Dim")
	case len(max) != p.Dim:
		return nil, bad("max", len(max), "as many as Dim")
	}
	r := &ranges{make([]float64, p.Dim), make([]float64, p.Dim)}
	for i := range min {
		if !(min[i] >= p.least() && min[i] < max[i]) {
			return nil, bad("min", min[i], "at least −Max, or 0 if NonNegative, and less than max")
		}
		if !(max[i] <= p.Max) {
			return nil, bad("max", max[i], "at most Max")
		}
		r.min[i], r.max[i] = min[i]+0, max[i]+0
	}
	return &Mechanism{params: p, scales: m.scales, ranges: r}, nil
}

// valid reports whether the ranges are what WithRanges makes of these Params.
func (r *ranges) valid(p Params) bool {
	for i, x := range r.min {
		if !(x >= p.least() && x < r.max[i] && r.max[i] <= p.Max) || x == 0 && math.Signbit(x) || r.max[i] == 0 && math.Signbit(r.max[i]) {
			return false
		}
	}
	return true
}

// haveZero reports whether 0 is in all ranges.
func (r *ranges) haveZero() bool {
	for i, x := range r.min {
		if x > 0 || r.max[i] < 0 {
			return false
		}
	}
	return true
}

// of returns the range of coordinate i; p.Max where there are none.
func (r *ranges) of(p Params, i int) (min, max float64) {
	if r == nil {
		return p.least(), p.Max
	}
	return r.min[i], r.max[i]
}

// centred reports whether Plain clips rows around the middles of the ranges.
//
// Sparse rows under AddRemove are clipped around 0. Let A be the norm of the ends that are farther
// from 0, and B ≤ A that of the half widths. A row x that is removed changes the sum of deviations
// from the middles c by ‖x − c‖ ≤ B, but one that loses its entries becomes −c, which changes the
// sum by ‖x‖ ≤ A. Around 0 both change it by ‖x‖ ≤ A. So the noise is for A around either point,
// and around 0 the noise of the divisor, times mean − centre, is that of a mean near 0.
func (r *ranges) centred(p Params, sparse bool) bool {
	return r != nil && p.Method == Plain && !p.NonNegative && !(sparse && p.Relation != budget.Replace)
}

// middles returns the middles of the ranges, and the norm of half of their widths, rounded up.
func (r *ranges) middles() (middle []float64, norm float64) {
	middle = make([]float64, len(r.min))
	for i, x := range r.min {
		middle[i] = x + (r.max[i]-x)/2
		half := max(r.max[i]-middle[i], middle[i]-x)
		norm += half * half
	}
	return middle, math.Sqrt(norm) * (1 + 0x1p-40)
}

// bound returns the norm that Plain clips at, which no row exceeds.
func (r *ranges) bound(p Params, sparse bool) float64 {
	switch {
	case r == nil && p.Dim == 1:
		return p.Max
	case r == nil:
		return math.Sqrt(float64(p.Dim)) * p.Max
	case r.centred(p, sparse):
		_, norm := r.middles()
		return norm
	}
	sum := 0.0
	for i, x := range r.max {
		far := max(x, -r.min[i])
		sum += far * far
	}
	return math.Sqrt(sum) * (1 + 0x1p-40)
}
