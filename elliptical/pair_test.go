package elliptical

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the accountant takes a release for is nowhere below the exact divergence of its output laws,
// for the pair of tiny inputs that differ most, and not far above it; half the noise breaks it.
func TestPairBoundsTheRelease(t *testing.T) {
	for name, p := range settings() {
		l := tiny(t, p)
		worst, of := math.Inf(-1), [2][]int64{}
		for _, pair := range neighbours(p, l) {
			moved := 0.0 // the loss of Laplace noise, or μ²
			for i, c := range l.coordinates {
				x := math.Abs(float64(pair[0][i]-pair[1][i])) * c.step / c.scale
				if l.kind == gaussian {
					x *= x
				}
				moved += x
			}
			if moved > worst {
				worst, of = moved, pair
			}
		}
		g := p.resolved().guarantee()
		for _, epsilon := range []float64{0, 0.3, 0.8, 1.1} {
			exact := max(hockeyStick(l, of[0], of[1], epsilon), hockeyStick(l, of[1], of[0], epsilon))
			require.GreaterOrEqual(t, g.DeltaAt(epsilon), exact-1e-9, "%s at %g", name, epsilon)
			require.Less(t, g.DeltaAt(epsilon), exact+0.2, "%s at %g", name, epsilon)
		}
		half := l.halved()
		require.Less(t, g.DeltaAt(0.3), hockeyStick(half, of[0], of[1], 0.3), "%s: half the noise", name)
	}
}
