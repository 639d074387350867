package law

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
)

// Reduced returns the law with the least threshold for (ε, δ) and the bound that it rests on.
// It is not ok if the noise is out of the range of its sampler.
func Reduced(k int, epsilon, delta float64) (law Law, bound string, ok bool) {
	want := Inward(delta)
	law, ok = calibrateL1(k, epsilon, want)
	bound = boundL1
	if k == 1 { // no others to concentrate
		return law, bound, ok
	}
	if other, okOther := calibrateConcentration(k, epsilon, want); okOther && (!ok || other.Threshold < law.Threshold) {
		return other, boundConcentration, true
	}
	return law, bound, ok
}

// Inward returns ln δ, lowered by more than the errors of what is compared with it.
func Inward(delta float64) float64 {
	want := math.Log(delta)
	return want - 0x1p-36*max(1, -want)
}

// Valid reports whether the noise can be drawn.
func (l Law) Valid() bool {
	_, err := noise.NewDiscreteLaplace(l.Scale)
	if err == nil && l.Shift != 0 {
		_, err = noise.NewDiscreteLaplace(l.Shift)
	}
	return err == nil
}

// sections is how often a search for the best scale shrinks its interval, by .618 each: to 3·10⁻⁸
// of it.
const sections = 36

func calibrateL1(k int, epsilon, want float64) (law Law, ok bool) {
	b, err := noise.LaplaceScale(epsilon, 2*float64(k)-1)
	if law = (Law{Scale: b}); err != nil || !law.Valid() {
		return Law{}, false
	}
	law.setRounding(k, want, rounding.Share)
	law.settle(func(l Law) bool { return l.l1LogDelta(k, epsilon) <= want })
	return law, true
}

// calibrateConcentration looks for the b and R/b at which τ is least: a smaller b leaves less of δ
// to δ_k, a larger one makes τ = b·ln(…) larger; a larger R/b lowers δ_k, and raises λ. It
// minimises over b as if R and τ were real, with η where δ_k = δ, and for many counters as if H
// were that of its normal limit, which takes no time. What it finds is raised until H itself leaves
// a part of δ, and τ is settled by the bound itself.
func calibrateConcentration(k int, epsilon, want float64) (law Law, ok bool) {
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
			least, share, law.Scale = t, x, math.Exp(y)
		}
	}
	if !law.Valid() {
		return Law{}, false
	}
	left := rest(law.Scale, 0, logResponses)
	if k > many && left < want-1 {
		scale := func(i int64) float64 { return law.Scale * math.Pow(1+0x1p-12, float64(i)) }
		law.Scale = scale(exact.LeastNear(1, 32, 1, func(i int64) bool { return rest(scale(i), 0, logResponses) >= want-1 }))
		left = rest(law.Scale, 0, logResponses)
	}
	if math.IsInf(left, -1) {
		return Law{}, false
	}
	law.setRounding(k, left, share)
	ok = law.settleConcentration(k, epsilon, want)
	return law, ok // it is not where H alone is above δ, by a rounding
}

// settleConcentration raises τ to the least at which concentrationLogDelta is at most want. It is
// not ok if there is none.
//
// H takes O(√k) time, and is wanted for many τ. It depends on τ by the loss λ of keys that fall
// silently alone, rises with it, and is smooth. So the search first goes to where τ is by lines
// through the values of H that are known; around there they bound those of the neighbours.
func (l *Law) settleConcentration(k int, epsilon, want float64) (ok bool) {
	const most = limit / 2
	h := responsesByLoss{of: func(loss float64) float64 { return l.logResponses(k, epsilon, loss) }}
	silent := h.at(0)
	first := max(l.From+1, l.Threshold-1)
	law := *l
	holds := func(threshold int64, responses func(loss, escape float64) bool) bool {
		law.Threshold = threshold
		if min(logAdd(law.logEscapes(k), silent), 0) <= want {
			return true
		}
		loss := law.silentLoss()
		return loss <= 1/l.Scale && responses(loss, law.logEscape(k))
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
		law.Threshold = guess
		loss := law.silentLoss()
		if _, found := h.search(loss); found || loss > 1/l.Scale {
			break
		}
		h.at(loss)
	}
	l.Threshold = exact.LeastNear(first, most, guess, func(threshold int64) bool { return holds(threshold, exactly) })
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
func (l *Law) setRounding(d int, want, share float64) {
	k := rounding.Exponential(l.Scale, share, float64(d)/l.Scale, want)
	l.From, l.Threshold = k.From, k.Threshold
}

// settle raises τ to the least that is ok.
func (l *Law) settle(ok func(Law) bool) {
	first := max(l.From+1, l.Threshold-1)
	l.Threshold = exact.LeastInt(first, func(threshold int64) bool {
		l := *l
		l.Threshold = threshold
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
