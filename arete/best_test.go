package arete

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// lattice is the noise of the Params.
func lattice(p Params) (*Lattice, error) { return p.calibrated() }

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

// Integers: Δ = 1 is the optimum, and for Δ = 5 the jump law is next to it.
func TestAutoOfIntegersReachesTheFigures(t *testing.T) {
	for _, c := range []struct {
		delta   int64
		epsilon float64
		ratio   float64
	}{
		{1, 0.5, 1.0001}, {1, 4, 1.0001}, {1, 30, 1.0001},
		{2, 2, 1.219}, {2, 3, 1.089}, {2, 4, 1.034}, {2, 6, 1.005}, {3, 3, 1.122}, {3, 4, 1.048}, {5, 3, 1.178}, {5, 4, 1.074}, {5, 6, 1.011}, {5, 8, 1.002},
		{10, 3, 1.239}, {10, 4, 1.262}, {10, 6, 1.021}, {10, 8, 1.003}, {100, 6, 1.178},
	} {
		l := dptest.OK(lattice(Params{Epsilon: c.epsilon, Sensitivity: float64(c.delta), Integers: true}))(t)
		loss, ok := l.Certify()
		require.True(t, ok)
		require.LessOrEqual(t, loss, c.epsilon)
		require.Equal(t, c.delta, l.noise.size, "the lattice is the integers")
		mean := l.MeanAbs()
		require.LessOrEqual(t, mean/discreteStaircase(c.epsilon, int(c.delta)), c.ratio, "ε = %v, Δ = %v", c.epsilon, c.delta)
		require.LessOrEqual(t, mean, 1/math.Sinh(c.epsilon/float64(c.delta))*(1+1e-12), "at most Laplace")
	}
	// The optimum itself is right at Δ = 1, and below Laplace noise.
	require.InEpsilon(t, 1/math.Sinh(3), discreteStaircase(3, 1), 1e-9)
}

// The documented table of ratios.
func TestTableOfRatios(t *testing.T) {
	text := map[string][]float64{
		"Auto":    {1.175, 1.247, 1.233, 1.210, 1.188, 1.172, 1.160, 1.150, 1.139, 1.134, 1.132, 1.132, 1.132},
		"Arete":   {0, 0, 0, 1.774, 2.160, 2.492, 2.738, 2.914, 3.122, 3.220, 3.264, 3.283, 3.295},
		"Laplace": {1.175, 1.282, 1.420, 1.813, 2.420, 3.340, 4.727, 6.822, 14.84, 33.62, 78.33, 186.3, 1101},
	}
	for i, epsilon := range []float64{2, 2.5, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20} {
		l := dptest.OK(lattice(Params{Epsilon: epsilon}))(t)
		require.InEpsilon(t, text["Auto"][i], l.MeanAbs()*l.Step()/staircase(epsilon), 1e-3, "ε = %v", epsilon)
		if epsilon >= leastArete {
			d := dptest.OK(Calibrate(epsilon, 1))(t)
			require.InEpsilon(t, text["Arete"][i], d.MeanAbs()/staircase(epsilon), 1e-3, fmt.Sprint(epsilon))
		}
		require.InEpsilon(t, text["Laplace"][i], 1/epsilon/staircase(epsilon), 1e-3, fmt.Sprint(epsilon))
	}
}

// leastSquare is the least E X² of all ε-DP noise, at Δ = 1.
func leastSquare(t *testing.T, epsilon float64) float64 {
	gamma := dptest.OK(noise.StaircaseGammaVariance(epsilon))(t)
	law := dptest.OK(noise.NewStaircase(epsilon, 1, gamma))(t)
	return law.Variance()
}

// The error over the least of all noise, with the roundings of all parties, for both objectives: no
// worse than documented, and not better by more than 1 % either.
func TestErrorsOfManyParties(t *testing.T) {
	for _, c := range []struct{ epsilon, abs10, abs1000, absMillion, square, squareMillion float64 }{
		{2, 1.176, 1.176, 1.176, 1.183, 1.183},
		{3, 1.238, 1.252, 1.365, 1.424, 1.456},
		{4, 1.216, 1.231, 1.253, 1.378, 1.459},
		{5, 1.193, 1.208, 1.208, 1.353, 1.373},
		{6, 1.177, 1.182, 1.182, 1.338, 1.344},
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
			l := dptest.OK(lattice(p))(t)
			_, ok := l.Certify()
			require.True(t, ok, "%+v", p)
			optimum := staircase(c.epsilon)
			if p.Objective == MeanSquare {
				optimum = leastSquare(t, c.epsilon)
			}
			require.LessOrEqual(t, p.error(l.noise)/optimum, column.want, "%+v", p)
			require.Greater(t, p.error(l.noise)/optimum, column.want*0.99, "%+v", p)
		}
	}
}

// Whatever the law and ε, the lattice of real values is so fine that rounding to it, which is no
// part of MeanAbs, has at most a hundredth of the variance of the noise's core, or of the noise. So
// MeanAbs is not below the optimum of all noise.
func TestLatticesAreFineForTheNoise(t *testing.T) {
	for _, law := range []Law{Auto, Jump, DiscreteArete, DiscreteLaplace} {
		for i, epsilon := range []float64{1, 2, 4, 6, 10.9, 11.1, 14, 20, 36, 40, 1000} {
			if testing.Short() && (law != Jump || epsilon < 10) || i%3 > 0 && !dptest.Long() {
				continue
			}
			for _, objective := range []Objective{MeanAbs, MeanSquare} {
				for _, parties := range []int{0, 300} {
					if law == DiscreteArete && (objective == MeanSquare || parties > 0) {
						continue // the same law in the time of ten others
					}
					p := Params{Epsilon: epsilon, Law: law, Objective: objective, Parties: parties}
					l, err := lattice(p)
					if law == DiscreteArete && epsilon < leastArete {
						require.ErrorIs(t, err, ErrParams)
						continue
					}
					require.NoError(t, err)
					loss, ok := l.Certify()
					require.True(t, ok && loss <= epsilon, "%+v", p)
					variance := l.Variance()
					if l.noise.jumps() {
						variance = l.noise.jump.core
					}
					require.Less(t, 1.0/12, variance/100, "%+v", p)
					require.GreaterOrEqual(t, l.MeanAbs()*l.Step()/staircase(epsilon), 1-1e-6, "%+v", p)
				}
			}
		}
	}
}
