package dptest

import (
	"bytes"
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
	// of each edge: where it was put, and how many it has
	places, wanted := map[string]int{}, map[string]int{}
	for i, edge := range edges {
		for offset := 0; offset+len(edge) <= len(valid); offset++ {
			data := bytes.Clone(valid)
			copy(data[offset:], edge)
			wanted[string(edge)]++
			if fed[string(data)] {
				places[string(edge)]++
			} else {
				require.NotZero(t, (offset+1+i)%every(), "% x at %d", edge, offset)
			}
		}
	}
	for edge, n := range wanted {
		require.GreaterOrEqual(t, places[edge], n/every(), "% x", edge)
	}
	require.GreaterOrEqual(t, len(edges), 25, "every place gets an edge")
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
