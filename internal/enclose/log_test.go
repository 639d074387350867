package enclose

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLog(t *testing.T) {
	for _, x := range []float64{1, 1 + 0x1p-52, 1.25, 1.9999, 2, 3, 1e10, 1e300, math.MaxFloat64} {
		for _, prec := range []uint{20, 64, 200} {
			lo, hi := Log(Rat(x), prec)
			width := new(big.Rat).Sub(hi, lo)
			require.GreaterOrEqual(t, width.Sign(), 0)
			require.LessOrEqual(t, width.Cmp(new(big.Rat).SetFrac(big.NewInt(1), One(prec))), 0)
			// e^{−hi} ≤ 1/x ≤ e^{−lo}, by the series of the exponential
			inverse := new(big.Rat).Inv(Rat(x))
			scaled := new(big.Rat).Mul(inverse, new(big.Rat).SetInt(One(300)))
			least, _ := ends(hi, 300)
			_, most := ends(lo, 300)
			require.LessOrEqual(t, new(big.Rat).SetInt(least).Cmp(scaled), 0, "ln %g is too small", x)
			require.GreaterOrEqual(t, new(big.Rat).SetInt(most).Cmp(scaled), 0, "ln %g is too large", x)
		}
	}
}
