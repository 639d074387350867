package arete

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Value is a released number: public, immutable, safe for concurrent readers. The zero Value is NaN
// and has no encoding.
type Value struct {
	params  Params
	noise   distribution
	point   int64 // in steps
	shared  bool  // a sum of shares
	parties int   // how many shares of noise it has, 1 if it is none
	need    int   // how many make the calibrated distribution
}

// newValue returns a number released by one party. The point saturates as no sum of values and
// noise does but one that is out of range anyway.
func newValue(p Params, s distribution, point int64) Value {
	return Value{params: p, noise: s, point: min(max(point, -2*maxPoint), 2*maxPoint), parties: 1, need: 1}
}

// valid reports whether v was released or decoded.
func (v *Value) valid() bool { return v.need > 0 }

// Params returns the parameters of the release, filled in.
func (v *Value) Params() Params { return v.params }

// Guarantee returns the guarantee of the release: for one row, or for one party of a sum.
func (v *Value) Guarantee() budget.Guarantee {
	switch {
	case !v.valid():
		return budget.Guarantee{}
	case v.shared:
		return v.params.promise(budget.Party(v.params.relation()))
	}
	return v.params.promise(budget.Row(v.params.relation()))
}

// Estimate returns the released number, in the units of the data: the true one plus noise of mean
// 0.
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

// Parties returns how many parties' shares are in the number, and how many are needed; 1 and 1 for
// one party.
func (v *Value) Parties() (present, needed int) { return v.parties, v.need }

// distribution returns that of the noise, for all shares.
func (v *Value) distribution() distribution {
	s := v.noise
	copies := float64(v.parties) / float64(v.need)
	switch {
	case s.law == Gaussian:
		s.scale *= math.Sqrt(copies)
	case s.jumps() && s.jump.jumps*copies <= maxCore: // a jump distribution again
		s.jump.core, s.jump.jumps = s.jump.core*copies, s.jump.jumps*copies
	default:
		s.copies = copies
	}
	return s
}

// StdDev returns the standard deviation of the noise, in the units of the data.
func (v *Value) StdDev() float64 {
	if !v.valid() {
		return math.NaN()
	}
	return math.Sqrt(v.distribution().variance()) / float64(v.noise.size) * v.params.sensitivity()
}

// Interval returns bounds that contain the true value with at least the given confidence, rounding
// to the lattice included; of several parties, the sum of their clamped numbers. NaN for a
// confidence outside [0, 1). Where noise may have wrapped around the Modulus, it is all that the
// Modulus holds. The first call for a noise and a confidence takes a millisecond or two, .1 s at ε
// = 20.
func (v *Value) Interval(confidence float64) (lo, hi float64) {
	if !v.valid() || !(confidence >= 0 && confidence < 1) {
		return math.NaN(), math.NaN()
	}
	roundings, margin := 0, 0.5
	switch {
	case v.params.onIntegers(v.noise.size):
		margin = 0
	case v.shared:
		roundings, margin = v.parties, 0
	}
	most, _ := reaches.Get(reach{v.noise, v.parties, v.need, roundings, confidence}, func() (float64, error) {
		return v.reach(roundings, confidence), nil
	})
	lo, hi = float64(v.point)-most-margin, float64(v.point)+most+margin
	if half := float64(v.params.Modulus / 2); v.shared && half > 0 && (lo < -half || hi > half) {
		lo, hi = -half, half
	}
	return v.units(lo), v.units(hi)
}

// reach is all that [Value.reach] depends on.
type reach struct {
	noise                    distribution
	parties, need, roundings int
	confidence               float64
}

// reaches are those that were computed.
var reaches memo.Table[reach, float64]

// reach returns a number of steps within which the noise and that many random roundings are, with
// the confidence.
func (v *Value) reach(roundings int, confidence float64) float64 {
	most := math.Ceil(v.distribution().deviation(confidence, roundings))
	if roundings == 0 {
		return min(most, v.quantile(1-confidence))
	}
	// or the noise and the roundings each by itself: the latter fail with a hundredth of the
	// probability (Hoeffding)
	part := (1 - confidence) / 100
	return min(most, v.quantile(1-confidence-part)+math.Sqrt(float64(roundings)/2*math.Log(2/part)))
}

// quantile returns the least k with Pr[|Z| > k] ≤ miss, or +Inf where that is not computed.
func (v *Value) quantile(miss float64) float64 {
	s := v.distribution()
	if s.law == Gaussian { // a sum of shares is such up to a factor of e^κ
		if gaussianSpread(v.noise.scale/math.Sqrt(float64(v.need)), v.parties) > 0x1p-52 {
			return math.Inf(1)
		}
		miss *= 1 - 0x1p-50
	}
	_, closed := s.closed()
	if s.copies == 1 && s.jumps() && (s.jump.core > finestCore || !(s.reach(45) < 1<<20)) {
		return s.jump.quietQuantile(miss)
	}
	if s.copies != 1 || !closed && !(s.deviation(1-miss, 0)+s.reach(45) < 1<<20) {
		return math.Inf(1)
	}
	return -(&Lattice{noise: s, tables: new(tables)}).Quantile(miss / 2)
}

// String says what was released under which guarantee.
func (v *Value) String() string {
	return fmt.Sprintf("arete.Value: %v with %v noise of standard deviation %.4g, %v", v.Estimate(), v.params.Law, v.StdDev(), v.Guarantee())
}
