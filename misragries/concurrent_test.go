package misragries

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// What another goroutine merges or restores between the choice of the noise and the release is not
// released with noise for one stream: a merged sketch needs more.
func TestReleaseOfWhatWasCalibrated(t *testing.T) {
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6}
	given := dptest.OK(FromMisraGries(p, map[int]int64{1: 500}))(t)
	for _, meanwhile := range []func(b *Builder[int]) error{
		func(b *Builder[int]) error { return b.Merge(dptest.OK(New[int](p))(t)) },
		func(b *Builder[int]) error { return b.RestorePrivateState(dptest.OK(given.AppendPrivateState(nil))(t)) },
	} {
		b := dptest.OK(New[int](p))(t)
		c, of, err := b.calibrated()
		require.NoError(t, err)
		require.NoError(t, meanwhile(b))
		h, err := b.releaseBy(c, of)
		require.Nil(t, h)
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorContains(t, err, "two goroutines")
		require.True(t, b.Released())
	}
}
