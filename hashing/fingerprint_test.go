package hashing

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

type (
	myString string
	myInt    int
	myInt32  int32
	myInt64  int64
	myUint   uint
	myUint32 uint32
	myUint64 uint64
	myArray  [16]byte
)

// TestXXH3Word compares the written-out function with the library.
func TestXXH3Word(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		seed, x := rng.Uint64(), rng.Uint64()
		if i < 64 {
			seed, x = seed*uint64(i&1), 1<<i
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], x)
		require.Equal(t, xxh3.HashSeed(word[:], seed), xxh3Word(seed, x))
	}
}

// TestFingerprintOfStrings compares strings of all short lengths, and arrays, with the library.
func TestFingerprintOfStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var seed Seed
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		s0, s1 := seed.halves()
		for n := range 40 {
			key := make([]byte, n)
			for i := range key {
				key[i] = byte(rng.Uint32())
			}
			h := xxh3.Hash128Seed(key, s0)
			want := h.Lo ^ avalanche(h.Hi^s1^stringTag)
			require.Equal(t, want, Fingerprint(seed, string(key)), "%x", key)
			require.Equal(t, want, Fingerprint(seed, myString(key)))
			if n == 16 {
				require.Equal(t, want, Fingerprint(seed, [16]byte(key)))
				require.Equal(t, want, Fingerprint(seed, myArray(key)))
			}
		}
	}
	array := [16]byte{1}
	require.Zero(t, testing.AllocsPerRun(100, func() { Fingerprint(Seed{1}, array) }))
}

func FuzzFingerprint(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), int64(5), "key")
	f.Add([]byte{}, int64(-5), "")
	f.Fuzz(func(t *testing.T, s []byte, x int64, key string) {
		var seed Seed
		copy(seed[:], s)
		want := Fingerprint(seed, x)
		same := []uint64{Fingerprint(seed, uint64(x)), Fingerprint(seed, myInt64(x)), Fingerprint(seed, myUint64(x))}
		if int64(int(x)) == x {
			same = append(same, Fingerprint(seed, int(x)), Fingerprint(seed, myInt(x)))
		}
		if int64(int32(x)) == x {
			same = append(same, Fingerprint(seed, int32(x)), Fingerprint(seed, myInt32(x)))
		}
		if x >= 0 && uint64(uint(x)) == uint64(x) {
			same = append(same, Fingerprint(seed, uint(x)), Fingerprint(seed, myUint(x)))
		}
		if x >= 0 && int64(uint32(x)) == x {
			same = append(same, Fingerprint(seed, uint32(x)), Fingerprint(seed, myUint32(x)))
		}
		for i, got := range same {
			if got != want {
				t.Fatalf("integer %d, type %d: %x, want %x", x, i, got, want)
			}
		}
		if Fingerprint(seed, x+1) == want {
			t.Fatal("two integers collide")
		}
		if Fingerprint(seed, key) != Fingerprint(seed, myString(key)) {
			t.Fatal("a defined string type has another fingerprint")
		}
		// Separate domains; the two agree with probability 2⁻⁶⁴ only.
		if Fingerprint(seed, string(binary.LittleEndian.AppendUint64(nil, uint64(x)))) == want {
			t.Fatal("a string collides with its integer")
		}
	})
}
