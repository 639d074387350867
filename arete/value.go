package arete

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// Value is a released number: public, immutable, safe for concurrent readers. All that it computes is post-processing and costs no budget.
type Value struct {
	params  Params
	noise   spec
	point   int64 // in steps
	parties int   // how many shares of noise it has
	need    int   // how many make the calibrated law
}

// newValue returns a released number. The point saturates as no sum of values and noise does but one that is out of range anyway.
func newValue(p Params, s spec, point int64, parties, need int) Value {
	return Value{p, s, min(max(point, -2*maxPoint), 2*maxPoint), parties, need}
}

// valid reports whether v was released or decoded.
func (v *Value) valid() bool { return v.need > 0 }

// Params returns the parameters of the release, with the Law that was used.
func (v *Value) Params() Params { return v.params }

// Guarantee returns the guarantee of the release.
func (v *Value) Guarantee() noise.Guarantee {
	if !v.valid() {
		return noise.Guarantee{}
	}
	return v.params.Guarantee()
}

// Estimate returns the released number, in the units of the data: the true one plus noise of mean 0. NaN for the zero Value.
func (v *Value) Estimate() float64 {
	if !v.valid() {
		return math.NaN()
	}
	return v.units(float64(v.point))
}

// units returns k steps in the units of the data, rounded to an integer where the value is one.
func (v *Value) units(k float64) float64 {
	delta := v.params.sensitivity()
	if v.params.Integers && float64(v.noise.size) == delta {
		return k
	}
	x := k / float64(v.noise.size) * delta
	if v.params.Integers {
		x = math.Floor(x + 0.5)
	}
	return x
}

// Parties returns how many parties' shares of the noise are in the number, and how many are needed; 1 and 1 for a release by one party.
func (v *Value) Parties() (present, needed int) { return v.parties, v.need }

// law returns the law of the noise, for all shares.
func (v *Value) law() spec {
	s := v.noise
	s.copies = float64(v.parties) / float64(v.need)
	return s
}

// StdDev returns the standard deviation of the noise, in the units of the data. NaN for the zero Value.
func (v *Value) StdDev() float64 {
	if !v.valid() {
		return math.NaN()
	}
	return math.Sqrt(v.law().variance()) / float64(v.noise.size) * v.params.sensitivity()
}

// Interval returns bounds that hold the true value with at least the given confidence. Of several parties it is the sum of their clamped
// numbers, as rounded to the lattice: each by half a step at most. NaN for a confidence outside [0, 1), and for the zero Value.
//
// They are the quantiles of the noise where these take less than 2²⁰ masses to compute, and the calibrated law is the whole of it; otherwise Chernoff's bound.
func (v *Value) Interval(confidence float64) (lo, hi float64) {
	if !v.valid() || !(confidence >= 0 && confidence < 1) {
		return math.NaN(), math.NaN()
	}
	s := v.law()
	most := math.Ceil(s.deviation(confidence))
	if s.copies == 1 && (s.law == DiscreteLaplace || most+s.reach(45) < 1<<20) {
		l := Lattice{params: v.params, spec: s, tables: new(tables)}
		most = min(most, l.Quantile(1-(1-confidence)/2))
	}
	return v.units(float64(v.point) - most - 0.5), v.units(float64(v.point) + most + 0.5)
}

// String says what was released under which guarantee.
func (v *Value) String() string {
	return fmt.Sprintf("arete.Value: %v with %v noise of standard deviation %.4g, %v", v.Estimate(), v.params.Law, v.StdDev(), v.Guarantee())
}
