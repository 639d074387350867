package main

import (
	"cmp"
	crand "crypto/rand"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// This file counts the distinct verses of each word from a stream of pairs of a verse and a word,
// in which pairs come several times, with 64 bytes for each word: package kor/distinct with 64
// cells in each of 8 levels. At ε = 1 for a word such a count is off by 1.4 of no verse, 2.2 of 30,
// 6 of 100 and 8.2 % of 1000. A set of verses for each word would be exact and grow with the data.

// groups are the sketches of some words.
type groups struct {
	params   distinct.Params
	each     int // words that a verse counts in, at most
	builders map[string]*distinct.Builder
}

// newGroups returns sketches that together are ε-private for a verse that is in at most so many of
// them: a verse is one key of a sketch, so each of those costs it an equal part of ε. A sketch has
// 64 bytes where that is at least ¼, and below in proportion more, so that noise is at most 6 % of
// a large count.
func newGroups(epsilon float64, words []string, each int) (*groups, error) {
	epsilon = math.Nextafter(epsilon/float64(each), 0)
	cells := 64 * max(1, int(math.Ceil(0.25/epsilon)))
	g := &groups{each: each, builders: map[string]*distinct.Builder{},
		params: distinct.Params{Epsilon: epsilon, Cells: cells, Levels: 8, Seed: hashing.NewSeed()}}
	for _, word := range words {
		b, err := distinct.New(g.params)
		if err != nil {
			return nil, err
		}
		g.builders[word] = b
	}
	return g, nil
}

// cost returns what all sketches together cost a verse.
func (g *groups) cost() (budget.Guarantee, error) {
	one, err := g.params.Guarantee().Stable(verse, 1) // a verse is one key
	return one.Times(g.each), err
}

// verse is whom all of it protects: with any number of words.
var verse = budget.User(0, budget.AddRemove)

// shown returns the words that a GROUP BY of nothing but keys shows.
func shown(text *kjv.Text, p groupby.Params) ([]string, error) {
	b, err := groupby.New[string](p)
	if err != nil {
		return nil, err
	}
	for words := range text.Verses() {
		b.AddUser(words)
	}
	list, err := b.Release()
	if err != nil {
		return nil, err
	}
	var words []string
	for word := range list.All() {
		words = append(words, word)
	}
	return words, nil
}

// add counts the verses. A verse that has more words with a sketch counts in random ones of them.
func (g *groups) add(text *kjv.Text) {
	number := uint64(0)
	var seed [32]byte
	crand.Read(seed[:])
	random := rand.New(rand.NewChaCha8(seed))
	for words := range text.Verses() {
		number++
		var kept []string
		for _, word := range words {
			if g.builders[word] != nil {
				kept = append(kept, word)
			}
		}
		if g.each < len(g.builders) { // else no verse can have more
			slices.Sort(kept)
			kept = slices.Compact(kept)
			random.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
			kept = kept[:min(g.each, len(kept))]
		}
		for _, word := range kept {
			g.builders[word].Add(number)
		}
	}
}

// runGroups counts the words that are listed, or those that are shown for a half of the budget.
func (opts *options) runGroups(text *kjv.Text, out io.Writer) error {
	words := strings.Split(opts.words, ",")
	slices.Sort(words)
	words = slices.Compact(words)
	epsilon, delta, each := opts.params.Epsilon, 0.0, len(words)
	if opts.words == "shown" {
		epsilon, delta, each = epsilon/2, opts.params.Delta, opts.most
	}
	ledger, err := budget.NewLedger(opts.params.Epsilon, delta, verse)
	if err != nil {
		return cli.Usage(err)
	}
	if opts.words == "shown" {
		p := groupby.Params{Epsilon: epsilon, Delta: delta, KeysOnly: true}
		if err := ledger.Spend(p.Guarantee()); err != nil {
			return cli.Usage(err)
		}
		if words, err = shown(text, p); err != nil {
			return cli.Usage(err)
		}
	}
	g, err := newGroups(epsilon, words, each)
	if err != nil {
		return cli.Usage(err)
	}
	cost, err := g.cost()
	if err != nil {
		return err
	}
	if err := ledger.Spend(cost); err != nil {
		return err
	}
	g.add(text)
	_, err = io.WriteString(out, g.text(text, ledger, opts))
	return err
}

// text releases the sketches and prints the counts.
func (g *groups) text(text *kjv.Text, ledger *budget.Ledger, opts *options) string {
	truth, words := map[string]int{}, text.Words()
	for basket := range text.Baskets() {
		for _, w := range basket {
			truth[words[w]]++
		}
	}
	sketches, names := map[string]*distinct.Sketch{}, []string{}
	for _, word := range slices.Sorted(maps.Keys(g.builders)) {
		if s, err := g.builders[word].Release(); err == nil { // it is the first
			sketches[word] = s
			names = append(names, word)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(sketches[b].Estimate(), sketches[a].Estimate()), cmp.Compare(a, b))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "In how many verses does each of %d words occur? A word takes %d bytes; a verse counts in at most %d words.\n\n", len(names), g.params.Cells, g.each)
	fmt.Fprintf(&b, "%v; a user is a verse\nEach word: %v; a key is a verse\n\n", ledger, g.params.Guarantee())
	fmt.Fprintf(&b, "  %-12s %10s   %-19s %10s\n", "word", "estimate", fmt.Sprintf("%.10g %% interval", 100*opts.confidence), "all verses")
	for _, word := range names[:min(opts.top, len(names))] {
		lo, hi := sketches[word].Interval(opts.confidence)
		fmt.Fprintf(&b, "  %-12s %10.1f   %8.1f – %8.1f %10d\n", word, sketches[word].Estimate(), lo, hi, truth[word])
	}
	if g.each < len(names) {
		fmt.Fprintf(&b, "\nThe intervals cover the counts after each verse was cut to %d words; the last column is before.\n", g.each)
	}
	return b.String()
}
