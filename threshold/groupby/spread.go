package groupby

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/quantile"
)

// This file has what quantiles of the users' values in each shown key are drawn by. The proof is in
// quantile_proof.md.
//
// A user gives each of his keys the weight x, in the cell of his value there. Of a shown key first
// the quantiles are drawn, then a cut on either side of each, at a distance that noise makes
// advisable. Then the weights between all of these are released with noise: they say how exact the
// quantiles are.

const (
	spreadUnit = 1 << 10 // weights in cells are integers in steps of 1/1024
	spreadFull = 4       // C²: a user with l keys has a weight of min(1, √(C²/l)) in each
	spreadMost = 1 << 10 // a user with more keys has no weight
	maxLevels  = 8
	minLevel   = 0x1p-20 // of a level and of 1 − level
	// how far the slopes of a draw may differ, of one level and of several
	mostSteep, mostSteepOfSeveral = 1.75, 1.25
	// ln of 2³⁶, by which a base measure falls, of the number of cells, and more
	fallCost   = 50
	cutShare   = 1. / 16 // of the quantiles' part of the budget, for the cuts
	weighShare = 3. / 32 // and for the weights between them
)

// spread is what the quantiles of a key are drawn by.
type spread struct {
	loss, cutLoss float64            // of a draw, for a step of weight: of a quantile, and of a cut
	weigh         float64            // scale of the noise of a weight, in steps
	away          [maxLevels]float64 // of a cut at least, in steps
}

// levels returns the levels that are released.
func (p *Params) levels() []float64 {
	n := slices.Index(p.Levels[:], 0)
	if n < 0 {
		n = maxLevels
	}
	return p.Levels[:n]
}

// spreadWeight returns what a user who counts in l keys weighs in each, in steps: l·x² ≤ C², or
// l·x ≤ C² without δ.
func (p *Params) spreadWeight(l int) int64 {
	switch {
	case l == 0 || l > spreadMost:
		return 0
	case p.pure():
		return min(spreadUnit, spreadFull*spreadUnit/int64(l))
	}
	return min(spreadUnit, exact.FloorSqrt(spreadFull*spreadUnit*spreadUnit/int64(l)))
}

// spreads returns what the quantiles are drawn by. Their part of the budget is Gaussian noise of
// ratio mu; without δ it is epsilon, and mu is 0.
//
// A user meets C²·D draws of ε₀ for the quantiles, D = ⌈log₂(levels + 1)⌉, and 2C² for the cuts; or
// more keys of less weight. He moves the weights between the cuts by C in ℓ₂, by C² in ℓ₁.
func (p *Params) spreads(mu, epsilon float64) (s spread) {
	const down = 1 - 0x1p-40
	levels, full := p.levels(), spreadFull
	if p.Passes == 1 {
		full = min(full, p.most)
	}
	step := func(share float64, rounds int) float64 {
		e := share * epsilon / float64(full*rounds) * down
		if !p.pure() {
			e = quantile.StepEpsilon(math.Sqrt(share)*mu*down, full*rounds)
		}
		return quantile.Loss(e/spreadUnit, p.spreadWeight(spreadMost))
	}
	s.loss, s.cutLoss = step(1-cutShare-weighShare, quantile.Rounds(len(levels))), step(cutShare, 2)
	s.weigh = float64(full) / (weighShare * epsilon) / down * spreadUnit
	if !p.pure() {
		s.weigh = math.Sqrt(float64(full)/weighShare) / mu / down * spreadUnit
	}
	for i, level := range levels {
		// The cut's own error, and what makes the noise of the weights before it and after it
		// unlikely to say that it is on the wrong side.
		away := quantile.MeanError(1, s.cutLoss) + 2*p.rankNoise(s, level, 4*i+1, 0.025)
		s.away[i] = min(away, 1<<50)
	}
	return s
}

// rankNoise returns what the noise of the rank of an edge at a level, which comes of the weights
// before it and after it, exceeds with probability at most alpha, in steps.
func (p *Params) rankNoise(s spread, level float64, before int, alpha float64) float64 {
	a, b := 1-level, level
	m, n := float64(before), float64(4*len(p.levels())+1-before)
	if !p.pure() {
		return s.weigh*normalTail(alpha)*math.Sqrt(a*a*m+b*b*n) + (m+n)/2
	}
	// Of a sum of Laplace variables by Chernoff: E e^{tX} = Π 1/(1 − (t·scale)²).
	least := math.Inf(1)
	for i := 1; i < 64; i++ {
		t := float64(i) / 64 / max(a, b)
		cost := -math.Log(alpha) - m*math.Log1p(-t*t*a*a) - n*math.Log1p(-t*t*b*b)
		least = min(least, cost/t)
	}
	return s.weigh * least
}

// draw is how a level is drawn, by the released number of users of the key.
type draw struct {
	quantile.Part
	fall  quantile.Fall
	whole bool
	steep float64
}

// draws returns how the levels are drawn among about so many users.
//
// A cell counts as whole where no other level is drawn on its either side; else it is cut.
// Above ¾ the base measure falls towards the upper end of the axis, below ¼ towards the lower
// one, if so many users are on the other side that none of the cells there can come out. Where
// few are on the level's own side, its draw errs rather to the other.
func (n *noises) draws(levels []float64, users float64) []draw {
	parts := quantile.Parts(levels)
	all := make([]draw, len(levels))
	for i, part := range parts {
		d := draw{Part: part, whole: quantile.Leaf(parts, i), steep: 1}
		upper := levels[i] > 0.75 && part.Right == len(levels)
		if upper || levels[i] < 0.25 && part.Left < 0 {
			n.towardsEnd(&d, upper, users)
		}
		all[i] = d
	}
	return all
}

// towardsEnd sets how a level near an end of all is drawn.
func (n *noises) towardsEnd(d *draw, upper bool, users float64) {
	side, kappa := d.Level, n.spread.kappa(d.Level)
	if upper {
		side = 1 - side
	}
	cells := math.Log(float64(n.scale.cells))
	if kappa/2*(1-side)*d.Share*users > fallCost && n.scale.step == 0 {
		d.fall = n.scale.falls(upper, 1)
		cells = (leading + 1) * math.Ln2
	}
	margin := kappa * side * d.Share * users
	need := cells - math.Log(mostAstray)
	most := mostSteep
	if d.Share < 1 || !d.whole {
		most = mostSteepOfSeveral
	}
	if steep := need / (margin * 7 / 8); steep < most+0.5 {
		d.steep = min(max(steep, 1), most)
	}
}

// cutAway returns how far from a quantile a cut is, in steps, where so many users are on that side:
// far enough that cells without users near the quantile are unlikely to come out, if there are as
// many users.
func (s *spread) cutAway(i int, users float64) int64 {
	far := max(s.away[i], 12*quantile.MeanError(1, s.cutLoss))
	return int64(max(min(far, users*spreadUnit/2), 0))
}

// kappa returns by how much the logarithm of a place's probability falls a user.
func (s *spread) kappa(level float64) float64 {
	return spreadUnit * s.loss / 2 / max(level, 1-level)
}

// logTail returns a bound on the logarithm of the probability that the noise of these weights is as
// large as they say, if so many users are in them.
func (p *Params) logTail(s spread, weights []int64, users float64) float64 {
	x, n := -users*spreadUnit, float64(len(weights))
	for _, w := range weights {
		x += float64(w)
	}
	if x = (x - n/2) / s.weigh; !(x > 0) {
		return 0
	}
	if !p.pure() {
		return math.Log(math.Erfc(x/math.Sqrt(2*n)) / 2)
	}
	least := 0.0
	for i := 1; i < 64; i++ {
		t := float64(i) / 64
		least = min(least, -t*x-n*math.Log1p(-t*t))
	}
	return least
}
