package main

import (
	"iter"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
)

// plain returns the Params of package kor/distinct with the numbers of those of kor.
func plain(p kor.Params) distinct.Params {
	return distinct.Params{Epsilon: p.Epsilon, Cells: p.Cells, Levels: p.Levels, CountShare: p.CountShare, Seed: p.Seed}
}

// plainParty is what one party does with package kor/distinct: the words go in as they come,
// duplicates and all.
func plainParty(p distinct.Params, words iter.Seq[string]) ([]byte, error) {
	b, err := distinct.New(p)
	if err != nil {
		return nil, err
	}
	for word := range words {
		distinct.AddKey(b, word)
	}
	s, err := b.Release()
	if err != nil {
		return nil, err
	}
	return s.MarshalBinary()
}

// plainCompare is what anybody can do with the bytes of two parties.
func plainCompare(first, second []byte) (*result, error) {
	var a, b distinct.Sketch
	if err := a.UnmarshalBinary(first); err != nil {
		return nil, err
	}
	if err := b.UnmarshalBinary(second); err != nil {
		return nil, err
	}
	c, err := distinct.Compare(&a, &b)
	if err != nil {
		return nil, err
	}
	return &result{guarantee: a.Guarantee(), rows: append([]row{{name: "A", size: &a}, {name: "B", size: &b}}, rows(c)...)}, nil
}

// occurrences yields the words of a book in the order of the text.
func occurrences(text *kjv.Text, of book) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := firstVerse(of)
		verse := 0
		for list := range text.Verses() {
			for _, word := range list {
				if verse >= first && verse < first+of.verses && !yield(word) {
					return
				}
			}
			verse++
		}
	}
}
