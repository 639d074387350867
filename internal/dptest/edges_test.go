package dptest

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEdges(t *testing.T) {
	flaw = ""
	object := &list{values: []uint64{3, 5}}
	valid, err := object.MarshalBinary()
	require.NoError(t, err)
	fed := map[string]bool{}
	Edges(t, map[string]*list{"a": object}, func(_ *testing.T, data []byte) {
		require.Len(t, data, len(valid))
		fed[string(data)] = true
	})
	for offset := range valid {
		if testing.Short() && offset%5 != 0 {
			continue
		}
		for _, size := range []int{1, 4, 8} {
			if offset+size > len(valid) {
				continue
			}
			at := func(edge []byte) []byte {
				return append(append(bytes.Clone(valid[:offset]), edge...), valid[offset+size:]...)
			}
			require.True(t, fed[string(at(bytes.Repeat([]byte{0xff}, size)))], "%d bytes at %d", size, offset)
			if size == 8 {
				require.True(t, fed[string(at(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(1)))))], "infinity at %d", offset)
			}
		}
	}
}

// Of long encodings, places up to the end are gone through, and not all of them.
func TestEdgesOfLongEncodings(t *testing.T) {
	flaw = ""
	object := &list{values: make([]uint64, 2000)}
	for i := range object.values {
		object.values[i] = uint64(i) * 0x0101010101010101 / 2000
	}
	valid, err := object.MarshalBinary()
	require.NoError(t, err)
	calls, last := 0, 0
	Edges(t, map[string]*list{"a": object}, func(_ *testing.T, data []byte) {
		calls++
		for i := last; i < len(data); i++ {
			if data[i] != valid[i] {
				last = i
			}
		}
	})
	require.Less(t, calls, 1000*len(edges))
	require.Greater(t, last, len(valid)-100)
}

// A panic of what is tested is not swallowed.
func TestEdgesPanic(t *testing.T) {
	flaw = ""
	require.PanicsWithValue(t, "no", func() {
		Edges(t, map[string]*list{"a": {}}, func(*testing.T, []byte) { panic("no") })
	})
}
