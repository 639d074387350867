package thresholds

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
)

// Sums of reduced sketches. Every server reduces its sketch (see package sketch), the units are
// added key by key, and each key of the sum is released by its own M, the kernel of package
// rounding with exponential rounding: let L be discrete Laplace noise of scale b, r = 1/b, q =
// e^{−r}. M(v) releases v + L if that is ≥ τ for v ≥ R, does for v < R what M(R) does with
// probability g(v) = (q^{−v}−1)/(q^{−R}−1), and else nothing. Neighbours change the stream of one
// server, so sums of neighbours differ by (A) or (B): one key by at most k and at most k−1 others
// against it by 1, or at most k keys by 1, all one way. Write
//
//	η = Pr[R + L ≥ τ] = q^{τ−R}/(1+q) < ½,   δ_d = η·(q^{−d}−1)/(q^{−R}−1),
//	λ = ln(1 + η(1−q)/((1−η)(1−q^R))),
//
// H_ε(P‖Q) = Σ(P − e^ε·Q)₊, and H_ε(n) for H_ε of n independent randomised responses RR(r), whose
// loss is ±r.
//
// By the lemma of internal/rounding/rounding_proof.md the outputs of M before and after one step
// are within e^{±r} of one another except for a bad mass of δ₁ upwards and q·δ₁ downwards for v <
// R, and of 0 for v ≥ R; d steps up or down leave one of at most δ_d; and by its remark, without
// moving any mass, a step downwards is within e^λ for v < R, so where λ ≤ r, d steps down have no
// bad mass. A pair within e^{±r} is a random function of RR(r).
//
// Theorem 1. The release is (ε, δ)-private with δ = δ_k if ε ≥ (2k−1)/b and λ ≤ r, and for all ε ≥
// 0, if λ ≤ r, with
//
//	δ = δ_k + H_{ε−kr−(k−1)λ}(k−1).
//
// Whatever λ is, both hold with δ_k + (k−1)δ₁ for δ_k and 0 for λ.
//
// Proof. Keys are independent. Bad masses of several keys add up, P ≤ e^x·Q for some keys leaves
// H_{ε−x} of the others, and a key within e^{±r} adds one RR(r) (H does not grow under a random
// function of each key). So, with s of the keys that fall by one below R:
//
//	(A) one key up d ≤ k, others down: δ_d + H_{ε−dr−sλ}(k−1−s), or with the bad mass of those s,
//	    δ_d + sqδ₁ + H_{ε−dr}(k−1)
//	(A) one key down d ≤ k, others up: (k−1)δ₁ + H_{ε−dr}(k−1), and δ_d more unless λ ≤ r
//	(B) up: kδ₁ + H_ε(k)               (B) down: H_{ε−sλ}(k−s), or sqδ₁ + H_ε(k)
//
// H_ε(n) falls with ε and grows with n, H_ε(n+1) ≤ H_{ε−r}(n), and kδ₁ ≤ δ_k, so all are at most as
// claimed; for k = 1 and λ ≤ r (B) is in (A). If ε ≥ (2k−1)r and λ ≤ r, then λ counts as r, and the
// losses left are at most ε: H is 0. ∎ One key at 0 that rises by k ≤ R, others high, attains δ_k.
//
// The first bound is that of the ℓ₁ sensitivity 2k−1, with k for 2k−1 in δ. The second one needs b
// only a little above k/ε: k−1 keys that move by 1 under noise of scale ~k lose √k/b together, not
// k/b, but for a chance in δ.

// limit is where units saturate.
const limit = 1 << 62

// The bounds on δ.
const (
	boundL1            = "ℓ₁"
	boundConcentration = "concentration"
)

// l1LogDelta returns ln δ of the first part of Theorem 1.
func (n Noise) l1LogDelta(k int, epsilon float64) float64 {
	least, err := noise.LaplaceScale(epsilon, 2*float64(k)-1)
	if err != nil || !(n.Scale >= least) {
		return 0
	}
	if n.silentLoss() <= 1/n.Scale {
		return min(n.logEscape(k), 0)
	}
	return min(n.logEscapes(k), 0)
}

// ReducedDelta returns ln δ of Theorem 1.
func (n Noise) ReducedDelta(k int, epsilon float64) float64 {
	return min(n.l1LogDelta(k, epsilon), n.concentrationLogDelta(k, epsilon))
}

// concentrationLogDelta returns ln δ of the second part of Theorem 1.
func (n Noise) concentrationLogDelta(k int, epsilon float64) float64 {
	logDelta := logAdd(n.logEscapes(k), n.logResponses(k, epsilon, 0))
	if loss := n.silentLoss(); loss <= 1/n.Scale {
		logDelta = min(logDelta, logAdd(n.logEscape(k), n.logResponses(k, epsilon, loss)))
	}
	return min(logDelta, 0)
}

// logResponses returns ln H of the second part of Theorem 1, where keys that fall silently lose so
// much.
func (n Noise) logResponses(k int, epsilon, loss float64) float64 {
	r := 1 / n.Scale
	spent := float64(k)*r + float64(k-1)*loss
	return logResponses(k-1, r, epsilon-spent-0x1p-50*(epsilon+spent))
}

// Kernel returns M.
func (n Noise) Kernel() rounding.Kernel {
	return rounding.Kernel{Scale: n.Scale, From: n.From, Threshold: n.Threshold}
}

// logEscape returns ln δ_d.
func (n Noise) logEscape(d int) float64 { return n.Kernel().LogDelta(float64(d) / n.Scale) }

// logEscapes returns ln(δ_k + (k−1)·δ₁).
func (n Noise) logEscapes(k int) float64 {
	return logAdd(n.logEscape(k), math.Log(float64(k-1))+n.logEscape(1))
}

// silentLoss returns λ, rounded up.
func (n Noise) silentLoss() float64 {
	eta := math.Exp(n.Kernel().LogReach())
	return (1 + 0x1p-40) * math.Log1p(eta*math.Expm1(-1/n.Scale)/((1-eta)*math.Expm1(-float64(n.From)/n.Scale)))
}

// logAdd returns ln(e^x + e^y).
func logAdd(x, y float64) float64 {
	if x < y {
		x, y = y, x
	}
	if math.IsInf(x, -1) {
		return x
	}
	return x + math.Log1p(math.Exp(y-x))
}

// Reduced returns the noise with the least threshold for (ε, δ) and the bound that it rests on.
// It is not ok if the noise is out of the range of its sampler.
func Reduced(k int, epsilon, delta float64) (n Noise, bound string, ok bool) {
	want := Inward(delta)
	n, ok = calibrateL1(k, epsilon, want)
	bound = boundL1
	if k == 1 { // no others to concentrate
		return n, bound, ok
	}
	if other, okOther := calibrateConcentration(k, epsilon, want); okOther && (!ok || other.Threshold < n.Threshold) {
		return other, boundConcentration, true
	}
	return n, bound, ok
}

// Inward returns ln δ, lowered by more than the errors of what is compared with it.
func Inward(delta float64) float64 {
	want := math.Log(delta)
	return want - 0x1p-36*max(1, -want)
}

// sections is how often a search for the best scale shrinks its interval, by .618 each: to 3·10⁻⁸
// of it.
const sections = 36

func calibrateL1(k int, epsilon, want float64) (n Noise, ok bool) {
	b, err := noise.LaplaceScale(epsilon, 2*float64(k)-1)
	if n = (Noise{Scale: b}); err != nil || !n.Valid() {
		return Noise{}, false
	}
	n.setRounding(k, want, rounding.Share)
	n.settle(func(n Noise) bool { return n.l1LogDelta(k, epsilon) <= want })
	return n, true
}

// calibrateConcentration looks for the b and R/b at which τ is least: a smaller b leaves less of δ
// to δ_k, a larger one makes τ = b·ln(…) larger; a larger R/b lowers δ_k, and raises λ. It
// minimises over b as if R and τ were real, with η where δ_k = δ, and for many counters as if H
// were that of its normal limit, which takes no time. What it finds is raised until H itself leaves
// a part of δ, and τ is settled by the bound itself.
func calibrateConcentration(k int, epsilon, want float64) (n Noise, ok bool) {
	const many = 1 << 16
	moved := float64(k)
	// ln of what H leaves of δ
	rest := func(b, loss float64, responses func(n int, r, epsilon float64) float64) float64 {
		return logSubtract(want, responses(k-1, 1/b, epsilon-moved/b-(moved-1)*loss))
	}
	about := logResponses
	if k > many {
		about = logNormalResponses
	}
	threshold := func(b, share float64) float64 {
		escape, step := exact.LogExpm1(moved/b), exact.LogExpm1(1/b)
		eta := math.Exp(want + exact.LogExpm1(share) - escape)
		if eta >= 0.5 { // (k−1)·δ₁ for λ
			return b * (logAdd(escape, math.Log(moved-1)+step) - logRounded(b, share) - rest(b, 0, about))
		}
		loss := math.Log1p(-eta / (1 - eta) * math.Expm1(-1/b) / -math.Expm1(-share))
		return b * (escape - logRounded(b, share) - rest(b, loss, about))
	}
	most := 2 * (2*moved - 1) / epsilon // where H = 0
	least, share := math.Inf(1), 0.0
	for _, x := range []float64{2, 3, 4, 5, 6} {
		y, t := exact.Minimum(math.Log(most/64), math.Log(most), sections, func(y float64) float64 { return threshold(math.Exp(y), x) })
		if t < least {
			least, share, n.Scale = t, x, math.Exp(y)
		}
	}
	if !n.Valid() {
		return Noise{}, false
	}
	left := rest(n.Scale, 0, logResponses)
	if k > many && left < want-1 {
		scale := func(i int64) float64 { return n.Scale * math.Pow(1+0x1p-12, float64(i)) }
		n.Scale = scale(exact.LeastNear(1, 32, 1, func(i int64) bool { return rest(scale(i), 0, logResponses) >= want-1 }))
		left = rest(n.Scale, 0, logResponses)
	}
	if math.IsInf(left, -1) {
		return Noise{}, false
	}
	n.setRounding(k, left, share)
	ok = n.settleConcentration(k, epsilon, want)
	return n, ok // it is not where H alone is above δ, by a rounding
}

// settleConcentration raises τ to the least at which concentrationLogDelta is at most want. It is
// not ok if there is none.
//
// H takes O(√k) time, and is wanted for many τ. It depends on τ by the loss λ of keys that fall
// silently alone, rises with it, and is smooth. So the search first goes to where τ is by lines
// through the values of H that are known; around there they bound those of the neighbours.
func (n *Noise) settleConcentration(k int, epsilon, want float64) (ok bool) {
	const most = limit / 2
	h := responsesByLoss{of: func(loss float64) float64 { return n.logResponses(k, epsilon, loss) }}
	silent := h.at(0)
	first := max(n.From+1, n.Threshold-1)
	tried := *n
	holds := func(threshold int64, responses func(loss, escape float64) bool) bool {
		tried.Threshold = threshold
		if min(logAdd(tried.logEscapes(k), silent), 0) <= want {
			return true
		}
		loss := tried.silentLoss()
		return loss <= 1/n.Scale && responses(loss, tried.logEscape(k))
	}
	exactly := func(loss, escape float64) bool {
		switch low, high := h.bounds(loss); {
		case logAdd(escape, low) > want:
			return false
		case logAdd(escape, high) <= want:
			return true
		}
		return logAdd(escape, h.at(loss)) <= want
	}
	about := func(loss, escape float64) bool { return logAdd(escape, h.about(loss)) <= want }
	if !holds(most, exactly) {
		return false
	}
	guess := first
	for range 8 {
		guess = exact.LeastNear(first, most, guess, func(threshold int64) bool { return holds(threshold, about) })
		tried.Threshold = guess
		loss := tried.silentLoss()
		if _, found := h.search(loss); found || loss > 1/n.Scale {
			break
		}
		h.at(loss)
	}
	n.Threshold = exact.LeastNear(first, most, guess, func(threshold int64) bool { return holds(threshold, exactly) })
	return true
}

// responsesByLoss is ln H as a function of λ at one b, with the values that are known.
type responsesByLoss struct {
	of    func(loss float64) float64
	known []lossOf // by increasing loss
}

type lossOf struct{ loss, logDelta float64 }

// search returns how many of the known losses are below, and whether the next one is the loss.
func (h *responsesByLoss) search(loss float64) (i int, found bool) {
	return slices.BinarySearchFunc(h.known, loss, func(v lossOf, loss float64) int { return cmp.Compare(v.loss, loss) })
}

// at returns ln H.
func (h *responsesByLoss) at(loss float64) float64 {
	i, found := h.search(loss)
	if !found {
		h.known = slices.Insert(h.known, i, lossOf{loss, h.of(loss)})
	}
	return h.known[i].logDelta
}

// bounds returns bounds on ln H by the known values on both sides. The margin is more than the
// errors of logResponses.
func (h *responsesByLoss) bounds(loss float64) (low, high float64) {
	const margin = 0x1p-36
	i, found := h.search(loss)
	low, high = math.Inf(-1), math.Inf(1)
	if i < len(h.known) {
		high = h.known[i].logDelta + margin
	}
	if !found {
		i--
	}
	if i >= 0 {
		low = h.known[i].logDelta - margin
	}
	return low, high
}

// about returns about ln H: √(−ln H), which is nearly linear as that of a normal tail is, on the
// line through the two known values nearest to the loss.
func (h *responsesByLoss) about(loss float64) float64 {
	v := h.known
	if len(v) < 2 {
		return v[0].logDelta
	}
	i, _ := h.search(loss)
	i = min(max(i, 1), len(v)-1)
	if i > 1 && loss-v[i-2].loss < v[i].loss-loss {
		i--
	} else if i < len(v)-1 && v[i+1].loss-loss < loss-v[i-1].loss {
		i++
	}
	a, b := v[i-1], v[i]
	if math.IsInf(a.logDelta, -1) {
		return b.logDelta
	}
	from, to := math.Sqrt(-a.logDelta), math.Sqrt(-b.logDelta)
	root := max(from+(to-from)*((loss-a.loss)/(b.loss-a.loss)), 0)
	return -root * root
}

// logRounded returns ln((1+q)·(1−e^{−R/b})), R = share·b: τ = b·(ln(q^{−d}−1) − logRounded − ln δ)
// has δ_d = δ.
func logRounded(b, share float64) float64 {
	return math.Log1p(math.Exp(-1/b)) + math.Log(-math.Expm1(-share))
}

// setRounding sets R to about share·b, and τ to the least with δ_d ≤ e^want.
func (n *Noise) setRounding(d int, want, share float64) {
	k := rounding.Exponential(n.Scale, share, float64(d)/n.Scale, want)
	n.From, n.Threshold = k.From, k.Threshold
}

// settle raises τ to the least that is ok.
func (n *Noise) settle(ok func(Noise) bool) {
	first := max(n.From+1, n.Threshold-1)
	n.Threshold = exact.LeastInt(first, func(threshold int64) bool {
		n := *n
		n.Threshold = threshold
		return ok(n)
	})
}

// logSubtract returns ln(e^x − e^y), −Inf where that is not positive.
func logSubtract(x, y float64) float64 {
	if y >= x {
		return math.Inf(-1)
	}
	return x + math.Log1p(-math.Exp(y-x))
}

// RR(r) is a randomised response with parameter r: a bit that is +1 with probability p₊ =
// 1/(1+e^{−r}) on one input and with p₋ = 1 − p₊ on the other, so its privacy loss is ±r. Every
// pair of distributions whose ratio is within e^{±r} is what some random function makes of it
// (Kairouz, Oh, Viswanath, ICML 2015).

// logResponses returns ln H_ε of n independent RR(r), the hockey-stick divergence
//
//	H = Σ_i C(n,i)·p₊^i·p₋^{n−i}·(1 − e^{ε−(2i−n)r})₊
//
// to a relative error of 1e-12 for H ≥ 2⁻¹⁰²², nr ≤ 2¹². It starts at the largest term that counts
// and goes both ways, O(√n) terms.
func logResponses(n int, r, epsilon float64) float64 {
	size := float64(n)
	loss := func(i float64) float64 { return math.FMA(2*i-size, r, -epsilon) } // what is beyond ε
	if loss(size) <= 0 {
		return math.Inf(-1)
	}
	weight := func(i float64) float64 { return -math.Expm1(-max(loss(i), 0)) }
	// First where the weight is positive, or one before: float rounding may move it.
	low := min(max(math.Floor((size+epsilon/r)/2), 0), size)
	mode := min(math.Floor((size+1)/(1+math.Exp(-r))), size)
	start := max(low, mode)

	// Terms relative to C·p₊^i·p₋^{n−i} at start. Behind a term t the ratios only shrink: the
	// rest is below t·ρ/(1−ρ).
	const negligible = 0x1p-58
	sum := weight(start)
	up, down := math.Exp(r), math.Exp(-r)
	for i, t := start, 1.0; i < size; {
		t *= (size - i) / (i + 1) * up
		i++
		sum += t * weight(i)
		ratio := (size - i) / (i + 1) * up
		if ratio < 1 && t*ratio <= negligible*sum*(1-ratio) {
			break
		}
	}
	for i, t := start, 1.0; i > low; {
		t *= i / (size - i + 1) * down
		i--
		sum += t * weight(i)
		ratio := i / (size - i + 1) * down
		if ratio < 1 && t*ratio <= negligible*sum*(1-ratio) {
			break
		}
	}
	if start == size {
		return min(math.Log(sum)-size*math.Log1p(down), 0)
	}
	return min(math.Log(sum)+logFairBinomial(size, start)+(start-size/2)*r-size*logCosh(r/2), 0)
}

// logNormalResponses returns about what logResponses does where n is large and nr² small: ln δ(ε)
// of the normal distribution whose loss has the same variance.
func logNormalResponses(n int, r, epsilon float64) float64 {
	delta, err := noise.GaussianDelta(1, epsilon, r*math.Sqrt(float64(n)))
	if err != nil {
		return math.Inf(-1)
	}
	return math.Log(delta)
}

// logFairBinomial returns ln(C(n,i)/2ⁿ) for 0 < i < n, with u = (2i−n)/n
//
//	½·ln(2/(πn(1−u²))) − (n/2)·(ln(1−u²) + 2u·artanh u) + s(n) − s(i) − s(n−i)
//
// where s is the error of Stirling's formula.
func logFairBinomial(n, i float64) float64 {
	u := (2*i - n) / n
	flat, slope := math.Log1p(-u*u), math.Atanh(u)
	if math.Abs(u) > 0.5 { // 1 − |u| is not to be had from u
		flat, slope = math.Log(4*(i/n)*((n-i)/n)), math.Log(i/(n-i))/2
	}
	return (math.Log(2/(math.Pi*n))-flat-n*(flat+2*u*slope))/2 + stirlingError(n) - stirlingError(i) - stirlingError(n-i)
}

// stirlingError returns ln n! − ln(√(2πn)·(n/e)ⁿ) for n ≥ 1.
func stirlingError(n float64) float64 {
	if n < 16 {
		factorial, _ := math.Lgamma(n + 1)
		return factorial - (n+0.5)*math.Log(n) + n - math.Log(2*math.Pi)/2
	}
	x := 1 / (n * n) // the term left out is 691/(360360·n¹¹)
	return (1./12 - x*(1./360-x*(1./1260-x*(1./1680-x/1188)))) / n
}

// logCosh returns ln cosh x for x ≥ 0.
func logCosh(x float64) float64 {
	if x > 1 {
		return x + math.Log1p(math.Exp(-2*x)) - math.Ln2
	}
	h := math.Sinh(x / 2)
	return math.Log1p(2 * h * h)
}
