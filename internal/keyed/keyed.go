// Package keyed holds what released lists of keys have in common: how they are read out, and how
// they are decoded.
package keyed

import (
	"cmp"
	"iter"
	"slices"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// All yields n keys with their numbers, as at gives them.
func All[K any](n int, at func(i int) (K, float64)) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for i := range n {
			if !yield(at(i)) {
				return
			}
		}
	}
}

// Top yields the n keys with the largest numbers of all, the largest first; equal ones, and those
// with NaN, which come last, stay in the order of all. If there are fewer than n, it yields all.
func Top[K any](all iter.Seq2[K, float64], n int) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		type pair struct {
			key    K
			number float64
		}
		var sorted []pair
		for key, x := range all {
			sorted = append(sorted, pair{key, x})
		}
		slices.SortStableFunc(sorted, func(a, b pair) int { return cmp.Compare(b.number, a.number) })
		for _, p := range sorted[:max(0, min(n, len(sorted)))] {
			if !yield(p.key, p.number) {
				return
			}
		}
	}
}

// Read reads n entries of an encoding: keys in strictly ascending order, and behind each what entry
// reads. It stops at the first failure.
func Read[K wire.Key](r *wire.Reader, n int, entry func(i int, key K)) {
	keys := wire.KeysOf[K]()
	var last K
	for i := 0; i < n && r.Err() == nil; i++ {
		key := keys.Read(r)
		if i > 0 && keys.Compare(last, key) >= 0 {
			r.Fail("keys not in ascending order")
		}
		entry(i, key)
		last = key
	}
}
