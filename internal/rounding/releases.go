package rounding

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// This file is about many releases of the same users, one after the other: internal/loss has the
// theorem (loss_proof.md, Keys), and here are its numbers.

// Keys returns what bounds one release by k, with all that Users.Beside stands for, among others.
func (k Quadratic) Keys(u Users) loss.Keys { return k.keys(u, all) }

// all stands for every κ; else there is a bound by the κ of that number alone.
const all = -1

func (k Quadratic) keys(u Users, kappa int) loss.Keys {
	norm := 1.0
	if u.Replace {
		norm = 2
	}
	form := k.shape(1, u)
	muSquares := (norm/(form.sigma*form.sigma) + u.Beside) * (1 + 1e-12)
	if !form.rounds {
		drift := 0.0
		if u.Replace {
			drift = form.lambda
		}
		return loss.NewKeys(muSquares, 0, drift, func(float64) float64 { return -math.Expm1(-form.lambda) * slack })
	}
	lambda := -float64(u.MaxKeys) * math.Log1p(-form.eta) * slack
	mass := math.NaN() // where form.epsilon is ln κ
	return loss.NewKeys(muSquares, lambda, form.lambda, func(logKappa float64) float64 {
		if form.epsilon == logKappa && !math.IsNaN(mass) {
			return mass
		}
		form.epsilon, mass = logKappa, math.Inf(1)
		if kappa != all && logKappa != loss.LogKappa(kappa) {
			return mass
		}
		// A smaller κ is closer to h, where the mass is larger.
		if h, kappa := form.jump(), math.Exp(logKappa)*(1-1e-14); kappa > h {
			mass = form.eta / (form.r * form.r) * h * kappa / (kappa - h) * slack
		}
		return mass
	})
}

// Keys returns what bounds both passes.
func (k TwoPasses) Keys(u Users) loss.Keys { return k.keys(u, all) }

func (k TwoPasses) keys(u Users, kappa int) loss.Keys {
	second := k.Second.keys(u, kappa)
	if k.First == (Quadratic{}) { // there is no first pass
		return second
	}
	u.Beside = 0
	return k.First.keys(u, kappa).Plus(second)
}

// ForReleases returns the kernels of a release, with noise σ₁ and σ₂ in steps, of which n together
// are (ε, δ)-private: about those with the least thresholds, both as many deviations above what is
// rounded to. Where σ₁ is 0 there is one pass, the second. It returns false where none are found.
func ForReleases(first, second, n, epsilon, delta float64, u Users) (TwoPasses, bool) {
	// kernel has T − R = a·σ and R = x·σ/√(2·ln(1/δ)); at x = 0 it does not round.
	kernel := func(sigma, x, a float64) Quadratic {
		if sigma == 0 {
			return Quadratic{}
		}
		from := max(math.Floor(x*sigma/math.Sqrt(-2*math.Log(delta))), 1)
		return Quadratic{sigma, int64(min(from, 1<<31-1)), int64(from + math.Ceil(a*sigma+0.5))}
	}
	wanted := delta * (1 - 1e-7) // which another sum of the same parts does not exceed
	kernels := func(x, a float64) TwoPasses { return TwoPasses{kernel(first, x, a), kernel(second, x, a)} }
	// bound is on δ of all n, by one κ or the best, which it returns.
	bound := func(k TwoPasses, kappa int) (float64, int) {
		if !k.Second.sound(epsilon, u) {
			return 1, 0
		}
		keys := k.keys(u, kappa).Times(n)
		mu := math.Sqrt(keys.MuSquares()) * (1 + 1e-12)
		rest := func(epsilon float64) float64 { return gap(epsilon, mu) }
		if kappa == all {
			kappa = keys.Best(epsilon, rest)
		}
		return keys.DeltaBy(kappa, epsilon, rest), kappa
	}
	// least returns the last threshold, and a, of the least a ≤ most that holds, or +Inf. Far out,
	// where tails fall fast, it would not. One κ is the best where a is nearly found.
	least := func(x, most float64) (threshold, a float64) {
		low, a, kappa := 0.0, most, all
		if d, _ := bound(kernels(x, a), all); !(d <= wanted) {
			return math.Inf(1), a
		}
		for i := range 20 {
			middle := (low + a) / 2
			d, best := bound(kernels(x, middle), kappa)
			if d <= wanted {
				a = middle
			} else {
				low = middle
			}
			if i == 5 {
				kappa = best
			}
		}
		return float64(kernels(x, a).Second.Threshold), a
	}
	plain, a := least(0, 36)
	x, rounded := exact.Minimum(0.3, 1.6, 8, func(x float64) float64 { t, _ := least(x, a); return t })
	if rounded < plain {
		_, a = least(x, a)
	} else {
		x = 0
	}
	return kernels(x, a), !math.IsInf(plain, 1)
}
