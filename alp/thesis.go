package alp

import (
	"math"
	"sort"
)

// linearCode is the thesis's unary code (Algorithms 2 and 4): a bit is rounded at random to 1 with
// probability v/W and then flipped with probability p, so it is 1 with probability p + (1 −
// 2p)·v/W: on the machine, K + v·σ in units of 2⁻⁶⁴ with integers K and σ.
//
// A step adds σ, so the condition of code is σ ≤ K·(1−d)/d, both for ones at v = 0 and, by
// symmetry, for zeros at v = W; at all other values the probability is larger. With (1 − 2p)·2⁶⁴ =
// Wσ that is p ≥ 1/(2 + W(1−d)/d). For real values (1−d)/d = κ and Wκ = α, the thesis's p =
// 1/(α+2); for integers it is p = 1/(2 + w(e^ε−1)), which for w = 1 is Algorithm 10 again.
//
// K is rounded up and σ down, so the slope is a little less than the ideal one, by a relative 2⁻⁴⁰
// and W/2⁶⁴.
func linearCode(width int, decay uint64) code {
	kappa := float64(-decay) / float64(decay)
	// below 2⁶³ for κ ≥ 2⁻³²; no step costs so little
	first := uint64(math.Ceil(0x1p64/(float64(width)*kappa+2)*(1+0x1p-40))) + 1
	slope := -(2 * first) / uint64(width)
	first = -(slope * uint64(width)) / 2 // what the rounding of the slope leaves goes to both ends
	c := code{width: width, levels: 2, rise: make([]uint64, width+1), shift: []int{0}}
	for v := range c.rise {
		c.rise[v] = first + uint64(v)*slope
	}
	return c
}

// independentCells is cellsOf where columns are independent.
func (s *shape) independentCells(index uint64, dst []uint64) []uint64 {
	for j := range s.ranges {
		dst = append(dst, uint64(j)*s.positions+s.ranges[j].Hash(index))
	}
	return dst
}

// The logarithmic axis (section 2.6). Columns hold f(v), f(v) = v up to the knee c = Δ/ln B and
// c·(1 + ln(v/c)) above it: one unit more of f is the factor B more of v. f grows by at most one
// for each step of v, so it preserves neighbours and Theorem 1 holds. The thesis has max(log_B(v·ln
// B), 0), which is 0 up to the knee: the identity there costs no more budget, and small values are
// not lost.
//
// On the machine f is a table of integers: logAxis.from[u] is the least v with f(v) ≥ u. They are
// forced to increase strictly, so a step of v passes at most one of them whatever their rounding,
// and f is monotone and moves by at most one.

// logAxis is a monotone map from steps of the value to points of the columns' axis, which moves by
// at most one for each step.
type logAxis struct {
	from []int64 // from[u] is the least v that is mapped to u; strictly increasing, from[0] = 0
}

// newLogAxis returns the map onto 0 … reach, with the knee in steps.
func newLogAxis(knee float64, reach int) *logAxis {
	a := &logAxis{make([]int64, reach+1)}
	for u := 1; u <= reach; u++ {
		v := float64(u)
		if v > knee {
			v = knee * math.Exp(v/knee-1)
		}
		a.from[u] = max(a.from[u-1]+1, int64(min(math.Ceil(v), maxTotal)))
	}
	return a
}

// point returns f(v) for v ≥ 0, at most reach.
func (a *logAxis) point(v int64) int64 {
	return int64(sort.Search(len(a.from), func(u int) bool { return a.from[u] > v })) - 1
}

// knee returns c in steps, at least 1.
func (p Params) knee(step float64) float64 {
	return max(p.sensitivity()/step/math.Log(p.Base), 1)
}

// onAxis returns f(v), not rounded, for v ≥ 0 steps.
func (p Params) onAxis(v, step float64) float64 {
	knee := p.knee(step)
	if v <= knee {
		return v
	}
	return knee * (1 + math.Log(v/knee))
}

// Argmax returns the paper's estimate of an entry (Algorithm 3), for Levels = 2. Let f(n) be the
// number of ones minus the number of zeros among its first n bits: the estimate is the average of
// the n that maximise f, times the width of a column. A listed key has its list value, as in
// Algorithm 8. NaN if Levels is not 2.
func (p *Projection) Argmax(index uint64) float64 {
	var buffer [fewColumns]uint8
	positive, negative, ok := p.read(index, buffer[:0])
	switch {
	case p.decoder == nil || p.shape.code.levels != 2:
		return math.NaN()
	case !ok:
		return 0
	}
	s := &p.shape
	if value := p.decoder.list.find(index); value != 0 {
		return s.inUnits(s.unphi(value))
	}
	at := peak(positive)
	if negative != nil {
		at = peakOfBoth(positive, negative)
		if s.params.TwoVectors {
			at = peak(positive) - peak(negative)
		}
	}
	return s.inUnits(sign(s.valueAt(math.Abs(at)*float64(s.width)), at < 0))
}

// peak returns the average of the arguments n ≥ 0 at which the ones exceed the zeros the most among
// the first n bits.
func peak(bits []uint8) float64 {
	at, n, _ := peaks(bits)
	return float64(at) / float64(n)
}

// peaks returns the sum of these arguments, their number, and the excess.
func peaks(bits []uint8) (at, n, most int) {
	n = 1
	f := 0
	for i, b := range bits {
		f += 2*int(b) - 1
		switch {
		case f > most:
			at, n, most = i+1, 1, f
		case f == most:
			at, n = at+i+1, n+1
		}
	}
	return at, n, most
}

// peakOfBoth does the same on the axis from −m to m: bits below 0 count when they are 1, outwards.
func peakOfBoth(positive, negative []uint8) float64 {
	a, n, most := peaks(positive)
	b, k, below := peaks(negative)
	switch {
	case most > below:
		return float64(a) / float64(n)
	case most < below:
		return -float64(b) / float64(k)
	case most == 0: // both have 0 among theirs, which counts once
		return float64(a-b) / float64(n+k-1)
	}
	return float64(a-b) / float64(n+k)
}
