package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/quantile"
)

// How many rows are clipped.
//
// C is drawn by the exponential mechanism (weights.go) with the score |#{‖y‖ > C} − k|. One row
// changes the count of longer rows by at most 1 for every C at once, under either relation, so u is
// 1 and c = √(2·f·ρ), f the share of C; neither n nor a quantile has a part in it. Rows of norm 0
// are never longer than a candidate, so it does not matter how many there are. Where few rows are
// not 0, up to some multiple of k, C falls to the bottom of its axis, a Unit (limit.go): the
// release says 0 where that is far below the size of those rows, and where it is their size, their
// mean with honest noise.
//
// The base measure is uniform in ln C up to 2M₁, M₁ a released median of the norms that are not 0,
// and falls by 16 for each further factor of 2, far out by less (tilted). A miss above all data
// costs noise in proportion to C; a base that falls faster than C⁻² makes the expected square of
// that small, so C needs no more budget than c·k ≥ L of about 5.
//
// The rule. Clipping k rows moves the mean by up to k/n of what these rows are beyond C, and the
// noise, s·C·√(d/(2ρ))/n with s the sensitivity of the sum in units of C, weighs as much as
// s·√(d/(2ρ)) rows do. For skewed rows (exponential, lognormal, Pareto) the sum of both is least
// with k a small multiple of the latter; for symmetric rows the bias cancels, the depth that suits
// them is an eighth of the rows, and [Params.Symmetric] asks for it. Telling them apart privately
// costs what it gains. So by default
//
//	k = max(3s·√(d/ρ), L/√(2fρ)),  f = clamp(L²/(18s²d), 0.005, 0.2),
//
// the least share with which both are equal (6s and 72s² in each of two passes, whose rows have
// many zeros that bias does not reach, and noise does, with half of f each); but where that is more
// than an eighth of the rows, or in the second of two passes a quarter, k is that, and f what L
// needs, up to 0.4. What is found by this rule is multiplied by a margin (margin.go). The suite of
// examples/evidence has the error over the best fixed choice for 14 laws.
//
// Misses. Let N(C) rows be longer than C, X be the longest, and M₁ ≤ X. For all rows and β ≥ 10⁻³
// (TestMissesOfC, TestMissesOfEqualRows):
//
// (a) N(C) > 13k has a probability of at most 5·10⁻⁵, if X ≤ 25·M₁ and k ≤ 10⁶; of at most β/3, if
// X ≤ 50·M₁ and k ≤ 10⁴, or X ≤ 2⁸·M₁ and k ≤ 100. The octave from X on has a base measure of 2⁻ᴰ
// of the largest, D ≤ 28, and the score k; the at most 48 octaves below have no more than the
// largest. So Pr[N(C) > k + t] ≤ 48·2ᴰ·e^{ck}·e^{−ct}, which is β/3 at N(C) = 5k with D = 4, and at
// 9k with D = 28, until e^{−ct} has fallen to the least weight, about e^{−43}/c. The cell of the
// k-th row, one of 2⁸ in an octave, has the score 0, so it is 48·2⁸·2ᴰ·e^{−43}/c from there on,
// however many rows are clipped: more than β/3 beyond those k, as c is about 5/k, and for X =
// 2¹⁶·M₁ for all k. So rare rows that are alike may all be clipped where they are fewer than that;
// 4k to 9k is what is seen.
//
// (b) C > 10·X has a probability of at most 2·10⁻⁴, if X ≤ 25·M₁. All C ≥ X have the score k, so
// their law is the base measure, of which an octave up to 2⁹·M₁ has a 16th of the one before: 10·X
// lies 3.3 octaves beyond X, and 1.7·10⁻⁴ of the measure of all C ≥ X beyond that, where X is a
// power of two times M₁ or a little less. Beyond 2⁹·M₁ there is as much as in the octave before,
// not a 15th, so for X = 50·M₁ the probability is up to 8·10⁻⁴. Where the longest rows differ, Pr[C
// ≥ X] ≈ e^{−L} is a further factor: normal and skewed rows have about 10⁻⁵. No rows have both (a)
// and (b) at their most: they are 2·10⁻⁴ together. Neither counts the margin, up to 2.
//
// Where few rows are not 0 and no Unit is given, M₁ is at the bottom of its axis. Then an octave
// has a quarter of the one before, from 8d Units on, and C > 10·X a probability of up to 1.1 %; up
// to 10 % for shorter rows of more than 64 columns, as the digits do not last for more than halves
// there. M₁ itself may lie anywhere below such rows, with a probability of up to 2 %, and C far
// above them then: see limit.go. Where most rows are not 0 that is below 0.3 %, and C is not far
// off.

const (
	depthRanks      = 3        // of s·√(d/ρ) rows: the depth
	twoPassRanks    = 6        // the same in each of two passes
	leastDepthShare = 0.005    // of ρ for C
	fullDepthShare  = 0.2      // of ρ: the most, unless rows are few
	mostDepthShare  = 0.4      // of ρ, then
	mostClipped     = 1.0 / 8  // of the rows
	firstClipped    = 3.0 / 32 // of the rows, in the first of two passes
	secondClipped   = 1.0 / 4  // in the second

	// of √(max(d, 36)/ρ) rows: the depth for symmetric rows, if that is less than the most
	symmetricRanks = 17
	symmetricDim   = 36      // d counts as that at least
	leastSymmetric = 0x1p-10 // of the rows: the least then

	tiltDigits   = 44   // log₂ of the most that the base measure falls by beyond 2M₁
	steepOctaves = 8    // in which it falls by 16 each
	farLimit     = 2e-4 // the probability of a C more than 10 times too long
	tiltGain     = 6.2  // 9·ln 2: how much less L is if C may be an octave or three too large
	mostTypical  = 0.5  // of what C and M₁ take together: the most for M₁
	typicalNeed  = 18   // L of M₁, in terms of all rows
	typicalPart  = 0.15 // of the share of C: the least for M₁
)

// depth says how C is chosen: rows is k, rho the budget of the choice, and typical that of M₁.
type depth struct{ rows, rho, typical float64 }

// pass is one of the sums of a release.
type pass uint8

const (
	only pass = iota
	first
	second
)

// depth returns the depth for n rows.
func (p Params) depth(n float64, at pass) depth {
	switch {
	case p.Steps.Clip > 0 && at != first:
		return p.shallow(n, (1-p.Steps.Clip)*n, at)
	case p.Method == Thesis:
		return p.thesisDepth(n)
	}
	most := cap1(n) * map[pass]float64{only: mostClipped, first: firstClipped, second: secondClipped}[at]
	if p.Symmetric {
		k := symmetricRanks * math.Sqrt(max(float64(p.Dim), symmetricDim)/p.Rho)
		return p.shallow(n, min(max(k, leastSymmetric*n), most), at)
	}
	s, l, d := p.sumSensitivity(), p.depthNeed(), float64(p.Dim)
	ranks, share := depthRanks*s*math.Sqrt(d), p.depthShare(at)
	if at != only {
		ranks *= twoPassRanks / depthRanks
	}
	if share == 0 {
		share = min(max(l*l/(2*ranks*ranks), leastDepthShare), fullDepthShare)
		if at != only {
			share /= 2
		}
	}
	k := max(ranks/math.Sqrt(p.Rho), l/math.Sqrt(2*share*p.Rho))
	if k > most {
		k = most
		if p.Shares.Clip == 0 {
			share = min(max(share, l*l/(2*p.Rho*k*k)), mostDepthShare)
		}
	}
	return p.tiltedDepth(n, k, share)
}

// shallow returns the depth of k rows with the budget that it needs, or is given.
func (p Params) shallow(n, k float64, at pass) depth {
	share := p.depthShare(at)
	if share == 0 {
		l := p.depthNeed()
		share = min(max(leastDepthShare, l*l/(2*p.Rho*cap1(k*k))), mostDepthShare)
	}
	return p.tiltedDepth(n, k, share)
}

// tiltedDepth returns the depth of k of n rows, for a share of ρ, and what M₁ takes.
func (p Params) tiltedDepth(n, k, share float64) depth {
	d := depth{rows: k, rho: share * p.Rho}
	if p.Steps.Base != quantile.Uniform {
		d.typical = max(typicalPart*d.rho, quantile.Need(typicalNeed, 0.5, n, quantile.Either))
	}
	return d
}

// depthShare returns what is given of ρ for one C, or 0.
func (p Params) depthShare(at pass) float64 {
	if at == only {
		return p.Shares.Clip
	}
	return p.Shares.Clip / 2
}

// depthNeed returns L of the choice of C.
func (p Params) depthNeed() float64 {
	l := quantile.LogSum(1, p.Failure/stages, 0.1)
	if p.Steps.Base == quantile.Uniform {
		return l
	}
	return max(l-tiltGain, 4)
}

// depth returns the depth of the next sum, with a budget that can be had. A given share is for C
// and M₁ together.
func (r *run) depth(at pass) depth {
	d := r.p.depth(r.n, at)
	rho := r.fix(r.p.depthShare(at), mostDepthShare, func() float64 { return d.rho + d.typical })
	d.typical = min(d.typical, mostTypical*rho)
	d.rho = rho - d.typical
	return d
}

// tilted returns the base measure of C, given M₁: uniform up to 2M₁, and from octave to octave
// beyond it falls by 2ᵇ. In the first 8 of them b is 4, then 2 as long as the digits last for 1 to
// the end of the axis, then 1 as long as they last. Where all that is known is that few rows are
// not 0, b is 2 up to the end of the axis, but in the first octaves 1 as far as the digits would
// not last.
func tilted(a quantile.Axis, typical float64, known bool) (base []quantile.Region) {
	octaves := 0
	for x := 2 * typical; x < a.Max && octaves < mostOctaves; x *= 2 {
		octaves++
	}
	falls, left := make([]int, octaves), tiltDigits
	for j := range falls {
		rest := octaves - 1 - j
		switch {
		case known && j < steepOctaves:
			falls[j] = 4
		case known && left-2 >= rest, !known && left-2 >= 2*rest:
			falls[j] = 2
		default:
			falls[j] = min(left, 1)
		}
		left -= falls[j]
	}
	from, digits := uint64(0), tiltDigits-left
	for _, fall := range falls {
		typical *= 2
		if to := uint64(a.Key(typical)); to > from {
			base = append(base, quantile.Region{Start: from, End: to, Weight: 1 << digits})
			from = to
		}
		if digits -= fall; digits == 0 {
			break
		}
	}
	return append(base, quantile.Region{Start: from, End: a.Keys, Weight: 1 << digits})
}
