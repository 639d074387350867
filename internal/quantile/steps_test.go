package quantile

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// gaussianExcess returns an upper bound on how much more k steps with windows of e lose, of the
// best adversary, than Gaussian noise of ratio mu does: the largest quotient over five standard
// deviations.
//
// V₀(r) = (r − 1)₊ and V_j(r), the maximum over t in [0, e] of V_{j−1} at re^t and re^{t−e},
// averaged so that the mean is r, bound what k adaptive steps can do. With windows of e(1 + 1/M),
// and t and ln r on multiples of e/M, nothing is interpolated: every window of e lies in one of
// these.
func gaussianExcess(k, m int, e, mu float64) (worst float64) {
	h, wide := e/float64(m), m+1
	n := int(math.Ceil(10*max(mu, 0.05)/h)) + 2*wide // points on either side of r = 1
	v, next := make([]float64, 2*n+1), make([]float64, 2*n+1)
	for i := range v {
		v[i] = max(math.Expm1(float64(i-n)*h), 0)
	}
	chance := make([]float64, wide+1)
	for t := range chance {
		low := math.Expm1(float64(t-wide) * h)
		chance[t] = -low / (math.Expm1(float64(t)*h) - low)
	}
	for range k {
		for i := range v {
			best := v[i]
			for t := 1; t < wide; t++ {
				up, down := i+t, max(i+t-wide, 0)
				above := v[min(up, len(v)-1)]
				if up >= len(v) { // V_j has slopes of at most 1
					above += math.Exp(float64(up-n)*h) - math.Exp(float64(n)*h)
				}
				best = max(best, chance[t]*above+(1-chance[t])*v[down])
			}
			next[i] = best
		}
		v, next = next, v
	}
	q := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	for i := range v {
		if s := float64(i-n) * h; math.Abs(s) <= 5*mu {
			worst = max(worst, v[i]/(math.Exp(s)*q(-s/mu-mu/2)-q(-s/mu+mu/2)))
		}
	}
	return worst
}

// k steps of the size that StepEpsilon gives lose no more than Gaussian noise of ratio mu does, for
// the numbers of steps that group by uses, up to five standard deviations; so the constants are
// large enough, and a hundredth less than the computed ones is too small for few steps, as is 1,
// which zCDP has for one step.
func TestStepsAreGaussian(t *testing.T) {
	counts, sizes, many := []int{2, 4, 8}, []float64{0.1}, []int{32}
	if dptest.Long() {
		many = []int{32, 512, 4096}
		counts, sizes = []int{1, 2, 3, 4, 6, 8, 9, 12, 16}, []float64{0.02, 0.1, 1}
	}
	for _, k := range counts {
		for _, epsilon := range sizes {
			mu := epsilon * math.Sqrt(float64(k)) / 2 * constant(k)
			require.InEpsilon(t, epsilon, StepEpsilon(mu, k), 1e-9)
			if k == 1 { // Lemma 3, which the computation comes to in the limit
				mu *= 1 + 1./150
			}
			worst := gaussianExcess(k, 250+50*k, epsilon, mu)
			t.Logf("%d steps of %v: %.4f of the bound", k, epsilon, worst)
			require.LessOrEqual(t, worst, 1.0)
		}
	}
	// A user of many keys takes more and smaller steps: for these the constant of 16 is enough.
	for _, k := range many {
		epsilon := 0.5 / math.Sqrt(float64(k))
		worst := gaussianExcess(k, 100, epsilon, epsilon*math.Sqrt(float64(k))/2*constant(16))
		t.Logf("%d steps of %.4f: %.4f of the bound", k, epsilon, worst)
		require.LessOrEqual(t, worst, 1.0)
	}
	for k, c := range map[int]float64{4: constant(4) - .01, 2: constant(2) - .01, 8: 1} {
		require.Greater(t, gaussianExcess(k, 400, 0.1, 0.1*math.Sqrt(float64(k))/2*c), 1., "%d steps", k)
	}
}
