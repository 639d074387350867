package elliptical

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// few returns Params of d coordinates of a few sorts in random order, two of them of equal widths.
func few(d int, seed uint64, weighted bool) Params {
	rng := rand.New(rand.NewPCG(51, seed))
	sorts := [][3]float64{{0, 1, 2}, {-3, 4, 1}, {-2, 5, 1}, {0, 1, 0.5}, {0.1, 0.7, 3}, {100, 228, 1}}
	low, high, weights := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range d {
		s := sorts[rng.IntN(len(sorts))]
		low[i], high[i], weights[i] = s[0], s[1], s[2]
	}
	p := Params{Min: VectorOf(low...), Max: VectorOf(high...)}
	if weighted {
		p.Weights = VectorOf(weights...)
	}
	return p
}

// spent returns what a row may cost by the scales: ε, or the ℓ₂ norm in deviations.
func spent(l gridNoise) *big.Float {
	sum := new(big.Float).SetPrec(200)
	for _, c := range l.coordinates {
		x := new(big.Float).SetPrec(200).SetFloat64(float64(c.change(l.replace)) * c.step) // exact
		x.Quo(x, new(big.Float).SetFloat64(c.scale))
		if l.kind == gaussian {
			x.Mul(x, x)
		}
		sum.Add(sum, x)
	}
	return sum
}

// Noise made of classes is that made coordinate by coordinate, but for the last digits, and its
// guarantee holds in exact arithmetic. With noise 3 % too small it would not.
func TestClasses(t *testing.T) {
	const d = 900
	weighted := VectorOf(1) // stands for those of few
	for i, p := range []Params{
		{Rho: 1}, {Rho: 0.3}, {Epsilon: 1, Delta: 1e-6}, {Rho: 1, Weights: weighted}, {Epsilon: 2, Weights: weighted},
		{Rho: 1, Count: true}, {Epsilon: 1, Count: true, Shape: Independent}, {Epsilon: 2, Shape: Independent},
		{Epsilon: 1}, {Epsilon: 40}, {Epsilon: 300}, {Epsilon: 1, Count: true}, {Epsilon: 700, Count: true, Shape: Box},
	} {
		name := fmt.Sprintf("%+v", p)
		sorts := few(d, uint64(i), p.Weights == weighted)
		p.Min, p.Max, p.Weights, p.Relation = sorts.Min, sorts.Max, sorts.Weights, budget.Replace
		if p.Count || i%2 == 1 {
			p.Relation = budget.AddRemove
		}
		p = p.resolved()
		require.NoError(t, p.validate(), name)
		c, ok := p.find()
		require.True(t, ok)
		require.Len(t, c.many, map[bool]int{true: 6, false: 5}[p.Weights.Len() > 0], name)
		if p.pure() && p.Shape == Optimal {
			p.Shape, c.Shape = Box, Box
		}
		got := dptest.OK(c.calibrate(fineness))(t, name)
		want := dptest.OK(p.singly().calibrate(fineness))(t, name)
		require.Equal(t, want.dim, got.dim)
		require.Len(t, got.coordinates, len(want.coordinates))
		for k, x := range want.coordinates {
			y := got.coordinates[k]
			require.InEpsilon(t, 1+x.scale, 1+y.scale, 1e-9, "%s, %d", name, k)
			if got.kind != uniform { // groups of equal weights may differ in who is in which
				x.scale, y.scale = 0, 0
				require.Equal(t, x, y, "%s, %d", name, k)
			}
			if k < d {
				require.LessOrEqual(t, float64(y.low)*y.step, p.Min.At(k), "%s, %d", name, k)
				require.GreaterOrEqual(t, float64(y.high)*y.step, p.Max.At(k), "%s, %d", name, k)
			}
		}
		require.InEpsilon(t, want.expectedError(2), got.expectedError(2), 1e-9, name)
		drafted := dptest.OK(c.draft(fineness))(t)
		require.InEpsilon(t, want.expectedError(2), drafted.expectedError(2), 1e-9, name)
		if got.kind == uniform {
			requirePartition(t, name, got)
			require.Len(t, got.groups, len(want.groups), name)
			sum := 0.0
			for k, g := range got.groups {
				require.Len(t, g.members, len(want.groups[k].members), name)
				require.InEpsilon(t, want.groups[k].epsilon(), g.epsilon(), 1e-9, name)
				sum += g.epsilon()
			}
			require.LessOrEqual(t, sum, p.Epsilon, name)
			continue
		}
		most := map[bool]float64{true: p.Epsilon, false: 2 * p.Rho}[p.pure()]
		if p.Delta > 0 { // as much as noise made coordinate by coordinate
			most, _ = spent(want).Float64()
			most *= 1 + 1e-12
		}
		require.LessOrEqual(t, spent(got).Cmp(big.NewFloat(most)), 0, name)
		for k := range got.coordinates {
			got.coordinates[k].scale *= 0.97
		}
		require.Positive(t, spent(got).Cmp(big.NewFloat(most)), "%s: control", name)
	}
}

// requirePartition: the groups have all coordinates, each once, in ascending order.
func requirePartition(t *testing.T, name string, l gridNoise) {
	seen := make([]int, len(l.coordinates))
	for g, members := range l.groups {
		for k, i := range members.members {
			seen[i]++
			require.Equal(t, g, l.coordinates[i].group, name)
			require.True(t, k == 0 || members.members[k-1] < i, name)
		}
	}
	for i, n := range seen {
		require.Equal(t, 1, n, "%s: %d", name, i)
	}
}

// Classes are found up to their greatest number, and New looks for them where there are many
// coordinates.
func TestFind(t *testing.T) {
	for _, distinct := range []int{1, mostClasses - 1, mostClasses, mostClasses + 1} {
		const d = 3 * mostClasses
		high := make([]float64, d)
		for i := range high {
			high[i] = 1 + float64(i*i%distinct)
		}
		for i := range min(distinct, d) {
			high[i] = 1 + float64(i)
		}
		p := Params{Rho: 1, Min: VectorOf(make([]float64, d)...), Max: VectorOf(high...)}
		c, ok := p.find()
		require.Equal(t, distinct <= mostClasses, ok)
		if !ok {
			require.Len(t, p.classes().many, d)
			continue
		}
		require.Len(t, p.classes().many, distinct)
		sum := 0
		for i, class := range c.of {
			require.Equal(t, p.Max.At(i), c.Max.At(int(class)))
		}
		for _, n := range c.many {
			sum += n
		}
		require.Equal(t, d, sum)
	}
}

// The radix sort is the stable sort, also of the smallest and largest weights.
func TestDescending(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 55))
	for trial := range 340 {
		n, span := trial, 600
		if trial >= 300 { // by radix, with up to 10⁴ numbers that begin alike
			n, span = rng.IntN(10_000), 1<<rng.IntN(11)
		}
		weights := make([]float64, n)
		for i := range weights {
			switch weights[i] = math.Ldexp(1+rng.Float64(), rng.IntN(span)-span/2); rng.IntN(4) {
			case 0:
				weights[i] = weights[rng.IntN(i+1)]
			case 1:
				weights[i] = math.Nextafter(weights[rng.IntN(i+1)], 0)
			}
		}
		want := make([]int, n)
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(i, j int) int { return cmp.Compare(weights[j], weights[i]) })
		require.Equal(t, want, descending(weights))
	}
}

// Where Optimal does not calibrate Laplace noise, that would not have had the smaller error: the
// bound on its error is one, and without a count it is attained but for the grid.
func TestLeastLaplace(t *testing.T) {
	rng := rand.New(rand.NewPCG(56, 57))
	for i := range 60 {
		d := 1 + rng.IntN(6)
		low, high := make([]float64, d), make([]float64, d)
		for k := range d {
			width := math.Exp(5 * rng.NormFloat64())
			low[k] = width * 10 * rng.NormFloat64()
			high[k] = low[k] + width
		}
		p := Params{Epsilon: math.Exp(2 * rng.NormFloat64()), Relation: budget.Relation(1 + i%2), Count: i%4 == 1, Min: VectorOf(low...), Max: VectorOf(high...)}
		p = p.resolved()
		if p.Count {
			p.Relation = budget.AddRemove
		}
		require.NoError(t, p.validate())
		q, l, err := p.settled(fineness)
		require.NoError(t, err)
		alone, together := p, p
		alone.Shape, together.Shape = Independent, Box
		c := alone.classes()
		laplace := dptest.OK(alone.calibrate(fineness))(t)
		box := dptest.OK(together.calibrate(fineness))(t)
		require.Equal(t, box.expectedError(2) < laplace.expectedError(2), q.Shape == Box, p)
		require.Equal(t, map[Shape]gridNoise{Box: box, Independent: laplace}[q.Shape], l)
		bound := c.leastLaplace()
		require.LessOrEqual(t, bound, laplace.expectedError(2)*(1+1e-12))
		if !p.Count {
			require.InEpsilon(t, bound, laplace.expectedError(2), 1e-6)
		}
		for _, l := range []gridNoise{laplace, box} {
			sum := 0.0
			for k := range d {
				sum += l.moment(k, 2)
			}
			require.InEpsilon(t, sum, l.expectedError(2), 1e-12)
		}
	}
}

func TestPowerAbove(t *testing.T) {
	for _, x := range []float64{0, 5e-324, 0x1p-1074 * 3, 0x1p-1022, 0x1.8p-1022, 1, 1.5, 2, math.Nextafter(2, 3), math.Nextafter(2, 1), 0x1p1000, math.Pi * 1e300} {
		got := powerAbove(x)
		fraction, _ := math.Frexp(got)
		require.True(t, x <= got && (x == 0 && got == 0 || got/2 < x && fraction == 0.5), x)
	}
}
