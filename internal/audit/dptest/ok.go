package dptest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// OK is for a call of which no error is expected: dptest.OK(New(p))(t) is what New returns, and an
// error ends the test, with the message if there is one.
func OK[T any](x T, err error) func(t testing.TB, message ...any) T {
	return func(t testing.TB, message ...any) T {
		t.Helper()
		require.NoError(t, err, message...)
		return x
	}
}

// Err is the error of a call whose value is not wanted: require.ErrorIs(t, Err(New(p)), ErrParams).
func Err[T any](_ T, err error) error { return err }

// Refused checks that an error is the wanted one, and what its text says.
func Refused(t testing.TB, err, want error, text string, message ...any) {
	t.Helper()
	require.ErrorIs(t, err, want, message...)
	require.ErrorContains(t, err, text, message...)
}
