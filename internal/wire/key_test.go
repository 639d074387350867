package wire

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
)

type (
	name   string
	number int32
	uuid   [16]byte
)

func roundTrip[K Key](t *testing.T, class KeyClass, keys ...K) {
	t.Helper()
	c := KeysOf[K]()
	if c.Class() != class {
		t.Errorf("%T has class %d, want %d", *new(K), c.Class(), class)
	}
	for _, key := range keys {
		data := c.Append([]byte{7}, key)
		if len(data)-1 < c.MinSize() {
			t.Errorf("%v takes %d bytes, want at least %d", key, len(data)-1, c.MinSize())
		}
		r := NewReader("test", data[1:])
		if got := c.Read(r); got != key || r.Done() != nil {
			t.Errorf("%v decodes to %v, %v", key, got, r.Done())
		}
		if !c.Integers() {
			continue
		}
		if got, ok := c.FromBits(c.Bits(key)); !ok || got != key {
			t.Errorf("%v has bits of %v, %v", key, got, ok)
		}
	}
}

func TestKeys(t *testing.T) {
	roundTrip(t, TextKey, "", "a", "zebra crossing", "\x00\xff")
	roundTrip(t, TextKey, name("x"))
	roundTrip(t, SignedKey, 0, -1, math.MaxInt, math.MinInt)
	roundTrip(t, SignedKey, number(-5), math.MaxInt32, math.MinInt32)
	roundTrip[int64](t, SignedKey, -1, math.MinInt64, math.MaxInt64)
	roundTrip[uint](t, UnsignedKey, 0, math.MaxUint)
	roundTrip[uint32](t, UnsignedKey, 0, math.MaxUint32)
	roundTrip[uint64](t, UnsignedKey, 0, math.MaxUint64)
	roundTrip(t, ArrayKey, uuid{}, uuid{1, 15: 2}, uuid{0: 0xff, 15: 0x80})
	roundTrip(t, ArrayKey, [16]byte{7})
}

func TestClone(t *testing.T) {
	large := strings.Repeat("ab", 1000)
	part := name(large[6:9])
	c := Clone(part)
	require.Equal(t, part, c)
	require.NotSame(t, unsafe.StringData(string(part)), unsafe.StringData(string(c)))
	require.Equal(t, -7, Clone(-7))
	require.Equal(t, uuid{3: 9}, Clone(uuid{3: 9}))
}

// ordered checks that Sort and Compare have this order.
func ordered[K Key](t *testing.T, keys ...K) {
	t.Helper()
	for i, a := range keys {
		for j, b := range keys {
			if got := Compare(a, b); got != cmp.Compare(i, j) {
				t.Errorf("%v and %v compare as %d", a, b, got)
			}
		}
	}
	sorted := slices.Clone(keys)
	slices.Reverse(sorted)
	if Sort(sorted); !slices.Equal(sorted, keys) {
		t.Errorf("sorted %v", sorted)
	}
}

func TestOrder(t *testing.T) {
	ordered(t, "", "a", "a\x00", "b", "ba")
	ordered[name](t, "x", "y")
	ordered(t, math.MinInt, -1, 0, math.MaxInt)
	ordered[number](t, math.MinInt32, -5, 3, math.MaxInt32)
	ordered[int64](t, math.MinInt64, -1, 0, 1, math.MaxInt64)
	ordered[uint](t, 0, 1, math.MaxUint)
	ordered[uint32](t, 0, 1, math.MaxUint32)
	ordered[uint64](t, 0, 1<<63-1, 1<<63, math.MaxUint64)
	ordered(t, uuid{}, uuid{15: 1}, uuid{7: 1}, uuid{0: 1}, uuid{0: 0x80}, uuid{0: 0xff, 15: 0xff})
}

func TestKeysThatDoNotFit(t *testing.T) {
	refuse := func(read func(*Reader), bits uint64) {
		t.Helper()
		r := NewReader("test", KeysOf[uint64]().Append(nil, bits))
		if read(r); !errors.Is(r.Err(), check.ErrFormat) {
			t.Errorf("%x: %v", bits, r.Err())
		}
	}
	narrow := KeysOf[uint32]()
	for _, bits := range []uint64{1 << 32, math.MaxUint64} {
		refuse(func(r *Reader) { narrow.Read(r) }, bits)
	}
	signed := KeysOf[int32]()
	for _, bits := range []uint64{1 << 31, 1 << 32, math.MaxInt64, 1<<64 - 1<<31 - 1} {
		refuse(func(r *Reader) { signed.Read(r) }, bits)
	}
	text := KeysOf[string]()
	refuse(func(r *Reader) { text.Read(r) }, math.MaxUint64) // a length far beyond the input
}

// Keys that are texts do not take an allocation each, do not change with the input, and a long one
// has its own memory.
func TestTextsShareMemory(t *testing.T) {
	keys := KeysOf[string]()
	var data []byte
	var want []string
	for i := range 5000 {
		want = append(want, strings.Repeat("key", i%7)+strconv.Itoa(i))
	}
	want = append(want, "", strings.Repeat("long", 1<<14), "", "end")
	for _, key := range want {
		data = keys.Append(data, key)
	}
	got := make([]string, len(want))
	read := func() {
		r := NewReader("wire", data)
		for i := range got {
			got[i] = keys.Read(r)
		}
		require.NoError(t, r.Done())
	}
	require.LessOrEqual(t, testing.AllocsPerRun(3, read), float64(len(data)/textPiece+4))
	clear(data)
	require.Equal(t, want, got)
	r := NewReader("wire", []byte{9, 0, 0, 0, 'a'})
	require.Empty(t, keys.Read(r), "truncated")
	require.Error(t, r.Err())
	require.Empty(t, keys.Read(r))
}

func TestAllAndTopKeys(t *testing.T) {
	keys, numbers := []string{"a", "b", "c", "d", "e"}, []float64{2, math.NaN(), 7, 2, math.Inf(-1)}
	all := AllKeys(len(keys), func(i int) (string, float64) { return keys[i], numbers[i] })
	read := func(n int) (got []string) {
		for key, x := range TopKeys(all, n) {
			got = append(got, key)
			for i := range keys {
				if keys[i] == key && !math.IsNaN(x) {
					require.Equal(t, numbers[i], x)
				}
			}
		}
		return got
	}
	require.Equal(t, []string{"c", "a", "d", "e", "b"}, read(9))
	require.Equal(t, []string{"c", "a"}, read(2))
	require.Empty(t, read(0))
	require.Empty(t, read(-1))
	for key := range all {
		require.Equal(t, "a", key)
		break
	}
	for key := range TopKeys(all, 5) {
		require.Equal(t, "c", key)
		break
	}
}

func TestReadKeys(t *testing.T) {
	keys := KeysOf[int]()
	read := func(list ...int) (got []int, err error) {
		var data []byte
		for _, key := range list {
			data = keys.Append(data, key)
		}
		r := NewReader("keyed", data)
		ReadKeys(r, len(list), func(i int, key int) {
			require.Len(t, got, i)
			got = append(got, key)
		})
		return got, r.Done()
	}
	got, err := read(-3, 0, 9)
	require.NoError(t, err)
	require.Equal(t, []int{-3, 0, 9}, got)
	for _, list := range [][]int{{1, 1, 2}, {2, 1, 3}} {
		got, err = read(list...)
		require.ErrorIs(t, err, check.ErrFormat)
		require.Len(t, got, 2, "it stops there")
	}
	r := NewReader("keyed", nil)
	ReadKeys(r, 1<<30, func(int, int) {})
	require.ErrorIs(t, r.Err(), check.ErrFormat)
}
