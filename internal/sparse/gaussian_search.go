package sparse

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

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
