package dptest

import (
	"encoding"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Corpus is a [testing.F], as far as seeds are concerned.
type Corpus interface {
	testing.TB
	Add(args ...any)
}

// Seeds adds the encodings of the objects to the seeds of a fuzz test of their decoder.
func Seeds[T encoding.BinaryMarshaler](f Corpus, objects map[string]T) {
	f.Helper()
	require.NotEmpty(f, objects)
	for name, object := range objects {
		data, err := object.MarshalBinary()
		require.NoError(f, err, name)
		f.Add(data)
	}
}

// Decoded decodes bytes that may be anything, as a fuzz test makes them, and checks what holds for
// all of them:
//
//   - if they are rejected, then with check.ErrFormat and a receiver that is still zero; Decoded
//     returns nil;
//   - else the object encodes to exactly these bytes; Decoded returns it, and the test goes on to
//     call its methods.
func Decoded[T any, PT Codable[T]](t testing.TB, data []byte) PT {
	t.Helper()
	object := PT(new(T))
	if err := object.UnmarshalBinary(data); err != nil {
		require.ErrorIs(t, err, check.ErrFormat)
		require.Equal(t, PT(new(T)), object, "rejected, but the receiver has changed")
		return nil
	}
	again, err := object.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, data, again, "not canonical")
	return object
}
