package main

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// encode lays out the verses as decode.go of package kjv describes, before compression.
func encode(verses [][]string) []byte {
	counts := make(map[string]int)
	for _, verse := range verses {
		for _, word := range verse {
			counts[word]++
		}
	}
	words := slices.Sorted(maps.Keys(counts))

	out := binary.AppendUvarint(nil, uint64(len(words)))
	previous := ""
	for _, word := range words {
		n := sharedPrefix(previous, word)
		out = binary.AppendUvarint(out, uint64(n))
		out = binary.AppendUvarint(out, uint64(len(word)-n))
		out = append(out, word[n:]...)
		out = binary.AppendUvarint(out, uint64(counts[word]))
		previous = word
	}

	out = binary.AppendUvarint(out, uint64(len(verses)))
	for _, verse := range verses {
		out = binary.AppendUvarint(out, uint64(len(verse)))
	}

	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	rank := make(map[string]uint64, len(words))
	for i, word := range words {
		rank[word] = uint64(i)
	}
	for _, verse := range verses {
		for _, word := range verse {
			out = binary.AppendUvarint(out, rank[word])
		}
	}
	return out
}

// sharedPrefix returns the length of the longest common prefix of a and b.
func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
