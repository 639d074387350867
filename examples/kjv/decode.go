package kjv

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// The data file is one DEFLATE stream. Inside it, every number is an unsigned varint
// (encoding/binary):
//
//	number of words W
//	W words in increasing order, each
//	    length of the prefix it shares with the word before it
//	    length of the rest, and the rest
//	    how often the word occurs in the text
//	number of verses V
//	V lengths, in tokens
//	the tokens of all verses in text order, each the rank of its word
//
// The rank of a word is its position, from 0, when the words are ordered by decreasing number of
// occurrences, and equally frequent words by increasing spelling. The number of tokens is the sum
// of the occurrences, and also the sum of the lengths of the verses. Nothing follows the last
// token.

// Limits on what decode accepts, so that it needs little memory whatever the bytes.
const (
	maxInflated = 4 << 20 // bytes of the inflated stream
	maxWords    = 1 << 16 // an index into the words is a uint16
	maxWord     = 255     // bytes of a word
	maxTokens   = 1 << 22
)

var errData = errors.New("kjv: the data file is damaged")

// decode reads a data file. Whatever the bytes, it returns a valid text or errData.
func decode(file []byte) (*Text, error) {
	inflated, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(file)), maxInflated+1))
	if err != nil || len(inflated) > maxInflated {
		return nil, errData
	}
	r := reader{rest: inflated}
	t := new(Text)

	counts := r.words(t)
	total := 0
	for _, c := range counts {
		total += c
		if total > maxTokens {
			return nil, errData
		}
	}
	r.verses(t, total)
	r.tokens(t, counts, total)
	if r.failed || len(r.rest) != 0 {
		return nil, errData
	}
	return t, nil
}

// ranking returns the index of the word of each rank.
func ranking(counts []int) []uint16 {
	byRank := make([]uint16, len(counts))
	for i := range byRank {
		byRank[i] = uint16(i)
	}
	slices.SortStableFunc(byRank, func(a, b uint16) int { return cmp.Compare(counts[b], counts[a]) })
	return byRank
}

// reader consumes the inflated stream. After a failure it yields zeros.
type reader struct {
	rest   []byte
	failed bool
}

// number reads a varint of at most limit.
func (r *reader) number(limit int) int {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 || x > uint64(limit) {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(x)
}

// words reads the word table and returns the number of occurrences of each word.
func (r *reader) words(t *Text) []int {
	n := r.number(min(maxWords, len(r.rest)/3)) // an entry takes three bytes or more
	t.words = make([]string, 0, n)
	counts := make([]int, 0, n)
	var word []byte
	for range n {
		shared := r.number(len(word))
		length := r.number(min(maxWord-shared, len(r.rest)))
		length = min(length, len(r.rest))
		word = append(word[:shared], r.rest[:length]...)
		r.rest = r.rest[length:]
		if i := len(t.words); i > 0 && string(word) <= t.words[i-1] {
			r.failed = true
		}
		t.words = append(t.words, string(word))
		counts = append(counts, r.number(maxTokens))
	}
	return counts
}

// verses reads the lengths of the verses, which sum to total.
func (r *reader) verses(t *Text, total int) {
	n := r.number(len(r.rest))
	t.ends = make([]uint32, n)
	end := 0
	for v := range t.ends {
		end += r.number(total - end)
		t.ends[v] = uint32(end)
	}
	if end != total {
		r.failed = true
	}
}

// tokens reads total ranks, in which each word occurs as often as the word table says.
func (r *reader) tokens(t *Text, counts []int, total int) {
	if total > len(r.rest) {
		r.failed = true
		return
	}
	byRank := ranking(counts)
	t.tokens = make([]uint16, total)
	for i := range t.tokens {
		word := byRank[r.number(len(byRank)-1)]
		t.tokens[i] = word
		counts[word]--
		if r.failed || counts[word] < 0 {
			r.failed = true
			return
		}
	}
}
