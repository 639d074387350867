package dptest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// RoundTrip encodes a released object, checks that the bytes are accepted and that what they decode
// to encodes to the same bytes, and returns it with their number. What equality means is left to
// the test. The message says which object it is about, as in package require.
func RoundTrip[T any, PT Codable[T]](t testing.TB, object PT, message ...any) (back PT, size int) {
	t.Helper()
	data, err := object.MarshalBinary()
	require.NoError(t, err, message...)
	back = PT(new(T))
	require.NoError(t, back.UnmarshalBinary(data), message...)
	again, err := back.MarshalBinary()
	require.NoError(t, err, message...)
	require.Equal(t, data, again, message...)
	return back, len(data)
}
