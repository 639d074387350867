package ranges

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/rounding"
)

// chain is a release to which one user is added or not, with the same value in each of his keys,
// among others whose part of each noisy vector is given. Of each step's noise the direction in
// which the user moves is integrated over, the rest is what others has: a part of the release's
// law, on which the theorem bounds the divergence as on the whole.
type chain struct {
	value      float64
	keys       int       // of the user
	magnitudes []float64 // of the others, with noise
	given      float64   // of the others in step B, in each of the user's keys
	counts     []float64
	norms      []float64
	u          float64

	perValue, unchargedScale, eachClipped, narrow, exactNorms bool // planted flaws
}

// part is a part of the law of the first three steps: its probability in the first world, what they
// say there for the first, and by how much the user then moves the sums, in deviations.
type part struct{ weight, loss, mu float64 }

// delta returns the divergence at ε.
func delta(parts []part, epsilon float64) (sum float64) {
	for _, p := range parts {
		sum += p.weight * gaussianDelta(epsilon-p.loss, p.mu)
	}
	return sum
}

// parts returns the law, with the user in the first or in the second world.
func (c *chain) parts(inFirst bool) (all []part) {
	keys, values := make([]uint32, c.keys), make([]float64, c.keys)
	for k := range keys {
		keys[k], values[k] = uint32(k), c.value
	}
	one := Users(func(yield func([]uint32, []float64) bool) { yield(keys, values) })
	sign, at := -1.0, 0.0 // of n in the loss, and where the output is before noise
	if inFirst {
		sign, at = 1, 1
	}
	loss := func(n, s float64) float64 { return sign*n*s + s*s/2 }
	own, where := magnitudes(one), 0
	for b, n := range own {
		if n > 0 {
			where = b
		}
	}
	long := math.Sqrt(float64(c.keys))
	a := float64(own[where]) / Unit
	if c.perValue {
		a = long
	}
	sdA, sdC := step(c.u, shareMagnitudes, 1)/Unit, step(c.u, shareRadius, 1)/Unit
	sums := shareSums
	if c.unchargedScale {
		sums += shareScales
	}
	lambda := balance(c.counts)
	type place struct{ bin, node int }
	radii := map[place]int{}
	vector := make([]float64, bins)
	look := func(bin int, more float64) int {
		copy(vector, c.norms)
		vector[bin] += more
		if r, _, ok := radius(vector, sdC, lambda, StdDev(c.u)); ok {
			return r
		}
		return -1
	}
	nodes := nodes()
	for _, na := range nodes {
		copy(vector, c.magnitudes)
		vector[where] += at*a + na.x*sdA
		middle, reach, ok := bulk(vector, sdA)
		la := loss(na.x, a/sdA)
		if !ok {
			all = append(all, part{na.w, la, 0})
			continue
		}
		sdB := step(c.u, shareScales, 2*float64(reach)) / Unit
		if c.narrow {
			sdB /= float64(reach)
		}
		b := float64(moves(one, c.keys, middle, reach)[0]) / Unit // the same in each key
		for _, nb := range nodes {
			scales := make([]float64, c.keys)
			for k := range scales {
				scales[k] = scale(c.given+at*b+math.Copysign(nb.x, b)*sdB/long, c.counts[k], middle, reach, sdB)
			}
			lb := la + loss(nb.x, long*math.Abs(b)/sdB)
			bin := 0
			for i, n := range lengths(one, scales) {
				if n > 0 {
					bin = i
				}
			}
			for j, nc := range nodes {
				lc, weight := lb+loss(nc.x, 1/sdC), na.w*nb.w*nc.w
				r, seen := radii[place{bin, j}]
				if !seen {
					r = look(bin, at+nc.x*sdC)
					radii[place{bin, j}] = r
				}
				if c.exactNorms {
					if lc, r = lb, look(bin, 0); r != look(bin, 1) {
						lc = math.Inf(1)
					}
				}
				mu := 0.0
				if r >= 0 {
					size := math.Sqrt(squared(clipped(one, scales, edge(r)))) / Unit
					if c.eachClipped {
						size = min(math.Abs(c.value/scales[0]-1)/edge(r), 1) * long
					}
					mu = size / (step(c.u, sums, 1) / Unit)
				}
				all = append(all, part{weight, lc, mu})
				if c.exactNorms {
					all[len(all)-1].weight = na.w * nb.w
					break
				}
			}
		}
	}
	return all
}

// at reports whether the norm of the user is in the bin, where scales are as expected.
func (c *chain) at(b int) bool {
	middle, reach, _ := bulk(c.magnitudes, 1)
	a := scale(c.given, c.counts[0], middle, reach, step(c.u, shareScales, 2*float64(reach))/Unit)
	return bin(math.Sqrt(float64(c.keys))*math.Abs(c.value/a-1)) == b
}

// gaussianDelta is the divergence of N(0, 1) and N(μ, 1) at any ε.
func gaussianDelta(epsilon, mu float64) float64 {
	if mu == 0 || math.IsInf(epsilon, -1) {
		return max(-math.Expm1(epsilon), 0)
	}
	return distuv.UnitNormal.CDF(mu/2-epsilon/mu) - math.Exp(epsilon)*distuv.UnitNormal.CDF(-mu/2-epsilon/mu)
}

type node struct{ x, w float64 }

// nodes are those of a standard normal variable: cells of equal width, with their probability.
func nodes() (all []node) {
	const width = 0.35
	for x := -5.5; x <= 5.5; x += width {
		all = append(all, node{x, distuv.UnitNormal.CDF(x+width/2) - distuv.UnitNormal.CDF(x-width/2)})
	}
	return all
}

// settings are users with a small and a large value, where the bins that they are in are in doubt.
func settings(u float64) (all []chain) {
	sdA, sdC := step(u, shareMagnitudes, 1)/Unit, step(u, shareRadius, 1)/Unit
	for _, v := range []float64{0.11, 800} {
		for _, tilt := range []float64{0.95, 6} {
			c := chain{value: v, keys: 4, magnitudes: make([]float64, bins), norms: make([]float64, bins), u: u, given: 3}
			c.magnitudes[bin(3)], c.magnitudes[bin(40)] = 8*sdA*tilt, 8*sdA
			c.counts = []float64{40, 40, 40, 40, 200}
			c.norms[bin(2)], c.norms[bin(5)], c.norms[bin(16)] = 40*sdC, 9*sdC*tilt, 3*sdC
			all = append(all, c)
		}
	}
	return all
}

var flaws = map[string]func(c *chain){
	"1/√l for each value":             func(c *chain) { c.perValue = true },
	"scales that are not charged":     func(c *chain) { c.unchargedScale = true },
	"each value clipped to R":         func(c *chain) { c.eachClipped = true },
	"noise of scales without H in it": func(c *chain) { c.narrow = true },
	"a radius from exact norms": func(c *chain) { // of users of whom one more makes a bin visible
		c.exactNorms = true
		sd := step(c.u, shareRadius, 1) / Unit
		look := func(norms []float64) int {
			r, _, _ := radius(norms, sd, balance(c.counts), StdDev(c.u))
			return r
		}
		for b := range c.norms {
			for x := 0.; x < 9*sd; x += 0.5 {
				norms, more := slices.Clone(c.norms), slices.Clone(c.norms)
				norms[b], more[b] = x, x+1
				if c.at(b) && look(norms) != look(more) {
					c.norms = norms
					return
				}
			}
		}
	},
}

// The divergence of the four steps, with every choice that the code makes in between, is at most
// that of one Gaussian mechanism, in both orders; and it is seen to be more with each planted flaw.
func TestExactChain(t *testing.T) {
	const u = 1
	worst, seen := 0.0, map[string]bool{}
	for i, c := range settings(u) {
		for _, first := range []bool{false, true} {
			parts := c.parts(first)
			for _, epsilon := range []float64{0.5, 1, 2} {
				ratio := delta(parts, epsilon) / gaussianDelta(epsilon, 1/u)
				worst = max(worst, ratio)
				require.LessOrEqual(t, ratio, 1.004, "setting %d, %v, ε = %v", i, first, epsilon)
			}
			for name, plant := range flaws {
				if !seen[name] {
					d := c
					plant(&d)
					seen[name] = delta(d.parts(first), 1) > gaussianDelta(1, 1/u)*1.01
				}
			}
		}
	}
	t.Logf("worst %.4f", worst)
	for name := range flaws {
		require.True(t, seen[name], name)
	}
}

// curve returns the divergence as a function of ε that is at least that of the parts, as it is
// convex.
func curve(parts []part) func(epsilon float64) float64 {
	const from, width, n = -12, 0.25, 96
	var at [n + 1]float64
	for i := range at {
		at[i] = delta(parts, from+width*float64(i))
	}
	return func(epsilon float64) float64 {
		if epsilon <= from { // infinite losses, too
			return 1
		}
		i := (epsilon - from) / width
		if i >= n {
			return at[n]
		}
		low := math.Floor(i)
		return at[int(low)] + (i-low)*(at[int(low)+1]-at[int(low)])
	}
}

// discovered returns the divergence at ε where one of the user's keys has to be found: by a weight
// of ½ of his, and of others in it. The weights of his other keys are released with noise as well,
// and the value steps are about the keys that are shown. values are what they tell if it is hidden,
// and if it is shown.
func discovered(k rounding.Quadratic, others, epsilon float64, inFirst bool, values [2]func(float64) float64) (sum float64) {
	sigma, from, t := k.Scale/scaleUnit, float64(k.From)/scaleUnit, (float64(k.Threshold)-0.5)/scaleUnit
	with, without := others, others
	if inFirst {
		with += 0.5
	} else {
		without += 0.5
	}
	shown := func(v, low, high float64) float64 {
		p := distuv.Normal{Mu: max(v, from), Sigma: sigma}
		return min(v*v/from/from, 1) * (p.Survival(low) - p.Survival(high))
	}
	for _, n := range nodes() {
		mu := math.Sqrt(3./4) / sigma
		loss := mu*n.x + mu*mu/2
		hidden, alone := 1-shown(with, t, math.Inf(1)), 1-shown(without, t, math.Inf(1))
		sum += n.w * hidden * values[0](epsilon-loss-math.Log(hidden/alone))
		const width = 0.25
		for low := t; low < t+8*sigma; low += width {
			p, q := shown(with, low, low+width), shown(without, low, low+width)
			if p > 0 {
				sum += n.w * p * values[1](epsilon-loss-math.Log(p/q))
			}
		}
	}
	return sum
}

const scaleUnit = 1 << 20

// Together with a key that has to be found, which nobody else has or others do, the steps are
// within what is proved of the keys and of Gaussian noise of that ratio beside them; and not within
// what is proved of the keys alone.
func TestExactChainAfterDiscovery(t *testing.T) {
	const u, epsilon = 1, 1
	users := rounding.Users{Unit: scaleUnit, MaxKeys: 1000, Beside: 1}
	k, ok := rounding.ForUsers(2*scaleUnit, epsilon, 0.2, users)
	require.True(t, ok)
	bound := k.Delta(epsilon, users)
	users.Beside = 0
	alone := k.Delta(epsilon, users)
	r := float64(k.From) / scaleUnit
	worst := 0.0
	all := settings(u)
	if !dptest.Long() {
		all = all[2:3]
	}
	for _, c := range all {
		for _, first := range []bool{true, false} {
			if !first && !dptest.Long() {
				break
			}
			var values [2]func(float64) float64
			for i := range values {
				c.keys = 3 + i
				values[i] = curve(c.parts(first))
			}
			for _, others := range []float64{0, r - 0.5, r - 0.25, r + 2} {
				worst = max(worst, discovered(k, others, epsilon, first, values))
			}
		}
	}
	t.Logf("worst %.3f of the bound, %.3f of that of the keys alone", worst/bound, worst/alone)
	require.LessOrEqual(t, worst, bound)
	require.Greater(t, worst, alone, "the steps cost nothing")
}
