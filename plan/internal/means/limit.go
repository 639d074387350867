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

// limit releases C: see depth.go.
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
	r.margin = r.p.marginFor(limit, typical, float64(k), r.n, r.noiseRows(typical))
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
