package sparse

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// The exact δ of independent Gaussian noise with a threshold (TODS, Theorem 23; Karrer, Kifer,
// Wilkins and Zhang), in units of the per-key bound: a user changes at most l keys, each by at most
// 1. Keys stored, with a value ≠ 0, get N(0, σ²) and are released from T = 1 + τ on. With
// F = Φ(τ/σ), s = −u·ln F and BW(ε, μ) the δ of a Gaussian shift by μ in units of its noise:
//
//	one sign   δ = max over 0 ≤ u ≤ l of A(u) = 1 − F^u·(1 − BW(ε + s, √(l−u)/σ))
//	any signs  δ ≤ max over 0 ≤ u ≤ l of D(u) = 1 − F^u·(1 − BW(ε, √(l−u)/σ))
//
// with √(l − u + ω) for √(l − u) where a number beside the keys has noise N(0, σ²/ω).
// One sign: users come or go, and contribute ≥ 0. A and D grow with s at fixed μ and with μ at
// fixed s, so both are bounded for all u in [u₁, u₂] by s at u₂ and μ at u₁. −ln F is inflated by
// more than its error, so that A and D err upwards. The proof is in gaussian_proof.md.

// unit is the normal law N(0, 1).
var unit, _ = noise.NewGaussian(1)

// gaussianTerm returns the bound of A(u), or of D(u) if not oneSign, for all u in [u₁, u₂]; lambda
// is −ln F, rounded upwards.
func gaussianTerm(l int, weight float64, oneSign bool, epsilon, sigma, lambda float64, u1, u2 int) float64 {
	if oneSign && u2 > 0 {
		epsilon = math.Nextafter(epsilon+float64(u2)*lambda, math.Inf(-1))
	}
	return escaped(gaussianShift(l, weight, epsilon, sigma, u1), lambda, u2)
}

// gaussianShift returns BW(ε, √(l−u₁+ω)/σ), rounded upwards.
func gaussianShift(l int, weight, epsilon, sigma float64, u1 int) float64 {
	sensitivity := exact.SqrtUp(float64(l-u1) + weight)
	return shiftDelta(epsilon, sigma, sensitivity)
}

// escaped returns 1 − F^u·(1 − δ), rounded upwards.
func escaped(delta, lambda float64, u int) float64 {
	if u == 0 {
		return delta
	}
	s := float64(u) * lambda
	return min(1, (math.Exp(-s)*delta-math.Expm1(-s))*(1+0x1p-50))
}

// shiftDelta returns BW(ε, Δ/σ), rounded upwards by a relative 4e-12 at most, for any ε and Δ ≥ 0.
func shiftDelta(epsilon, sigma, sensitivity float64) float64 {
	if sensitivity == 0 {
		return max(0, -math.Expm1(epsilon)*(1+0x1p-52))
	}
	delta, err := noise.GaussianDelta(sigma, epsilon, sensitivity)
	if err != nil {
		return 1 // out of the range of float64
	}
	return delta
}

// logBelow returns −ln Φ(τ/σ), rounded upwards by a relative 3e-14.
func logBelow(sigma, tau float64) float64 {
	d, err := noise.NewGaussian(sigma)
	if err != nil {
		return math.Inf(1)
	}
	return -d.LogSurvival(-tau) * (1 + 0x1p-45)
}

// gaussianSlack is the relative slack in gaussianDelta.
const gaussianSlack = 0x1p-40

// gaussianDelta returns an upper bound on δ(σ, τ), exact to a relative 1e-11, for one sign or, in
// the sense above, for any.
func gaussianDelta(l int, weight float64, oneSign bool, epsilon, sigma, tau float64) float64 {
	lambda := logBelow(sigma, tau)
	_, bound := largest(l, 0, gaussianSlack, func(u1, u2 int) float64 { return gaussianTerm(l, weight, oneSign, epsilon, sigma, lambda, u1, u2) })
	return bound
}

// calibrateGaussian returns the σ and τ ≥ 0 with the least threshold 1 + τ at which δ(σ, τ) ≤ δ,
// and among them the least σ. The threshold is optimal to a relative 1e-6; the inequality holds for
// the numbers returned, as [gaussianDelta] computes them. It returns false unless 1 ≤ l ≤ 2⁵³, ε in
// [2⁻³⁰, 2¹⁰] and δ in [1e-300, 1).
//
// No σ below σ₀ = min{σ: BW(ε, √l/σ) ≤ δ} will do (u = 0), and no τ/σ below z = Φ⁻¹((1 − δ)^{1/l})
// (u = l). Where no u between asks for more, σ₀ and z·σ₀ are therefore optimal: always for l = 1,
// and mostly else, since going from u to u + 1 costs δ/l by escape and saves about ln(1/δ) times as
// much, (d ln BW/d ln μ)/2, by the smaller shift. Otherwise, as for δ near 1 or ε far below 1, a
// larger σ gains something.
func calibrateGaussian(l int, weight float64, oneSign bool, epsilon, delta float64) (sigma, tau float64, ok bool) {
	least, z, ok := leastGaussian(l, weight, epsilon, delta)
	if !ok {
		return 0, 0, false
	}
	effort := effort{gaussianSlack, gaussianSlack, 12, 28, 1 << 20}
	if l > 1<<12 {
		effort.coarse, effort.refine = 0x1p-18, 16
	}
	return effort.leastThresholdOverSigma(l, delta, least, z, func(sigma, tau float64) func(u1, u2 int) float64 {
		lambda := logBelow(sigma, tau)
		return func(u1, u2 int) float64 { return gaussianTerm(l, weight, oneSign, epsilon, sigma, lambda, u1, u2) }
	}, func(sigma, tau float64) bool { return gaussianDelta(l, weight, oneSign, epsilon, sigma, tau) <= delta })
}

// leastGaussian returns σ₀ and z of calibrateGaussian: no σ and no τ/σ is below.
func leastGaussian(l int, weight, epsilon, delta float64) (sigma, z float64, ok bool) {
	if !calibrable(l, epsilon, delta) {
		return 0, 0, false
	}
	sigma, err := noise.GaussianSigma(epsilon, delta, exact.SqrtUp(float64(l)+weight))
	return sigma, max(0, -unit.Quantile(-math.Expm1(math.Log1p(-delta)/float64(l)))), err == nil
}

// calibrable reports whether the parameters are in the range of the calibrations.
func calibrable(l int, epsilon, delta float64) bool {
	return l >= 1 && float64(l) <= 0x1p53 && epsilon >= 0x1p-30 && epsilon <= 0x1p10 && delta >= 1e-300 && delta < 1
}

// Searches shared by the two Gaussian calibrations. None of them is trusted: what they find is
// verified at the end.

// effort is how precisely a calibration searches: the relative slack in δ, reported and while many
// σ are compared, and the steps in ln(σ/σ₀ − 1). In the threshold a slack counts (τ/σ)² times less.
// After most terms no more σ are tried.
type effort struct {
	fine, coarse float64
	scan, refine int
	most         int
}

// largest returns an upper bound on max(floor, max over 0 ≤ u ≤ l of term(u, u)), too large by a
// relative slack at most, and the u with the largest term, −1 if none is above floor. term(u₁, u₂)
// must be at least term(v₁, v₂) whenever u₁ ≤ v₁ ≤ v₂ ≤ u₂.
//
// It is branch and bound. A block whose bound is not above the best term so far needs no further
// look; others are halved, the half with the larger bound first, down to single u. The bound is
// sound whatever is cut off.
func largest(l int, floor, slack float64, term func(u1, u2 int) float64) (at int, bound float64) {
	best := floor
	at, bound = -1, floor
	var visit func(u1, u2 int, most float64)
	visit = func(u1, u2 int, most float64) {
		if most <= best*(1+slack) {
			bound = max(bound, most)
			return
		}
		if u1 == u2 {
			at, best, bound = u1, most, max(bound, most)
			return
		}
		mid := u1 + (u2-u1)/2
		low, high := term(u1, mid), term(mid+1, u2)
		if low > high {
			visit(u1, mid, low)
		}
		visit(mid+1, u2, high)
		if low <= high {
			visit(u1, mid, low)
		}
	}
	for _, u := range []int{l, 0} {
		visit(u, u, term(u, u))
	}
	if l > 1 {
		visit(1, l-1, term(1, l-1))
	}
	return at, bound
}

// leastTau returns the least τ ≥ start, to a relative 2⁻⁸ of the slack or 1e-12, for which no term
// is above δ, and +Inf if there is none; some τ above most where the least is above most. terms(τ)
// is the term of [largest] and falls with τ; step is the scale of τ.
//
// It raises τ until the worst term is at δ, looks for the term that is then the worst, and so on.
// As near its maximum over u the term is flat, the steps shrink quadratically. A bound that is
// found by a search can be above δ in one look and not in the next: then τ is raised by steps that
// double, from the tolerance on.
func leastTau(l int, delta, slack, start, step, most float64, terms func(tau float64) func(u1, u2 int) float64) float64 {
	tolerance := max(slack/256, 1e-12)
	tau, raise := start, tolerance
	for range 64 {
		u, _ := largest(l, delta, slack, terms(tau))
		if u < 0 {
			break
		}
		excess := func(tau float64) float64 { return math.Log(max(terms(tau)(u, u), 0x1p-1022)) - math.Log(delta) }
		if next := root(tau, step, tolerance, excess); next > tau {
			tau = next
		} else { // alone, the term is not above δ
			tau += max(tau, step/16) * raise
			raise *= 2
		}
		if tau > most {
			break
		}
	}
	return tau
}

// root returns an x ≥ lo with f(x) ≤ 0 where f falls, to a relative tolerance, by the Illinois
// method in a bracket that grows from step, and +Inf if the bracket reaches 2¹² steps.
func root(lo, step, tolerance float64, f func(x float64) float64) float64 {
	flo := f(lo)
	if flo <= 0 {
		return lo
	}
	hi, fhi := lo, flo
	for width := step / 16; ; width *= 2 {
		if width > 0x1p12*step {
			return math.Inf(1)
		}
		hi = lo + width
		if fhi = f(hi); fhi <= 0 {
			break
		}
		lo, flo = hi, fhi
	}
	side := 0
	for range 100 {
		if hi-lo <= tolerance*math.Abs(hi) || fhi == 0 {
			break
		}
		x := hi - fhi*((hi-lo)/(fhi-flo))
		if !(x > lo && x < hi) {
			x = lo + (hi-lo)/2
			if x == lo || x == hi {
				break
			}
		}
		switch fx := f(x); {
		case fx > 0:
			lo, flo = x, fx
			if side > 0 {
				fhi /= 2
			}
			side = 1
		default:
			hi, fhi = x, fx
			if side < 0 {
				flo /= 2
			}
			side = -1
		}
	}
	return hi
}

// leastThresholdOverSigma returns the σ ≥ least and the least τ ≥ ratio·σ for which terms(σ, τ),
// the term of [largest], is at most δ for all u, with τ the least possible. valid(σ, τ) verifies
// them; where rounding asks for it τ is raised by a relative 1e-12 or a little more.
//
// Both bounds, σ ≥ least and τ ≥ ratio·σ, must be necessary: where they are sufficient together,
// they are optimal. Otherwise let σ₁ be the least σ at which τ = ratio·σ will do. Beyond it τ
// grows, so the optimum is between, where it is taken to be unimodal in ln(σ/least − 1). With ratio
// = 0 it is σ₁ itself.
func (e effort) leastThresholdOverSigma(l int, delta, least, ratio float64,
	terms func(sigma, tau float64) func(u1, u2 int) float64, valid func(sigma, tau float64) bool,
) (sigma, tau float64, ok bool) {
	spent := 0              // terms
	best := math.MaxFloat64 // a larger τ does not count
	tauAt := func(sigma, slack float64) float64 {
		return leastTau(l, delta, slack, ratio*sigma, sigma, best, func(tau float64) func(u1, u2 int) float64 {
			term := terms(sigma, tau)
			return func(u1, u2 int) float64 {
				spent++
				return term(u1, u2)
			}
		})
	}
	sigma, tau = least, tauAt(least, e.fine)
	if tau > ratio*least {
		sigmaAt := func(logX float64) float64 { return least * (1 + math.Exp(logX)) }
		first := math.Log(1e-9)
		lo, hi := first, math.Log(100)
		for range 5 + e.refine {
			mid := (lo + hi) / 2
			if worst, _ := largest(l, delta, e.coarse, terms(sigmaAt(mid), ratio*sigmaAt(mid))); worst >= 0 {
				lo = mid
			} else {
				hi = mid
			}
		}
		logX, tries := hi, 0
		if ratio > 0 {
			logX, _ = lowest(first, hi, e.scan, e.refine, func(logX float64) float64 {
				if spent > e.most {
					return math.Inf(1)
				}
				tau := tauAt(sigmaAt(logX), e.coarse)
				best = min(best, tau)
				if tries++; tries >= e.scan { // from here on, two τ above it are compared
					best = math.MaxFloat64
				}
				return tau
			})
		}
		best = min(tau, math.MaxFloat64) // not the scan's, with its coarser slack
		if t := tauAt(sigmaAt(logX), e.fine); t < tau {
			sigma, tau = sigmaAt(logX), t
		}
	}
	if math.IsInf(tau, 1) {
		return 0, 0, false
	}
	for raise := 0x1p-42; raise < 1; raise *= 2 {
		if valid(sigma, tau) {
			return sigma, tau, true
		}
		tau += max(tau, sigma/16) * raise
	}
	return 0, 0, false
}

// lowest returns where f is least in [lo, hi], and the value: by a scan of n points, then
// [exact.Minimum] about the least.
func lowest(lo, hi float64, n, refine int, f func(x float64) float64) (x, value float64) {
	step := (hi - lo) / float64(n-1)
	x, value = lo, f(lo)
	for i := 1; i < n; i++ {
		if y := f(lo + float64(i)*step); y < value {
			x, value = lo+float64(i)*step, y
		}
	}
	if at, y := exact.Minimum(max(lo, x-step), min(hi, x+step), refine, f); y < value {
		return at, y
	}
	return x, value
}

// calibrateNormal calibrates a mechanism with normal noise. What is above and correlated.go
// compute is in units of the most by which a key changes; this is in steps.
func (p Params) calibrateNormal(m Method) (c calibration, err error) {
	adds, stored, changed := p.adds(), p.stored(), p.changed()
	var sigma, share, tau float64
	var ok bool
	weight := p.weight(m)
	if m == CorrelatedGaussian {
		share, sigma, tau, ok = calibrateCorrelated(stored, changed, weight, p.Epsilon, p.Delta)
	} else {
		sigma, tau, ok = calibrateGaussian(changed, weight, adds, p.Epsilon, p.Delta)
	}
	if !ok {
		return c, errRange
	}
	step := gridFor(p.perKey(), p.perKey()*sigma)
	c = normalOnGrid(m, p.change(step), share, sigma, tau, weight)
	c.step = step
	if !(c.scale <= 0x1p46) || !(c.shared <= 0x1p46) || !(c.beside <= 0x1p46) {
		return c, errRange
	}
	return c, nil
}

// leastGaussian returns a threshold that Gaussian is not below, 0 where it is not possible.
func (p Params) leastGaussian() float64 {
	sigma, z, ok := leastGaussian(p.changed(), p.weight(Gaussian), p.Epsilon, p.Delta)
	if !ok {
		return 0
	}
	return p.perKey() * (1 + z*sigma) * (1 - 0x1p-40)
}

// leastCorrelated returns a threshold that CorrelatedGaussian is not below, 0 where it is not
// possible.
func (p Params) leastCorrelated() float64 {
	if p.lacks(CorrelatedGaussian) != "" {
		return 0
	}
	return p.perKey() * leastCorrelated(p.stored(), p.changed(), p.weight(CorrelatedGaussian), p.Epsilon, p.Delta)
}

// weight returns ω: the number beside has own noise of variance σ²/ω, 0 if there is none. A change
// of it counts as ω changed keys, so the threshold grows by about √(1 + ω/(k + √k)) with shared
// noise, by √(1 + ω/l) with independent noise. At these ω the sum of a value and the number, in
// which shared noise cancels, has noise about as small as it can be.
func (p Params) weight(m Method) float64 {
	root := math.Sqrt(float64(p.changed()))
	switch {
	case !p.Beside:
		return 0
	case m == CorrelatedGaussian:
		return max(1, root/2)
	}
	return root
}

// normalOnGrid returns the calibration where the most by which a key changes is w steps.
func normalOnGrid(m Method, w, share, sigma, tau, weight float64) calibration {
	const up = 1 + 0x1p-50
	c := calibration{method: m, step: 1, scale: sigma * w * up, from: 1}
	if m == CorrelatedGaussian {
		c.shared = math.Sqrt(share) * c.scale
	}
	if weight > 0 {
		c.beside = c.scale / math.Sqrt(weight) * up
	}
	// The noisy value is rounded to the grid: it reaches T where it is T − ½ before.
	c.threshold = int64(math.Ceil(w*(1+tau)*up + 0.5))
	return c
}
