// Package baskets makes the data that tests of GROUP BY share: users with sets of keys.
package baskets

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Retail returns users with sets of keys, the same ones each time: as many, with sizes and a
// popularity of keys such as those of the FIMI repository's "retail" (88,162 baskets of 10.3 of
// 16,470 articles, the largest of 76): sizes are 1 + a Gamma of shape 2, and the popularity falls
// as (rank + 2)^−1.05.
func Retail() [][]int {
	const users, keys, largest = 88_162, 16_470, 76
	rng := rand.New(rand.NewPCG(19, 88_162))
	cumulated := make([]float64, keys)
	total := 0.0
	for i := range cumulated {
		total += math.Pow(float64(i+3), -1.05)
		cumulated[i] = total
	}
	all := make([][]int, users)
	for u := range all {
		size := min(1+int(4.9*(rng.ExpFloat64()+rng.ExpFloat64())), largest)
		for len(all[u]) < size {
			key, _ := slices.BinarySearch(cumulated, rng.Float64()*total)
			if !slices.Contains(all[u], key) {
				all[u] = append(all[u], key)
			}
		}
	}
	return all
}
