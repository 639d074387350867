package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// shiftedSum is reducedSum for sketches that are reduced by a private shift each.
//
// Theorem 2 (private shift). Each server draws N₀, discrete Laplace of scale β, once, and reduces
// by n = S + N₀ + o in the place of S, to max((k+1)·c − max(n, 0), 0). With 1/β + (k+1)/b ≤ ε the
// release is (ε, δ)-private with δ = max(δ_{k+1}, Pr[N₀ ≤ −o]).
//
// Proof. The shifts of the other servers are the same. (A) Compare equal n, which costs 1/β as S
// moves by 1. Then one key moves, by at most k+1: P ≤ e^{(k+1)/b}·Q + bad of mass δ_{k+1}, and so
// for the mixture over n. (B) Let c = c′ − 1 on the k keys of c′. Compare n with n′ = n + k + 1,
// which costs 1/β as S′ = S + k. Where n ≥ 0 nothing else differs. n < 0 needs N₀ < −o, and n′ <
// k+1 needs N₀′ ≤ k − S′ − o ≤ −o, as S′ ≥ k. ∎
type shiftedSum[K hashing.Key] struct{ reducedSum[K] }

func (shiftedSum[K]) calibrate(p Params, in Input, unknown bool) (calibration, error) {
	epsilon, delta, ok := p.element()
	if !ok {
		return calibration{}, p.refuseGroup()
	}
	return p.calibrateReduced(ShiftedSum, in, unknown, epsilon, 1, func(epsilon float64) (sumLaw, bool) {
		return calibrateShift(p.Counters, epsilon, inward(delta))
	})
}

func (shiftedSum[K]) prepare(src *noise.Source, c calibration, s *sketch.Sketch[K]) contents[K] {
	shift := discreteLaplace(c.shift).SampleInt(src) + c.offset
	return contents[K]{counters: sketch.ReducedBy(s.Positive(), c.counters(), shift), lost: s.Length(c.counters())}
}

func (shiftedSum[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.decodeReduced(r, true, true, h.params.element, 1, func(epsilon, wantLogDelta float64) bool {
		return h.law.shiftLogDelta(h.params.Counters, epsilon) <= wantLogDelta
	})
}

// shiftLogDelta returns ln δ of Theorem 2.
func (l sumLaw) shiftLogDelta(k int, epsilon float64) float64 {
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	if !(l.shift > 0) || l.offset < 0 || above(above(1/l.shift)+above((float64(k)+1)/l.scale)) > epsilon {
		return 0
	}
	return min(max(l.logEscape(k+1), logs.Reach(l.shift, l.offset)), 0)
}

// calibrateShift looks for the β at which the count that is released with a probability of 95 %,
// about o + max(τ, 0) + b·ln 10, is least, with o and τ as if they were real: with εβ = 1 + y, o
// grows with 1 + y, and τ with (k+1)·(1 + 1/y), so y is near √(k+1). To minimise o + τ would not
// do: τ falls below 0 with a large b, where every key is shown with some probability and none with
// much.
func calibrateShift(k int, epsilon, want float64) (law sumLaw, ok bool) {
	moved := float64(k) + 1
	scales := func(x float64) (shift, scale float64) {
		y := math.Exp(x)
		shift = (1 + y) / epsilon
		return shift, (1 + 0x1p-40) * moved / (epsilon - 1/shift)
	}
	hidden := func(x float64) float64 {
		shift, b := scales(x)
		tau := b * (logs.Expm1(moved/b) - logRounded(b, rounding.Share) - want)
		return max(tau, 0) + b*math.Log(10) - shift*(want+math.Log1p(math.Exp(-1/shift)))
	}
	const reach, step = 6, 0.25
	at := math.Log(moved) / 2
	for x, least := at-reach, math.Inf(1); x <= math.Log(moved)/2+reach; x += step {
		if h := hidden(x); h < least {
			at, least = x, h
		}
	}
	at, _ = search.Minimum(at-step, at+step, sections, hidden)
	law.shift, law.scale = scales(at)
	if !law.valid() {
		return sumLaw{}, false
	}
	law.offset = search.Least(0, func(o int64) bool { return logs.Reach(law.shift, o) <= want })
	law.setRounding(k+1, want, rounding.Share)
	law.settle(func(l sumLaw) bool { return l.shiftLogDelta(k, epsilon) <= want })
	return law, true
}
