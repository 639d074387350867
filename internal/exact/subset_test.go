package exact

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Over all answers of below, which are equally probable, each ordered choice of k of n elements
// comes up exactly once.
func TestDrawSubset(t *testing.T) {
	for n := range 6 {
		for k := range n + 1 {
			seen, total := map[[5]int]int{}, 1
			for i := range k {
				total *= n - i
			}
			for code := range total {
				rest := code
				drawn := DrawSubset(Indices(n), k, func(m uint64) uint64 {
					digit := rest % int(m)
					rest /= int(m)
					return uint64(digit)
				})
				var choice [5]int
				for i, x := range drawn {
					choice[i] = x + 1
				}
				seen[choice]++
			}
			if len(seen) != total {
				t.Errorf("%d of %d: %d ordered choices, want %d", k, n, len(seen), total)
			}
		}
	}
}

// Of makes the same of the same answers as Draw.
func TestDrawIndices(t *testing.T) {
	for i := range uint64(300) {
		n := int(i%70) + 1
		k := int(i*i) % (n + 1)
		want := DrawSubset(Indices(n), k, rand.New(rand.NewPCG(1, i)).Uint64N)
		if got := DrawIndices(n, k, rand.New(rand.NewPCG(1, i)).Uint64N); !slices.Equal(got, want) {
			t.Fatalf("%d of %d: %v, want %v", k, n, got, want)
		}
	}
}
