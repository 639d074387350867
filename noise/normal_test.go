package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func TestNormalQuantile(t *testing.T) {
	var w dptest.Worst
	for _, row := range dptest.Rows(t, "testdata/reference.txt", "quantile", 2) {
		w.See(normalQuantile(row[0]), row[1], row[0])
	}
	w.Check(t, "quantile", 1e-15)
	assert.Zero(t, normalQuantile(0.5))
}

// R and −R′ from the nodes are those of 200 binary digits beyond what cancels in R(t) =
// √(π/2)·e^{t²/2} − Σ t^{2n+1}/(1·3·…·(2n+1)), over all nodes and between them.
func TestMillsNodes(t *testing.T) {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(640).SetFloat64(x) }
	sqrtHalfPi, _, err := big.ParseFloat("1.253314137315500251207882642405522626503493370304969158314961788171146827303920987473297919189028633058004986332601939822433162", 10, 640, big.ToNearestEven)
	require.NoError(t, err)
	sums := func(x float64) (ratio, slope float64) {
		square := number(x)
		square.Mul(square, square)
		even, odd := number(1), number(x) // terms of e^{x²/2} and of the sum
		exponential, sum := number(1), number(x)
		for n := 1; n < 600; n++ {
			even.Quo(even.Mul(even, square), number(float64(2*n)))
			odd.Quo(odd.Mul(odd, square), number(float64(2*n+1)))
			exponential.Add(exponential, even)
			sum.Add(sum, odd)
		}
		r := exponential.Sub(exponential.Mul(exponential, sqrtHalfPi), sum)
		ratio, _ = r.Float64()
		slope, _ = new(big.Float).Sub(number(1), r.Mul(r, number(x))).Float64()
		return ratio, slope
	}
	var ratio, slope dptest.Worst
	for x := -1 + 0x1p-10; x < 20; x += 0.371 {
		wantRatio, wantSlope := sums(x)
		ratio.See(mills(x), wantRatio, x)
		slope.See(millsSlope(x), wantSlope, x)
	}
	ratio.Check(t, "mills", 1e-15)
	slope.Check(t, "millsSlope", 2e-15)
	assert.InEpsilon(t, math.Sqrt(2*math.Pi)*math.Exp(4.5)-mills(3), mills(-3), 1e-14)
	assert.Zero(t, mills(math.Inf(1)))
	assert.InEpsilon(t, 1e-300, mills(1e300), 1e-15)
	assert.InEpsilon(t, 1e-200, millsSlope(1e100), 1e-15)
}

func TestMillsDrop(t *testing.T) {
	for _, start := range []float64{-0.49, -1e-9, 0, 1e-12, 0.3, 2.9, 3, 7, 38, 1e5, 1e100} {
		edge := (1 + max(start, 0)) / 2
		below, above := millsDrop(start, edge*(1-1e-12)), millsDrop(start, edge*(1+1e-12))
		assert.InEpsilon(t, below, above, 5e-12, "%g", start)
		assert.InEpsilon(t, millsSlope(start)*1e-90, millsDrop(start, 1e-90), 1e-13, "%g", start)
		assert.Zero(t, millsDrop(start, 0))
	}
}
