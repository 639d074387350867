package dptest

import (
	"math"
	"math/rand/v2"
)

// NormalRows returns n rows of independent N(mean, sdᵢ²) and their mean.
func NormalRows(rng *rand.Rand, n int, mean float64, sds []float64) (rows [][]float64, empirical []float64) {
	rows, empirical = make([][]float64, n), make([]float64, len(sds))
	for j := range rows {
		rows[j] = make([]float64, len(sds))
		for i, sd := range sds {
			rows[j][i] = mean + sd*rng.NormFloat64()
			empirical[i] += rows[j][i] / float64(n)
		}
	}
	return rows, empirical
}

// Powers returns (d/i)^exponent for i = 1, …, d.
func Powers(d int, exponent float64) []float64 {
	all := make([]float64, d)
	for i := range all {
		all[i] = math.Pow(float64(d)/float64(i+1), exponent)
	}
	return all
}

// ZipfKeys returns n keys, the one of rank r with a probability in proportion to (1+r)^-1.1, spread
// over the integers by a bijection, so that neither order nor low bits follow the rank.
func ZipfKeys(n int, universe uint64) []uint64 {
	ranks := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, universe-1)
	keys := make([]uint64, n)
	for i := range keys {
		x := ranks.Uint64()
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		keys[i] = x ^ x>>31
	}
	return keys
}
