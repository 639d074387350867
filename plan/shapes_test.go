package plan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// heavyTails returns sparse rows of Pareto values, of tail index 2, in columns by Zipf's law, of
// which the values also differ in scale: a shape that no constant of this package was chosen with.
func heavyTails(rng *rand.Rand, n, d int) (Sparse, []float64) {
	s, mean := Sparse{Offsets: []int{0}}, make([]float64, d)
	for range n {
		seen := map[uint32]bool{}
		for len(seen) < 12 {
			seen[uint32(math.Exp(rng.Float64()*math.Log(float64(d)+1)))-1] = true
		}
		for i := range seen {
			v := min(0.01*math.Exp(float64(i%7)/3)/math.Sqrt(1-rng.Float64()), 1)
			s.Indices, s.Values = append(s.Indices, i), append(s.Values, v)
			mean[i] += v / float64(n)
		}
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	return s, mean
}

// baskets returns sparse rows of ones: n of them, 1 + a geometric number of mean − 1 ones each, of
// d columns that follow Zipf's law with the exponent s.
func baskets(rng *rand.Rand, n, d int, mean, s float64) (Sparse, []float64) {
	x, truth := Sparse{Offsets: []int{0}}, make([]float64, d)
	zipf := rand.NewZipf(rng, s, 3, uint64(d-1))
	for range n {
		row := map[uint32]bool{uint32(zipf.Uint64()): true}
		for rng.Float64() > 1/mean && len(row) < 100 {
			row[uint32(zipf.Uint64())] = true
		}
		for i := range row {
			x.Indices = append(x.Indices, i)
			truth[i] += 1 / float64(n)
		}
		x.Offsets = append(x.Offsets, len(x.Indices))
	}
	return x, truth
}

// On sparse sets of the shapes of shops, clicks and news, over budgets of a factor of 64, Shrunk(1)
// is no further from the mean than the values that are cut off at 0, which are nearer than the
// values, and a quarter nearer where noise is large and columns many. The errors are sums over
// hundreds and thousands of columns: over 16 releases the ratio of the first two had the standard
// deviation sd and the means 0.75, 0.97, 0.75 at the least budget, at most 1 elsewhere. Each bound
// is six standard deviations away.
func TestShrunkOnSparseSets(t *testing.T) {
	dptest.NotShort(t, "some tenths of a second")
	rng := rand.New(rand.NewPCG(33, 34)) // test data
	for _, set := range []struct {
		name     string
		n, d     int
		ones, s  float64
		mean, sd float64 // of the ratio at the least budget
	}{{"shop", 30_000, 6000, 10, 1.1, 0.754, 0.0077}, {"clicks", 60_000, 500, 2.5, 1.3, 0.971, 0.0117}, {"news", 30_000, 3000, 8, 1.6, 0.753, 0.0136}} {
		x, truth := baskets(rng, set.n, set.d, set.ones, set.s)
		budgets := []float64{1. / 16, 1}
		if dptest.Long() {
			budgets = []float64{1. / 16, 1. / 4, 1, 4}
		}
		for at, rho := range budgets {
			m := releaseSparse(t, Params{Rho: rho, Dim: set.d, NonNegative: true, Relation: budget.Replace}, x)
			cut := m.Values()
			for i, v := range cut {
				cut[i] = max(v, 0)
			}
			raw, least, shrunk := l1(m.Values(), truth)/2, l1(cut, truth)/2, l1(m.Shrunk(1), truth)/2
			t.Logf("%s, ρ = %v: ½ℓ₁ %.4f, at least 0 %.4f, shrunken %.4f, ratio %.3f", set.name, rho, raw, least, shrunk, shrunk/least)
			most := 1 + 6*set.sd
			if at == 0 {
				most = set.mean + 6*set.sd
			}
			dptest.Alarm(t, 2e-9)
			require.LessOrEqual(t, least, raw)
			require.LessOrEqual(t, shrunk, most*least, "%s, ρ = %v", set.name, rho)
		}
	}
}

func l1(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i] - b[i])
	}
	return sum
}

// On data that the defaults were not chosen with they are better than no scaling, and much better
// than the plain mechanism. Errors are sums over 1500 coordinates, with standard deviations of some
// percent.
func TestDefaultsOnAFreshShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32)) // test data
	const d = 1500
	x, mean := heavyTails(rng, 6000, d)
	for _, rho := range []float64{0.1, 1} {
		p := Params{Rho: rho, Dim: d, NonNegative: true, Relation: budget.Replace}
		plain := p
		plain.Method = Plain
		m := releaseSparse(t, p, x)
		e, s := l1(m.Values(), mean), l1(m.Shrunk(1), mean)
		clamped := m.Values()
		for i, v := range clamped {
			clamped[i] = max(v, 0)
		}
		c := l1(clamped, mean)
		u := l1(unscaled(t, p, x).Values(), mean)
		g := l1(releaseSparse(t, plain, x).Values(), mean)
		t.Logf("ρ = %v: %.3f, unscaled %.3f, plain %.3f, no less than 0 %.3f, shrunken %.3f", rho, e, u, g, c, s)
		require.Less(t, e, 0.95*u)
		require.Less(t, e, 0.1*g)
		require.Less(t, s, c, "better than 0 for what is below it")
	}
}
