package elliptical

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// tilted is an ellipsoid of three strongly correlated coordinates.
var tilted = mat.NewSymDense(3, []float64{
	4, 1.8, 0.1,
	1.8, 1, 0,
	0.1, 0, 0.25,
})

// With ℓ₂ norms at most 2²⁶ steps, exactly, whatever is thrown at it, each row changes the sum by
// what the noise is calibrated for.
func TestEllipsoidRowsAreWithinIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14)) // test data
	hostile := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 0, 1e-300, 1e300}
	nearSingular := mat.NewSymDense(2, []float64{1, 1 - 0x1p-38, 1 - 0x1p-38, 1})
	for _, m := range []*mat.SymDense{tilted, nearSingular, mat.NewSymDense(1, []float64{maxMatrix}), mat.NewSymDense(2, []float64{minMatrix, 0, 0, maxMatrix})} {
		for _, p := range []Params{{Rho: 1}, {Epsilon: check.MinEpsilon, Delta: check.MinDelta}} {
			p.Ellipsoid, p.Relation = PackSymmetric(m), budget.Replace
			mechanism := dptest.OK(New(p))(t)
			l := mechanism.noise
			z, q := make([]float64, l.dim), make([]int64, l.dim)
			radius := 0.5 / l.coordinates[0].step
			for range 5000 {
				row := make([]float64, l.dim)
				for i := range row {
					row[i] = math.Sqrt(m.At(i, i)) * rng.NormFloat64()
					if rng.IntN(4) == 0 {
						row[i] = hostile[rng.IntN(len(hostile))]
					}
				}
				whiten(l.lower, row, l.coordinates[0].step, z, q)
				squares := 0.0
				for _, q := range q {
					squares += float64(q) * float64(q)
				}
				require.LessOrEqual(t, squares, radius*radius)
			}
			require.LessOrEqual(t, 1/l.coordinates[0].scale, math.Sqrt(2)*1.01, "ρ = 1 at most")
		}
	}
}

// chain is a matrix whose L has ones on the diagonal at first, 2⁻¹⁹ then, and −1 beside it: each
// coordinate of L⁻¹x is 2¹⁹ times the one before.
func chain(d int) (packed []float64, lower [][]float64) {
	for i := range d {
		row := make([]float64, i+1)
		row[i] = 1
		if i > 0 {
			row[i], row[i-1] = 0x1p-19, -1
		}
		lower = append(lower, row)
	}
	for i := range d {
		for j := range i + 1 {
			x := 0.0
			for k := range j + 1 {
				x += lower[i][k] * lower[j][k]
			}
			packed = append(packed, x)
		}
	}
	return packed, lower
}

// The ℓ₂ norm is checked in integers, so it holds where L⁻¹x overflows and is NaN too. (Such
// matrices are rejected as well.)
func TestEllipsoidRowsThatOverflow(t *testing.T) {
	const d = 64
	packed, lower := chain(d)
	z, q := make([]float64, d), make([]int64, d)
	for _, row := range [][]float64{{1}, {0.5, -3, 1e300}, {-1e-9}, {math.Inf(-1), 5e-324}} {
		whiten(lower, row, 0.5/radiusSteps, z, q)
		for _, q := range q {
			require.LessOrEqual(t, max(q, -q), int64(radiusSteps))
		}
		squares := 0.0
		for _, q := range q {
			squares += float64(q) * float64(q)
		}
		require.LessOrEqual(t, squares, float64(radiusSteps)*radiusSteps)
	}
	require.True(t, math.IsInf(z[d-1], 0) || math.IsNaN(z[d-1]), "the control must overflow")
	require.ErrorIs(t, second(New(Params{Ellipsoid: VectorOf(packed...), Rho: 1})), ErrParams)
}

// What is accepted does not depend on the units of the coordinates, nor on their order.
func TestEllipsoidInOtherUnits(t *testing.T) {
	for _, correlation := range []float64{0.5, 1 - 0x1p-38, 1 - 0x1p-42} {
		for _, unit := range []float64{1, 0x1p45, 0x1p-45, 1e9} {
			for _, swap := range []bool{false, true} {
				m := mat.NewSymDense(2, []float64{1, correlation * unit, correlation * unit, unit * unit})
				if swap {
					m = mat.NewSymDense(2, []float64{unit * unit, correlation * unit, correlation * unit, 1})
				}
				_, err := New(Params{Ellipsoid: PackSymmetric(m), Rho: 1})
				require.Equal(t, correlation < 1-0x1p-40, err == nil, "correlation %v, unit %v", correlation, unit)
			}
		}
	}
}

// The noise has the least covariance that the ellipsoid allows, M/(2ρ), a quarter of it under
// AddRemove; it is what is measured; and rows inside are summed as they are.
func TestEllipsoid(t *testing.T) {
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		p := Params{Ellipsoid: PackSymmetric(tilted), Rho: 0.5, Relation: relation}
		divide := 1.0
		if relation == budget.AddRemove {
			divide = 4
		}
		n := 8_000
		switch {
		case dptest.Long():
			n = 20_000
		case testing.Short():
			n = 2000
		}
		samples, products := make([][]float64, 3), make([]float64, n)
		for k := range n {
			b := dptest.OK(NewBuilder(p))(t)
			b.Add([]float64{0.5, 0.3, 0.1})
			b.AddSparse([]int{1, 0, 7}, []float64{0.2, 0.4, 9})
			s := dptest.OK(b.Release())(t)
			require.Equal(t, 3, s.Len())
			for i, want := range []float64{0.9, 0.5, 0.1} {
				samples[i] = append(samples[i], s.Estimate(i)-want)
			}
			products[k] = samples[0][k] * samples[1][k]
			if k > 0 {
				continue
			}
			covariance := s.Covariance()
			for i := range 3 {
				require.InEpsilon(t, tilted.At(i, i)/divide, square(s.StdDev(i)), 1e-6)
				for j := range 3 {
					require.InDelta(t, tilted.At(i, j)/divide, covariance.At(i, j), 1e-6)
				}
			}
			require.InEpsilon(t, 5.25/divide, s.noise.expectedError(2), 1e-6)
		}
		for i := range samples {
			v := tilted.At(i, i) / divide
			if testing.Short() {
				continue // too few for the normal limit
			}
			dptest.Moments(t, "ellipsoid", samples[i], 0, v, 3*v*v, 1e-10)
		}
		mean := 0.0
		for _, x := range products {
			mean += x / float64(n)
		}
		// E[XY] = c, variance v₁v₂ + c²; 7 standard errors: 3e-12 for a normal mean, and 30 times
		// that by the skewness.
		v, c := tilted.At(0, 0)*tilted.At(1, 1), tilted.At(0, 1)
		dptest.Alarm(t, 1e-10)
		require.InDelta(t, c/divide, mean, 7*math.Sqrt((v+c*c)/float64(n))/divide)
	}
}

// Rows outside are scaled to the surface, each in its direction; an infinite coordinate counts as
// all there is.
func TestEllipsoidScales(t *testing.T) {
	m := dptest.OK(New(Params{Ellipsoid: PackSymmetric(tilted), Rho: 1}))(t)
	var inverse mat.Cholesky
	require.True(t, inverse.Factorize(tilted))
	z, q := make([]float64, 3), make([]int64, 3)
	back := func(row []float64) *mat.VecDense {
		whiten(m.noise.lower, row, m.noise.coordinates[0].step, z, q)
		s := &Sum{m.calibration, []exact.Int128{exact.Int128Of(q[0]), exact.Int128Of(q[1]), exact.Int128Of(q[2])}}
		return mat.NewVecDense(3, s.Values())
	}
	inside := back([]float64{0.5, 0.3, 0.1})
	require.InDeltaSlice(t, []float64{0.5, 0.3, 0.1}, inside.RawVector().Data, 1e-6)
	for _, row := range [][]float64{{5, 3, 1}, {-1e300, 0, 1e300}, {math.Inf(1), 7, math.NaN()}, {1e9}} {
		x := back(row)
		var solved mat.VecDense
		require.NoError(t, inverse.SolveVecTo(&solved, x))
		require.InDelta(t, 0.25, mat.Dot(x, &solved), 1e-6)
		require.Equal(t, row[0] < 0, x.AtVec(0) < 0)
	}
	for _, row := range [][]float64{nil, {0, 0, 0}, {math.NaN()}} {
		require.Equal(t, []float64{0, 0, 0}, back(row).RawVector().Data)
	}
	require.ErrorIs(t, dptest.Err(m.Release([]float64{1, 2, 3})), ErrParams)
}

// A diagonal M is the ellipsoid inside the box, and its noise that of minimum volume for d = 1.
func TestEllipsoidOfOneIsTheInterval(t *testing.T) {
	for _, p := range []Params{{Rho: 2, Relation: budget.Replace}, {Epsilon: 1, Delta: 1e-5, Relation: budget.Replace}, {Rho: 2, Relation: budget.AddRemove}} {
		q := p
		p.Ellipsoid, q = PackSymmetric(mat.NewSymDense(1, []float64{9})), q.around(3)
		require.InEpsilon(t, q.deviation(0), p.deviation(0), 1e-6)
		require.Equal(t, q.Guarantee(), p.Guarantee())
	}
}

func TestEllipsoidIsChecked(t *testing.T) {
	good := Params{Ellipsoid: PackSymmetric(tilted), Rho: 1}
	require.NoError(t, second(New(good)))
	require.Equal(t, Vector{}, PackSymmetric(nil))
	identity := mat.NewSymDense(maxEllipsoid+1, nil)
	for i := range maxEllipsoid + 1 {
		identity.SetSym(i, i, 1)
	}
	large := PackSymmetric(identity)
	for name, spoil := range map[string]func(p *Params){
		"Delta":            func(p *Params) { p.Rho, p.Epsilon = 0, 1 },
		"Rho":              func(p *Params) { p.Rho = -1 },
		"Ellipsoid.Len()":  func(p *Params) { p.Ellipsoid = VectorOf(1, 2) },
		"Ellipsoid.Len() ": func(p *Params) { p.Ellipsoid = large },
		"Ellipsoid.Len()2": func(p *Params) { p.Min = VectorOf(1, 1, 1) },
		"Ellipsoid.Len()3": func(p *Params) { p.Max = VectorOf(1, 1, 1) },
		"Shape":            func(p *Params) { p.Shape = Box },
		"Shape ":           func(p *Params) { p.Count, p.Relation = true, budget.AddRemove },
		"Ellipsoid[1]":     func(p *Params) { p.Ellipsoid = VectorOf(1, math.NaN(), 1) },
		"Ellipsoid[1] ":    func(p *Params) { p.Ellipsoid = VectorOf(1, math.Inf(-1), 1) },
		"Ellipsoid on the": func(p *Params) { p.Ellipsoid = VectorOf(1, 0, -1) },
		"Ellipsoid":        func(p *Params) { p.Ellipsoid = VectorOf(1, 1, 1) },
		"Ellipsoid ":       func(p *Params) { p.Ellipsoid = VectorOf(1, 2, 1) },
	} {
		p := good
		spoil(&p)
		require.ErrorIs(t, second(New(p)), ErrParams, name)
		require.Equal(t, budget.Guarantee{}, p.Guarantee(), name)
		require.True(t, math.IsNaN(p.deviation(0)))
	}
}

// Audit at opposite ends of the ellipsoid, with the control of half the noise: see TestAudit.
func TestAuditOfEllipsoid(t *testing.T) {
	dptest.NotShort(t, "many releases")
	m := dptest.OK(New(Params{Ellipsoid: PackSymmetric(tilted), Epsilon: 1, Delta: 1e-2, Relation: budget.Replace}))(t)
	a, b := rowTotals(t, m, []float64{4e9, 1.8e9, 1e8}), rowTotals(t, m, []float64{-4e9, -1.8e9, -1e8})
	require.LessOrEqual(t, refuted(t, m, a, b, 1, 1e-2), 1.0)
	require.Greater(t, refuted(t, &Mechanism{calibration{m.params, m.noise.halved()}}, a, b, 2, 1e-2), 1.0)
}
