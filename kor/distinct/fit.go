package distinct

import "math"

// What two releases tell of θ = (|A∖B|, |B∖A|, |A∩B|) is by weighted least squares.
//
// In level i a cell is empty in A with probability a = (1−r_i/n)^(θ₁+θ₃), in B with b =
// (1−r_i/n)^(θ₂+θ₃) and in both with e = (1−r_i/n)^(θ₁+θ₂+θ₃), for Poisson numbers of keys
// independently of all other cells. So the true pair of bits is (0,0), (0,1), (1,0), (1,1) with o =
// (e, a−e, b−e, 1−a−b+e), and what is shown has the law q, o through both channels. Of n cells the
// counts of the patterns have mean nq and the covariance of a multinomial law, whose inverse is, on
// vectors that sum to 0, a plain weighting by 1/(nq). The counts of ones T̃ have mean Σ n(1−a),
// variance Σ n·a(1−a) + Var Z, covariance Σ n(o₁₁ − (1−a)(1−b)) with each other, and with the
// number of cells that show y, n·Cov(a-bit, y).
//
// With, for each level and pattern y,
//
//	z = (three derivatives of nq_y, n·Cov(a-bit, y), n·Cov(b-bit, y), observed − nq_y)
//
// the 6×6 matrix M = Σ zzᵀ/(nq_y) holds all that generalised least squares needs: M₀₀ is the
// information of the patterns, M₀₂ their score, and what T̃_A and T̃_B add is their part that the
// patterns do not explain, of covariance (Var T̃) − M₁₁.

type (
	vector [3]float64
	matrix [3]vector
)

func (v vector) dot(w vector) float64 { return v[0]*w[0] + v[1]*w[1] + v[2]*w[2] }
func (v vector) sum() float64         { return v[0] + v[1] + v[2] }

func (m matrix) times(v vector) vector { return vector{m[0].dot(v), m[1].dot(v), m[2].dot(v)} }

// inverse returns the inverse of a symmetric matrix, false if it is not positive definite.
func (m matrix) inverse() (inv matrix, ok bool) {
	var scale vector // so that units and sizes do not matter
	for i := range scale {
		if !(m[i][i] > 0) || math.IsInf(m[i][i], 1) {
			return inv, false
		}
		scale[i] = 1 / math.Sqrt(m[i][i])
	}
	c := func(i, j int) float64 { return m[i][j] * scale[i] * scale[j] }
	x, y, z := c(0, 1), c(0, 2), c(1, 2)
	det := 1 - x*x - y*y - z*z + 2*x*y*z
	if !(det > 1e-13 && x*x < 1 && y*y < 1 && z*z < 1) {
		return inv, false
	}
	inv = matrix{{1 - z*z, y*z - x, x*z - y}, {y*z - x, 1 - y*y, x*y - z}, {x*z - y, x*y - z, 1 - x*x}}
	for i := range inv {
		for j := range inv {
			inv[i][j] *= scale[i] * scale[j] / det
		}
	}
	return inv, true
}

// linear returns the information about θ and the score at θ, which has no negative parts.
func (m *model) linear(theta vector) (info matrix, score vector) {
	n := m.curve.cells
	var square [6][6]float64
	var mean, variance [2]float64 // of T̃
	var slope [2]vector
	covariance := 0.0
	for i, l := range m.curve.log[:m.curve.levels] {
		at := m.level(theta, l)
		dq, cov := m.derivatives(&at, l), m.covariances(&at)
		for y, q := range at.q {
			z := [6]float64{n * dq[0][y], n * dq[1][y], n * dq[2][y], n * cov[0][y], n * cov[1][y], m.patterns[i][y] - n*q}
			w := 1 / max(n*q, 0.25) // so that a pattern that hardly ever shows does not rule
			for r := range z {
				for c := range r + 1 {
					square[r][c] += w * z[r] * z[c]
				}
			}
		}
		mean[0] += n * (1 - at.a)
		mean[1] += n * (1 - at.b)
		da, db := -n*l*at.a, -n*l*at.b
		slope[0] = vector{slope[0][0] + da, 0, slope[0][2] + da}
		slope[1] = vector{0, slope[1][1] + db, slope[1][2] + db}
		variance[0] += n * at.a * (1 - at.a)
		variance[1] += n * at.b * (1 - at.b)
		covariance += n * (at.o[3] - (1-at.a)*(1-at.b))
	}
	for k := range 3 {
		for j := range k + 1 {
			info[k][j], info[j][k] = square[k][j], square[k][j]
		}
		score[k] = square[5][k]
	}
	m.border(&square, mean, variance, covariance, slope, &info, &score)
	return info, score
}

// border adds what the counts of ones tell beyond the patterns.
func (m *model) border(square *[6][6]float64, mean, variance [2]float64, covariance float64, slope [2]vector, info *matrix, score *vector) {
	sa := variance[0] + m.noise[0] - square[3][3]
	sb := variance[1] + m.noise[1] - square[4][4]
	sab := covariance - square[4][3]
	det := sa*sb - sab*sab
	if !(sa > 0 && sb > 0 && det > 1e-12*sa*sb) {
		return
	}
	residual := [2]float64{m.ones[0] - mean[0] - square[5][3], m.ones[1] - mean[1] - square[5][4]}
	var d [2]vector
	for k := range 3 {
		d[0][k], d[1][k] = slope[0][k]-square[3][k], slope[1][k]-square[4][k]
	}
	inv := [2][2]float64{{sb / det, -sab / det}, {-sab / det, sa / det}}
	for i := range 2 {
		for j := range 2 {
			for k := range 3 {
				for l := range 3 {
					info[k][l] += d[i][k] * inv[i][j] * d[j][l]
				}
				score[k] += d[i][k] * inv[i][j] * residual[j]
			}
		}
	}
}

// level is the law of one cell of a level.
type level struct {
	a, b, e float64    // the probabilities that it is empty in A, in B, in both
	o, q    [4]float64 // the laws of the true and of the shown pattern
}

// level returns the law at θ of a level with ln(1−r/n) = l.
func (m *model) level(theta vector, l float64) (at level) {
	at.a, at.b, at.e = math.Exp(l*(theta[0]+theta[2])), math.Exp(l*(theta[1]+theta[2])), math.Exp(l*theta.sum())
	at.o = [4]float64{at.e, at.a - at.e, at.b - at.e, 1 - at.a - at.b + at.e}
	at.q = m.shown(at.o)
	return at
}

// derivatives returns those of q by θ₁, θ₂ and θ₃.
func (m *model) derivatives(at *level, l float64) [3][4]float64 {
	da, db, de := l*at.a, l*at.b, l*at.e
	return [3][4]float64{
		m.shown([4]float64{de, da - de, -de, de - da}),
		m.shown([4]float64{de, -de, db - de, de - db}),
		m.shown([4]float64{de, da - de, db - de, de - da - db}),
	}
}

// shown puts a vector over true patterns through both channels.
func (m *model) shown(v [4]float64) [4]float64 {
	p, r := m.flips[0], m.flips[1]
	// A's bit is flipped, then B's.
	w := [4]float64{v[0] + p*(v[2]-v[0]), v[1] + p*(v[3]-v[1]), v[2] + p*(v[0]-v[2]), v[3] + p*(v[1]-v[3])}
	return [4]float64{w[0] + r*(w[1]-w[0]), w[1] + r*(w[0]-w[1]), w[2] + r*(w[3]-w[2]), w[3] + r*(w[2]-w[3])}
}

// covariances returns Cov(a-bit, y) and Cov(b-bit, y) for each shown pattern y, E[bit·1[y]] −
// E[bit]·q_y.
func (m *model) covariances(at *level) (cov [2][4]float64) {
	withA, withB := m.shown([4]float64{2: at.o[2], 3: at.o[3]}), m.shown([4]float64{1: at.o[1], 3: at.o[3]})
	for y, q := range at.q {
		cov[0][y], cov[1][y] = withA[y]-(1-at.a)*q, withB[y]-(1-at.b)*q
	}
	return cov
}
