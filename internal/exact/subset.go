package exact

// DrawSubset moves k of the elements, in random order, to the front of all, and returns them. Where
// below(n) is uniform on 0, …, n−1 and independent of all else, every choice in every order has the
// same probability (Fisher and Yates). k is at most len(all).
func DrawSubset[T any](all []T, k int, below func(n uint64) uint64) []T {
	for i := range k {
		j := i + int(below(uint64(len(all)-i)))
		all[i], all[j] = all[j], all[i]
	}
	return all[:k]
}

// Indices returns 0, …, n−1.
func Indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// DrawIndices returns DrawSubset(Indices(n), k, below), in time and memory in proportion to k: it
// keeps only the places whose element has moved.
func DrawIndices(n, k int, below func(n uint64) uint64) []int {
	moved, drawn := make(map[int]int, k), make([]int, k)
	at := func(i int) int {
		if x, ok := moved[i]; ok {
			return x
		}
		return i
	}
	for i := range drawn {
		j := i + int(below(uint64(n-i)))
		drawn[i] = at(j)
		moved[j] = at(i)
	}
	return drawn
}
