package noise

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each way to ask has its calibration, and what is no guarantee has no scale.
func TestScale(t *testing.T) {
	check := func(want float64, wantErr error) func(float64, error) {
		require.NoError(t, wantErr)
		return func(got float64, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	check(GaussianSigmaZCDP(0.5, 3))(Scale(0, 0, 0.5, 3))
	check(GaussianSigma(0.5, 1e-6, 3))(Scale(0.5, 1e-6, 0, 3))
	check(LaplaceScale(0.5, 3))(Scale(0.5, 0, 0, 3))
	for _, c := range [][4]float64{{0, 0, 0, 1}, {-1, 0, 0, 1}, {1, -1, 0, 1}, {1, 1, 0, 1}, {1, 0, -1, 1}, {1, 0, 0, 0}, {1, 0, 0, -1}} {
		scale, err := Scale(c[0], c[1], c[2], c[3])
		require.ErrorIs(t, err, ErrParams)
		require.False(t, scale > 0, "%v", c)
	}
}
