package noise

import "math"

// The Mills ratio R(t) = Q(t)/φ(t), and its slope.
//
// R′ = tR − 1, so R⁽ⁿ⁺¹⁾ = t·R⁽ⁿ⁾ + n·R⁽ⁿ⁻¹⁾: from R and R′ at a node follow all derivatives, and R
// and R′ near it by Taylor's series. What an error of R at t becomes at t + h solves y′ = ty, so it
// grows by the factor e^{th + h²/2}: at most e for t ≤ 16 and |h| ≤ 1/16, and it shrinks towards
// smaller t. The terms left out, n > 12, add up to less than 1e-17·R and 1e-16·R′. TestMillsNodes
// compares with 60 digits.

const (
	millsFirst = -1 // nodes lie from here …
	millsLast  = 16 // … to here
	millsPer   = 8  // per unit
	millsTerms = 12 // of Taylor's series
)

// millsNode has R⁽ⁿ⁾/n! at a node.
type millsNode [millsTerms + 1]float64

// millsNodes are computed in some 30 µs.
var millsNodes = newMillsNodes()

func newMillsNodes() *[(millsLast-millsFirst)*millsPer + 1]millsNode {
	nodes := new([(millsLast-millsFirst)*millsPer + 1]millsNode)
	for i := len(nodes) - 1; i >= 0; i-- {
		t := millsFirst + float64(i)/millsPer
		if t >= millsSwitch {
			k := millsTail(t)
			nodes[i] = newMillsNode(t, 1/(t+k), k/(t+k))
			continue
		}
		const half = 0.5 / millsPer
		above := &nodes[i+1]
		middle := newMillsNode(t+half, above.ratio(-half), above.slope(-half))
		nodes[i] = newMillsNode(t, middle.ratio(-half), middle.slope(-half))
	}
	return nodes
}

// newMillsNode returns the node at t for R(t) and −R′(t).
func newMillsNode(t, ratio, slope float64) (n millsNode) {
	n[0], n[1] = ratio, -slope
	for i := 2; i <= millsTerms; i++ {
		n[i] = (t*n[i-1] + n[i-2]) / float64(i)
	}
	return n
}

// ratio returns R at a distance h from the node.
func (n *millsNode) ratio(h float64) float64 {
	s := h * h
	even := n[0] + s*(n[2]+s*(n[4]+s*(n[6]+s*(n[8]+s*(n[10]+s*n[12])))))
	odd := n[1] + s*(n[3]+s*(n[5]+s*(n[7]+s*(n[9]+s*n[11]))))
	return even + h*odd
}

// slope returns −R′ at a distance h from the node.
func (n *millsNode) slope(h float64) float64 {
	s := h * h
	even := n[1] + s*(3*n[3]+s*(5*n[5]+s*(7*n[7]+s*(9*n[9]+s*(11*n[11])))))
	odd := 2*n[2] + s*(4*n[4]+s*(6*n[6]+s*(8*n[8]+s*(10*n[10]+s*(12*n[12])))))
	return -(even + h*odd)
}

// millsNear returns the node nearest to t and the distance from it; nil for t outside [−1, 16).
func millsNear(t float64) (n *millsNode, h float64) {
	if !(t >= millsFirst && t < millsLast) {
		return nil, 0
	}
	i := int((t-millsFirst)*millsPer + 0.5)
	return &millsNodes[i], t - (millsFirst + float64(i)*(1./millsPer))
}

// millsTail returns K(t) = 1/(t + 2/(t + 3/(t + …))), so that R(t) = 1/(t + K(t)) (Laplace's
// continued fraction, Abramowitz and Stegun 26.2.14), for t ≥ millsSwitch.
//
// The number of terms is what brings the relative error of R and of K·R below 5e-17, found by
// computing with 60 digits: 58 at t = 3, 38 at 4, 28 at 5, 17 at 8, 12 at 12, 9 at 20, 6 at 50. All
// terms are positive, so each rounding error is damped by the next division.
func millsTail(t float64) float64 {
	k := 0.0
	for i := 10 + math.Ceil(480/t/t); i >= 1; i-- {
		k = i / (t + k)
	}
	return k
}

// mills returns R(t) to a relative error of 3e-15. It overflows to +Inf for t < −38.
func mills(t float64) float64 {
	if n, h := millsNear(t); n != nil {
		return n.ratio(h)
	}
	if t < millsFirst {
		return sqrtHalfPi * math.Exp(float64(t*t)/2) * math.Erfc(t*(1/math.Sqrt2))
	}
	return 1 / (t + millsTail(t))
}

// millsSlope returns −R′(t) = 1 − t·R(t) > 0 to a relative error of 2e-14, for t ≥ −1.
func millsSlope(t float64) float64 {
	if n, h := millsNear(t); n != nil {
		return n.slope(h)
	}
	k := millsTail(t)
	return k / (t + k)
}
