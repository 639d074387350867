package elliptical

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// tinyBox returns the noise of one group whose coordinates have these sensitivities in steps.
func tinyBox(bits uint, offset uint64, epsilon float64, sensitivities ...int64) gridNoise {
	g := group{bits: bits, offset: offset, scale: math.Ldexp(1/epsilon, int(bits))}
	l := gridNoise{kind: uniform, replace: true, dim: len(sensitivities)}
	for i, d := range sensitivities {
		l.coordinates = append(l.coordinates, coordinate{step: 1, high: d})
		g.members = append(g.members, i)
	}
	g.square = math.Exp(g.logMoment(2))
	l.groups = []group{g}
	return l
}

// boxMasses returns a function for Pr[noise = k], from the proof in box.go: j with Pr ∝ λʲ·Π(n+i),
// n = g + jF, and cells of uniform variables on [−w, w]/F.
func boxMasses(l gridNoise) func(k []int64) float64 {
	g, size := l.groups[0], math.Ldexp(1, int(l.groups[0].bits))
	var probs []float64
	sum := 0.0
	for j := 0.0; j*g.epsilon() < 60; j++ {
		p := math.Exp(-j * g.epsilon())
		for i := range l.coordinates {
			p *= float64(g.offset) + float64(i+1) + j*size
		}
		probs, sum = append(probs, p), sum+p
	}
	return func(k []int64) float64 {
		total := 0.0
		for j, p := range probs {
			p /= sum
			for i, c := range l.coordinates {
				w := (float64(g.offset) + float64(i+1) + float64(j)*size) * float64(c.high) / size
				x := math.Abs(float64(k[i]))
				p *= max(min(x+0.5, w)-max(x-0.5, -w), 0) / (2 * w)
			}
			total += p
		}
		return total
	}
}

// each yields all integer points with |kᵢ| ≤ reachᵢ. The slice is reused.
func each(reach []int64, yield func(k []int64)) {
	k := make([]int64, len(reach))
	var fill func(i int)
	fill = func(i int) {
		if i == len(k) {
			yield(k)
			return
		}
		for k[i] = -reach[i]; k[i] <= reach[i]; k[i]++ {
			fill(i + 1)
		}
	}
	fill(0)
}

// tinyBoxes are laws with sensitivities and g up to 3 in up to 3 coordinates.
func tinyBoxes() map[string]gridNoise {
	list := map[string]gridNoise{}
	all := [][]int64{{1}, {3}, {1, 3}, {2, 3}, {1, 2, 3}}
	if dptest.Long() {
		all = append(all, []int64{2}, []int64{1, 1}, []int64{2, 2}, []int64{3, 3}, []int64{1, 1, 1}, []int64{3, 3, 3}, []int64{3, 1, 2})
	}
	for _, d := range all {
		for _, offset := range []uint64{0, 1, 3} {
			for _, epsilon := range []float64{0.7, 2.5} {
				bits := uint(2)
				if offset == 1 {
					bits = 1
				}
				list[fmt.Sprint(d, bits, offset, epsilon)] = tinyBox(bits, offset, epsilon, d...)
			}
		}
	}
	return list
}

// worstRatio returns the largest ratio of probabilities of an output for totals that a row tells
// apart, in a window around 0.
func worstRatio(l gridNoise) (ratio float64) {
	mass, d := boxMasses(l), len(l.coordinates)
	reach, most, all, moved := make([]int64, d), make([]int64, d), make([]int64, d), make([]int64, d)
	for i, c := range l.coordinates {
		reach[i], most[i], all[i] = 3*c.high+2, c.high, 4*c.high+2
	}
	at := func(k []int64) (place int) {
		for i, x := range k {
			place = place*int(2*all[i]+1) + int(x+all[i])
		}
		return place
	}
	var masses []float64
	each(all, func(k []int64) { masses = append(masses, mass(k)) })
	each(reach, func(k []int64) {
		p := masses[at(k)]
		each(most, func(delta []int64) {
			for i := range k {
				moved[i] = k[i] + delta[i]
			}
			ratio = max(ratio, p/masses[at(moved)])
		})
	})
	return ratio
}

// The exact distribution of a box, rounded, on a grid: whatever a row changes, the probability of
// no output changes by more than e^ε, some pair comes close to that, and half the scale breaks it.
// A factor of 1 + 1e-12 is for the rounding of sums of some hundred terms.
func TestBoxIsPrivateExactly(t *testing.T) {
	for name, l := range tinyBoxes() {
		if len(l.coordinates) == 3 && l.groups[0].offset != 3 && !dptest.Long() {
			continue
		}
		epsilon, ratio := l.groups[0].epsilon(), worstRatio(l)
		require.LessOrEqual(t, ratio, math.Exp(epsilon)*(1+1e-12), name)
		require.Greater(t, ratio, math.Exp(0.8*epsilon), name)
		l.groups[0].scale /= 2
		require.Greater(t, worstRatio(l), math.Exp(1.5*epsilon), "%s: half the scale must not be private", name)
	}
}

// What is drawn has the distribution that was checked.
func TestBoxLaw(t *testing.T) {
	draws := dptest.Full(100_000, 5000)
	var src noise.Source
	for name, l := range tinyBoxes() {
		mass, d := boxMasses(l), len(l.coordinates)
		reach := make([]int64, d)
		cells := 1
		for i, c := range l.coordinates {
			reach[i] = 4 * c.high
			cells *= int(2*reach[i] + 1)
		}
		var expected []float64
		each(reach, func(k []int64) { expected = append(expected, mass(k)) })
		counts := make([]int64, cells+1)
		for range draws {
			totals, at := make([]exact.Int128, d), 0
			l.addBox(&src, totals)
			for i, x := range small(t, totals) {
				if max(x, -x) > reach[i] {
					at = cells
					break
				}
				at = at*int(2*reach[i]+1) + int(x+reach[i])
			}
			counts[at]++
		}
		dptest.ChiSquare(t, name, counts, expected, 1e-10)
	}
}

// The losses of the groups add up to ε and no more, in exact arithmetic, and their radii are small
// enough to be drawn, for all kinds of sensitivities. No group is empty or counted twice.
func TestBoxSpendsItsBudget(t *testing.T) {
	for _, epsilon := range []float64{0x1p-30, 0.01, 1, 20, 1024} {
		for _, p := range []Params{
			Params{}.around(1), Params{}.around(1, 1, 1), Params{}.around(skewed(1000)...), Params{}.around(1, 0x1p-90, 0x1p90), Params{}.around(skewed(30)...),
			{Min: VectorOf(0, 1, -3), Max: VectorOf(2, 1e3, 1e9), Relation: budget.AddRemove, Count: true},
		} {
			p.Epsilon, p.Shape = epsilon, Box
			m := dptest.OK(New(p))(t)
			spent, seen := new(big.Rat), map[int]bool{}
			require.Less(t, len(m.noise.groups), maxGroups)
			for at, g := range m.noise.groups {
				loss := new(big.Rat).SetFloat64(math.Ldexp(1, int(g.bits)))
				spent.Add(spent, loss.Quo(loss, new(big.Rat).SetFloat64(g.scale)))
				dptest.OK(noise.NewGeometric(g.scale))(t)
				require.True(t, g.bits >= 1 && g.offset < 1<<g.bits)
				for _, i := range g.members {
					require.False(t, seen[i])
					require.Equal(t, at, m.noise.coordinates[i].group)
					seen[i] = true
				}
			}
			require.Len(t, seen, len(m.noise.coordinates))
			require.LessOrEqual(t, spent.Cmp(new(big.Rat).SetFloat64(epsilon)), 0)
			share, _ := spent.Float64()
			require.Greater(t, share, epsilon*(1-1e-9))
			s := dptest.OK(m.Release(make([]float64, len(m.noise.coordinates))))(t)
			require.Less(t, math.Abs(s.Estimate(0)), 1000*s.StdDev(0))
		}
	}
}

// The largest Dim has fewer groups than a decoder takes.
func TestCuts(t *testing.T) {
	count := 0
	for at := 0; at < maxDim; count++ {
		at = min(at+1+max(at-128, 0)/64, maxDim)
	}
	require.Less(t, count, maxGroups)
}

// apart returns the Params with independent Laplace noise.
func (p Params) apart() Params {
	p.Shape = Independent
	return p
}

// The mean squared error beside that of independent Laplace noise: by formula, and what is drawn
// has the variances of the formula.
func TestBoxError(t *testing.T) {
	for d, most := range map[int]float64{2: 0.52, 5: 0.29, 10: 0.23, 100: 0.18} {
		widths := make([]float64, d)
		for i := range widths {
			widths[i] = 3
		}
		for _, epsilon := range []float64{0.01, 1} {
			p := Params{Epsilon: epsilon}.around(widths...)
			ratio := p.errorOf(2) / p.apart().errorOf(2)
			t.Logf("ε = %g, %d equal widths: %.4f of Laplace noise's error", epsilon, d, ratio)
			require.LessOrEqual(t, ratio, most)
		}
	}
	p := Params{Epsilon: 1}.around(skewed(1000)...)
	ratio := p.errorOf(2) / p.apart().errorOf(2)
	t.Logf("Δᵢ = i^−.8, d = 1000: %.4f", ratio)
	require.LessOrEqual(t, ratio, 0.2)

	n := dptest.Full(200_000, 4000)
	for _, p := range []Params{Params{Epsilon: 1}.around(4), Params{Epsilon: 5}.around(4, 3), Params{Epsilon: 0.01}.around(1, 2, 1), Params{Epsilon: 30}.around(1)} {
		p.Shape = Box
		m := dptest.OK(New(p))(t)
		samples := make([][]float64, m.noise.dim)
		for range n {
			s := dptest.OK(m.Release(make([]float64, m.noise.dim)))(t)
			for i, x := range s.All() {
				samples[i] = append(samples[i], x)
			}
		}
		for i, v := range samples {
			dptest.Moments(t, "box", v, 0, m.noise.variance(i), m.noise.moment(i, 4), 1e-10)
		}
	}
}

// For small ε the moments are those of the K-norm mechanism, (m+1)(m+2)/(3ε²) for the second; the
// best γ has 4 % less at m = 1 and ε = 1, and less for larger ε.
func TestBestRadius(t *testing.T) {
	for _, c := range []struct {
		m              int
		epsilon, ratio float64
	}{{1, 0.01, 1}, {10, 0.01, 1}, {1000, 0.1, 1}, {1, 1, 0.959}, {2, 1, 0.993}, {1, 3, 0.687}, {2, 3, 0.856}, {3, 3, 0.932}, {10, 3, 1}, {1, 8, 0.108}, {2, 8, 0.254}, {5, 8, 0.610}, {10, 8, 0.868}} {
		g := newGroup(c.m, c.epsilon)
		size := float64(c.m)
		require.InEpsilon(t, c.ratio, g.square*c.epsilon*c.epsilon/((size+1)*(size+2)), 0.03, "%+v", c)
	}
	for _, epsilon := range []float64{0.01, 1, 10, 100, 1024} {
		// trials of radius are not refused for ever
		for _, m := range []int{1, 2, 30, 1000} {
			g := newGroup(m, epsilon)
			require.Greater(t, -math.Expm1(-epsilon)*hits(m, epsilon, g.gamma()), 0.8*min(-math.Expm1(-epsilon)/epsilon, 1/math.Sqrt(2*math.Pi*float64(m)))/16)
		}
	}
}

// grouped finds the best of all groupings.
func TestGroupsAreOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32)) // public numbers
	const d = 6
	for range dptest.Full(100, 20) {
		weights := make([]float64, d)
		for i := range weights {
			weights[i] = math.Exp(2 * rng.NormFloat64())
		}
		cost := func(groups map[int][]int) (sum float64) {
			for _, members := range groups {
				moment := 0.0
				for _, i := range members {
					moment += square(weights[i])
				}
				m := float64(len(members))
				sum += math.Cbrt((m + 1) * (m + 2) / 3 * moment)
			}
			return sum
		}
		found := map[int][]int{}
		shares := 0.0
		ones := make([]int, len(weights))
		for i := range ones {
			ones[i] = 1
		}
		for i, s := range grouped(weights, ones, 0x1p-30) {
			for _, part := range s.portions {
				found[i] = append(found[i], part.class)
			}
			shares += s.share
		}
		require.True(t, 1-1e-11 < shares && shares < 1)
		least := math.Inf(1)
		for code := range int(math.Pow(d, d)) { // each coordinate in one of d groups
			groups := map[int][]int{}
			first := 0
			for i, c := 0, code; i < d; i, c = i+1, c/d {
				if c%d > first {
					groups = nil // a partition is listed once: new groups in order
					break
				}
				first = max(first, c%d+1)
				groups[c%d] = append(groups[c%d], i)
			}
			if groups != nil {
				least = min(least, cost(groups))
			}
		}
		require.InEpsilon(t, least, cost(found), 1e-9)
	}
}

// Tails of one coordinate, Q(m, εt) − (εt/m)·Q(m−1, εt) with Q(k, x) = Pr[Poisson(x) < k], and of
// the largest, that of Gamma(m, 1/ε), for the K-norm mechanism, which a small ε comes near to.
func TestBoxReach(t *testing.T) {
	const epsilon = 0.02
	for _, m := range []int{1, 2, 10, 100} {
		r := newGroup(m, epsilon)
		size := float64(m)
		for _, tail := range []float64{0.5, 0.05, 1e-6} {
			x := epsilon * r.radii(fine).reach(tail)
			outside := mathext.GammaIncRegComp(size, x)
			if m > 1 {
				outside -= x / size * mathext.GammaIncRegComp(size-1, x)
			}
			require.InEpsilon(t, tail, outside, 0.02)
			require.LessOrEqual(t, outside, tail, "on the safe side")
			x = epsilon * r.radii(coarse).reachAll(m, tail)
			outside = mathext.GammaIncRegComp(size, x)
			require.InEpsilon(t, tail, outside, 0.08)
			require.LessOrEqual(t, outside, tail, "on the safe side")
		}
	}
	// Two groups, against a double sum.
	l := gridNoise{kind: uniform, groups: []group{newGroup(3, 0.4), newGroup(2, 1.5)}}
	one, two := l.groups[0].radii(fine), l.groups[1].radii(fine)
	for _, tail := range []float64{0.7, 0.05, 1e-9} {
		for _, scale := range []float64{0x1p-30, 0.01, 1, 7, 0x1p30} {
			x := l.boxReach(part{1, 0}, part{scale, 1}, tail)
			outside := one.mean(func(r float64) float64 {
				return two.mean(func(q float64) float64 { return pairTail(r, scale*q, x) })
			})
			require.InEpsilon(t, tail, outside, 0.08)
			require.LessOrEqual(t, outside, tail, "on the safe side")
		}
	}
	for _, c := range []struct{ a, b, x float64 }{{1, 1, 0.3}, {2, 0.5, 1.7}, {0.5, 2, 0.1}, {1, 1e-9, 0.5}, {1, 0.3, 2}} {
		u := distuv.Uniform{Min: -c.a, Max: c.a}
		tail := quad.Fixed(func(v float64) float64 { return (1 - u.CDF(c.x-v) + u.CDF(-c.x-v)) / (2 * c.b) }, -c.b, c.b, 2000, nil, 0)
		require.InDelta(t, tail, pairTail(c.a, c.b, c.x), 1e-5)
		for _, power := range []float64{0.5, 2, 5} {
			moment := quad.Fixed(func(v float64) float64 {
				return quad.Fixed(func(u float64) float64 { return math.Pow(math.Abs(u+v), power) }, -c.a, c.a, 200, nil, 0)
			}, -c.b, c.b, 200, nil, 0) / (4 * c.a * c.b)
			require.InEpsilon(t, moment, pairMoment(c.a, c.b, power), 1e-3)
		}
	}
}

// All of the simultaneous intervals hold, and all intervals of means hold, as often as they say at
// least. A count below the one-sided bound of Clopper and Pearson at 1e-10 has that probability.
func TestOtherIntervalsCover(t *testing.T) {
	covers := func(m *Mechanism, what string, n int, one func(s *Sum) bool, input []float64) {
		hits := int64(0)
		for range n {
			s := dptest.OK(m.Release(input))(t)
			if one(s) {
				hits++
			}
		}
		t.Logf("%v: %s %.3f", m, what, float64(hits)/float64(n))
		_, upper := dptest.ClopperPearson(hits, int64(n), 1-1e-10)
		dptest.Alarm(t, 1e-10)
		require.GreaterOrEqual(t, upper, 0.8, "%v: %s", m, what)
	}
	for _, p := range []Params{
		{Epsilon: 1, Shape: Independent}, {Epsilon: 1}, {Rho: 0.5}, {Epsilon: 4},
		{Epsilon: 1, Shape: Independent, Count: true}, {Epsilon: 1, Count: true}, {Rho: 0.5, Count: true},
	} {
		p.Min, p.Max, p.Relation = VectorOf(0, 2, 0), VectorOf(4, 3, 100), budget.AddRemove
		m := dptest.OK(New(p))(t)
		const rows = 25
		input := []float64{3 * rows, 2.25 * rows, 7 * rows, rows}[:len(m.noise.coordinates)]
		s := dptest.OK(m.Release(input))(t)
		var widths [3]float64
		for i := range widths {
			widths[i] = half(s.SimultaneousInterval(i, 0.8))
			require.Greater(t, widths[i], m.noise.halfWidth(i, 0.8))
		}
		covers(m, "simultaneous", dptest.Full(20_000, 1000), func(s *Sum) bool {
			for i, x := range s.All() {
				if math.Abs(x-input[i]) > widths[i] {
					return false
				}
			}
			return true
		}, input)
		if p.Count {
			covers(m, "mean", dptest.Full(5000, 60), func(s *Sum) bool {
				lo, hi := s.MeanInterval(2, 0.8)
				require.True(t, lo <= s.Mean(2) && s.Mean(2) <= hi && 0 <= lo && hi <= 100)
				return lo <= 7 && 7 <= hi
			}, input)
		}
	}
}

// Where no rows can be seen the interval of the mean is all there is; with many it is short.
func TestMeanInterval(t *testing.T) {
	for _, base := range []Params{{Epsilon: 1}, {Rho: 0.5}} {
		base.Min, base.Max, base.Relation, base.Count = VectorOf(0), VectorOf(10), budget.AddRemove, true
		for rows, width := range map[float64]float64{0: 10, 1e6: 1e-3} {
			m := dptest.OK(New(base))(t)
			s := dptest.OK(m.Release([]float64{7 * rows, rows}))(t)
			lo, hi := s.MeanInterval(0, 0.999)
			if rows == 0 && s.Count() > 0 {
				continue
			}
			require.True(t, hi-lo <= width && lo >= 0 && hi <= 10)
			require.True(t, rows > 0 || lo == 0 && hi == 10)
			if rows > 0 {
				require.InDelta(t, 7, s.Mean(0), 1e-3)
				own, _ := m.noise.part(0, 1)
				shared, _ := m.noise.part(1, 2) // 7 is 2 from the middle
				require.InEpsilon(t, 2*m.noise.reach(own, shared, 0.001)/rows, hi-lo, 0.01)
			}
			for _, bad := range []float64{-0.1, 1, math.NaN()} {
				lo, hi := s.MeanInterval(0, bad)
				require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
			}
			lo, hi = s.MeanInterval(1, 0.5)
			require.True(t, math.IsNaN(lo) && math.IsNaN(hi) && math.IsNaN(s.Mean(-1)))
			lo, hi = s.SimultaneousInterval(-1, 0.5)
			require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
		}
	}
}
