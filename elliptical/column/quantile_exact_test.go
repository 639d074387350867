package column

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// placed are rows whose places are known.
type placed []int64

func (r placed) Place(rank int64) int64 { return r[rank] }
func (r placed) Below(x int64) int64 {
	n, _ := slices.BinarySearch(r, x)
	return int64(n)
}

// lawOf returns the probability of every place of a part.
func lawOf(p rank.Part, rows rank.Ordered) map[int64]float64 {
	all, total := p.Segments(rows), new(big.Int)
	for _, s := range all {
		total.Add(total, s.Mass())
	}
	law := map[int64]float64{}
	for _, s := range all {
		mass, _ := new(big.Rat).SetFrac(s.Mass(), new(big.Int).Mul(total, big.NewInt(s.Length))).Float64()
		for x := s.From; x < s.From+s.Length; x++ {
			law[x] += mass
		}
	}
	return law
}

// outcomes returns the law of a whole release, for places that are known: the tuples of places.
func outcomes(rows placed, places int64, p quantileParams) map[string]float64 {
	law := map[string]float64{}
	var explore func(script []int64, mass float64)
	explore = func(script []int64, mass float64) {
		at := 0
		var open map[int64]float64 // of the first choice behind the script
		found := p.choose(rows, int64(len(rows)), places, func(p rank.Part, rows rank.Ordered) int64 {
			if at < len(script) {
				at++
				return script[at-1]
			}
			if open == nil {
				open = lawOf(p, rows)
			}
			return p.Segments(rows)[0].From
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

// multisets returns the sorted lists of n places.
func multisets(n int, places int64) (all []placed) {
	if n == 0 {
		return []placed{nil}
	}
	for _, rest := range multisets(n-1, places) {
		from := int64(0)
		if len(rest) > 0 {
			from = rest[len(rest)-1]
		}
		for x := from; x < places; x++ {
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
// the ends of its interval with it. Whatever the places: so it holds for those that are drawn.
// Masses are products of 3 quotients: relative errors below 1e-12.
func TestExactQuantiles(t *testing.T) {
	const places = 4
	for _, levels := range [][]float64{{0.5}, {0.1}, {0.25, 0.75}, {0.1, 0.5, 0.9}} {
		for _, p := range []Params{
			{Epsilon: 1}, {Epsilon: 3}, {Rho: 0.5}, {Epsilon: 1, Delta: 1e-3}, {Epsilon: 1, Relation: budget.Replace}, {Rho: 0.5, Relation: budget.Replace},
		} {
			p := quantilesOf(p, levels...)
			p.Max, p.Resolution = places-1, 1
			p = p.normal()
			require.NoError(t, p.validate())
			axis := p.axis()
			require.EqualValues(t, places, axis.Cells())
			most, triple, spent := 0.0, 0.0, p.Epsilon
			if p.gaussian() {
				spent = p.rho()
			}
			check := func(a, b placed) {
				for i, worst := range []*float64{&most, &triple} {
					q := p
					if i > 0 {
						q.Epsilon, q.Rho = 3*q.Epsilon, 9*q.Rho
					}
					pure, rho := divergence(outcomes(a, places, q), outcomes(b, places, q))
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
				for _, rows := range multisets(n, places) {
					for x := range int64(places) {
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
