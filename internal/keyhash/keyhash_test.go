package keyhash

import (
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// occupied returns how many of 1000 slots the keys fall into, the mean over 40 Hashers.
func occupied[K wire.Key](keys []K) int {
	const slots, hashers = 1000, 40
	total := 0
	for range hashers {
		h := New[K]()
		taken := map[uint64]bool{}
		for _, key := range keys {
			taken[Reduce(h.Hash(key), slots)] = true
		}
		total += len(taken)
	}
	return total / hashers
}

// Keys with little entropy spread over the slots like random ones: 1000 into 1000 slots occupy 632
// on average. A multiplication may do better or worse on regular keys, depending on its key, but
// hardly worse on average.
func TestSpread(t *testing.T) {
	check := func(name string, got int) {
		if got < 550 || got > 1000 {
			t.Errorf("%s: %d slots of 1000 are taken", name, got)
		}
	}
	for _, stride := range []int{1, 2, 1 << 10, 1 << 20, 997} {
		var a []int
		var b []int32
		var c []uint64
		var d []string
		for i := range 1000 {
			a = append(a, i*stride)
			b = append(b, int32(i*(stride&0xfffff|1)))
			c = append(c, uint64(i)*uint64(stride)<<20)
			d = append(d, fmt.Sprint(i*stride))
		}
		check("int", occupied(a))
		check("int32", occupied(b))
		check("uint64", occupied(c))
		check("string", occupied(d))
	}
}

// Arrays that differ in any one byte spread as well, in the first or the second half.
func TestSpreadOfArrays(t *testing.T) {
	for place := range 15 {
		keys := make([][16]byte, 1000)
		for i := range keys {
			keys[i][place], keys[i][place+1] = byte(i), byte(i>>8)
		}
		if got := occupied(keys); got < 550 {
			t.Errorf("bytes %d and %d: %d slots of 1000 are taken", place, place+1, got)
		}
	}
}

func TestHashersDisagree(t *testing.T) {
	a, b := New[uint64](), New[uint64]()
	if a.Hash(1) == b.Hash(1) && a.Hash(2) == b.Hash(2) {
		t.Error("two Hashers have one key")
	}
	if Reduce(1<<63, 0) != 0 {
		t.Error("Reduce to nothing")
	}
}
