package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/quantile"
)

// normBound returns a public bound on the norms of shaped rows.
func (r *run) normBound() float64 {
	sum := 0.0
	for i, f := range r.factor {
		c, least, most := r.centre[i], r.clean(i, math.Inf(-1)), r.clean(i, math.Inf(1))
		y := max(math.Abs(most-c), math.Abs(least-c)) * f
		sum += y * y
	}
	if sum == 0 { // all columns are left out
		return 1
	}
	return math.Sqrt(sum) * (1 + 0x1p-40)
}

// unitOctaves returns how many octaves below a bound on the norms a Unit is, in the column where
// the factor makes it least: whole ones, so up to one too few.
func (r *run) unitOctaves(bound float64) int {
	least := math.Inf(1)
	for _, f := range r.factor {
		if f = math.Abs(f); f > 0 && f < least {
			least = f
		}
	}
	unit := r.p.Resolution
	if r.p.scaleFree() {
		unit = r.p.Max * saidResolution
	}
	octaves := math.Floor(math.Log2(bound / (least * unit)))
	return int(min(max(octaves, leastOctaves), mostOctaves))
}

// octaves returns how many octaves of C and M₁ are below the bound on the norms: all that a float64
// makes sense of, but if a Resolution is given that says how large events are, down to that.
func (r *run) octaves(bound float64) int {
	if r.givesUnit() {
		return r.unitOctaves(bound)
	}
	return mostOctaves
}

// givesUnit reports whether a Resolution is given that says how large events are.
func (r *run) givesUnit() bool { return r.p.Resolution > r.p.Max*saidResolution }

// raised returns an axis of norms that begins with a Unit, and the keys on it. Where M₁ is at the
// bottom of its axis few rows are not 0, and C is drawn from there. If they are a few k or less, C
// is about a Unit, and the noise as well, so that an interval is not as narrow as if nothing could
// be missed; if they are more, the base measure of C falls from a Unit on.
func (r *run) raised(a quantile.Axis, keys []uint32) (quantile.Axis, []uint32) {
	if r.p.Relative && r.given == nil && !r.givesUnit() {
		return a, keys
	}
	octaves := r.octaves(a.Max) - r.unitOctaves(a.Max)
	for j, key := range keys {
		keys[j] = uint32(max(int64(key)-int64(octaves)<<normBits, 0))
	}
	return quantile.LogAxis(math.Ldexp(a.Unit, octaves), a.Max, normBits), keys
}

const (
	clipPart      = 0.1 // of the budget that is left: the most for γ
	normBits      = 8   // binary digits to which a norm is resolved
	typicalBits   = 2   // the same for M₁
	leastOctaves  = 4   // of C, below the public bound on the norm
	mostOctaves   = 48
	octavesAbove  = 30      // of C, above a row of the scales that were found
	mostZeros     = 1 << 30 // the most values that typical adds at the bottom
	typicalZeros  = 6       // how many it adds, in units of 1/c ranks
	typicalWeight = 1 << 13 // the base measure there
	// binary digits of C: the step of the clipped sum is C·2⁻²⁶ or a little more
	clipDigits = 26
)

// limit releases C: see depth.
func (r *run) limit(d depth) (float64, error) {
	rho := r.budget.take(d.rho)
	r.spent.Clip += rho
	if err := r.measure(); err != nil {
		return 0, err
	}
	a, keys := r.normAxis(), make([]uint32, 0, len(r.squares))
	for _, square := range r.squares {
		if square > 0 {
			keys = append(keys, a.Key(math.Sqrt(square)))
		}
	}
	base, typical := a.Plain(), 0.0
	if a.Base == quantile.Log {
		part := r.budget.take(d.typical)
		r.spent.Clip += part
		var err error
		if typical, err = r.typical(a, keys, part); err != nil {
			return 0, err
		}
		if typical == a.Unit {
			a, keys = r.raised(a, keys)
			typical = a.Unit
		}
		base = tilted(a, typical, typical > a.Unit || r.givesUnit())
	}
	k := int64(math.Round(cap1(d.rows)))
	draw, err := r.drawer(quantile.NewAbove(rho, k, int64(r.x.count())), a, base, rho, quantile.Either)
	if err != nil {
		return 0, err
	}
	limit := a.Value(draw(&r.samplers[0], quantile.Column{Keys: keys}))
	if r.content == 0 {
		r.longest = math.Pow(limit/typical, lengthPower)
	}
	r.margin = r.p.marginFor(limit, typical, float64(k), r.n, r.noiseRows(limit))
	return min(limit*r.margin, a.Max), nil
}

// normChange returns how the list of the norms that are not 0 changes between neighbours. Whether a
// row's norm is 0 may differ between them, so under Replace a value may be replaced, appear or
// disappear. Under AddRemove it appears or disappears, also where a sparse row loses its entries,
// except if the centre is not 0: such a row then has the norm of the centre.
func (r *run) normChange() quantile.Change {
	if r.p.ranks() == quantile.Added && !(r.sparse && len(r.shaping.fixed) > 0) {
		return quantile.Added
	}
	return quantile.Either
}

// typical releases M₁, the median of the norms that are not 0, with the budget rho. Two things draw
// M₁ to the bottom of its axis where few rows are not 0: a public number of values there, 6/c and
// the same for all data, and a base measure with the weight of 8192 cells. With no row but 0 the
// other 191 cells have e⁻³/8192 each, 0.12 % together. Where no row is 0 and the budget the least,
// c·n = 36, the wanted rank is 15/c above the bottom: M₁ is too low with probability (8192 +
// 191)·e⁻¹⁵ = 0.26 %. In between, where about 6/c rows are not 0, the cells below those rows are as
// good as the bottom, and have at most 190/8192 of its weight.
//
// keys are those of the norms on the axis of C. That of M₁ keeps typicalBits in place of normBits
// of the same numbers.
func (r *run) typical(of quantile.Axis, keys []uint32, rho float64) (float64, error) {
	ch := r.normChange()
	a := quantile.LogAxis(of.Unit, of.Max, typicalBits)
	c := quantile.Column{Keys: make([]uint32, len(keys)), Zeros: int64(min(typicalZeros/quantile.Reach(rho, 0.5, 2, ch), mostZeros))}
	for j, key := range keys {
		c.Keys[j] = coarser(key)
	}
	base := []quantile.Region{{End: 1, Weight: typicalWeight}, {Start: 1, End: a.Keys, Weight: 1}}
	draw, err := r.drawer(quantile.NewWeights(rho, 0.5, ch, r.x.count()+int(c.Zeros)), a, base, rho, ch)
	if err != nil {
		return 0, err
	}
	return a.Value(draw(&r.samplers[0], c)), nil
}

// coarser returns the key on an axis of typicalBits of what has a key on one of normBits. Key 0 is
// all that is below the unit on both.
func coarser(key uint32) uint32 {
	const digits = normBits - typicalBits
	return (key + 1<<digits - 1) >> digits
}

// typicalNorm returns the norm of rows of the scales that were found, so that the axis of C does
// not depend on Max; 0 where none were, or no scale is larger than the least. What no scale shows,
// as it lies in other columns than the pilot's, is looked for up to octavesAbove.
func (r *run) typicalNorm() float64 {
	if r.given != nil || r.p.Method != Adaptive || !r.p.scaleFree() && !r.p.Relative {
		return 0
	}
	known, sum := 0, 0.0
	for i, s := range r.scale {
		if y := s * r.factor[i]; s > 2*r.p.leastScale() && y > 0 {
			sum += y * y
		}
		if s > 0 {
			known++
		}
	}
	return math.Sqrt(sum * float64(r.p.Dim) / cap1(float64(known)))
}

// normAxis returns the axis of the norms. For Thesis it ends at √(ln d·ln(1/β)·‖σ̂^{2p/(p+2)}‖₁),
// by (5.5).
func (r *run) normAxis() quantile.Axis {
	bound := r.normBound()
	if norm := r.typicalNorm(); norm > 0 {
		bound = min(bound, math.Ldexp(norm, octavesAbove))
	}
	if r.p.Steps.Base != quantile.Uniform {
		return quantile.LogAxis(math.Ldexp(bound, -r.octaves(bound)), bound, normBits)
	}
	if r.scaled {
		e, sum := 2*r.p.P/(r.p.P+2), 0.0
		for _, s := range r.scale {
			sum += math.Pow(s, e)
		}
		bound = min(bound, math.Sqrt(max(math.Log(float64(r.p.Dim)), 1)*math.Log(1/r.p.Failure)*sum))
	}
	return quantile.UniformAxis(0, bound)
}

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
// needs, up to 0.4. What is found by this rule is multiplied by a margin: see choosesMargin. The
// suite of examples/evidence has the error over the best fixed choice for 14 laws.
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
// their distribution is the base measure, of which an octave up to 2⁹·M₁ has a 16th of the one
// before: 10·X lies 3.3 octaves beyond X, and 1.7·10⁻⁴ of the measure of all C ≥ X beyond that,
// where X is a power of two times M₁ or a little less. Beyond 2⁹·M₁ there is as much as in the
// octave before, not a 15th, so for X = 50·M₁ the probability is up to 8·10⁻⁴. Where the longest
// rows differ, Pr[C ≥ X] ≈ e^{−L} is a further factor: normal and skewed rows have about 10⁻⁵. No
// rows have both (a) and (b) at their most: they are 2·10⁻⁴ together. Neither counts the margin, up
// to 2.
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

// How far beyond the released C rows are clipped.
//
// C is found where about k rows are longer, and k is as small as a private quantile can be; in few
// columns that is still so many rows that what they lose weighs as much as the noise. Clipping at
// g·C instead multiplies the noise by g. What is lost falls faster than that where the tail is
// light, and slower where it is heavy, and the released M₁ and C say which: their ratio tells how
// far the tail reaches. This is post-processing of both and costs no budget.
//
// The model. Norms beyond M₁ are taken for lognormal, with M₁ as the median: then C = M₁·exp(σz), z
// the normal quantile of 1 − k/n, and near C the tail falls like a power law of the exponent
//
//	a = z·h/ln(C/M₁),  h = φ(z)/(k/n) the hazard rate of the normal distribution at z.
//
// Beyond g·C such a tail has k·g^{−a} rows, which are longer by g·C/(a−1) on average, so together
// they lose A·g^{1−a} in units of the noise at g = 1, with
//
//	A = k/((a−1)·s·√(d/(2ρ))),  s the sensitivity of the sum in units of C,
//
// if all lose in one direction, and 1/√d of that if each loses in a coordinate of its own. The sum
// of the squares of A·g^{1−a} and g is least where g^{2a} = A²·(a−1). The rule takes 0.7·A/d^{1/3}
// for A, between both cases and a little less, as that is the mean error and not its square, and
// keeps a ≥ 2 and g ≤ 2, for tails that are not what their length says (a few rows far from all
// others). In the suite of examples/evidence it has less error than g = 1, and NoiseInterval covers
// what it did not.
//
// Of two passes over rows without a sign the first has told the means, so in the second the sum of
// what is lost can be held against that of the noise over all columns, as ℓ₁ norms. A row of norm
// M₁ has the sum Q of the means. A long one has R times as much: with C and M₁ those of the first
// pass, as in the second a row may be long because its entries are rare, R is (C/M₁)² of rows of
// ones, whose squared norm is the number of entries, and C/M₁ where a single entry is large. The
// rule takes (C/M₁)^{5/4}, which costs nothing in the second case. Rows that are longer by C/(a−1)
// lose about R·Q/(a−1) each, and A is k of that, over the noise of the sums at C; all of it, as
// both are in one norm. As means are known here, g may be up to 4.

const (
	marginPart = 0.7 // of A
	leastTail  = 2   // a
	mostChosen = 2   // g
	mostTwice  = 4   // g in the second of two passes

	lengthPower = 1.25 // of C/M₁: what a long row has more than a typical one
)

// choosesMargin reports whether valid Params leave g to the rule: M₁ must have been released, and
// the depth below chosen for skewed rows.
func (p Params) choosesMargin() bool {
	return p.Margin == 0 && (p.Method == Adaptive || p.Method == TwoPass) && !p.Symmetric && p.Steps.Clip == 0 && p.Steps.Base != quantile.Uniform
}

// noiseRows returns how many rows, each longer by C, weigh as much as the noise at C; +Inf for two
// passes, where the first has to tell.
func (p Params) noiseRows() float64 {
	if p.Method == TwoPass {
		return math.Inf(1)
	}
	d := float64(p.Dim)
	return p.sumSensitivity() * math.Sqrt(d/(2*p.Rho)) * math.Cbrt(d)
}

// noiseRows is that of the Params, or, in the second of two passes, what the first tells.
func (r *run) noiseRows(limit float64) float64 {
	if r.content == 0 {
		return r.p.noiseRows()
	}
	sum := 0.0
	for _, f := range r.factor {
		sum += 1 / math.Abs(f)
	}
	return marginPart * math.Sqrt(2/math.Pi) * r.p.sumSensitivity() * limit / r.longest * sum / (math.Sqrt(2*r.budget.left()) * r.content)
}

// marginFor returns g for a C that k of n rows were to exceed, M₁, and the noise in rows.
func (p Params) marginFor(limit, typical, k, n, noise float64) float64 {
	if !p.choosesMargin() {
		return max(p.Margin, 1)
	}
	reach, tail := math.Log(limit/typical), min(k/cap1(n), secondClipped)
	if !(reach > 0 && tail > 0) {
		return 1
	}
	z := math.Sqrt2 * math.Erfinv(1-2*tail)
	hazard := math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * tail)
	a := max(z*hazard/reach, leastTail)
	lost, most := marginPart*k/((a-1)*noise), float64(mostChosen)
	if p.Method == TwoPass {
		most = mostTwice
	}
	return min(max(math.Pow(lost*lost*(a-1), 1/(2*a)), 1), most)
}
