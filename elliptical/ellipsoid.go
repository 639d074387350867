package elliptical

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Correlated coordinates. Rows lie in the ellipsoid {x : xᵀM⁻¹x ≤ ¼}, so that two of them differ by
// v with vᵀM⁻¹v ≤ 1, M = L·Lᵀ positive definite. What is summed is z = L⁻¹x, of ‖z‖₂ ≤ ½, with the
// same Gaussian noise in every coordinate, and L times the noisy sum is the estimate.
//
// Privacy. As for Lemma 4.6, with L in the place of a diagonal matrix: the z are a query of ℓ₂
// sensitivity 1 (½ under AddRemove), and L is post-processing. On the machine each row becomes
// integers q with Σ qⱼ² ≤ R² whatever L⁻¹x came out as, R = 2²⁶ steps: that is checked in integers.
// So the sensitivity is 2R (R) steps for any rows, and floating point decides only which ellipsoid
// rows are scaled to. ∎
//
// Optimality. Noise N(0, Σ) is ρ-zCDP if and only if vᵀΣ⁻¹v ≤ 2ρ for all v of the ellipsoid, that
// is LᵀΣ⁻¹L ≼ 2ρ·I, that is Σ ≽ M/(2ρ). The noise here has Σ = M/(2ρ): no Gaussian noise has less
// variance in any coordinate, or any direction, and so for no p a smaller error. ∎
const (
	radiusSteps  = 1 << 26
	maxEllipsoid = 1 << 9 // of d: squares of integers up to R add up to at most 2⁶¹
	minMatrix    = 0x1p-100
	maxMatrix    = 0x1p100
	maxCondition = 0x1p40
)

// PackSymmetric returns the lower triangle of the matrix, row by row, for Params.Ellipsoid; nil is
// the empty matrix.
func PackSymmetric(m mat.Symmetric) Vector {
	if m == nil {
		return Vector{}
	}
	d := m.SymmetricDim()
	values := make([]float64, 0, d*(d+1)/2)
	for i := range d {
		for j := range i + 1 {
			values = append(values, m.At(i, j))
		}
	}
	return VectorOf(values...)
}

// triangle returns the d for which n = d(d+1)/2, or 0 if there is none up to maxEllipsoid.
func triangle(n int) int {
	for d := 1; d <= maxEllipsoid; d++ {
		if d*(d+1)/2 == n {
			return d
		}
	}
	return 0
}

// factor returns the rows of L for a packed matrix that has passed validateEllipsoid, or false
// unless it is positive definite by a margin that floating point can tell: with coordinates in
// units, powers of two, that bring the diagonal into (¼, 1], its condition number is at most
// maxCondition. It takes time in proportion to d³.
func factor(packed Vector) ([][]float64, bool) {
	d := triangle(packed.Len())
	units, matrix := make([]float64, d), mat.NewSymDense(d, nil)
	for i, k := 0, 0; i < d; i++ {
		units[i] = powerAbove(math.Sqrt(packed.At(k + i)))
		for j := range i + 1 {
			matrix.SetSym(i, j, packed.At(k)/units[i]/units[j])
			k++
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(matrix) || !(cholesky.Cond() <= maxCondition) {
		return nil, false
	}
	l, upper := make([][]float64, d), cholesky.RawU()
	for i := range l {
		l[i] = make([]float64, i+1)
		for j := range l[i] {
			l[i][j] = upper.At(j, i) * units[i]
		}
	}
	return l, true
}

// validateEllipsoid checks resolved Params with an Ellipsoid, except for what factor finds.
func (p Params) validateEllipsoid() error {
	switch {
	case p.Rho == 0 && p.Delta == 0:
		return bad("Delta", p.Delta, "a number in [1e-300, 1), or Rho, where Ellipsoid is given: its noise is Gaussian")
	case triangle(p.Ellipsoid.Len()) == 0:
		return bad("Ellipsoid.Len()", p.Ellipsoid.Len(), "d(d+1)/2 for a d in [1, 512]")
	case p.Min.Len() > 0 || p.Max.Len() > 0 || p.Weights.Len() > 0:
		return bad("Ellipsoid.Len()", p.Ellipsoid.Len(), "0 where Min, Max or Weights are given")
	case p.Shape != Optimal || p.Count:
		return bad("Shape", p.Shape, "Optimal, and Count false, where Ellipsoid is given")
	case p.Relative:
		return bad("Relative", p.Relative, "false where Ellipsoid is given")
	}
	for k := range p.Ellipsoid.Len() {
		if x := p.Ellipsoid.At(k); !between(math.Abs(x), 0, maxMatrix) {
			return bad(fmt.Sprintf("Ellipsoid[%d]", k), x, "a number in [−2¹⁰⁰, 2¹⁰⁰]")
		}
	}
	for i := range triangle(p.Ellipsoid.Len()) {
		if x := p.Ellipsoid.At(i*(i+1)/2 + i); !(x >= minMatrix) {
			return bad(fmt.Sprintf("Ellipsoid on the diagonal at %d", i), x, "a number in [2⁻¹⁰⁰, 2¹⁰⁰]")
		}
	}
	return nil
}

// dim returns d.
func (p Params) dim() int {
	switch {
	case p.NormBound > 0:
		return p.Dim
	case p.Ellipsoid.Len() > 0:
		return triangle(p.Ellipsoid.Len())
	}
	return p.Min.Len()
}

// ellipsoidStep is the grid of z: the radius ½ is 2²⁶ steps, or where the noise is larger than 2⁴⁵
// of these, fewer.
func ellipsoidStep(scale float64) float64 {
	return max(0.5/radiusSteps, math.Ldexp(powerAbove(scale), -45))
}

// calibrateEllipsoid is calibrate for an Ellipsoid.
func (p Params) calibrateEllipsoid() (gridNoise, error) {
	l, ok := factor(p.Ellipsoid)
	if !ok {
		return gridNoise{}, bad("Ellipsoid", p.Ellipsoid, "a positive definite matrix, and once its diagonal is scaled to 1 of a condition number of at most 10¹²")
	}
	sensitivity := 1.0
	if !p.replace() {
		sensitivity = 0.5
	}
	scales, err := p.scales([]float64{sensitivity}, []float64{1}, []int{1})
	if err != nil {
		return gridNoise{}, err
	}
	at := make([]coordinate, len(l))
	for i := range at {
		at[i] = coordinate{step: ellipsoidStep(scales[0]), scale: scales[0], low: -radiusSteps, high: radiusSteps}
	}
	return gridNoise{replace: p.replace(), dim: len(l), coordinates: at, lower: l}, nil
}

// whiten sets q to the row as it is summed: L⁻¹x in steps of step, rounded, after scaling to the
// ellipsoid. NaN counts as 0, and next to an infinity so does all that is finite.
func whiten(lower [][]float64, row []float64, step float64, z []float64, q []int64) {
	largest := largestOf(row)
	clear(q)
	if largest == 0 {
		return
	}
	norm := 0.0
	for i, l := range lower {
		x := 0.0
		if i < len(row) {
			x = relative(row[i], largest)
		}
		for j, z := range z[:i] {
			x -= l[j] * z
		}
		z[i] = x / l[i]
		norm = math.Hypot(norm, z[i])
	}
	// Rounding adds less than √d/2 + 1 to the norm.
	radius := 0.5/step - math.Sqrt(float64(len(z)))/2 - 1
	scale := min(largest/step, radius/norm)
	whole, squares := lane{1, -radiusSteps, radiusSteps}, uint64(0)
	for i := range z {
		q[i] = whole.entry(z[i] * scale)
		squares += uint64(q[i] * q[i])
	}
	if limit := 0.5 / step; !(float64(squares) <= limit*limit) {
		// never seen, but the guarantee rests on it
		clear(q)
	}
}

// relative returns x/largest for |x| ≤ largest, in [−1, 1]: 0 for NaN, ±1 for an infinity.
func relative(x, largest float64) float64 {
	switch {
	case math.IsNaN(x):
		return 0
	case math.IsInf(x, 0):
		return math.Copysign(1, x)
	}
	return x / largest
}

// largestOf returns the largest absolute value, without NaN.
func largestOf(row []float64) (largest float64) {
	for _, x := range row {
		if !math.IsNaN(x) {
			largest = max(largest, math.Abs(x))
		}
	}
	return largest
}
