package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise"
)

// calibrateSum returns the law with the least threshold for (ε, δ) and the bound that it rests on.
// It is not ok if the noise is out of the range of its sampler.
func calibrateSum(k int, epsilon, delta float64) (law sumLaw, bound string, ok bool) {
	want := inward(delta)
	law, ok = calibrateL1(k, epsilon, want)
	bound = boundL1
	if k == 1 { // no others to concentrate
		return law, bound, ok
	}
	if other, okOther := calibrateConcentration(k, epsilon, want); okOther && (!ok || other.threshold < law.threshold) {
		return other, boundConcentration, true
	}
	return law, bound, ok
}

// inward returns ln δ, lowered by more than the errors of what is compared with it.
func inward(delta float64) float64 {
	want := math.Log(delta)
	return want - 0x1p-36*max(1, -want)
}

// valid reports whether the noise can be drawn.
func (l sumLaw) valid() bool {
	_, err := noise.NewDiscreteLaplace(l.scale)
	if err == nil && l.shift != 0 {
		_, err = noise.NewDiscreteLaplace(l.shift)
	}
	return err == nil
}

// sections is how often a search for the best scale shrinks its interval, by .618 each: to 3·10⁻⁸
// of it.
const sections = 36

func calibrateL1(k int, epsilon, want float64) (law sumLaw, ok bool) {
	b, err := noise.LaplaceScale(epsilon, 2*float64(k)-1)
	if law = (sumLaw{scale: b}); err != nil || !law.valid() {
		return sumLaw{}, false
	}
	law.setRounding(k, want, rounding.Share)
	law.settle(func(l sumLaw) bool { return l.l1LogDelta(k, epsilon) <= want })
	return law, true
}

// calibrateConcentration looks for the b and R/b at which τ is least: a smaller b leaves less of δ
// to δ_k, a larger one makes τ = b·ln(…) larger; a larger R/b lowers δ_k, and raises λ. It
// minimises over b as if R and τ were real, with η where δ_k = δ, and for many counters as if H
// were that of its normal limit, which takes no time. What it finds is raised until H itself leaves
// a part of δ, and τ is settled by the bound itself.
func calibrateConcentration(k int, epsilon, want float64) (law sumLaw, ok bool) {
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
		escape, step := logs.Expm1(moved/b), logs.Expm1(1/b)
		eta := math.Exp(want + logs.Expm1(share) - escape)
		if eta >= 0.5 { // (k−1)·δ₁ for λ
			return b * (logAdd(escape, math.Log(moved-1)+step) - logRounded(b, share) - rest(b, 0, about))
		}
		loss := math.Log1p(-eta / (1 - eta) * math.Expm1(-1/b) / -math.Expm1(-share))
		return b * (escape - logRounded(b, share) - rest(b, loss, about))
	}
	most := 2 * (2*moved - 1) / epsilon // where H = 0
	least, share := math.Inf(1), 0.0
	for _, x := range []float64{2, 3, 4, 5, 6} {
		y, t := search.Minimum(math.Log(most/64), math.Log(most), sections, func(y float64) float64 { return threshold(math.Exp(y), x) })
		if t < least {
			least, share, law.scale = t, x, math.Exp(y)
		}
	}
	if !law.valid() {
		return sumLaw{}, false
	}
	left := rest(law.scale, 0, logResponses)
	for i := 0; k > many && left < want-1 && i < 32; i++ {
		law.scale *= 1 + 0x1p-12
		left = rest(law.scale, 0, logResponses)
	}
	if math.IsInf(left, -1) {
		return sumLaw{}, false
	}
	law.setRounding(k, left, share)
	if high := (sumLaw{scale: law.scale, from: law.from, threshold: 1 << 61}); high.concentrationLogDelta(k, epsilon) > want {
		return sumLaw{}, false // H alone is above δ, by a rounding
	}
	law.settle(func(l sumLaw) bool { return l.concentrationLogDelta(k, epsilon) <= want })
	return law, true
}

// logRounded returns ln((1+q)·(1−e^{−R/b})), R = share·b: τ = b·(ln(q^{−d}−1) − logRounded − ln δ)
// has δ_d = δ.
func logRounded(b, share float64) float64 {
	return math.Log1p(math.Exp(-1/b)) + math.Log(-math.Expm1(-share))
}

// setRounding sets R to about share·b, and τ to the least with δ_d ≤ e^want.
func (l *sumLaw) setRounding(d int, want, share float64) {
	k := rounding.Exponential(l.scale, share, float64(d)/l.scale, want)
	l.from, l.threshold = k.From, k.Threshold
}

// settle raises τ to the least that is ok.
func (l *sumLaw) settle(ok func(sumLaw) bool) {
	first := max(l.from+1, l.threshold-1)
	l.threshold = search.Least(first, func(threshold int64) bool {
		l := *l
		l.threshold = threshold
		return ok(l)
	})
}

// logSubtract returns ln(e^x − e^y), −Inf where that is not positive.
func logSubtract(x, y float64) float64 {
	if y >= x {
		return math.Inf(-1)
	}
	return x + math.Log1p(-math.Exp(y-x))
}
