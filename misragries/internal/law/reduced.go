package law

import (
	"math"

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
// By the lemma of internal/rounding/rounding_proof.md the laws of M before and after one step are
// within e^{±r} of one another except for a bad mass of δ₁ upwards and q·δ₁ downwards for v < R,
// and of 0 for v ≥ R; d steps up or down leave one of at most δ_d; and by its remark, without
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

// Law is the noise of a release, in units: of 1/(k+1) of a count where sketches are reduced, of 1/j
// where they are trimmed, else of a count.
type Law struct {
	Scale           float64 // b
	From, Threshold int64   // R, τ
	Shift           float64 // β; 0 where sketches are not trimmed
	Offset          int64   // o
	Cap             int64   // o_T, in counts
	CapScale        float64 // of N_T, in counts
}

// limit is where units saturate.
const limit = 1 << 62

// The bounds on δ.
const (
	boundL1            = "ℓ₁"
	boundConcentration = "concentration"
)

// l1LogDelta returns ln δ of the first part of Theorem 1.
func (l Law) l1LogDelta(k int, epsilon float64) float64 {
	least, err := noise.LaplaceScale(epsilon, 2*float64(k)-1)
	if err != nil || !(l.Scale >= least) {
		return 0
	}
	if l.silentLoss() <= 1/l.Scale {
		return min(l.logEscape(k), 0)
	}
	return min(l.logEscapes(k), 0)
}

// ReducedDelta returns ln δ of Theorem 1.
func (l Law) ReducedDelta(k int, epsilon float64) float64 {
	return min(l.l1LogDelta(k, epsilon), l.concentrationLogDelta(k, epsilon))
}

// concentrationLogDelta returns ln δ of the second part of Theorem 1.
func (l Law) concentrationLogDelta(k int, epsilon float64) float64 {
	logDelta := logAdd(l.logEscapes(k), l.logResponses(k, epsilon, 0))
	if loss := l.silentLoss(); loss <= 1/l.Scale {
		logDelta = min(logDelta, logAdd(l.logEscape(k), l.logResponses(k, epsilon, loss)))
	}
	return min(logDelta, 0)
}

// logResponses returns ln H of the second part of Theorem 1, where keys that fall silently lose so
// much.
func (l Law) logResponses(k int, epsilon, loss float64) float64 {
	r := 1 / l.Scale
	spent := float64(k)*r + float64(k-1)*loss
	return logResponses(k-1, r, epsilon-spent-0x1p-50*(epsilon+spent))
}

// Kernel returns M.
func (l Law) Kernel() rounding.Kernel {
	return rounding.Kernel{Scale: l.Scale, From: l.From, Threshold: l.Threshold}
}

// logEscape returns ln δ_d.
func (l Law) logEscape(d int) float64 { return l.Kernel().LogDelta(float64(d) / l.Scale) }

// logEscapes returns ln(δ_k + (k−1)·δ₁).
func (l Law) logEscapes(k int) float64 {
	return logAdd(l.logEscape(k), math.Log(float64(k-1))+l.logEscape(1))
}

// silentLoss returns λ, rounded up.
func (l Law) silentLoss() float64 {
	eta := math.Exp(l.Kernel().LogReach())
	return (1 + 0x1p-40) * math.Log1p(eta*math.Expm1(-1/l.Scale)/((1-eta)*math.Expm1(-float64(l.From)/l.Scale)))
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
