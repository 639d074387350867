package noise

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// The standard normal distribution, in the far tail and in logarithms. φ is its density, Q(t) =
// Pr[Z > t], and R(t) = Q(t)/φ(t) its Mills ratio, which neither underflows for t > 0 nor cancels.

const (
	sqrt2Pi     = 2.50662827463100050241576528481104525 // √(2π)
	logSqrt2Pi  = 0.91893853320467274178032973640561764 // ln √(2π)
	sqrtHalfPi  = 1.25331413731550025120788264240552263 // √(π/2) = R(0)
	millsSwitch = 3                                     // erfc below, R from here on
)

// normalTail returns Q(z + r) for |r| ≤ 2⁻⁵²·|z|.
func normalTail(z, r float64) float64 {
	switch {
	case z < 0:
		return 1 - normalTail(-z, -r)
	case z < millsSwitch:
		return math.Erfc(z*(1/math.Sqrt2)) / 2
	}
	return gaussKernel(z, r) * mills(z) / sqrt2Pi
}

// logNormalTail returns ln Q(z + r) for |r| ≤ 2⁻⁵²·|z|.
func logNormalTail(z, r float64) float64 {
	switch {
	case z < 0:
		return math.Log1p(-normalTail(-z, -r))
	case math.IsInf(z, 1):
		return math.Inf(-1)
	}
	return logGaussKernel(z, r) + (math.Log(mills(z)) - logSqrt2Pi)
}

// normalQuantile returns the z with Pr[Z ≤ z] = p, for p in [0, 1].
func normalQuantile(p float64) float64 {
	switch {
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case p > 0.5:
		return upperQuantile(1 - p) // 1 − p is exact
	}
	return -upperQuantile(p)
}

// upperQuantile returns the t ≥ 0 with Q(t) = p, for p in (0, ½].
func upperQuantile(p float64) float64 {
	if p > 0.25 { // solve erf(t/√2)/2 = ½ − p, where the right side is exact
		target := 0.5 - p
		t := -mathext.NormalQuantile(p)
		for range 2 {
			t -= (math.Erf(t*(1/math.Sqrt2))/2 - target) * sqrt2Pi / gaussKernel(t, 0)
		}
		return t
	}
	// Newton's iteration on ln Q(t) = ln p, with (ln Q)′ = −1/R. The asymptotic start is too far
	// above by ln(t)/t, which three steps remove, and serves for denormal p.
	target := exact.Log(p)
	t := math.Sqrt(-2 * target)
	if p > 1e-300 {
		t = -mathext.NormalQuantile(p)
	}
	for range 3 {
		t += (logNormalTail(t, 0) - target) * mills(t)
	}
	return t
}

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

// millsDrop returns R(t) − R(t+μ) > 0 for t ≥ −½.
//
// For a short interval [t, t + μ] it integrates −R′ = 1 − u·R(u) > 0 by 10-point Gauss–Legendre.
// −R′ is entire and varies on the scale 1 + u, of which the half-width is at most a quarter: the
// error is below 6e-19, computed with 50 digits for t from −½ to 40 at the longest interval, and
// tends to that of 1/u² on [1, 3/2] for large t. 5 points will do, with 2e-17, where the interval
// is an eighth of that. For a long one R(t+μ) ≤ 0.75·R(t) and the difference loses a factor of 4.
func millsDrop(t, mu float64) float64 {
	if mu > (1+max(t, 0))/2 {
		return mills(t) - mills(t+mu)
	}
	half, rule := mu/2, legendre10[:]
	if mu <= (1+max(t, 0))/16 {
		rule = legendre5[:]
	}
	sum := 0.0
	for _, g := range rule { // t + μ itself may round to t
		sum += g.weight * (millsSlope(t+float64(half*(1-g.x))) + millsSlope(t+float64(half*(1+g.x))))
	}
	return half * sum
}

// quadrature is a pair of nodes ±x of a Gauss–Legendre rule on [−1, 1], with the weight of each.
type quadrature struct{ x, weight float64 }

var (
	legendre10 = [5]quadrature{
		{0.148874338981631210884826, 0.295524224714752870173893}, {0.4333953941292471907992659, 0.2692667193099963550912269},
		{0.6794095682990244062343274, 0.2190863625159820439955349}, {0.8650633666889845107320967, 0.1494513491505805931457763},
		{0.973906528517171720077964, 0.06667134430868813759356881},
	}
	legendre5 = [3]quadrature{{0, 0.2844444444444444444444444}, {0.538469310105683091036314421, 0.478628670499366468041291515}, {0.906179845938663992797626878, 0.236926885056189087514264041}}
)
