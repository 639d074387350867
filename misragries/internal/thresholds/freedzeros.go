package thresholds

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// A standard Misra-Gries sketch frees the counters that reach zero, so neighbours may differ in k
// keys. Released as by Algorithm 2, every positive counter c as c + η + L if that is at least τ, it
// is (ε, δ)-private exactly for
//
//	δ(τ) = Pr[1 + η + max_{i≤k} L_i ≥ τ] = Σ_x p(x)·(1 − F(τ−1−x)^k),
//
// p(x) = Pr[η = x], F(t) = Pr[L < t]; with D − η besides, or without: a caller who brings counters
// from elsewhere need not know D. The paper's threshold for it (section 5.1) is 1 +
// 2·ln((k+1)/(2δ))/ε.
//
// The proof is in freedzeros_proof.md.

// The sum. Write t = τ−1−x, y = a·q^t with a = 1/(1+q), and φ(y) = (1 − (1−y)^k)/y ≤ k. For t ≥ 1,
// 1 − F(t)^k = y·φ(y); for t ≤ 0, F(t) = a·q^{1−t} and the sum is geometric:
//
//	δ(τ) = (1−q)/(1+q)·q^{τ−1}·{ 1/(1−q) − (a·q)^k/(1−q^{k+1}) + a·Σ_{t≥1} w(t)·φ(y) },
//	w(t) = q^{2·max(0, t−τ+1)}.
//
// All terms are positive, and what is subtracted is at most a quarter of its neighbour. Where k·y ≤
// 1, for t ≥ ln(k·a)/ε, the terms of φ(y) = Σ_i C(k, i+1)·(−y)^i fall off like 1/(i+1)!, and each
// is a geometric sum over t. What is left is at most 20/ε terms.
//
// If they are more than cells, so many midpoints stand for them, H apart (Euler-Maclaurin; f′ and
// f‴ between the ends):
//
//	Σf = H·Σf(midpoints) + (H²−1)/24·[f′] − 7·(H⁴−1)/5760·[f‴] + r,   |r| ≤ (H⁶+1)/15360·∫|f⁽⁶⁾|.
//
// In s = ε·t, f is analytic, and |d⁶f/ds⁶| ≤ 6!·max|f| on the circle of radius 1 (Cauchy). On it y
// becomes z = y·e^{cos α + i·sin α} with |1−z|² ≤ 1 − g·y, g = e^{cos α}·(2·cos(sin α) − ½·e^{cos
// α}) > 0, as y ≤ ½. So |φ(z)| ≤ Σ_{i<k} (1−g·y/2)^i ≤ 2/g·φ(y), w becomes at most e^{2·cos α}·w,
// and e^{2·cos α}·2/g ≤ 8.5: |d⁶f/ds⁶| ≤ 6120·f. With H·ε ≤ 19/cells, r is below 6·10⁻¹³ of the
// sum. That and the rounding are covered by the relative 2⁻⁴⁰ by which the threshold search
// tightens δ.
const cells = 1 << 11

// FreedDelta returns ln δ(τ) for k counters of a standard sketch and an integer τ ≥ 1.
func FreedDelta(k int, epsilon, tau float64) float64 {
	return standardSum{k: float64(k), epsilon: epsilon}.logDelta(tau, cells)
}

// FreedThreshold returns the least integer τ ≥ 1 with δ(τ) ≤ δ for k counters of a standard
// sketch.
func FreedThreshold(k int, epsilon, delta float64) int64 {
	want := math.Log(delta) - 0x1p-40*max(1, -math.Log(delta))
	return exact.LeastInt(1, func(tau int64) bool { return FreedDelta(k, epsilon, float64(tau)) <= want })
}

// standardSum is the sum over t, for k counters and noise parameter ε, of w(t)·φ(y), w(t) =
// e^{−ε·rate·(t−from)}.
type standardSum struct{ k, epsilon, rate, from float64 }

func (s standardSum) logDelta(tau float64, cells int) float64 {
	q, p := math.Exp(-s.epsilon), -math.Expm1(-s.epsilon) // p = 1 − q
	head := 1/p + math.Exp(-s.k*(s.epsilon+math.Log1p(q)))/math.Expm1(-s.epsilon*(s.k+1))
	split := max(1, math.Ceil((math.Log(s.k)-math.Log1p(q))/s.epsilon)) // k·y ≤ 1 from here on
	flat, falling := s, s
	falling.rate, falling.from = 2, tau-1
	sum := flat.each(1, min(tau, split), cells) + flat.series(split, max(tau-split, 0)) +
		falling.each(tau, split, cells) + falling.series(max(tau, split), math.Inf(1))
	return -s.epsilon*(tau-1) + math.Log(p/(1+q)*(head+sum/(1+q)))
}

// each returns the sum over lo ≤ t < hi, term by term or by midpoints.
func (s standardSum) each(lo, hi float64, cells int) float64 {
	if lo >= hi {
		return 0
	}
	n := min(hi-lo, float64(cells))
	h := (hi - lo) / n
	sum := 0.0
	for i := 0.5; i < n; i++ {
		t := lo - 0.5 + h*i
		y := s.y(t)
		sum += s.weight(t) * -math.Expm1(s.k*math.Log1p(-y)) / y
	}
	first0, third0 := s.derivatives(lo - 0.5)
	first1, third1 := s.derivatives(hi - 0.5)
	return h*sum + (h*h-1)/24*(first1-first0) - 7*(h*h*h*h-1)/5760*(third1-third0)
}

// derivatives returns f′ and f‴ for f = w(t)·φ(y): d/dt is −ε·(rate + θ) there, θ = y·d/dy on φ.
func (s standardSum) derivatives(t float64) (first, third float64) {
	y := s.y(t)
	log := math.Log1p(-y)
	// With A = k·(1−y)^{k−1} and r = (k−1)·y/(1−y): θφ = A − φ, θA = −r·A, θr = r/(1−y).
	a, r := s.k*math.Exp((s.k-1)*log), (s.k-1)*y/(1-y)
	phi := -math.Expm1(s.k*log) / y
	phi1 := a - phi
	phi2 := phi - a*(1+r)
	phi3 := a*(1+r+r*r-r/(1-y)) - phi
	w, c := s.weight(t), s.rate
	e := -s.epsilon
	return e * w * (c*phi + phi1), e * e * e * w * (c*c*c*phi + 3*c*c*phi1 + 3*c*phi2 + phi3)
}

// series returns the sum over n terms from t on, n = ∞ if they fall, where k·y ≤ 1.
func (s standardSum) series(t, n float64) float64 {
	y, sum := s.y(t), 0.0
	b := s.k // C(k, i+1)·(−y)^i
	for i := 0.0; math.Abs(b) > 0x1p-70*s.k; i++ {
		if rate := -s.epsilon * (i + s.rate); rate == 0 {
			sum += b * n
		} else {
			sum += b * math.Expm1(rate*n) / math.Expm1(rate)
		}
		b *= -y * (s.k - 1 - i) / (i + 2)
	}
	return s.weight(t) * sum
}

// y returns Pr[L ≥ t] for t ≥ 1.
func (s standardSum) y(t float64) float64 {
	return math.Exp(-s.epsilon*t - math.Log1p(math.Exp(-s.epsilon)))
}

func (s standardSum) weight(t float64) float64 { return math.Exp(-s.epsilon * s.rate * (t - s.from)) }
