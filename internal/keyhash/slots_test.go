package keyhash

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered is a hash table of numbers that stand for themselves, by hashes of the test's choice.
type numbered struct {
	slots  Slots
	hashes []uint64
}

// find returns the number of the hash and how many entries it has looked at, or 0 and the slot
// where it belongs.
func (n *numbered) find(h uint64) (number uint32, looks int, slot uint64) {
	slot, number = n.slots.First(h)
	for number != 0 {
		looks++
		if n.hashes[number-1] == h {
			return number, looks, slot
		}
		slot, number = n.slots.Next(slot, h)
	}
	return 0, looks, slot
}

// add adds a new hash.
func (n *numbered) add(h uint64) {
	_, _, slot := n.find(h)
	n.hashes = append(n.hashes, h)
	n.slots.Set(slot, h, uint32(len(n.hashes)))
}

// Every entry is found before and after growth, and nothing else is: of hashes that are spread,
// that agree in the half that slots hold, that all belong into the last slot and so go on at the
// first, and that fill all the room there is.
func TestSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, hash := range map[string]func(i int) uint64{
		"spread":     func(int) uint64 { return random.Uint64() },
		"half":       func(i int) uint64 { return 5<<32 | uint64(i) },
		"the last":   func(i int) uint64 { return math.MaxUint64 - uint64(i) },
		"four halfs": func(i int) uint64 { return uint64(i%4)<<62 | uint64(i) },
	} {
		n := &numbered{slots: NewSlots(0)}
		for room := range 200 {
			n.slots.Grow(room)
			for len(n.hashes) < room {
				n.add(hash(len(n.hashes)))
			}
			for i, h := range n.hashes {
				number, _, _ := n.find(h)
				require.EqualValues(t, i+1, number, name)
			}
			number, _, _ := n.find(1 << 60)
			require.Zero(t, number, name)
		}
	}
}

// Where the half that slots hold differs, no entry is looked at but that of the key, however full
// the slots are.
func TestSlotsSpareLooks(t *testing.T) {
	const entries = 1000
	n := &numbered{slots: NewSlots(entries)}
	for i := range uint64(entries) {
		n.add((i*0x9e3779b97f4a7c15)>>32<<32 | 7)
	}
	for _, h := range n.hashes {
		_, looks, _ := n.find(h)
		require.Equal(t, 1, looks)
		_, looks, _ = n.find(h ^ 1<<32)
		require.Zero(t, looks)
	}
}
