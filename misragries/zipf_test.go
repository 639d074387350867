package misragries

import "math/rand/v2"

// zipfKeys returns n keys, the one of rank r with a probability in proportion to (1+r)^-1.1, spread
// over the integers by a bijection, so that neither order nor low bits follow the rank.
func zipfKeys(n int, universe uint64) []uint64 {
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
