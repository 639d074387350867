package quantile

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// guardOf returns the Guard of levels on an axis of so many cells, where the weight of all is known
// and nothing else.
func guardOf(levels []float64, loss float64, how Choice, cells, places int64, all float64, heavy bool) Guard {
	g := Guard{All: all, Most: all}
	parts := Parts(levels)
	for i, p := range parts {
		kappa, steep := loss/2/max(p.Level, 1-p.Level), min(max(how.Steep, 1), 2*max(p.Level, 1-p.Level))
		d := Drawn{Part: p, Above: kappa * steep, Below: kappa * (2 - steep)}
		if p.Level < 0.5 {
			d.Above, d.Below = d.Below, d.Above
		}
		fall := Fall{how.Fall.From / places, how.Fall.Every / places}
		steepest := max(d.Above, d.Below)
		if how.Whole && Leaf(parts, i) || !heavy {
			steepest = 0
		}
		most := 1 + steepest*all
		if heavy && p.Left >= 0 {
			most = max(most, 1/(p.Level*p.Share)+steepest*all)
		}
		if heavy && p.Right < len(levels) {
			most = max(most, 1/((1-p.Level)*p.Share)+steepest*all)
		}
		d.Up, d.Down = fall.Above(0, cells-1, cells)+math.Log(most), fall.Below(0, 0, cells-1)+math.Log(most)
		g.Draws = append(g.Draws, d)
	}
	return g
}

// For random values with atoms and gaps, the exact probability that a level's cell has hardly any
// weight at it and above it, or at it and below it, is at most what the Guard says, with and
// without whole cells, base measures that fall and steep slopes; and comes within a factor of 20 of
// it. Where an atom counts as any other cell, or a base measure as none, it is not a bound. Sums of
// up to 10⁴ products of probabilities, to 1e-12.
func TestGuard(t *testing.T) {
	const cells, places = 10, 4
	rng := rand.New(rand.NewPCG(53, 1))
	sets := [][]float64{{0.5}, {0.9}, {0.05}, {0.5, 0.9}, {0.1, 0.5}}
	worst, atoms, base := 0.0, 0.0, 0.0
	for turn := range dptest.Full(6000, 600) {
		levels := sets[turn%len(sets)]
		weights := make([]int64, cells)
		all := int64(0)
		for range 1 + rng.IntN(3) {
			w := rng.Int64N(60)
			weights[rng.IntN(cells)] += w
			all += w
		}
		if all == 0 {
			continue
		}
		how := Choice{Whole: rng.IntN(2) == 0, Steep: 1 + rng.Float64()*float64(rng.IntN(2))}
		if rng.IntN(2) == 0 {
			how.Fall = Fall{places * rng.Int64N(cells), places * []int64{1, 2, -1}[rng.IntN(3)]}
		}
		loss := math.Exp(-3 * rng.Float64())
		s := spreadOf(places, weights)
		law := tuples(s, cells*places, levels, loss, how)
		g, flat := guardOf(levels, loss, how, cells, places, float64(all), true), how
		flat.Fall = Fall{}
		light := guardOf(levels, loss, how, cells, places, float64(all), false)
		even := guardOf(levels, loss, flat, cells, places, float64(all), true)
		for i, level := range levels {
			for _, above := range []bool{true, false} {
				rest := level * float64(all) / 8
				if above {
					rest = (1 - level) * float64(all) / 8
				}
				exact := 0.0
				for tuple, p := range law {
					cell := uint32(tuple.places[i] / places)
					there := s.Cells(cell + 1)
					if above {
						there = all - s.Cells(cell)
					}
					if float64(there) <= rest {
						exact += p
					}
				}
				ratio := func(g *Guard) float64 { return exact / math.Exp(g.beyond(i, rest, above)) }
				worst, atoms, base = max(worst, ratio(&g)), max(atoms, ratio(&light)), max(base, ratio(&even))
			}
		}
	}
	t.Logf("worst %.3f of the bound; %.1f where atoms count once, %.1f without the base measure", worst, atoms, base)
	require.LessOrEqual(t, worst, 1+1e-9)
	require.Greater(t, worst, 0.05)
	require.Greater(t, atoms, 1.05)
	require.Greater(t, base, 1.05)
}

// A part that lacks e of its nominal weight s has a bound of min(1, w·s/(s − e)·e^(x − θ(s − e))),
// w being the cells that an end cuts, of which less is left: at most that of s, times e^(θe) and
// what lighter adds. Without that it is more.
func TestLightParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 2))
	more := 0.0
	for range 3000 {
		s, theta, x := 1+1e4*rng.Float64(), math.Exp(-6*rng.Float64()), 30*rng.Float64()
		c := lighter(s, x/theta)
		for i := range 200 {
			e := s * float64(i) / 200
			logarithm := min(0, math.Log(s/(s-e))+x-theta*(s-e))
			require.LessOrEqual(t, logarithm, min(0, x-theta*s)+(theta+c)*e+1e-9)
			if x < theta*s {
				more = max(more, logarithm-(x-theta*s)-theta*e)
			}
		}
	}
	require.Greater(t, more, 1.0)
}

// What the error of an end of a part adds, of a draw with Pr[error > t] = min(1, e^(cells − κt)) up
// to the weight of all: ln E e^(θ·error), by adding up. That of its own ends comes on top.
func TestErrorOfAnEnd(t *testing.T) {
	for _, c := range []struct{ cells, kappa, theta, all float64 }{{3, .1, .05, 400}, {12, .5, .5, 300}, {0, .2, .3, 90}, {20, .01, .02, 500}, {5, 1, .01, 1000}} {
		end := Drawn{Part: Part{Left: -1, Right: 3, Level: .5}, Above: c.kappa, Below: 2 * c.kappa, Up: c.cells, Down: 1}
		g := Guard{Draws: []Drawn{end, {Part: Part{Left: 0, Right: 3, Level: .4}, Above: c.kappa, Below: c.kappa, Up: c.cells, Down: c.cells}}, Most: c.all}
		moment := func(cells, kappa, theta float64) float64 {
			const parts = 200_000
			sum, step := 0.0, c.all/parts
			for i := range parts {
				x := (float64(i) + .5) * step
				sum += theta * math.Exp(theta*x+min(0, cells-kappa*x)) * step
			}
			return math.Log1p(sum)
		}
		require.InDelta(t, moment(c.cells, c.kappa, c.theta), g.error(0, c.theta, true), 1e-4)
		require.InDelta(t, moment(1, 2*c.kappa, c.theta), g.error(0, c.theta, false), 1e-4)
		require.InDelta(t, moment(c.cells, c.kappa, c.theta)+moment(c.cells, c.kappa, .6*c.theta), g.error(1, c.theta, true), 1e-4)
	}
}

// tuples is outcomes, by places.
func tuples(s *Spread, end int64, levels []float64, loss float64, how Choice) map[tuple]float64 {
	parts := Parts(levels)
	return outcomesOf(s, end, levels, loss, func(i int, c Choice) Choice {
		c.Whole, c.Fall, c.Steep = how.Whole && Leaf(parts, i), how.Fall, how.Steep
		return c
	}, 0)
}
