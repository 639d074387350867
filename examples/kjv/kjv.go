// Package kjv holds the words of the King James Bible, the public data set of the examples.
//
// The text is in the public domain. It comes from the Debian package bible-kjv-text. A word is a
// longest run of the letters a to z and the apostrophe, in lower case: "king's" is one word,
// "thee-ward" is two.
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

// A verse a line, without its reference. The program bible is in the Debian package bible-kjv.
//go:generate sh -c "bible -f gen1:1-rev22:21 </dev/null | sed 's/^[^ ]* //' | tr A-Z a-z | tr -cs \"a-z'\\n\" ' ' | sed 's/^ //;s/ $//' | gzip -9n >kjv.txt.gz"

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
)

//go:embed kjv.txt.gz
var data []byte

// Text is the whole text. It is immutable and safe for concurrent readers.
type Text struct {
	words  []string // in increasing order
	tokens []string // in text order
	ends   []int    // ends[v] is the number of tokens up to the end of verse v
}

// Load returns the embedded text. The first call decodes it, which takes tens of milliseconds and
// about 20 MB.
var Load = sync.OnceValues(func() (*Text, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	t, same := new(Text), map[string]string{}
	for verse := range strings.Lines(string(all)) {
		for word := range strings.FieldsSeq(verse) {
			first, seen := same[word]
			if !seen {
				first, same[word] = word, word
				t.words = append(t.words, word)
			}
			t.tokens = append(t.tokens, first)
		}
		t.ends = append(t.ends, len(t.tokens))
	}
	slices.Sort(t.words)
	return t, nil
})

// Words returns the distinct words in increasing order.
func (t *Text) Words() []string { return slices.Clone(t.words) }

// Len returns the number of tokens.
func (t *Text) Len() int { return len(t.tokens) }

// Tokens returns the words of the text, one after the other, repeats included.
func (t *Text) Tokens() iter.Seq[string] { return slices.Values(t.tokens) }

// Verses returns the words of each verse in text order, repeats included. The slices are not to be
// written to.
func (t *Text) Verses() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		start := 0
		for _, end := range t.ends {
			if !yield(t.tokens[start:end:end]) {
				return
			}
			start = end
		}
	}
}
