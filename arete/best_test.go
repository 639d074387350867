package arete

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// staircase is the least E|X| of all ε-DP noise, at Δ = 1.
func staircase(epsilon float64) float64 { return 1 / (2 * math.Sinh(epsilon/2)) }

// discreteStaircase is the least E|X| of all ε-DP noise on the integers (Geng and Viswanath, 2014):
// masses 1 for k < r, e^{−ε} for r ≤ k < Δ, and e^{−ε} of that for each further Δ, for the best r.
func discreteStaircase(epsilon float64, delta int) float64 {
	least := math.Inf(1)
	for r := 1; r <= delta; r++ {
		mass, mean := 1.0, 0.0
		for k := 1; k < 60*delta; k++ {
			f := math.Exp(-epsilon * float64(k/delta))
			if k%delta >= r {
				f *= math.Exp(-epsilon)
			}
			mass += 2 * f
			mean += 2 * f * float64(k)
		}
		least = min(least, mean/mass)
	}
	return least
}

func TestBestReachesTheFigures(t *testing.T) {
	for _, c := range []struct{ epsilon, ratio float64 }{
		{2, 1.167}, {2.5, 1.186}, {3, 1.200}, {4, 1.196}, {5, 1.184}, {6, 1.173}, {7, 1.161}, {8, 1.151}, {10, 1.140}, {12, 1.135}, {14, 1.133}, {16, 1.133}, {24, 1.132}, {36, 1.132},
	} {
		l, err := Best(c.epsilon, 1)
		require.NoError(t, err)
		loss, ok := l.Certify()
		require.True(t, ok)
		require.LessOrEqual(t, loss, c.epsilon)
		require.LessOrEqual(t, l.MeanAbs()*l.Step()/staircase(c.epsilon), c.ratio, "ε = %v", c.epsilon)
	}
}

// Whatever ε, the noise is at most that of Laplace, certified, and hardly grows with ε.
func TestBestAtManyEpsilons(t *testing.T) {
	last := math.Inf(1)
	for epsilon := 0.01; epsilon < 15; epsilon *= 1.07 {
		l, err := Best(epsilon, 3)
		require.NoError(t, err)
		_, ok := l.Certify()
		require.True(t, ok, "ε = %v", epsilon)
		mean := l.MeanAbs() * l.Step()
		require.LessOrEqual(t, mean, 3/epsilon)
		require.Less(t, mean, last)
		last = mean
	}
	for _, law := range []Law{Jump, DiscreteArete} {
		at, err := Params{Epsilon: 15.9, Law: law}.Lattice()
		require.NoError(t, err)
		ok := false
		_, ok = at.Certify()
		require.True(t, ok)
	}
}

// Integers: Δ = 1 is the optimum, and for Δ = 5 the jump law is next to it.
func TestBestIntegerReachesTheFigures(t *testing.T) {
	for _, c := range []struct {
		delta   int64
		epsilon float64
		ratio   float64
	}{
		{1, 0.5, 1.0001}, {1, 4, 1.0001}, {1, 30, 1.0001},
		{2, 2, 1.064}, {2, 3, 1.030}, {2, 4, 1.012}, {2, 6, 1.012}, {3, 3, 1.058}, {3, 4, 1.025}, {5, 3, 1.109}, {5, 4, 1.050}, {5, 6, 1.02}, {5, 8, 1.02},
		{10, 3, 1.205}, {10, 4, 1.246}, {10, 6, 1.022}, {10, 8, 1.01}, {100, 6, 1.20},
	} {
		l, err := Params{Epsilon: c.epsilon, Sensitivity: float64(c.delta), Integers: true}.Lattice()
		require.NoError(t, err)
		loss, ok := l.Certify()
		require.True(t, ok)
		require.LessOrEqual(t, loss, c.epsilon)
		require.Equal(t, c.delta, l.Steps(), "the lattice is the integers")
		mean := l.MeanAbs()
		require.LessOrEqual(t, mean/discreteStaircase(c.epsilon, int(c.delta)), c.ratio, "ε = %v, Δ = %v", c.epsilon, c.delta)
		require.LessOrEqual(t, mean, 1/math.Sinh(c.epsilon/float64(c.delta))*(1+1e-12), "at most Laplace")
	}
	// The optimum itself is right at Δ = 1, and below Laplace noise.
	require.InEpsilon(t, 1/math.Sinh(3), discreteStaircase(3, 1), 1e-9)
}

// Large integer sensitivities: the noise is on a coarser lattice, the release an integer.
func TestLargeIntegerSensitivities(t *testing.T) {
	for _, delta := range []float64{1000, 5e5, limits.MaxInteger} {
		for _, epsilon := range []float64{limits.MinEpsilon, 1, 4, 8} {
			m, err := New(Params{Epsilon: epsilon, Sensitivity: delta, Integers: true})
			require.NoError(t, err)
			for range 20 {
				x, err := m.Release(12345)
				require.NoError(t, err)
				require.Equal(t, math.Trunc(x), x)
			}
			if epsilon >= 1 {
				require.LessOrEqual(t, m.Params().MeanAbs(), delta/epsilon)
			}
		}
	}
}

// The documented table of ratios.
func TestTableOfRatios(t *testing.T) {
	text := map[string][]float64{
		"Best":    {1.167, 1.185, 1.194, 1.195, 1.183, 1.171, 1.160, 1.150, 1.139, 1.134, 1.132, 1.132, 1.132},
		"Arete":   {0, 0, 0, 1.774, 2.160, 2.492, 2.738, 2.914, 3.122, 3.220, 3.264, 3.283, 3.295},
		"Laplace": {1.175, 1.282, 1.420, 1.813, 2.420, 3.340, 4.727, 6.822, 14.84, 33.62, 78.33, 186.3, 1101},
	}
	for i, epsilon := range []float64{2, 2.5, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20} {
		l, err := Best(epsilon, 1)
		require.NoError(t, err)
		require.InEpsilon(t, text["Best"][i], l.MeanAbs()*l.Step()/staircase(epsilon), 1e-3, "ε = %v", epsilon)
		if epsilon >= leastArete {
			d, err := Calibrate(epsilon, 1)
			require.NoError(t, err)
			require.InEpsilon(t, text["Arete"][i], d.MeanAbs()/staircase(epsilon), 1e-3, fmt.Sprint(epsilon))
		}
		require.InEpsilon(t, text["Laplace"][i], 1/epsilon/staircase(epsilon), 1e-3, fmt.Sprint(epsilon))
	}
}

// leastSquare is the least E X² of all ε-DP noise, at Δ = 1.
func leastSquare(t *testing.T, epsilon float64) float64 {
	gamma, err := noise.StaircaseGammaVariance(epsilon)
	require.NoError(t, err)
	law, err := noise.NewStaircase(epsilon, 1, gamma)
	require.NoError(t, err)
	return law.Variance()
}

// The error over the least of all noise, with the roundings of all parties, for both objectives: no
// worse than documented, and not better by more than 1 % either.
func TestErrorsOfManyParties(t *testing.T) {
	for _, c := range []struct{ epsilon, abs10, abs1000, absMillion, square, squareMillion float64 }{
		{2, 1.173, 1.176, 1.176, 1.183, 1.183},
		{3, 1.201, 1.216, 1.365, 1.307, 1.456},
		{4, 1.202, 1.217, 1.253, 1.331, 1.459},
		{5, 1.189, 1.205, 1.208, 1.335, 1.373},
		{6, 1.176, 1.181, 1.181, 1.337, 1.343},
		{8, 1.152, 1.153, 1.153, 1.309, 1.311},
		{12, 1.136, 1.137, 1.137, 1.274, 1.271},
		{16, 1.134, 1.134, 1.134, 1.257, 1.253},
		{20, 1.134, 1.134, 1.134, 1.250, 1.247},
		{30, 1.134, 1.134, 1.134, 1.248, 1.245},
	} {
		if testing.Short() && c.epsilon != 8 && c.epsilon != 20 {
			continue
		}
		for _, column := range []struct {
			objective Objective
			parties   int
			want      float64
		}{
			{MeanAbs, 10, c.abs10}, {MeanAbs, 1000, c.abs1000}, {MeanAbs, 1_000_000, c.absMillion},
			{MeanSquare, 0, c.square}, {MeanSquare, 1_000_000, c.squareMillion},
		} {
			p := Params{Epsilon: c.epsilon, Parties: column.parties, Objective: column.objective}
			l, err := p.Lattice()
			require.NoError(t, err)
			_, ok := l.Certify()
			require.True(t, ok, "%+v", p)
			optimum := staircase(c.epsilon)
			if p.Objective == MeanSquare {
				optimum = leastSquare(t, c.epsilon)
			}
			require.LessOrEqual(t, p.error(l.spec)/optimum, column.want, "%+v", p)
			require.Greater(t, p.error(l.spec)/optimum, column.want*0.99, "%+v", p)
		}
	}
}

// Whatever the law and ε, the lattice of real values is so fine that rounding to it, which is no
// part of MeanAbs, has at most a hundredth of the variance of the noise's core, or of the noise. So
// MeanAbs is not below the optimum of all noise. And the thinned law is no larger than Jump by a
// twentieth, with either objective, up to where it stays.
func TestLatticesAreFineForTheNoise(t *testing.T) {
	for _, law := range []Law{Auto, Jump, LogJump, DiscreteArete, DiscreteLaplace, Staircase} {
		for _, epsilon := range []float64{1, 2, 4, 6, 10.9, 11.1, 14, 20, 36, 40, 1000} {
			if testing.Short() && (law != LogJump || epsilon < 10) {
				continue
			}
			for _, objective := range []Objective{MeanAbs, MeanSquare} {
				for _, parties := range []int{0, 300} {
					if law == DiscreteArete && (objective == MeanSquare || parties > 0) {
						continue // the same law in the time of ten others
					}
					p := Params{Epsilon: epsilon, Law: law, Objective: objective, Parties: parties}
					l, err := p.Lattice()
					if law == DiscreteArete && epsilon < leastArete {
						require.ErrorIs(t, err, ErrParams)
						continue
					}
					require.NoError(t, err)
					loss, ok := l.Certify()
					require.True(t, ok && loss <= epsilon, "%+v", p)
					variance := l.Variance()
					if l.spec.jumps() {
						variance = l.spec.jump.core
					}
					require.Less(t, 1.0/12, variance/100, "%+v", p)
					require.GreaterOrEqual(t, l.MeanAbs()*l.Step()/staircase(epsilon), 1-1e-6, "%+v", p)
				}
			}
		}
	}
	for _, p := range []Params{{Epsilon: 10.9}, {Epsilon: 14, Objective: MeanSquare}, {Epsilon: 16, Objective: MeanSquare, Parties: 300}} {
		of := func(law Law) float64 {
			p.Law = law
			if p.Objective == MeanSquare {
				return p.StdDev()
			}
			return p.MeanAbs()
		}
		require.InEpsilon(t, of(Jump), of(LogJump), 0.05, "%+v", p)
	}
}

// Staircase noise is the optimum, of both objectives, for real values and for integers.
func TestStaircaseIsTheOptimum(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 4, 8, 16, 30} {
		p := Params{Epsilon: epsilon, Law: Staircase, Sensitivity: 3}
		require.InEpsilon(t, 3*staircase(epsilon), p.MeanAbs(), 1e-6, "ε = %v", epsilon)
		p.Objective = MeanSquare
		require.InEpsilon(t, 3*math.Sqrt(leastSquare(t, epsilon)), p.StdDev(), 1e-6, "ε = %v", epsilon)
		for _, delta := range []int{1, 2, 5, 10} {
			if epsilon >= 1 {
				p := Params{Epsilon: epsilon, Law: Staircase, Sensitivity: float64(delta), Integers: true}
				require.InEpsilon(t, discreteStaircase(epsilon, delta), p.MeanAbs(), 1e-9, "ε = %v, Δ = %v", epsilon, delta)
			}
		}
	}
}

// A divisible law for one real number, with public dither: LogJump without a core on a lattice of
// ½·e^{ε/2} steps, its rounding error uniform over a step. It is next to the optimum, and no such
// law is made: Staircase is the optimum itself.
func TestOneNumberWithDither(t *testing.T) {
	for _, c := range []struct{ epsilon, ratio float64 }{{2, 1.050}, {3, 1.042}, {4, 1.023}, {6, 1.010}} {
		least := math.Inf(1)
		for h := int64(1); h < int64(math.Exp(c.epsilon/2))+3; h++ {
			if law, ok := fit(c.epsilon, h, h, 0, true); ok {
				atom := law.oneSided(law.reach()).prob(0)
				// E|Z + U| = |Z|, or ¼ for Z = 0
				least = min(least, (law.meanAbs()+atom/4)/float64(h))
			}
		}
		require.InDelta(t, c.ratio, least/staircase(c.epsilon), 2e-3, "ε = %v", c.epsilon)
	}
}
