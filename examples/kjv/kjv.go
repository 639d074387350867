// Package kjv holds the words of the King James Bible, the public data set of the examples.
//
// The text is in the public domain. It comes from the Debian package bible-kjv-text; the command in
// the directory generate rebuilds the data file from it. A word is a longest run of the letters a
// to z and the apostrophe, in lower case: "king's" is one word, "thee-ward" is two.
//
//	verses                       31,102
//	tokens                      789,684
//	distinct words               12,824
//	distinct (verse, word)      616,271
//	distinct words of a verse   at most 53
//
// The same text serves as a stream (its tokens), as a set of users (its verses), as a sparse
// histogram (the counts of its words) and as a binary matrix (one row a verse, one column a word).
package kjv

//go:generate sh -c "bible -f gen1:1-rev22:21 </dev/null | go run ./generate -o kjv.bin"

import (
	_ "embed"
	"iter"
	"slices"
	"sync"
)

//go:embed kjv.bin
var data []byte

// Text is the whole text, decoded. It is immutable and safe for concurrent readers.
type Text struct {
	words  []string // in increasing order
	tokens []uint16 // indices into words, in text order
	ends   []uint32 // ends[v] is the number of tokens up to the end of verse v
}

// Load returns the embedded text. The first call decodes it, which takes tens of milliseconds and
// about 2 MB.
func Load() (*Text, error) { return decoded() }

var decoded = sync.OnceValues(func() (*Text, error) { return decode(data) })

// Words returns the distinct words in increasing order.
func (t *Text) Words() []string {
	return slices.Clone(t.words)
}

// Len returns the number of tokens.
func (t *Text) Len() int {
	return len(t.tokens)
}

// Tokens returns the words of the text, one after the other, repeats included.
func (t *Text) Tokens() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, w := range t.tokens {
			if !yield(t.words[w]) {
				return
			}
		}
	}
}

// Verses returns the words of each verse in text order, repeats included.
// The slice is valid until the next step; clone it to keep it.
func (t *Text) Verses() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		var verse []string
		start := uint32(0)
		for _, end := range t.ends {
			verse = verse[:0]
			for _, w := range t.tokens[start:end] {
				verse = append(verse, t.words[w])
			}
			start = end
			if !yield(verse) {
				return
			}
		}
	}
}

// Baskets returns each verse as a set: the indices of its distinct words in Words, increasing.
// The slice is valid until the next step; clone it to keep it.
func (t *Text) Baskets() iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var set []int
		start := uint32(0)
		for _, end := range t.ends {
			set = set[:0]
			for _, w := range t.tokens[start:end] {
				set = append(set, int(w))
			}
			slices.Sort(set)
			set = slices.Compact(set)
			start = end
			if !yield(set) {
				return
			}
		}
	}
}
