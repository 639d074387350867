package fault

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each field is compared, and named where it differs; NaN is no number that two Params share.
func TestDiffer(t *testing.T) {
	type params struct {
		A int
		B [2]float64
		c bool
	}
	require.NoError(t, Differ("p", params{1, [2]float64{2}, true}, params{1, [2]float64{2}, true}))
	for want, other := range map[string]params{"A": {2, [2]float64{}, false}, "B": {1, [2]float64{0, 3}, true}, "c": {c: true, A: 1}} {
		err := Differ("p", params{A: 1}, other)
		require.ErrorIs(t, err, ErrMismatch)
		require.ErrorContains(t, err, "p: "+want+" differs, ")
	}
	nan := params{B: [2]float64{math.NaN()}}
	require.ErrorIs(t, Differ("p", nan, nan), ErrMismatch)
}
