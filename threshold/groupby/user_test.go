package groupby

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a user gives has the norms that the guarantee rests on, in integers, for every number of
// keys; one step more in each key would not.
func TestUserVectors(t *testing.T) {
	const s = int64(unit)
	for l := range 1 << 20 {
		n := int64(l + 1)
		w := weight(l + 1)
		if n*w*w > s*s || n*(w+1)*(w+1) <= s*s {
			t.Fatalf("%d keys of weight %d", n, w)
		}
		for _, clip := range []int{1, 32, mostFull} {
			x := clipped(l+1, clip)
			if n*x*x > int64(clip)*s*s || x > s || x < 0 || x < s && n*(x+1)*(x+1) <= int64(clip)*s*s || l < clip && x != s {
				t.Fatalf("%d keys count %d", n, x)
			}
		}
		if n*residual(l+1) > othersLimit*s {
			t.Fatalf("%d keys in the others", n)
		}
	}
	require.Equal(t, s, weight(1))
}

// A value's part is at most the count's in absolute value, for all values and ranges.
func TestScaledValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, r := range [][2]float64{{0, 1}, {-1, 1}, {-3, -1}, {1e15, 1e15 + 1}, {0, 0x1p-200}, {-0x1p199, 0x1p199}, {0.1, 0.3}} {
		a := Params{Min: r[0], Max: r[1]}.axis()
		for range 2000 {
			x := rng.Int64N(unit + 1)
			for _, v := range []float64{r[0], r[1], r[0] + rng.Float64()*(r[1]-r[0]), math.Inf(1), math.Inf(-1), math.NaN(), 0, math.MaxFloat64} {
				z := a.scaled(x, a.steps(v))
				require.LessOrEqual(t, max(z, -z), x)
			}
			require.InDelta(t, x, a.scaled(x, a.steps(math.Inf(1))), 1)
			require.InDelta(t, -x, a.scaled(x, a.steps(math.Inf(-1))), 1)
		}
	}
}
