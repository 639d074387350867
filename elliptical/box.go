package elliptical

import (
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// The noise of Shape Box. A group of m coordinates with sensitivities D₁, …, D_m in steps shares a
// radius. With public integers F = 2^bits and 0 ≤ g < F, coordinate i of the group has the width
// (g + i + jF)/F in units of Dᵢ in the box
//
//	B_j = {x : |xᵢ| ≤ (g + i + jF)·Dᵢ/F},   and J(x) is the least j ≥ 0 with x in B_j.
//
// The noise has a density in proportion to λ^{J(x)}, λ = e^{−F/s}, and is rounded to whole steps.
//
// Privacy. Let |δᵢ| ≤ Dᵢ. If x is in B_j, x + δ is in B_{j+1}, so that J changes by at most 1 from
// x to x + δ, and back. So the densities of neighbours differ by a factor within [λ, 1/λ]: the
// group is F/s-private for whatever a row changes in it. Totals are integers, so rounding the
// noise is rounding the noisy total: post-processing. Groups are independent, and their losses,
// ε_j ≥ F/s, add up to ε. ∎ (TestBoxIsPrivateExactly)
//
// Sampling. λ^J = (1−λ)·Σ_{j≥J} λʲ, so the noise is uniform on B_j for a j with Pr ∝ λʲ·vol(B_j) ∝
// λʲ·Π(g + i + jF). Let X₁, …, X_{m+1} be geometric of ratio μ = e^{−1/s}. A sum of n is made up by
// C(n+m, m) = Π(n+i)/m! lists of m + 1, so Pr[ΣX = n] ∝ μⁿ·Π(n+i): the distribution of j is that of
// (ΣX − g)/F given that ΣX ≡ g modulo F. That is drawn by X₁, …, X_m as they come, with t in [0, F)
// what the last one must be modulo F. For Y geometric, accepted if Y ≥ t, t + F·⌊(Y−t)/F⌋ has the
// distribution of a geometric variable on the residue t, up to a factor that is the same for all t:
// Pr[Y ≥ t and ⌊(Y−t)/F⌋ = k] = (1−μ^F)·μ^{t+Fk}. Else all begins anew; about (1 − e^{−ε})/ε of the
// trials are accepted. Given j, xᵢ is uniform on [−w, w]/F with the integer w = (n+i)·Dᵢ. Which of
// its 2w cells of width 1/F it is in decides what it is rounded to, as ½ is a multiple of 1/F: an
// integer below 2w is all that is drawn. ∎ (TestBoxLaw)
//
// Accuracy. With r = γ + j, γ = (g + (m+1)/2)/F, the widths are r·Dᵢ up to a relative 1/s, Pr[r] ∝
// e^{−εr}·rᵐ, and E|ηᵢ|ᵖ = Dᵢᵖ·E rᵖ/(p+1). Averaged over uniform γ this is the K-norm mechanism of
// the box (Hardt and Talwar 2010): r ~ Gamma(m+1, 1/ε), with E rᵖ = Γ(m+1+p)/(Γ(m+1)·εᵖ). For p = 2
// and m equal sensitivities its mean squared error is (m+1)(m+2)/3, where Laplace noise has 2m².
// The best γ has less error than this average: 4 % less for m = 1 and ε = 1, and practically the
// same where m > 4ε.

// group is a set of coordinates with one radius.
type group struct {
	members []int // ascending indices of coordinates
	bits    uint
	offset  uint64  // g
	scale   float64 // s, of the geometric variables
	square  float64 // E r²
}

const (
	radiusScale = 18 // log₂ s: radii are multiples of 2⁻¹⁸/ε, or of ½ if that is more
	minLoss     = 0x1p-47
	maxGroups   = 1 << 11 // more than grouped makes
)

// newGroup returns a group with the given number of members, which are not yet known, for a loss of
// at most ε, with a γ of small E r². For large ε the best γ is so small that radius
// would reject nearly all of its trials. So γ is the best of those that a trial hits at least 1/16
// times as often as the mode m/ε, and it is the mode where no other is better.
func newGroup(m int, epsilon float64) group {
	bits := min(max(radiusScale+math.Ilogb(epsilon), 1), 40)
	g := group{members: make([]int, m), bits: uint(bits), scale: math.Ldexp(1/epsilon, bits) * (1 + 0x1p-50)}
	best := math.Mod(float64(m)/epsilon, 1)
	if epsilon > 0.125 && float64(m) <= 4*epsilon+1 {
		const tries = 32
		enough := hits(m, epsilon, best) / 16
		least := logRadiusMoment(m, epsilon, best, 2)
		for k := range 2 * tries {
			gamma := float64(k+1) / tries
			if k >= tries { // small ones, of large ε
				gamma = math.Exp(-epsilon * float64(k+1-tries) / tries)
			}
			if k >= tries && epsilon < 4 || hits(m, epsilon, gamma) < enough {
				continue
			}
			if moment := logRadiusMoment(m, epsilon, gamma, 2); moment < least {
				least, best = moment, gamma
			}
		}
	}
	g.offset = uint64(min(max(math.Round(math.Ldexp(best, bits)-float64(m+1)/2), 0), math.Ldexp(1, bits)-1))
	g.square = math.Exp(g.logMoment(2))
	return g
}

// hits returns Σ_j f(ε(γ+j)), where f is the density of the Gamma distribution of shape m+1.
// Multiplied by 1 − e^{−ε} it is the probability that a trial of radius is accepted for this γ.
func hits(m int, epsilon, gamma float64) (sum float64) {
	size := float64(m)
	whole, _ := math.Lgamma(size + 1)
	log := eachRadius(size, epsilon, gamma, fine, func(_, weight float64) { sum += weight })
	return sum * math.Exp(log+size*math.Log(epsilon)-whole)
}

// epsilon returns F/s, the privacy loss of the group.
func (g group) epsilon() float64 { return math.Ldexp(1/g.scale, int(g.bits)) }

// gamma returns γ.
func (g group) gamma() float64 {
	return math.Ldexp(float64(g.offset)+float64(len(g.members)+1)/2, -int(g.bits))
}

// radii returns the distribution of r.
func (g group) radii(perDeviation float64) radii {
	return newRadii(len(g.members), g.epsilon(), g.gamma(), perDeviation)
}

// logMoment returns ln E rᵖ.
func (g group) logMoment(power float64) float64 {
	return logRadiusMoment(len(g.members), g.epsilon(), g.gamma(), power)
}

// calibrateBox is calibrate for Box.
func (p classes) calibrateBox(bits int) (draft, error) {
	sensitivity, middle := p.sensitivities()
	d := len(sensitivity)
	l := draft{gridNoise{kind: uniform, replace: p.replace(), coordinates: make([]coordinate, d)}, make([]portion, d)}
	weight, many := slices.Clone(sensitivity), p.many // how much an error of one sensitivity counts
	for i := range weight {
		weight[i] /= p.unit(i)
	}
	if p.Count {
		norm := 0.0
		for i, c := range middle {
			norm = math.Hypot(norm, math.Sqrt(float64(many[i]))*c/p.unit(i))
		}
		weight, many = append(weight, norm), append(slices.Clone(many), 1)
	}
	var count []coordinate
	var radius []float64 // of each group, root mean square
	for _, part := range grouped(weight, many, max(0x1p-30, minLoss/p.Epsilon)) {
		g, m := len(l.groups), 0
		for _, some := range part.portions {
			m += some.n
		}
		l.groups = append(l.groups, newGroup(m, p.Epsilon*part.share))
		radius = append(radius, math.Sqrt(l.groups[g].square))
		for _, some := range part.portions {
			if some.class == d {
				count = append(count, counted(radius[g], bits))
				count[0].group, count[0].scale = g, 0
				continue
			}
			if l.portions[some.class].n == 0 {
				l.coordinates[some.class].group, l.portions[some.class] = g, some
			} else {
				l.coordinates, l.portions = append(l.coordinates, coordinate{group: g}), append(l.portions, some)
			}
		}
	}
	for i, some := range l.portions { // not by groups: in the order of memory
		g := l.coordinates[i].group
		l.coordinates[i] = p.gridded(some.class, sensitivity[some.class]*radius[g], bits)
		l.coordinates[i].group, l.coordinates[i].scale = g, 0
	}
	l.dim = len(l.coordinates)
	l.coordinates = append(l.coordinates, count...)
	return l, nil
}

// addBox adds the noise of the groups to the totals.
func (l gridNoise) addBox(src *noise.Source, totals []exact.Int128) {
	for _, g := range l.groups {
		n := g.radius(src)
		for k, i := range g.members {
			w := n.Plus(exact.Int128Of(int64(k + 1))).Times(l.coordinates[i].change(l.replace))
			x := below(src, w.Plus(w)).Minus(w) // xᵢ is in [x, x+1)/F
			totals[i] = totals[i].Plus(x.Plus(exact.Int128Of(1 << (g.bits - 1))).Shr(g.bits))
		}
	}
}

// radius draws n = g + jF.
func (g group) radius(src *noise.Source) exact.Int128 {
	geometric, _ := noise.NewGeometric(g.scale) // valid: see newGroup
	mask := uint64(1)<<g.bits - 1
	for {
		var sum exact.Int128
		for range g.members {
			sum = sum.Plus(exact.Int128Of(geometric.SampleInt(src)))
		}
		t, last := (g.offset-sum.Lo)&mask, uint64(geometric.SampleInt(src))
		if last >= t {
			return sum.Plus(exact.Int128Of(int64(last - (last-t)&mask)))
		}
	}
}

// below draws a uniform integer in [0, n) for n > 0.
func below(src *noise.Source, n exact.Int128) exact.Int128 {
	if n.Hi == 0 {
		return exact.Int128{Lo: src.Uint64N(n.Lo)}
	}
	mask := uint64(1)<<bits.Len64(uint64(n.Hi)) - 1
	for {
		if x := (exact.Int128{Hi: int64(src.Uint64() & mask), Lo: src.Uint64()}); x.Less(n) {
			return x
		}
	}
}
