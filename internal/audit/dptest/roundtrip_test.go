package dptest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	flaw = ""
	valid := &list{values: []uint64{3, 5, 1 << 40}}
	back, size := RoundTrip(t, valid)
	require.Equal(t, valid, back)
	require.NotSame(t, valid, back)
	require.Equal(t, 10+3*8, size)
	roundTrip := func(t testing.TB) { RoundTrip(t, valid, "the %s one", "valid") }
	require.False(t, fails(roundTrip))
	for _, flaw = range []string{"marshal fails", "unequal"} {
		found := problems(roundTrip)
		require.NotEmpty(t, found, flaw)
		require.Contains(t, found[0], "the valid one")
	}
	for _, flaw = range []string{"", "receiver changed"} {
		require.True(t, fails(func(t testing.TB) { RoundTrip(t, &list{values: []uint64{5, 3}}) }), "rejected, with the receiver as it was or not")
	}
	flaw = ""
}
