package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
)

type head struct {
	kind       uint8
	a, b       bool
	rows, long int
	columns    int
	low        int64
	dim        uint64
	epsilon    float64
	seed       [4]byte
}

func (h *head) fields() []Field {
	return []Field{Byte(&h.kind), Flags(&h.a, &h.b), Int(&h.rows, 1000), Long(&h.long, math.MaxInt), Short(&h.columns, 500), Signed(&h.low), Uint(&h.dim), Float(&h.epsilon), Bytes(h.seed[:])}
}

func TestFields(t *testing.T) {
	h := head{3, false, true, 1000, 7, 500, -5, math.MaxUint64, -0.1, [4]byte{1, 2, 3, 4}}
	data := AppendFields(nil, h.fields())
	require.Len(t, data, 1+1+4+8+2+8+8+8+4)
	var again head
	r := NewReader("x", data)
	r.Fields(again.fields())
	require.NoError(t, r.Done())
	require.Equal(t, h, again)
	for n := range data {
		r := NewReader("x", data[:n])
		again = head{}
		r.Fields(again.fields())
		require.ErrorIs(t, r.Done(), check.ErrFormat)
	}
	for _, bad := range []head{{rows: 1001}, {columns: 501}, {epsilon: math.Copysign(0, -1)}, {epsilon: math.NaN()}} {
		r := NewReader("x", AppendFields(nil, bad.fields()))
		r.Fields(again.fields())
		require.ErrorIs(t, r.Done(), check.ErrFormat)
	}
	data[1] = 4
	r = NewReader("x", data)
	r.Fields(again.fields())
	require.ErrorContains(t, r.Done(), "unknown flags")
	require.Equal(t, [2]bool{}, [2]bool{again.a, again.b})
}
