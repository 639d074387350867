// Package subset draws random subsets: the one place for what the transforms, the pilots and the
// lists of zeros need.
package subset

// Draw moves k of the elements, in random order, to the front of all, and returns them. Where
// below(n) is uniform on 0, …, n−1 and independent of all else, every choice in every order has the
// same probability (Fisher and Yates). k is at most len(all).
func Draw[T any](all []T, k int, below func(n uint64) uint64) []T {
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
