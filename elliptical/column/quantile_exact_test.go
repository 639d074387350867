package column

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// placed are rows whose places are known.
type placed []int64

func (r placed) place(rank int64) int64 { return r[rank] }
func (r placed) below(x int64) int64 {
	n, _ := slices.BinarySearch(r, x)
	return int64(n)
}

// law returns the probability of every place of a part.
func (p part) law(rows ordered) map[int64]float64 {
	all, total := p.segments(rows), new(big.Int)
	for _, s := range all {
		total.Add(total, s.mass())
	}
	law := map[int64]float64{}
	for _, s := range all {
		mass, _ := new(big.Rat).SetFrac(integer(s.weight), total).Float64()
		for x := s.from; x < s.from+s.length; x++ {
			law[x] += mass
		}
	}
	return law
}

// outcomes returns the law of a whole release, for places that are known: the tuples of places.
func outcomes(rows placed, places int64, levels []float64, loss float64) map[string]float64 {
	law := map[string]float64{}
	var explore func(script []int64, mass float64)
	explore = func(script []int64, mass float64) {
		at := 0
		var open map[int64]float64 // of the first choice behind the script
		found := quantiles(rows, places, int64(len(rows)), levels, loss, func(p part) int64 {
			if at < len(script) {
				at++
				return script[at-1]
			}
			if open == nil {
				open = p.law(rows)
			}
			return p.from
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
// most ε, or the divergence αρ; with weights of twice the exponent it is more. Whatever the places:
// so it holds for those that are drawn. Masses are products of 3 quotients: relative errors below
// 1e-12.
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
			require.EqualValues(t, places, p.cells())
			most, double, spent := 0.0, 0.0, p.Epsilon
			if p.gaussian() {
				spent = p.rho()
			}
			check := func(a, b placed) {
				for i, worst := range []*float64{&most, &double} {
					loss := p.loss() * float64(i+1)
					pure, rho := divergence(outcomes(a, places, levels, loss), outcomes(b, places, levels, loss))
					if p.gaussian() {
						pure = rho
					}
					*worst = max(*worst, pure)
				}
			}
			for n := range 3 {
				if len(levels) == 3 && n == 2 {
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
				require.Greater(t, double, 1.5*spent, "%v of %v: twice the exponent must not be private", levels, p.promise())
			}
			t.Logf("%v of %v: %.4f, with twice the exponent %.4f", levels, p.promise(), most, double)
		}
	}
}

// One more row changes no weight by more than half of the loss, at every number of rows: that is
// what the proof asks for. And some weight changes by that.
func TestWeightRatios(t *testing.T) {
	for _, loss := range []float64{0x1p-33, 1e-3, 0.1, 1, 5} {
		for _, q := range []float64{1e-6, 0.1, 1.0 / 3, 0.5, 0.75, 1 - 1e-6} {
			worst := 0.0
			for _, n := range []int64{0, 1, 2, 9, 100, 1 << 20, 1 << 40} {
				for _, before := range []int64{0, 1, n / 3, n / 2, n - 1, n} {
					if before < 0 || before > n {
						continue
					}
					a := newPart(0, 10, 0, n, q, loss)
					b := newPart(0, 10, 5, n+6, q, loss)
					for _, more := range []int64{before, before + 1} {
						// the row is behind or before the place
						worst = max(worst, math.Abs(math.Log(a.weight(before)/b.weight(more))))
					}
				}
			}
			require.LessOrEqual(t, worst, loss/2)
			if loss >= 0.1 {
				require.Greater(t, worst, 0.99*loss/2)
			}
		}
	}
}

// Segments cover the part once, with the weight of each place, also where rows are so many that
// those far from the quantile are not looked at.
func TestSegments(t *testing.T) {
	for _, n := range []int{0, 1, 5, 40, 300} {
		var rows placed
		for i := range n {
			rows = append(rows, int64(i*i%997))
		}
		slices.Sort(rows)
		for _, q := range []float64{0.01, 0.3, 0.5, 0.98} {
			first, last := int64(n/10), int64(n-n/20)
			p := newPart(0, 1000, first, last, q, 6)
			if n > 0 {
				p.from, p.to = rows[first], rows[last-1]+1
			}
			next := p.from
			for _, s := range p.segments(rows) {
				require.Equal(t, next, s.from)
				for x := s.from; x < s.from+s.length; x++ {
					before := min(max(rows.below(x)-first, 0), last-first)
					require.Equal(t, p.weight(before), s.weight, "n = %d, q = %v, x = %d", n, q, x)
				}
				next += s.length
			}
			require.Equal(t, p.to, next)
		}
	}
	require.Equal(t, new(big.Int).Lsh(big.NewInt(1), unitBits).String(), integer(1).String())
	require.Equal(t, new(big.Int).Lsh(big.NewInt(1), unitBits-floorBits).String(), integer(leastWeight).String())
}

// The draw has the law of the segments.
func TestChoose(t *testing.T) {
	rows := placed{1, 1, 4, 6, 6, 7}
	p := newPart(0, 9, 0, 6, 0.4, 0.7)
	law, all := p.law(rows), p.segments(rows)
	var src noise.Source
	observed, expected := make([]int64, 9), make([]float64, 9)
	for range 20_000 {
		observed[choose(all, &src)]++
	}
	sum := 0.0
	for x, mass := range law {
		expected[x] = mass
		sum += mass
	}
	require.InDelta(t, 1, sum, 1e-12)
	for i := range expected {
		expected[i] *= 1 - 1e-12
	}
	dptest.ChiSquare(t, "choose", observed, expected, 1e-9)
	for _, n := range []int64{1, 2, 3, 1000} {
		for range 100 {
			u := below(big.NewInt(n), &src)
			require.True(t, u.Sign() >= 0 && u.Cmp(big.NewInt(n)) < 0)
		}
	}
}

// Places that are drawn as far as they are asked for have the law of independent uniform ones: in a
// cell of three halvings, the numbers of rows at each place are multinomial. Here, by χ² for each
// place of many cells together, and the number of rows in one half by its binomial law.
func TestJitter(t *testing.T) {
	var src noise.Source
	const runs = 3000
	observed := make([]int64, 8)
	halves, expected := make([]int64, 101), make([]float64, 101)
	for range runs {
		j := newJittered([]int64{3}, []int64{100}, 3, &src)
		before := int64(0)
		for x := range int64(8) {
			n := j.below(24 + x + 1)
			observed[x] += n - before
			before = n
		}
		halves[j.below(28)]++
	}
	dptest.ChiSquare(t, "places", observed, []float64{0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125}, 1e-9)
	for k := range expected {
		lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
		expected[k] = math.Exp(lg(100)-lg(k)-lg(100-k)-100*math.Ln2) * (1 - 1e-9)
	}
	dptest.ChiSquare(t, "halves", halves, expected, 1e-9)
	// Ranks and places agree, whatever is asked for first.
	for _, bits := range []uint{0, 2, 10, cellBits} {
		j := newJittered([]int64{0, 5, 6, 1 << 20}, []int64{1000, 1, 40, 70_000}, bits, &src)
		require.EqualValues(t, 71_041, j.len())
		last := int64(0)
		for _, rank := range []int64{500, 999, 1000, 1001, 1040, 1041, 40_000, 71_040} {
			x := j.place(rank)
			require.LessOrEqual(t, j.below(x), rank)
			require.Greater(t, j.below(x+1), rank)
			require.GreaterOrEqual(t, x, last)
			last = x
		}
		require.EqualValues(t, 1000, j.below(1<<bits))
		require.EqualValues(t, 1000, j.below(5<<bits))
		require.EqualValues(t, 1041, j.below(7<<bits))
		require.EqualValues(t, 71_041, j.below((1<<20+1)<<bits))
	}
	var ones int64
	for range 100 {
		require.LessOrEqual(t, halved(&src, 3), int64(3))
		ones += halved(&src, 100_001)
	}
	dptest.Tail(t, "halved", ones, 100*100_001, 0.5, 1e-9)
}

// In each round every row lies in one part at most, and no place in two.
func TestPartsAreDisjoint(t *testing.T) {
	rows := placed{0, 0, 3, 5, 5, 5, 8, 9, 9, 12, 15, 15}
	for m := 1; m <= 12; m++ {
		var levels []float64
		for i := range m {
			levels = append(levels, float64(i+1)/float64(m+1))
		}
		var parts []part
		var src noise.Source
		found := quantiles(rows, 16, int64(len(rows)), levels, 2, func(p part) int64 {
			parts = append(parts, p)
			return choose(p.segments(rows), &src)
		})
		require.True(t, slices.IsSorted(found))
		rounds := 0
		for x := range int64(16) {
			holders := 0
			for _, p := range parts {
				if p.from <= x && x < p.to {
					holders++
					require.Equal(t, rows.below(p.from), p.first)
					require.Equal(t, rows.below(p.to), p.last)
				}
			}
			rounds = max(rounds, holders)
		}
		var p quantileParams
		copy(p.Levels[:], levels)
		require.LessOrEqual(t, rounds, p.depth(), "the parts that hold a place are as many as the rounds that are paid for")
	}
}
