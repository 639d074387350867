package dptest

import (
	"bytes"
	"encoding"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Spoiled checks that objects no release produces are not valid encodings. Each spoil changes a new
// valid object, whose encoding must change with it, be refused with check.ErrFormat and leave a new
// receiver as it was. The receiver may be of another type than the object. That the valid object
// itself is accepted is for [Codec] to check.
func Spoiled[V encoding.BinaryMarshaler, R encoding.BinaryUnmarshaler](t testing.TB, valid func() V, receiver func() R, spoils map[string]func(V)) {
	t.Helper()
	require.NotEmpty(t, spoils)
	for name, spoil := range spoils {
		object, into := valid(), receiver()
		before, err := object.MarshalBinary()
		require.NoError(t, err, name)
		spoil(object)
		data, err := object.MarshalBinary()
		require.NoError(t, err, name)
		require.False(t, bytes.Equal(before, data), "%s: nothing is spoiled", name)
		require.ErrorIs(t, into.UnmarshalBinary(data), check.ErrFormat, name)
		require.Equal(t, receiver(), into, "%s: rejected, but the receiver has changed", name)
	}
}
