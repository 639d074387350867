package wire

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
)

// le is the writing side that encoders use.
var le = binary.LittleEndian

// golden is one encoding with a field of every type.
func golden() []byte {
	b := AppendHeader([]byte{}, KindALP, 3)
	b = append(b, 0xfe)
	b = le.AppendUint32(b, 0xdeadbeef)
	b = le.AppendUint64(b, 1<<63|5)
	b = le.AppendUint64(b, uint64(0xffffffffffffff85)) // −123
	b = le.AppendUint64(b, math.Float64bits(-0.375))
	b = le.AppendUint32(b, 2)
	b = append(b, "abcd"...)
	return b
}

// read reads golden and returns the fields and the verdict.
func read(data []byte) (fields []any, err error) {
	r := NewReader("alp", data)
	r.Header(KindALP, 3)
	fields = append(fields, r.Uint8(), r.Uint32(), r.Uint64(), r.Int64(), r.Float64())
	n := r.Count(10, 2)
	fields = append(fields, n, r.String(2*n))
	return fields, r.Done()
}

func TestReader(t *testing.T) {
	data := golden()
	require.Equal(t, []byte("dpsk\x03\x03\xfe\xef\xbe\xad\xde\x05"), data[:12], "magic, kind, version, little-endian")
	fields, err := read(data)
	require.NoError(t, err)
	require.Equal(t, []any{uint8(0xfe), uint32(0xdeadbeef), uint64(1<<63 | 5), int64(-123), -0.375, 2, "abcd"}, fields)
	require.Len(t, AppendHeader(nil, KindJL, 1), HeaderSize)
}

func TestTruncatedAndTrailing(t *testing.T) {
	data := golden()
	for n := range data {
		dptest.Refused(t, dptest.Err(read(data[:n])), check.ErrFormat, "alp: ", "length %d", n)
	}
	dptest.Refused(t, dptest.Err(read(append(data, 0))), check.ErrFormat, "1 bytes after the end")
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name, head, want string
	}{
		{"magic", "dpsK\x01\x01", "magic"},
		{"kind", "dpsk\x03\x01", "holds an object of alp, want misragries"},
		{"unknown kind", "dpsk\xc8\x01", "kind 200"},
		{"version", "dpsk\x01\x02", "version 2, want 1"},
		{"short", "dpsk\x01", "truncated"},
		{"empty", "", "truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader("misragries", []byte(c.head))
			r.Header(KindMisraGries, 1)
			require.ErrorIs(t, r.Err(), check.ErrFormat)
			require.ErrorContains(t, r.Err(), c.want)
			require.Equal(t, r.Err(), r.Done())
		})
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[Kind]string{1: "misragries", 2: "threshold", 3: "alp", 4: "kor", 5: "jl", 9: "noise/approx", 10: "noise/approx advice", 11: "noise/budget", 12: "kor/distinct", 13: "kor/distinct running total", 0: "kind 0", 100: "kind 100"} {
		assert.Equal(t, want, k.String())
	}
}

func TestErrorSticks(t *testing.T) {
	r := NewReader("kor", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	require.Equal(t, 9, r.Remaining())
	r.Fail("keys not in ascending order")
	first := r.Err()
	r.Fail("another")
	r.Header(KindKOR, 1)
	assert.Zero(t, r.Uint8())
	assert.Zero(t, r.Uint32())
	assert.Zero(t, r.Uint64())
	assert.Zero(t, r.Int64())
	assert.Zero(t, r.Float64())
	assert.Nil(t, r.Bytes(1))
	assert.Nil(t, r.Bytes(0))
	assert.Empty(t, r.String(1))
	assert.Zero(t, r.Count(10, 1))
	assert.Zero(t, r.Remaining())
	assert.Equal(t, first, r.Done())
	assert.EqualError(t, first, "kor: keys not in ascending order: malformed encoding")
}

func TestBytes(t *testing.T) {
	data := []byte{1, 2, 3}
	r := NewReader("jl", data)
	b := r.Bytes(2)
	require.Equal(t, []byte{1, 2}, b)
	_ = append(b, 9) // must not reach the third byte
	require.Equal(t, byte(3), r.Uint8())
	require.NotNil(t, r.Bytes(0))
	require.NoError(t, r.Done())

	for _, n := range []int{-1, 4, math.MinInt, math.MaxInt} {
		r := NewReader("jl", data)
		require.Nil(t, r.Bytes(n))
		require.ErrorIs(t, r.Done(), check.ErrFormat)
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		name        string
		n           uint32
		rest        int
		limit, item int
		ok          bool
	}{
		{"none", 0, 0, 0, 8, true},
		{"exact", 3, 24, 3, 8, true},
		{"a byte short", 3, 23, 3, 8, false},
		{"over the limit", 4, 100, 3, 8, false},
		{"negative limit", 0, 8, -1, 8, false},
		{"largest", math.MaxUint32, 100, math.MaxInt, 1, false},
		{"product overflows 32 and 64 bits", math.MaxUint32, 100, math.MaxInt, math.MaxInt, false},
		{"item of no bytes", 101, 100, 1000, 0, false},
		{"item of negative bytes", 100, 100, 1000, -5, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader("alp", append(le.AppendUint32(nil, c.n), make([]byte, c.rest)...))
			n := r.Count(c.limit, c.item)
			if c.ok {
				require.NoError(t, r.Err())
				require.Equal(t, int(c.n), n)
				return
			}
			require.Zero(t, n)
			require.ErrorIs(t, r.Err(), check.ErrFormat)
		})
	}
}

func TestNegativeZero(t *testing.T) {
	minus := math.Copysign(0, -1)
	require.False(t, NegativeZero())
	require.False(t, NegativeZero(0, 1, -1, math.NaN(), -math.SmallestNonzeroFloat64))
	require.True(t, NegativeZero(minus))
	require.True(t, NegativeZero(1, 0, minus))
}

func TestReadDoesNotAllocate(t *testing.T) {
	data := golden()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r := NewReader("alp", data)
		r.Header(KindALP, 3)
		r.Uint8()
		r.Uint32()
		r.Uint64()
		r.Int64()
		r.Float64()
		r.Bytes(2 * r.Count(10, 2))
		if r.Done() != nil {
			panic("golden input refused")
		}
	}))
}

// FuzzReader drives a reader by a script of calls and checks it against plain index arithmetic.
func FuzzReader(f *testing.F) {
	f.Add(golden(), []byte{0, 1, 2, 3, 4, 5, 6})
	f.Add([]byte{}, []byte{0})
	f.Fuzz(func(t *testing.T, data, script []byte) {
		r := NewReader("fuzz", data)
		pos := 0
		for _, op := range script {
			before, failed := r.Remaining(), r.Err() != nil
			if !failed && before != len(data)-pos {
				t.Fatalf("%d bytes left, want %d", before, len(data)-pos)
			}
			want, got := 0, uint64(0)
			switch op % 7 {
			case 0:
				want, got = HeaderSize, 0
				r.Header(Kind(op>>4), op>>6)
			case 1:
				want, got = 1, uint64(r.Uint8())
			case 2:
				want, got = 4, uint64(r.Uint32())
			case 3:
				want, got = 8, r.Uint64()
			case 4:
				want, got = 8, math.Float64bits(r.Float64())
			case 5:
				want = int(op >> 3)
				if b := r.Bytes(want); r.Err() == nil && string(b) != string(data[pos:pos+want]) {
					t.Fatal("wrong bytes")
				}
			case 6:
				want = 4
				n := r.Count(1<<20, int(op>>3))
				if n*max(int(op>>3), 1) > r.Remaining() {
					t.Fatalf("Count lets %d items through with %d bytes left", n, r.Remaining())
				}
				got = uint64(n)
			}
			if failed && (got != 0 || r.Remaining() != 0) {
				t.Fatal("a read after a failure")
			}
			if r.Err() != nil {
				if got != 0 && op%7 != 4 {
					t.Fatal("a failed read returns a value")
				}
				continue
			}
			if op%7 >= 1 && op%7 <= 4 {
				var word [8]byte
				copy(word[:], data[pos:pos+want])
				if got != le.Uint64(word[:]) {
					t.Fatalf("read %x", got)
				}
			}
			pos += want
		}
		err := r.Done()
		if (err == nil) != (r.Err() == nil && pos == len(data)) {
			t.Fatalf("Done = %v at %d of %d", err, pos, len(data))
		}
	})
}
