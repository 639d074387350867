package check

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each field is compared, and named where it differs; NaN is no number that two Params share.
func TestEqual(t *testing.T) {
	type params struct {
		A int
		B [2]float64
		c bool
	}
	require.NoError(t, Equal("p", params{1, [2]float64{2}, true}, params{1, [2]float64{2}, true}))
	for want, other := range map[string]params{"A": {2, [2]float64{}, false}, "B": {1, [2]float64{0, 3}, true}, "c": {c: true, A: 1}} {
		err := Equal("p", params{A: 1}, other)
		require.ErrorIs(t, err, ErrMismatch)
		require.ErrorContains(t, err, "p: "+want+" differs, ")
	}
	nan := params{B: [2]float64{math.NaN()}}
	require.ErrorIs(t, Equal("p", nan, nan), ErrMismatch)
}
