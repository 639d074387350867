package logs

import (
	"math"
	"testing"
)

func near(t *testing.T, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-13*math.Max(1, math.Abs(want))) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReach(t *testing.T) {
	for _, b := range []float64{0.3, 1, 7.5} {
		for n := range int64(20) {
			// the sum of the masses tanh(1/2b)·e^{−x/b} from n on, and of those from −x to x
			sum := 0.0
			for x := n + 2000; x >= n; x-- {
				sum += math.Tanh(1/(2*b)) * math.Exp(-float64(x)/b)
			}
			near(t, Reach(b, n), math.Log(sum))
		}
	}
}

func TestExpm1(t *testing.T) {
	for _, x := range []float64{1e-9, 0.5, 1, math.Nextafter(1, 2), 3, 40} {
		near(t, Expm1(x), math.Log(math.Expm1(x)))
	}
	near(t, Expm1(5000), 5000)
}
