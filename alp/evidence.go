package alp

import (
	"math"
	"slices"
	"sort"
)

// pvalues are the distributions of the evidence about an entry under each of its possible values,
// for [Projection.Interval].
//
// Let the entry have the value x, in bin b of column j. Then the outputs before column j follow
// Pr[·|W], that of column j Pr[·|b], and those after it Pr[·|0], all with the load, and are
// independent. Evidence that x is too small or too large are the odds
//
//	Λ = (up + r_j·B)/(down + A),
//	B = t_{j+1} + r_{j+1}(t_{j+2} + r_{j+2}(…)),   A = (t_{j−1} + (t_{j−2} + …)/r_{j−2})/r_{j−1},
//
// of a larger against a smaller value under the uniform prior, where up and down are what column j
// has above and below the middle of b. A depends on the outputs before j alone and B on those after
// it. Their distributions follow from one another by a step for each column, and the distribution
// of Λ from both, on a grid of ln Λ: mass between two points of the grid goes to both, with the
// right mean. So Pr_x[Λ ≤ λ] is known for each bin, and all x are accepted for which it is not too
// small.
type pvalues struct {
	lower, upper []float32           // [b·oddsPoints+k]: Pr_b[ln Λ ≥ point k], Pr_b[ln Λ ≤ point k]
	zero         [oddsPoints]float64 // Pr₀[ln of the evidence against 0 ≥ point k]
}

// The grid of log odds, from −16 to 16: what is beyond counts as at the end.
const (
	oddsPoints  = 97
	oddsSpacing = 1.0 / 3
	oddsMiddle  = oddsPoints / 2
	leastMass   = 1e-9 // of a point of the grid, to matter
)

// oddsLaw is a distribution on the grid.
type oddsLaw [oddsPoints]float64

// add adds mass at a logarithm.
func (s *oddsLaw) add(log, mass float64) {
	x := min(max(log/oddsSpacing+oddsMiddle, 0), oddsPoints-1)
	k := min(int(x), oddsPoints-2)
	f := x - float64(k)
	s[k] += mass * (1 - f)
	s[k+1] += mass * f
}

// each calls visit for the points of mass, with e^point.
func (s *oddsLaw) each(visit func(x, mass float64)) {
	for k, mass := range s {
		if mass > leastMass {
			visit(math.Exp((float64(k)-oddsMiddle)*oddsSpacing), mass)
		}
	}
}

// limitsKey is a side, and the probabilities with which its evidence for a smaller and for a larger
// value may reject the true one.
type limitsKey struct {
	side            int
	smaller, larger float64
}

// limits are the odds Λ between which a value is not rejected.
type limits struct {
	low, high   []float64 // of each bin
	least, most []float64 // of each column: the lowest and the highest of its bins
	zero        float64   // 0 is rejected from this evidence against it on
}

// newLimits reads the limits off the pvalues of a side, which are monotone in the odds.
func (d *decoder) newLimits(key limitsKey) *limits {
	p, v, rejected := d.flat[key.side], d.pvalues()[key.side], math.Inf(1)
	l := &limits{make([]float64, p.used), make([]float64, p.used), slices.Repeat([]float64{rejected}, p.columns), make([]float64, p.columns), 0}
	for b := range l.low {
		lower, upper := v.lower[b*oddsPoints:], v.upper[b*oddsPoints:]
		// a value at either end of the bin is listed less or more often than one in the middle
		most, least := d.list.absent(d.shape.valueAt(p.point(b, 0))), d.list.absent(d.shape.valueAt(p.point(b, 1)))
		l.high[b] = oddsAt(sort.Search(oddsPoints, func(k int) bool { return 1-least*(1-float64(lower[k])) <= key.smaller }))
		l.low[b] = rejected
		if k := sort.Search(oddsPoints, func(k int) bool { return most*float64(upper[k]) > key.larger }); k < oddsPoints {
			l.low[b] = oddsAt(k - 1)
		}
		j := b / p.count
		l.least[j], l.most[j] = min(l.least[j], l.low[b]), max(l.most[j], l.high[b])
	}
	l.zero = oddsAt(sort.Search(oddsPoints, func(k int) bool { return v.zero[k] <= key.smaller }))
	return l
}

// oddsAt returns the odds at a point of the grid, −1 before the first and +Inf behind the last.
func oddsAt(k int) float64 {
	switch {
	case k < 0:
		return -1
	case k < oddsPoints:
		return math.Exp((float64(k) - oddsMiddle) * oddsSpacing)
	}
	return math.Inf(1)
}

// newPValues computes the distributions for one side.
func newPValues(p *posterior, rates load) *pvalues {
	n := p.used
	v := &pvalues{lower: make([]float32, n*oddsPoints), upper: make([]float32, n*oddsPoints)}
	laws := p.distributions(rates)
	after := p.behind(laws)
	first := &after[0]
	c := 0.0
	for k := oddsPoints - 1; k >= 0; k-- {
		c += first[k]
		v.zero[k] = c
	}
	var ahead oddsLaw
	ahead.add(math.Inf(-1), 1)
	for j := range p.columns {
		for b := range p.count {
			if j*p.count+b < n {
				v.column(p, laws[j], &ahead, &after[j+1], j, b)
			}
		}
		ahead = p.past(laws[j], &ahead, j)
	}
	return v
}

// distributions returns for each column the distribution of the output, out[j][o·(count+2)+y] for
// an entry at y as in bins.chance.
func (p *posterior) distributions(rates load) [][]float64 {
	above := sum(rates)
	laws := make([][]float64, p.columns)
	for j := range laws {
		in := rates[j*p.count : (j+1)*p.count]
		above = max(above-sum(in), 0)
		laws[j] = p.bins.distributions(in, above)
	}
	return laws
}

// behind returns the distributions of B for the columns from j on, for entries that are below them:
// B of column j is out[j].
func (p *posterior) behind(laws [][]float64) []oddsLaw {
	out := make([]oddsLaw, p.columns+1)
	out[p.columns].add(math.Log(p.tail.mass), 1)
	for j := p.columns - 1; j >= 0; j-- {
		for o := range p.levels {
			q, i := laws[j][o*(p.count+2)], p.at(j, uint8(o))
			out[j+1].each(func(x, mass float64) { out[j].add(math.Log(p.mass[i]+p.ratio[i]*x), q*mass) })
		}
	}
	return out
}

// past returns the distribution of A behind column j, of which ahead is the distribution before it,
// for entries that fill it.
func (p *posterior) past(law []float64, ahead *oddsLaw, j int) (out oddsLaw) {
	for o := range p.levels {
		q, i := law[o*(p.count+2)+p.count+1], p.at(j, uint8(o))
		ahead.each(func(x, mass float64) { out.add(math.Log((p.mass[i]+x)/p.ratio[i]), q*mass) })
	}
	return out
}

// column sets lower and upper of bin b of column j.
func (v *pvalues) column(p *posterior, law []float64, ahead, after *oddsLaw, j, b int) {
	var odds oddsLaw
	for o := range p.levels {
		q := law[o*(p.count+2)+b+1]
		if q < leastMass {
			continue
		}
		i := p.at(j, uint8(o))
		down, up := p.halves(i, b)
		var above, below oddsLaw
		after.each(func(x, mass float64) { above.add(math.Log(up+p.ratio[i]*x), mass) })
		ahead.each(func(x, mass float64) { below.add(math.Log(down+x), mass) })
		for k, m := range above {
			if m < leastMass {
				continue
			}
			for l, w := range below {
				odds[min(max(k-l+oddsMiddle, 0), oddsPoints-1)] += q * m * w
			}
		}
	}
	at := (j*p.count + b) * oddsPoints
	c := 0.0
	for k, m := range odds {
		c += m
		v.upper[at+k] = float32(c)
		v.lower[at+k] = float32(1 - c + m)
	}
}

// halves returns the weights of column j below and above the middle of bin b, for i = at(j,
// output).
func (p *posterior) halves(i, b int) (down, up float64) {
	cum := p.cum[i*p.count : (i+1)*p.count]
	share := float64(cum[b])
	if b > 0 {
		share = (share + float64(cum[b-1])) / 2
	} else {
		share /= 2
	}
	return share * p.mass[i], (1 - share) * p.mass[i]
}
