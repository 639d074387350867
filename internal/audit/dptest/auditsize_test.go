package dptest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// missed returns the probability, from exact binomial laws, that n releases on each input do not
// refute epsilon.
func missed(n int, event, lossy, epsilon, falseReject float64) float64 {
	p := distuv.Binomial{N: float64(n), P: event * math.Exp(lossy)}
	q := distuv.Binomial{N: float64(n), P: event}
	around := func(law distuv.Binomial) (lo, hi int) {
		spread := 9*math.Sqrt(law.Variance()) + 20
		return int(max(0, law.Mean()-spread)), int(min(law.N, law.Mean()+spread))
	}
	// For each count on the second input, the least count on the first that refutes: it grows with
	// the second.
	lo, hi := around(q)
	first, last := around(p)
	below := make([]float64, last-first+2) // Pr[count on the first input < first + i]
	for i := range last - first + 1 {
		below[i+1] = below[i] + p.Prob(float64(first+i))
	}
	least, total := first, 0.0
	for b := lo; b <= hi; b++ {
		for least <= last && EpsilonLowerBound(int64(least), int64(n), int64(b), int64(n), 0, 1-falseReject) <= epsilon {
			least++
		}
		total += q.Prob(float64(b)) * below[least-first]
	}
	return total
}

// The exact power of audits of the sizes that AuditSize gives, and that a third of it does not do.
// Second reader's figure: n·q ≥ 124 for ε_c = 2, ε = 1, α = 1e-8, β = 1e-3.
func TestAuditSize(t *testing.T) {
	require.InDelta(t, 124, float64(AuditSize(1e-3, 2, 1, 1e-8, 1e-3))*1e-3, 2.5)
	cases := []struct{ event, lossy, epsilon, falseReject, miss float64 }{
		{0.03, 2, 1, 1e-8, 1e-6}, {0.01, 4, 2, 1e-9, 1e-9}, {0.002, 3, 1, 1e-10, 1e-10}, {1e-3, 5, 1, 1e-9, 1e-9},
		{1e-3, 2, 1, 1e-8, 1e-3}, {0.05, 2, 1, 1e-9, 1e-9}, {0.2, 1, 0.5, 1e-9, 1e-9}, {0.1, 1.5, 1.25, 1e-9, 1e-6},
	}
	for _, c := range cases[:Full(8, 4)] {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			n := AuditSize(c.event, c.lossy, c.epsilon, c.falseReject, c.miss)
			miss := missed(n, c.event, c.lossy, c.epsilon, c.falseReject)
			t.Logf("n = %d, n·event = %.3g: missed with probability %.2g", n, float64(n)*c.event, miss)
			require.LessOrEqual(t, miss, c.miss)
			if float64(n)*c.event > 20 {
				require.Greater(t, missed(n/3, c.event, c.lossy, c.epsilon, c.falseReject), c.miss, "no more than needed")
			}
		})
	}
	for _, n := range []int{
		AuditSize(0, 2, 1, 1e-8, 1e-3), AuditSize(0.1, 1, 1, 1e-8, 1e-3), AuditSize(0.1, 2, math.NaN(), 1e-8, 1e-3), AuditSize(0.1, 2, 1, 0, 1e-3),
	} {
		require.Zero(t, n)
	}
}
