package sketch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// addUser is Algorithm 4 word by word, for one user.
func (v *vector[K]) addUser(keys []K) {
	for _, key := range keys {
		v.c[key]++
	}
	if len(v.c) <= v.k {
		return
	}
	v.d++
	for key := range v.c {
		v.c[key]--
	}
	maps.DeleteFunc(v.c, func(_ K, count uint64) bool { return count == 0 })
}

// userSketch is a sketch to which users are added, of k counters after each.
type userSketch[K hashing.Key] struct {
	k     int
	table Sketch[K]
}

func newUserSketch[K hashing.Key](k, m int) *userSketch[K] {
	return &userSketch[K]{k, *New[K](k + m)}
}

func (u *userSketch[K]) addUser(keys []K)           { u.table.AddUser(keys, u.k) }
func (u *userSketch[K]) merge(other *userSketch[K]) { u.table.Merge(&other.table, u.k) }
func (u *userSketch[K]) decrements() uint64         { return u.table.decrements }
func (u *userSketch[K]) Positive() []Counter[K]     { return u.table.Positive() }

// vector returns (c, D) as the entries have it.
func (u *userSketch[K]) vector() *vector[K] {
	v := u.table.vector()
	v.k = u.k
	return v
}

// runUsers returns the sketch of the users without the given one.
func runUsers[K hashing.Key](k, m int, users [][]K, skip int) *userSketch[K] {
	u := newUserSketch[K](k, m)
	for i, keys := range users {
		if i != skip {
			u.addUser(keys)
		}
	}
	return u
}

// randomUsers returns n users of up to m of the keys 0..universe−1.
func randomUsers(rng *rand.Rand, n, m, universe int) [][]int {
	users := make([][]int, n)
	for i := range users {
		users[i] = rng.Perm(universe)[:rng.IntN(min(m, universe)+1)]
	}
	return users
}

// The sketch is Algorithm 4 at every step, for integers and strings, and its error is what Lemma 26
// says: c ≤ f ≤ c + D, (k+1)·D ≤ N − Σc.
func TestUserSketchIsAlgorithm4(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range dptest.Full(300, 60) {
		k := 1 + rng.IntN(30)
		m := 1 + rng.IntN(k)
		u, words := newUserSketch[int](k, m), newUserSketch[string](k, m)
		v, f, n := newVector[int](k), map[int]uint64{}, uint64(0)
		for _, keys := range randomUsers(rng, rng.IntN(100), m, 1+rng.IntN(3*k)) {
			u.addUser(keys)
			v.addUser(keys)
			texts := make([]string, len(keys))
			for i, key := range keys {
				texts[i] = fmt.Sprint(key)
				f[key]++
			}
			words.addUser(texts)
			n += uint64(len(keys))
			require.Equal(t, v, u.vector())
			sound(t, &u.table, k)
		}
		require.Equal(t, v.d, u.decrements())
		require.Equal(t, v.d, words.decrements())
		require.Len(t, words.Positive(), len(v.c))
		require.True(t, slices.IsSortedFunc(u.Positive(), func(a, b Counter[int]) int { return a.Key - b.Key }))
		sum := uint64(0)
		for _, c := range u.Positive() {
			require.EqualValues(t, v.c[c.Key], c.Count)
			sum += uint64(c.Count)
		}
		for _, c := range words.Positive() {
			var key int
			dptest.OK(fmt.Sscan(c.Key, &key))(t)
			require.EqualValues(t, v.c[key], c.Count)
		}
		for key, count := range f {
			require.LessOrEqual(t, v.c[key], count)
			require.LessOrEqual(t, count, v.c[key]+v.d)
		}
		require.LessOrEqual(t, uint64(k+1)*v.d, n-sum)
	}
}

// A user of one key is an element, and addUser is the merge with the sketch of the user.
func TestUserSketchIsAMergeOfUsers(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for range 500 {
		k := 1 + rng.IntN(12)
		m := 1 + rng.IntN(k)
		users := randomUsers(rng, rng.IntN(40), m, 1+rng.IntN(3*k))
		u, merged := runUsers(k, m, users, -1), newUserSketch[int](k, m)
		single, plain := newUserSketch[int](k, m), New[int](k)
		for _, keys := range users {
			one := newUserSketch[int](k, 1+rng.IntN(k)) // another m
			for _, key := range keys {
				one.addUser([]int{key}) // at most k: no decrement
				single.addUser([]int{key})
				plain.Add(key)
			}
			merged.merge(one)
		}
		require.Equal(t, u.vector(), merged.vector())
		require.Equal(t, plain.vector(), single.vector())
	}
}

// Lemma 27, and D besides, on all streams of up to 4 users with up to 2 of 3 keys.
func TestUserSketchOfAllShortNeighbours(t *testing.T) {
	var sets [][]int
	for a := range 3 {
		sets = append(sets, []int{a}, []int{a, (a + 1) % 3})
	}
	sets = append(sets, nil)
	length := 4
	if !dptest.Long() {
		length = 3
	}
	for k := 2; k <= 3; k++ {
		pairs := 0
		var extend func(users [][]int)
		extend = func(users [][]int) {
			whole := runUsers(k, 2, users, -1).vector()
			for i := range users {
				further(t, whole, runUsers(k, 2, users, i).vector())
				pairs++
			}
			if len(users) < length {
				for _, keys := range sets {
					extend(append(slices.Clone(users), keys))
				}
			}
		}
		extend(nil)
		t.Logf("k = %d: %d pairs", k, pairs)
	}
}
