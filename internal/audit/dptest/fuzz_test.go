package dptest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// corpus is a Corpus that notes its seeds.
type corpus struct {
	recorder
	seeds [][]byte
}

func (c *corpus) Add(args ...any) { c.seeds = append(c.seeds, args[0].([]byte)) }

func TestSeeds(t *testing.T) {
	seed := func(objects map[string]*list) *corpus {
		var c corpus
		toItsEnd(func() { Seeds(&c, objects) })
		return &c
	}
	flaw = ""
	two := map[string]*list{"empty": {}, "one": {values: []uint64{9}}}
	c := seed(two)
	require.Empty(t, c.errors)
	require.Len(t, c.seeds, 2)
	for _, object := range two {
		data, err := object.MarshalBinary()
		require.NoError(t, err)
		require.Contains(t, c.seeds, data)
	}
	require.NotEmpty(t, seed(nil).errors, "no seeds")
	flaw = "marshal fails"
	require.NotEmpty(t, seed(two).errors)
	flaw = ""
}

func TestDecoded(t *testing.T) {
	flaw = ""
	data, err := (&list{values: []uint64{3, 5, 1 << 40}}).MarshalBinary()
	require.NoError(t, err)
	unsorted, err := (&list{values: []uint64{3, 5, 4}}).MarshalBinary()
	require.NoError(t, err)
	long := append(bytes.Clone(data), 0)
	require.Equal(t, []uint64{3, 5, 1 << 40}, Decoded[list](t, data).values)
	for _, hostile := range [][]byte{unsorted, long, data[:len(data)-1], {}, nil} {
		require.Nil(t, Decoded[list](t, hostile))
	}
	for name, input := range map[string][]byte{
		// rejected in a wrong way
		"wrong error": long, "params error": long, "receiver changed": unsorted,
		// accepted, and not the same again
		"sorts": unsorted, "trailing": long, "unequal": data, "marshal fails": data,
	} {
		flaw = name
		require.True(t, fails(func(t testing.TB) { Decoded[list](t, input) }), name)
		flaw = ""
		require.False(t, fails(func(t testing.TB) { Decoded[list](t, input) }), name)
	}
}
