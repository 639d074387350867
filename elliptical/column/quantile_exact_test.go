package column

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// placed are rows whose cells are known, in order.
type placed []int64

func (r placed) cells() []quantile.Cell {
	counts := map[int64]int64{}
	for _, cell := range r {
		counts[cell]++
	}
	return rank.Sorted(counts)
}

// lawOf returns the probability of every place of a choice.
func lawOf(rows *quantile.Spread, c quantile.Choice) map[int64]float64 {
	law, sum := map[int64]float64{}, 0.0
	for x := c.From; x < c.To; x++ {
		law[x] = rows.Weight(c, x)
		sum += law[x]
	}
	for x := range law {
		law[x] /= sum
	}
	return law
}

// outcomes returns the law of a whole release, of cells of few places: the tuples of places.
func outcomes(rows placed, cells, places int64, p quantileParams) map[string]float64 {
	law := map[string]float64{}
	var explore func(script []int64, mass float64)
	explore = func(script []int64, mass float64) {
		at := 0
		var open map[int64]float64 // of the first choice behind the script
		found := p.choose(rows.cells(), cells, places, func(rows *quantile.Spread, c quantile.Choice) int64 {
			if c.From == c.To {
				return c.From
			}
			if at < len(script) {
				at++
				return script[at-1]
			}
			if open == nil {
				open = lawOf(rows, c)
			}
			return c.From
		})
		if open == nil {
			law[fmt.Sprint(found)] += mass
			return
		}
		for x, m := range open {
			explore(append(slices.Clone(script), x), mass*m)
		}
	}
	explore(nil, 1)
	return law
}

// multisets returns the sorted lists of n cells.
func multisets(n int, cells int64) (all []placed) {
	if n == 0 {
		return []placed{nil}
	}
	for _, rest := range multisets(n-1, cells) {
		from := int64(0)
		if len(rest) > 0 {
			from = rest[len(rest)-1]
		}
		for x := from; x < cells; x++ {
			all = append(all, append(slices.Clone(rest), x))
		}
	}
	return all
}

func with(rows placed, x int64) placed {
	r := append(slices.Clone(rows), x)
	slices.Sort(r)
	return r
}

// divergence returns the largest loss of two laws, and the largest of Rényi's divergences by its
// order.
func divergence(p, q map[string]float64) (pure, rho float64) {
	for _, alpha := range []float64{1.01, 2, 8} {
		for _, pair := range [][2]map[string]float64{{p, q}, {q, p}} {
			moment := 0.0
			for o, mass := range pair[0] {
				moment += math.Pow(mass, alpha) * math.Pow(pair[1][o], 1-alpha)
				pure = max(pure, math.Abs(math.Log(mass/pair[1][o])))
			}
			rho = max(rho, math.Log(moment)/(alpha-1)/alpha)
		}
	}
	return pure, rho
}

// Over all rows of up to 3, all neighbours and all outcomes of 1, 2 and 3 levels the loss is at
// most ε, or the divergence αρ; with weights of three times the exponent it is more. One level has
// the ends of its interval with it; for several, cells have two places each. Masses are products of
// 3 quotients: relative errors below 1e-12.
func TestExactQuantiles(t *testing.T) {
	for _, levels := range [][]float64{{0.5}, {0.1}, {0.25, 0.75}, {0.1, 0.5, 0.9}} {
		for _, p := range []Params{
			{Epsilon: 1}, {Epsilon: 3}, {Rho: 0.5}, {Epsilon: 1, Delta: 1e-3}, {Epsilon: 1, Relation: budget.Replace}, {Rho: 0.5, Relation: budget.Replace},
		} {
			p, cells, places := quantilesOf(p, levels...), int64(4), int64(1)
			if len(levels) > 1 {
				cells, places = 3, 2
			}
			p.Max, p.Resolution = float64(cells-1), 1
			p = p.normal()
			require.NoError(t, p.validate())
			axis := p.axis()
			require.Equal(t, cells, axis.Cells())
			most, triple, spent := 0.0, 0.0, p.Epsilon
			if p.gaussian() {
				spent = p.rho()
			}
			// All choices together have the budget, and use it up.
			choices, sum := slices.Repeat([]float64{p.loss()}, p.depth()), 0.0
			if p.single() {
				c, _ := p.ended(cells)
				choices = append(choices, c.Loss, c.Loss)
			}
			if p.Relation == budget.AddRemove {
				noise := p.rowsNoise()
				if sum = 1 / noise.Scale; p.gaussian() {
					sum *= sum / 2
				}
				require.InEpsilon(t, p.rowsShare()*spent, sum, 1e-9)
			}
			for _, loss := range choices {
				if p.Relation == budget.Replace {
					loss *= 2
				}
				if p.gaussian() {
					loss *= loss / 8
				}
				sum += loss
			}
			require.True(t, sum <= spent && sum > spent*(1-1e-9))
			check := func(a, b placed) {
				for i, worst := range []*float64{&most, &triple} {
					q := p
					if i > 0 {
						q.Epsilon, q.Rho = 3*q.Epsilon, 9*q.Rho
					}
					pure, rho := divergence(outcomes(a, cells, places, q), outcomes(b, cells, places, q))
					if p.gaussian() {
						pure = rho
					}
					*worst = max(*worst, pure)
				}
			}
			for n := range 3 {
				if n == 2 && (len(levels) == 3 || p.single() && !dptest.Long()) {
					continue
				}
				for _, rows := range multisets(n, cells) {
					for x := range cells {
						if p.Relation == budget.AddRemove {
							check(rows, with(rows, x))
						}
						for y := range x {
							if p.Relation == budget.Replace {
								check(with(rows, x), with(rows, y))
							}
						}
					}
				}
			}
			require.LessOrEqual(t, most, spent*(1+1e-9), "%v of %v", levels, p.promise())
			if p.Relation == budget.AddRemove && slices.Equal(levels, []float64{0.5}) {
				require.Greater(t, triple, 1.5*spent, "%v of %v: three times the exponent must not be private", levels, p.promise())
			}
			t.Logf("%v of %v: %.4f, with three times the exponent %.4f", levels, p.promise(), most, triple)
		}
	}
}
