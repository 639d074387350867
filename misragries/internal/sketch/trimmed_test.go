package sketch

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// trimmedBig is what Trimmed returns, by its definition and without limits: r of each key and W.
func trimmedBig(counters []Counter[int], k, j int, decrements, most, shift int64) (r map[int]*big.Int, w *big.Int) {
	low := make([]int64, k)
	for i, c := range counters {
		low[i] = c.Count
	}
	n := big.NewInt(shift)
	for i := range low {
		low[i] = min(low[i], most)
	}
	slices.Sort(low)
	for _, c := range low[:j] {
		n.Add(n, big.NewInt(c))
	}
	if n.Sign() < 0 {
		n.SetInt64(0)
	}
	r = map[int]*big.Int{}
	for _, c := range counters {
		x := new(big.Int).Mul(big.NewInt(c.Count), big.NewInt(int64(j)))
		if x.Sub(x, n); x.Sign() > 0 {
			r[c.Key] = x
		}
	}
	w = new(big.Int).Mul(big.NewInt(decrements), big.NewInt(int64(j)))
	return r, w.Add(w, n)
}

// cutBig returns x cut off at 2⁶².
func cutBig(x *big.Int) int64 {
	if x.Cmp(big.NewInt(Limit)) > 0 {
		return Limit
	}
	return x.Int64()
}

// The result is exact, or 2⁶² where it is above, for all counters, caps and shifts; also near 2⁶²,
// with j of 2²⁶ and a cap of 2⁴⁰.
func TestTrimmedSaturates(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	sizes := []int64{9, 300, 1 << 40, Limit}
	size := func() int64 { return 1 + rng.Int64N(sizes[rng.IntN(len(sizes))]) }
	for range dptest.Full(20_000, 2_000) {
		k := 1 + rng.IntN(9)
		j := 1 + rng.IntN(k)
		given := map[int]int64{}
		for key := range rng.IntN(k + 1) {
			given[key] = size() - rng.Int64N(2)
		}
		s := Given(k, given, 0)
		s.decrements = uint64(size() - 1)
		for i := range s.entries {
			s.entries[i].total += s.decrements
		}
		most, shift := size()-rng.Int64N(5), size()
		shift -= size()
		r, w := s.Trimmed(j, most, shift)
		want, bound := trimmedBig(s.Positive(), k, j, s.Decrements(), most, shift)
		require.Len(t, r, len(want))
		for _, c := range r {
			require.Equal(t, cutBig(want[c.Key]), c.Count)
		}
		require.Equal(t, cutBig(bound), w)
	}

	const many, most = 1 << 20, 1 << 40
	given := map[int]int64{}
	for key := range many / 2 {
		given[key] = Limit
	}
	s := Given(many, given, 0)
	r, w := s.Trimmed(many-1, most, -5) // A = (many/2 − 1)·2⁴⁰, many·2⁶² above it
	require.Len(t, r, many/2)
	require.Equal(t, int64(Limit), r[7].Count)
	require.Equal(t, int64(many/2-1)*most-5, w)
}

// eachNeighbours calls f with the sketches of every stream up to the length, up to the names of the
// keys, and of the same without one element.
func eachNeighbours(k, length int, f func(longer, shorter *Sketch[int])) {
	sketch := func(stream []int) *Sketch[int] {
		s := New[int](k)
		s.AddSlice(stream)
		return s
	}
	patterns(length, func(stream []int) {
		longer := sketch(stream)
		for i := range stream {
			f(longer, sketch(slices.Concat(stream[:i], stream[i+1:])))
		}
	})
}

// The lemma of law/trimmed_proof.md, and what the theorem makes of it: (A) D is the same, one key
// is one higher and A by 0 or 1, or (B) D is one higher, all k counters of the shorter stream are
// positive and one higher, and A(T − 1) = A′(T) − j. For all streams up to seven elements, up to
// names, all j and caps.
func TestTrimmedSensitivity(t *testing.T) {
	seen, length := [2]int{}, 6
	if dptest.Long() {
		length = 7
	}
	for k := 1; k <= 3; k++ {
		eachNeighbours(k, length, func(longer, shorter *Sketch[int]) {
			c, d := longer.Positive(), shorter.Positive()
			changes := map[int]int64{}
			for _, x := range c {
				changes[x.Key] += x.Count
			}
			for _, x := range d {
				changes[x.Key] -= x.Count
			}
			up, down := 0, 0
			for _, x := range changes {
				switch x {
				case 0:
				case 1:
					up++
				case -1:
					down++
				default:
					t.Fatalf("a counter that moves by %d", x)
				}
			}
			fell := longer.Decrements() - shorter.Decrements()
			if !(fell == 0 && up == 1 && down == 0 || fell == 1 && up == 0 && down == k && len(d) == k) {
				t.Fatalf("neither (A) nor (B): %v and %v", c, d)
			}
			seen[fell]++
			for j := 1; j <= k; j++ {
				for most := int64(-2); most <= 8; most++ {
					ok := false
					if fell == 0 {
						moved := smallest(c, k, j, most).Minus(smallest(d, k, j, most)).Lo
						ok = moved <= 1
					} else {
						ok = smallest(c, k, j, most-1).Lo == smallest(d, k, j, most).Lo-uint64(j)
					}
					if !ok {
						t.Fatalf("k = %d, j = %d, T = %d: %v and %v", k, j, most, c, d)
					}
				}
			}
		})
	}
	require.Greater(t, min(seen[0], seen[1]), 300)
}

// r ≤ j·f ≤ r + W for every key, whatever shift and cap are; and without a shift what a key loses
// is at most what the residual tail bound says: D + t ≤ (n − the k − j most frequent)/j.
func TestTrimmedEnclosesCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	for range dptest.Full(30_000, 1_500) {
		k := 1 + rng.IntN(8)
		stream := orders(rng, 40*k, k)[[]string{"random", "skewed", "in turn", "blocks", "sweep", "attack"}[rng.IntN(6)]]
		f := map[int]int64{}
		for _, key := range stream {
			f[key]++
		}
		s := New[int](k)
		s.AddSlice(stream)
		for j := 1; j <= k; j++ {
			r, w := s.Trimmed(j, rng.Int64N(30)-4, rng.Int64N(60)-20)
			units := map[int]int64{}
			for _, c := range r {
				units[c.Key] = c.Count
			}
			for key, count := range f {
				if !(units[key] <= int64(j)*count && int64(j)*count <= units[key]+w) {
					t.Fatalf("k = %d, j = %d, key %d of %d: %d and %d", k, j, key, count, units[key], w)
				}
			}
			_, w = s.Trimmed(j, math.MaxInt64, 0)
			frequent := slices.Sorted(func(yield func(int64) bool) {
				for _, count := range f {
					if !yield(-count) {
						return
					}
				}
			})
			residual := int64(len(stream))
			for _, count := range frequent[:min(k-j, len(frequent))] {
				residual += count
			}
			require.LessOrEqual(t, w, residual, "k = %d, j = %d", k, j)
		}
	}
}
