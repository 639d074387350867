package column

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// kinds are Params of every scheme, on [−1, 1] where there is a range.
func kinds() map[string]Params {
	all := map[string]Params{}
	for _, pure := range []bool{true, false} {
		for _, p := range []Params{
			{Min: -1, Max: 1, Want: Mean}, {Min: -1, Max: 1}, {Want: Count}, {Want: Sum, Min: -1, Max: 1},
			{Min: -1, Max: 1, Want: Mean, Relation: budget.Replace}, {Min: -1, Max: 1, Relation: budget.Replace},
		} {
			p.Rho = 0.5
			if pure {
				p.Epsilon, p.Rho = 1, 0
			}
			p = p.normal()
			all[fmt.Sprintf("pure %v %v moments %d only %v", pure, p.Relation, p.moments(), p.only())] = p
		}
	}
	return all
}

// moves returns how one row can move the coordinates: each row, or each pair of rows.
func moves(p Params, s scheme, h int64) (all [][]int64) {
	row := func(tau int64) []int64 {
		d := make([]int64, len(s.at))
		for i, c := range s.at {
			d[i] = c.value(tau)
		}
		return d
	}
	for a := -h; a <= h; a++ {
		if p.Relation == budget.AddRemove {
			all = append(all, row(a))
			continue
		}
		for b := -h; b < a; b++ {
			x, y := row(a), row(b)
			for i := range x {
				x[i] -= y[i]
			}
			all = append(all, x)
		}
	}
	return all
}

// The inequality of the schemes, exactly, in rationals; it is attained, but where reaches are
// rounded up.
func TestReaches(t *testing.T) {
	for name, p := range kinds() {
		worst := 0.0
		for _, h := range []int64{1, 2, 3, 4, 5, 7, 8, 10, 20, 61, 100} {
			s := p.scheme(h)
			for _, d := range moves(p, s, h) {
				sum := new(big.Rat)
				for i, x := range d {
					q := big.NewRat(max(x, -x), s.at[i].reach)
					if p.Rho > 0 {
						q.Mul(q, q)
					}
					sum.Add(sum, q)
				}
				require.True(t, sum.Cmp(big.NewRat(1, 1)) <= 0, "%s: H = %d, %v: %v", name, h, d, sum)
				f, _ := sum.Float64()
				worst = max(worst, f)
			}
		}
		require.Greater(t, worst, 0.995, "%s: reaches are no larger than needed", name)
	}
	// At the H in use nothing overflows, and a unit is where it should be.
	for name, p := range kinds() {
		s := p.scheme(half)
		for _, c := range s.at {
			require.Positive(t, c.reach, name)
			for _, tau := range []int64{-half, -half + 1, -half * 4 / 5, -half / 2, 0, 1, half / 2, half * 4 / 5, half} {
				want := new(big.Int).Mul(big.NewInt(c.of[2]), big.NewInt(tau))
				want.Add(want, big.NewInt(c.of[1])).Mul(want, big.NewInt(tau)).Add(want, big.NewInt(c.of[0]))
				require.Equal(t, want.String(), fmt.Sprint(c.value(tau)), name)
				require.LessOrEqual(t, max(c.value(tau), -c.value(tau)), c.reach, name)
			}
		}
		reach := float64(s.at[len(s.at)-1].reach)
		switch square := float64(half) * half; {
		case p.only() != 0 || p.moments() == 1:
		case p.Relation == budget.Replace && p.Rho == 0:
			require.InEpsilon(t, 2.25, reach/square, 1e-12)
		case p.Relation == budget.Replace:
			require.InEpsilon(t, 77.0/64, reach/square, 1e-12)
		case p.Rho == 0:
			require.InEpsilon(t, 16.4, reach/square, 1e-12)
		default:
			require.InEpsilon(t, 2, reach/square, 1e-12)
		}
	}
}

// The coordinates add up to what they say: the number of rows, Σt and Σt².
func TestWeights(t *testing.T) {
	for name, p := range kinds() {
		for _, h := range []int64{3, half} {
			s := p.scheme(h)
			for _, tau := range []int64{-h, -h / 3, 0, h / 2, h} {
				x := float64(tau) / float64(h)
				for _, c := range []struct {
					weights []float64
					want    float64
				}{{s.count, 1}, {s.first, x}, {s.second, x * x}} {
					if c.weights == nil {
						continue
					}
					got := 0.0
					for i, w := range c.weights {
						got += w * float64(s.at[i].value(tau))
					}
					require.InDelta(t, c.want, got, 1e-12, name)
				}
			}
		}
	}
}

// datasets returns all pairs of neighbouring totals with τ in {−h..h}: of up to 2 rows and one
// more, or of 2 rows of which one is replaced.
func datasets(p Params, h int64) (pairs [][2]totals) {
	sum := func(taus ...int64) (s totals) {
		for _, tau := range taus {
			s.add(tau)
		}
		return s
	}
	for a := -h; a <= h; a++ {
		if p.Relation == budget.AddRemove {
			pairs = append(pairs, [2]totals{sum(), sum(a)})
		}
		for b := -h; b <= h; b++ {
			if p.Relation == budget.AddRemove {
				pairs = append(pairs, [2]totals{sum(b), sum(b, a)})
				continue
			}
			for c := -h; c <= h; c++ {
				pairs = append(pairs, [2]totals{sum(c, a), sum(c, b)})
			}
		}
	}
	return pairs
}

// weakened returns the law with a fraction of the noise.
func weakened(t *testing.T, l law, factor float64) law {
	noises := append([]drawn(nil), l.noises...)
	for i := range noises {
		noises[i].Scale *= factor
	}
	l.noises = noises
	return l
}

// loss returns ε of two totals, or for zCDP the largest divergence of Rényi by its order. The
// coordinates are independent, so losses and divergences add up.
func loss(l law, a, b totals) (total float64) {
	orders := []float64{1.01, 2, 8}
	sums := make([]float64, len(orders))
	for i := range l.at {
		most, moments := l.between(i, l.exact(&a, i).Int64()-l.exact(&b, i).Int64(), orders)
		if !l.gaussian {
			total += most
			continue
		}
		for k, alpha := range orders {
			sums[k] += math.Log(moments[k]) / (alpha - 1) / alpha
		}
	}
	return max(total, slices.Max(sums))
}

// between returns the largest loss between the noise P of a coordinate and Q, the same moved by d,
// over all outputs with a mass that counts; and for Gaussian noise Σ P^α·Q^{1−α} for each order.
func (l law) between(i int, d int64, orders []float64) (most float64, moments []float64) {
	d = max(d, -d)
	around := int64(math.Ceil(30*l.noises[i].Scale)) + 5
	if l.gaussian { // the mass that counts at the order α is around −αd
		around = int64(math.Ceil(12*l.noises[i].Scale+slices.Max(orders)*float64(d))) + 5
	}
	logs := make([]float64, 2*(around+d)+1)
	for y := range logs {
		logs[y] = l.logProb(i, float64(int64(y)-around-d))
	}
	moments = make([]float64, len(orders))
	for y, p := range logs[d:] {
		q := logs[y]
		most = max(most, math.Abs(p-q))
		for k, alpha := range orders {
			if l.gaussian {
				moments[k] += math.Exp(alpha*p + (1-alpha)*q)
			}
		}
	}
	return most, moments
}

func (l law) logProb(i int, x float64) float64 {
	return l.noises[i].Distribution().LogProb(x)
}

// Over all neighbours of up to 3 rows with H ≤ 3 the loss is at most ε, or the divergence of order
// α at most αρ. Half of the noise, and 99 % of it, are too little. Sums are of masses with relative
// errors below 1e-12.
func TestExactPrivacy(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second: in the default run")
	}
	for name, p := range kinds() {
		for _, h := range []int64{1, 2, 3} {
			for _, strength := range []float64{0.25, 1, 3} {
				if h != 2 && strength != 1 && !dptest.Long() {
					continue
				}
				p := p
				p.Epsilon *= strength
				p.Rho *= strength
				l := dptest.OK(p.law(h))(t)
				weak, half := weakened(t, l, 0.97), weakened(t, l, 0.5)
				allowed := p.Epsilon + p.Rho
				most, mostWeak, mostHalf := 0.0, 0.0, 0.0
				seen := map[string]bool{}
				for _, pair := range datasets(p, h) {
					key := ""
					for i := range l.at { // the noise is that of a difference
						key += fmt.Sprint(l.exact(&pair[1], i).Int64()-l.exact(&pair[0], i).Int64(), " ")
					}
					if seen[key] {
						continue
					}
					seen[key] = true
					most = max(most, loss(l, pair[0], pair[1]))
					mostWeak = max(mostWeak, loss(weak, pair[0], pair[1]))
					mostHalf = max(mostHalf, loss(half, pair[0], pair[1]))
				}
				require.LessOrEqual(t, most, allowed*(1+1e-9), "%s, H = %d, %v", name, h, strength)
				require.Greater(t, mostHalf, 1.3*allowed, "%s, H = %d: half of the noise must not be private", name, h)
				if h == 2 && p.Relation == budget.AddRemove && p.moments() == 1 {
					require.Greater(t, mostWeak, allowed*(1+1e-3), name)
				}
			}
		}
	}
}

// Where sums are rounded to units of 2^s, neighbours are still within the calibrated noise: with
// the shifts forced upon small H, for all neighbours.
func TestShiftsArePrivate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for name, p := range kinds() {
		p.Epsilon *= 0x1p-28
		p.Rho *= 0x1p-58
		l := dptest.OK(p.law(half))(t)
		shifted := false
		for i := range l.noises {
			shifted = shifted || l.noises[i].shift > 0
			require.LessOrEqual(t, l.noises[i].Scale, 0x1p49, name)
		}
		require.Equal(t, p.only() != Count && (p.only() != Sum || shifted), shifted, name)
		for range 3000 {
			var a, b totals
			for range rng.IntN(3) {
				tau := rng.Int64N(2*half+1) - half
				a.add(tau)
				b.add(tau)
			}
			edge := func() int64 { return []int64{-half, -half * 4 / 5, 0, 1, half / 2, half}[rng.IntN(6)] }
			if a.add(edge()); p.Relation == budget.Replace {
				b.add(edge())
			}
			sum := 0.0
			for i := range l.at {
				d := new(big.Int).Sub(l.exact(&a, i), l.exact(&b, i))
				x, _ := new(big.Float).SetInt(d).Float64()
				if p.Rho > 0 {
					sum += x * x / (2 * l.noises[i].Scale * l.noises[i].Scale)
				} else {
					sum += math.Abs(x) / l.noises[i].Scale
				}
			}
			require.LessOrEqual(t, sum, (p.Epsilon+p.Rho)*(1+1e-13), name)
		}
	}
}

// What Release draws has the law: the noise in each coordinate, by Kolmogorov–Smirnov against the
// continuous law, from which a lattice as fine as this differs by less than 1e-12.
func TestReleaseHasTheLaw(t *testing.T) {
	for name, p := range kinds() {
		if p.only() == Count {
			continue
		}
		var samples []float64
		var cdf func(float64) float64
		for range 700 {
			b := dptest.OK(New(p))(t)
			for _, x := range []float64{-1, 0.25, 0.5, 9} {
				b.Add(x)
			}
			exact := held(b).totals
			s := dptest.OK(b.Release())(t)
			for i, v := range s.values {
				d := new(big.Int).Sub(v.Big(), s.law.exact(&exact, i))
				x, _ := new(big.Float).SetInt(d).Float64()
				samples = append(samples, x/s.law.noises[i].Scale)
			}
			cdf = func(x float64) float64 {
				if s.law.gaussian {
					return math.Erfc(-x/math.Sqrt2) / 2
				}
				if x < 0 {
					return math.Exp(x) / 2
				}
				return 1 - math.Exp(-x)/2
			}
		}
		dptest.KS(t, name, samples, cdf, 1e-9)
	}
}

// value returns what a row, or a sum of rows, adds.
func (c coordinate) value(tau int64) int64 { return c.of[0] + c.of[1]*tau + c.of[2]*tau*tau }
