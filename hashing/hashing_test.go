package hashing

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// strict is the false-reject probability of each assertion on random data. The seeds are fixed, so
// the tests are not random once they pass.
const strict = 1e-6

// testSeed is a fixed seed; testSeeds(i) are others.
var testSeed = Seed{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

func testSeeds(i int) Seed { return testSeed.Derive(uint64(i)) }

// TestGolden pins every function: released sketches depend on them.
func TestGolden(t *testing.T) {
	var out bytes.Buffer
	for _, seed := range []Seed{{}, testSeed} {
		fmt.Fprintf(&out, "seed %v derive %v %v\n", seed, seed.Derive(0), seed.Derive(1<<63))
		for _, s := range []string{"", "a", "dpsketch", "in the beginning", "a string longer than sixteen bytes", string(make([]byte, 300))} {
			fmt.Fprintf(&out, "fingerprint %.40q %016x\n", s, Fingerprint(seed, s))
		}
		for _, x := range []int64{0, 1, -1, 1 << 40} {
			fmt.Fprintf(&out, "fingerprint %d %016x\n", x, Fingerprint(seed, x))
		}
		r := dptest.OK(NewRange(seed, 1_000_003))(t)
		p2, p9 := dptest.OK(NewPolynomial(seed, 2))(t), dptest.OK(NewPolynomial(seed, 9))(t)
		for _, x := range []uint64{0, 1, 2, mersenne - 1, mersenne, 1<<64 - 1} {
			fmt.Fprintf(&out, "x %d range %d polynomial %d %d into %d sign %+d\n",
				x, r.Hash(x), p2.Hash(x), p9.Hash(x), p9.Into(x, 1000), p9.Sign(x))
		}
	}
	dptest.Golden(t, "golden.txt", out.String())
}

func TestParseSeed(t *testing.T) {
	s := dptest.OK(ParseSeed("000102030405060708090a0b0c0d0EFf"))(t)
	require.Equal(t, Seed{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255}, s)
	back := dptest.OK(ParseSeed(s.String()))(t)
	require.Equal(t, s, back)
	for _, bad := range []string{"", "00", s.String() + "0", s.String() + "00", "x" + s.String()[1:], "0x" + s.String()[2:]} {
		require.ErrorIs(t, dptest.Err(ParseSeed(bad)), ErrParams, bad)
		kept := s
		require.ErrorIs(t, kept.UnmarshalText([]byte(bad)), ErrParams)
		require.Equal(t, s, kept)
	}
}

func TestSeed(t *testing.T) {
	require.True(t, Seed{}.IsZero())
	require.False(t, Seed{15: 1}.IsZero())
	require.Equal(t, "000102030405060708090a0b0c0d0e0f", testSeed.String())
	a, b := NewSeed(), NewSeed()
	require.NotEqual(t, a, b)
	require.False(t, a.IsZero())
	require.NotEqual(t, testSeed.Derive(0), testSeed.Derive(1))
	require.NotEqual(t, testSeed.Derive(0), testSeed)
	require.NotEqual(t, testSeed.Derive(7), Seed{}.Derive(7))
}

func TestParams(t *testing.T) {
	for _, k := range []int{-1, 0, 1, 1025, -1 << 31, 1<<31 - 1} {
		dptest.Refused(t, dptest.Err(NewPolynomial(testSeed, k)), ErrParams, "hashing: k = ")
	}
	require.ErrorIs(t, dptest.Err(NewRange(testSeed, 0)), ErrParams)

	require.Equal(t, uint64(9), dptest.OK(NewRange(testSeed, 9))(t).N())
	require.Len(t, dptest.OK(NewPolynomial(testSeed, 1024))(t).coef, 1024)
}

// TestZeroValues: no method panics on a zero value; all keys go to 0.
func TestZeroValues(t *testing.T) {
	for _, x := range []uint64{0, 1, 1<<64 - 1} {
		require.Zero(t, Range{}.Hash(x))
		require.Zero(t, Polynomial{}.Hash(x))
		require.Zero(t, Polynomial{}.Into(x, 10))
		require.Zero(t, dptest.OK(NewPolynomial(testSeed, 3))(t).Into(x, 0))
	}
}

func TestNoAllocation(t *testing.T) {
	type named string
	r, p := dptest.OK(NewRange(testSeed, 1000))(t), dptest.OK(NewPolynomial(testSeed, 8))(t)
	key, x := string(bytes.Repeat([]byte("k"), 300)), uint64(1<<63)
	var total uint64
	require.Zero(t, testing.AllocsPerRun(100, func() {
		x++
		total += Fingerprint(testSeed, x) + Fingerprint(testSeed, key) + Fingerprint(testSeed, key[:10]) + Fingerprint(testSeed, named(key)) + Fingerprint(testSeed, int32(x))
		total += r.Hash(x) + p.Hash(x) + p.Into(x, 9) + uint64(p.Sign(x))
		total += uint64(testSeed.Derive(x)[0])
	}))
	require.NotZero(t, total)
}
