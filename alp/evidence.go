package alp

import (
	"math"
	"sync"
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
	x := log/oddsSpacing + oddsMiddle
	if !(x > 0) {
		s[0] += mass
		return
	}
	k := int(min(x, oddsPoints-1))
	if k == oddsPoints-1 {
		s[k] += mass
		return
	}
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

// before returns the index of the last point at or below the logarithm, and after of the first at
// or above it.
func before(log float64) int {
	return int(min(max(math.Floor(log/oddsSpacing+oddsMiddle), 0), oddsPoints-1))
}

func after(log float64) int {
	return int(min(max(math.Ceil(log/oddsSpacing+oddsMiddle), 0), oddsPoints-1))
}

// lazyPValues computes pvalues when they are first asked for: it takes some milliseconds, a second
// for thousands of columns.
type lazyPValues struct {
	once  sync.Once
	sides []*pvalues
}

func (l *lazyPValues) get(d *decoder) []*pvalues {
	l.once.Do(func() {
		for side, p := range d.flat {
			l.sides = append(l.sides, newPValues(p, d.loads[side]))
		}
	})
	return l.sides
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
			q, i := laws[j][o*(p.count+2)], j*p.levels+o
			out[j+1].each(func(x, mass float64) { out[j].add(math.Log(p.mass[i]+p.ratio[i]*x), q*mass) })
		}
	}
	return out
}

// past returns the distribution of A behind column j, of which ahead is the distribution before it,
// for entries that fill it.
func (p *posterior) past(law []float64, ahead *oddsLaw, j int) (out oddsLaw) {
	for o := range p.levels {
		q, i := law[o*(p.count+2)+p.count+1], j*p.levels+o
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
		i := j*p.levels + o
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

// halves returns the weights of column j below and above the middle of bin b, for i = j·levels +
// output.
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

// odds sets out[b] to ln Λ for each bin, given the outputs.
func (p *posterior) odds(outputs []uint8, out []float64) {
	behind := make([]float64, p.columns+1)
	behind[p.columns] = p.tail.mass
	for j := p.columns - 1; j >= 0; j-- {
		i := j*p.levels + int(outputs[j])
		behind[j] = min(p.mass[i]+p.ratio[i]*behind[j+1], math.MaxFloat64)
	}
	ahead := 0.0
	for j := range p.columns {
		i := j*p.levels + int(outputs[j])
		for b := j * p.count; b < min((j+1)*p.count, p.used); b++ {
			down, up := p.halves(i, b-j*p.count)
			above, below := up+p.ratio[i]*behind[j+1], down+ahead
			out[b] = math.Log(max(above, math.SmallestNonzeroFloat64) / max(below, math.SmallestNonzeroFloat64))
		}
		ahead = min((ahead+p.mass[i])/p.ratio[i], math.MaxFloat64)
	}
}
