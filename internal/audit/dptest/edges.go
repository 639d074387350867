package dptest

import (
	"encoding"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Edges calls use with the encodings of the objects, with a number in them replaced by one at the
// edge of its type: each number by each edge, wherever one may stand. So the plain tests come upon
// what a fuzz test would find by chance. use is what the fuzz test does with its input.
//
// The first 400 bytes are gone through, where parameters are, and of the rest as many places. With
// -deep every edge stands at every place; with -long each at every third and by default at every
// 25th, by turns, so that every place still gets some of the edges.
func Edges[T encoding.BinaryMarshaler](t *testing.T, objects map[string]T, use func(t *testing.T, data []byte)) {
	t.Helper()
	require.NotEmpty(t, objects)
	name, offset, place, edge := "", 0, 0, []byte(nil)
	defer func() {
		failure := recover()
		if failure != nil || t.Failed() {
			t.Logf("%s: % x at offset %d", name, edge, offset)
		}
		if failure != nil {
			panic(failure)
		}
	}()
	for _, name = range slices.Sorted(maps.Keys(objects)) {
		valid, err := objects[name].MarshalBinary()
		require.NoError(t, err)
		const first = 400
		rest := max((len(valid)-first)/first, 1)
		for offset = 0; offset < len(valid); offset++ {
			if offset > first && offset%rest != 0 {
				continue
			}
			place++
			var i int
			for i, edge = range edges {
				if (place+i)%every() == 0 && offset+len(edge) <= len(valid) {
					data := slices.Clone(valid)
					copy(data[offset:], edge)
					use(t, data)
				}
			}
		}
	}
}

// every returns how many places an edge has for one at which it stands.
func every() int {
	switch {
	case Deep():
		return 1
	case Long():
		return 3
	}
	return 25
}

// edges are the encodings of numbers at the edges of their types.
var edges = func() (all [][]byte) {
	for _, x := range []byte{0, 1, 2, math.MaxInt8, 1 << 7, math.MaxUint8} {
		all = append(all, []byte{x})
	}
	for _, x := range []uint32{0, 1, 1 << 20, math.MaxInt32, math.MaxUint32} {
		all = append(all, binary.LittleEndian.AppendUint32(nil, x))
	}
	for _, x := range []uint64{0, 1, 1 << 50, 1<<60 - 1, 1 << 60, math.MaxInt64, 1 << 63, math.MaxUint64} {
		all = append(all, binary.LittleEndian.AppendUint64(nil, x))
	}
	for _, x := range []float64{
		1, 0x1p-1022, 1e-300, 0x1p-60, 1e-9, 1 - 0x1p-53, 0x1p20, 0x1p50, 0x1p100, 0x1p900, math.MaxFloat64, math.Inf(1), math.NaN(), -1, math.Copysign(0, -1),
	} {
		all = append(all, binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
	return all
}()
