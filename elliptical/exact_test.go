package elliptical

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// settings are Params of two coordinates, or one and the count, that are small enough for an
// enumeration of their output laws.
func settings() map[string]Params {
	list := map[string]Params{}
	for name, p := range map[string]Params{
		"replace":         {Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5)},
		"replace/p=1":     {Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Weights: VectorOf(2, 1)},
		"replace/uneven":  {Min: VectorOf(-1.1, 0.45), Max: VectorOf(2.2, 1.15)},
		"replace/sphere":  {Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Weights: VectorOf(4, 1)},
		"replace/volume":  {Min: VectorOf(-1.5, -0.65), Max: VectorOf(1.5, 0.65), Weights: VectorOf(1, 1)},
		"replace/weights": {Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Weights: VectorOf(1, 5)},
		"add":             {Min: VectorOf(-2, -0.6), Max: VectorOf(2, 0.6), Relation: budget.AddRemove},
		"add/one-sided":   {Min: VectorOf(0, 0.3), Max: VectorOf(2, 1.6), Relation: budget.AddRemove},
		"add/count":       {Min: VectorOf(0), Max: VectorOf(1.4), Relation: budget.AddRemove, Count: true},
		"add/count/far":   {Min: VectorOf(-2.2), Max: VectorOf(-0.9), Relation: budget.AddRemove, Count: true},
	} {
		q := p
		q.Rho = 0.3
		list[name+"/zCDP"] = q
		q.Rho, q.Epsilon = 0, 1.2
		if q.Shape == Optimal {
			q.Shape = Independent // for Box there is box_test.go
		}
		list[name+"/pure"] = q
		q.Shape, q.Delta = p.Shape, 1e-3
		list[name+"/approximate"] = q
	}
	return list
}

// tiny returns the noise on a grid of four steps to the width.
func tiny(t *testing.T, p Params) gridNoise {
	p = p.resolved()
	require.NoError(t, p.validate())
	return dptest.OK(p.calibrate(2))(t)
}

// totals returns the totals, in steps, for rows of the given entries (which are
// steps on the coordinates' grids).
func totals(l gridNoise, count bool, rows ...[]int64) []int64 {
	sums := make([]int64, len(l.coordinates))
	for _, row := range rows {
		for i := range l.dim {
			sums[i] += row[i] - l.coordinates[i].centre
		}
	}
	if count {
		sums[l.dim] = int64(l.countSteps(int64(len(rows))).Float64())
	}
	return sums
}

// neighbours yields every pair of totals that neighbouring data sets of at most two rows have.
func neighbours(p Params, l gridNoise) (pairs [][2][]int64) {
	p = p.resolved()
	var rows [][]int64
	var extend func(row []int64)
	extend = func(row []int64) {
		if len(row) == l.dim {
			rows = append(rows, append([]int64(nil), row...))
			return
		}
		c := l.coordinates[len(row)]
		for v := c.low; v <= c.high; v++ {
			extend(append(row, v))
		}
	}
	extend(nil)
	other := rows[len(rows)/3]
	for _, a := range rows {
		if p.Relation == budget.AddRemove {
			pairs = append(pairs, [2][]int64{totals(l, p.Count, a), totals(l, p.Count)}, [2][]int64{totals(l, p.Count, other, a), totals(l, p.Count, other)})
			continue
		}
		for _, b := range rows {
			pairs = append(pairs, [2][]int64{totals(l, p.Count, a), totals(l, p.Count, b)})
		}
	}
	return pairs
}

// mass returns Pr[noise = k steps] for coordinate i, by the side of the tail that is small.
func (l gridNoise) mass(i int, k int64) float64 {
	c := l.coordinates[i]
	if k < 0 {
		k = -k
	}
	var survival func(x float64) float64
	if l.kind == laplace {
		d, err := noise.NewLaplace(c.scale)
		if err != nil {
			panic(err)
		}
		survival = d.Survival
	} else {
		d, err := noise.NewGaussian(c.scale)
		if err != nil {
			panic(err)
		}
		survival = d.Survival
	}
	return survival((float64(k)-0.5)*c.step) - survival((float64(k)+0.5)*c.step)
}

// masses returns the distribution of the noise of coordinate i on −reach … reach, the rest being
// less than 1e-12.
func (l gridNoise) masses(i int) []float64 {
	c := l.coordinates[i]
	reach := int64(8*c.scale/c.step) + 20
	if l.kind == laplace {
		reach = int64(30*c.scale/c.step) + 20
	}
	m := make([]float64, 2*reach+1)
	for k := range m {
		m[k] = l.mass(i, int64(k)-reach)
	}
	return m
}

// renyi returns the sum over the coordinates of D_α between the noise moved by a and by b, all
// exact but for tails below 1e-12.
func renyi(l gridNoise, a, b []int64, alpha float64) float64 {
	sum := 0.0
	for i := range l.coordinates {
		shift := a[i] - b[i]
		if shift == 0 {
			continue
		}
		reach := int64(8*l.coordinates[i].scale/l.coordinates[i].step) + 20 + int64(alpha)*max(shift, -shift)
		moment := 0.0
		for k := -reach; k <= reach; k++ {
			if p, q := l.mass(i, k), l.mass(i, k+shift); p > 0 && q > 0 {
				moment += math.Exp(alpha*math.Log(p) + (1-alpha)*math.Log(q))
			}
		}
		sum += math.Log(moment) / (alpha - 1)
	}
	return sum
}

// lossOf returns the greatest |ln(P/Q)| of pure noise, the sum of what each coordinate attains.
func lossOf(l gridNoise, a, b []int64) float64 {
	sum := 0.0
	for i := range l.coordinates {
		shift, worst := a[i]-b[i], 0.0
		for k := -max(shift, -shift) - 5; k <= max(shift, -shift)+5; k++ {
			worst = max(worst, math.Abs(math.Log(l.mass(i, k)/l.mass(i, k+shift))))
		}
		sum += worst
	}
	return sum
}

// hockeyStick returns the exact divergence at ε of two coordinates, but for tails of 1e-12.
func hockeyStick(l gridNoise, a, b []int64, epsilon float64) float64 {
	first, second := l.masses(0), l.masses(1)
	s0, s1, scale, sum := a[0]-b[0], a[1]-b[1], math.Exp(epsilon), 0.0
	at := func(m []float64, k int) float64 {
		if k < 0 || k >= len(m) {
			return 0
		}
		return m[k]
	}
	for k0, p0 := range first {
		q0 := at(first, k0+int(s0))
		for k1, p1 := range second {
			sum += max(0, p0*p1-scale*q0*at(second, k1+int(s1)))
		}
	}
	return sum
}

// excess returns by how much the noise breaks its guarantee on the pair, ≤ 0 if it does not: in ρ,
// ε or δ, relative to it.
func (p Params) excess(l gridNoise, a, b []int64) float64 {
	switch {
	case p.Rho > 0:
		worst := math.Inf(-1)
		for _, alpha := range []float64{1.1, 2, 8} {
			worst = max(worst, renyi(l, a, b, alpha)/(alpha*p.Rho)-1)
		}
		return worst
	case p.Delta > 0:
		return max(hockeyStick(l, a, b, p.Epsilon), hockeyStick(l, b, a, p.Epsilon))/p.Delta - 1
	}
	return lossOf(l, a, b)/p.Epsilon - 1
}

// halved returns half of the noise.
func (l gridNoise) halved() gridNoise {
	h := gridNoise{kind: l.kind, replace: l.replace, dim: l.dim, coordinates: append([]coordinate(nil), l.coordinates...), lower: l.lower}
	for i := range h.coordinates {
		h.coordinates[i].scale /= 2
	}
	return h
}

// Lemmas 4.6 and 4.9 and the grid: the exact output laws of all neighbouring pairs on tiny grids
// keep the guarantee, the worst pair comes close to it, and half the noise breaks it. The slack
// 1e-8 is for sums of up to 1e5 masses, each off by 1e-13 of the largest and tails of 1e-12,
// against δ = 1e-3 and ρ = 0.3.
func TestReleaseIsPrivateExactly(t *testing.T) {
	for name, p := range settings() {
		t.Run(name, func(t *testing.T) {
			l := tiny(t, p)
			// What matters of a pair is the difference of totals.
			worst, of := math.Inf(-1), [2][]int64{}
			checked := map[string]bool{}
			for _, pair := range neighbours(p, l) {
				difference := fmt.Sprint(pair[0][0]-pair[1][0], pair[0][1]-pair[1][1])
				if checked[difference] {
					continue
				}
				checked[difference] = true
				if e := p.excess(l, pair[0], pair[1]); e > worst {
					worst, of = e, pair
				}
			}
			require.Greater(t, len(checked), 4)
			require.LessOrEqual(t, worst, 1e-8)
			require.Greater(t, p.excess(l.halved(), of[0], of[1]), 0.5, "half the noise must not be private")
		})
	}
}

// The calibrated scales keep the guarantee in exact arithmetic, at full size: Σ (a/σ)² ≤ 2ρ and Σ
// a/s ≤ ε, and nothing is wasted but 1e-9 for the grid and rounding.
func TestScalesExactly(t *testing.T) {
	for name, p := range settings() {
		for _, d := range []int{0, 1000} {
			if d > 0 {
				if p.Weights.Len() > 0 {
					continue
				}
				low, high := make([]float64, d), make([]float64, d)
				for i := range low {
					width := math.Pow(float64(i+1), -1.7)
					low[i], high[i] = -width/2, width/2
					if p.Min.At(0) != -p.Max.At(0) {
						low[i], high[i] = -width/3, width*2/3
					}
				}
				p.Min, p.Max = VectorOf(low...), VectorOf(high...)
			}
			m := dptest.OK(New(p))(t)
			// 2⁻³⁹⁰ is exact here
			number := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
			sum, limit := number(0), number(0)
			for _, c := range m.noise.coordinates {
				x := number(float64(c.change(m.params.replace()))) // below 2⁵³
				x.Quo(x.Mul(x, number(c.step)), number(c.scale))
				if !p.pure() {
					x.Mul(x, x)
				}
				sum.Add(sum, x)
			}
			switch {
			case p.Rho > 0:
				limit.SetFloat64(2 * p.Rho)
			case p.Delta > 0:
				sigma := dptest.OK(noise.GaussianSigma(p.Epsilon, p.Delta, 1))(t)
				// GaussianSigma is off by 1e-11 at most
				limit.SetFloat64(1 / (sigma * sigma) * (1 + 1e-10))
			default:
				limit.SetFloat64(p.Epsilon)
			}
			require.LessOrEqual(t, sum.Cmp(limit), 0, name)
			got, _ := sum.Quo(sum, limit).Float64()
			require.Greater(t, got, 1-1e-9, "%s: wasted", name)
		}
	}
}

// The sampler's distribution on the tiny grid is the one that was checked: χ² per coordinate.
func TestNoiseFollowsTheLaw(t *testing.T) {
	for name, p := range settings() {
		l := tiny(t, p)
		var src noise.Source
		for i, c := range l.coordinates {
			m := l.masses(i)
			counts := make([]int64, len(m)+1)
			for range 20_000 {
				k := l.sample(&src, c) + int64(len(m)/2)
				if k < 0 || k >= int64(len(m)) {
					k = int64(len(m))
				}
				counts[k]++
			}
			dptest.ChiSquare(t, name, counts, m, 1e-10)
		}
	}
}

// calibrate returns the noise of Params whose Shape is settled.
func (p Params) calibrate(bits int) (gridNoise, error) { return p.classes().calibrate(bits) }
