package main

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/examples/pipeline/dpbeam"
)

// source gives the elements.
func source(s beam.Scope, o options) beam.PCollection {
	if o.input != "" {
		return beam.ParDo(s, &linesFn{}, textio.Read(s, o.input))
	}
	return generated(s, o)
}

// earlier gives the elements of the day before.
func earlier(s beam.Scope, o options) beam.PCollection {
	if o.before != "" {
		return beam.ParDo(s, &linesFn{}, textio.Read(s, o.before))
	}
	return beam.ParDo(s, &generateFn{o.elements, o.shards, o.shards}, shards(s, o))
}

// rows gives the pairs of a user and an Entry.
func rows(s beam.Scope, o options) beam.PCollection {
	if o.input != "" {
		return beam.ParDo(s, &splitFn{}, textio.Read(s, o.input))
	}
	return beam.ParDo(s, &rowsFn{o.elements, o.users, o.shards}, shards(s, o))
}

// shards are the numbers of the shards, spread over the runner's workers.
func shards(s beam.Scope, o options) beam.PCollection {
	numbers := make([]int, o.shards)
	for i := range numbers {
		numbers[i] = i
	}
	return beam.Reshuffle(s, beam.CreateList(s, numbers))
}

// generated is a stream of Zipf(1.1) keys over 2²⁰, made where the shards are.
func generated(s beam.Scope, o options) beam.PCollection {
	return beam.ParDo(s, &generateFn{Elements: o.elements, Shards: o.shards}, shards(s, o))
}

// generateFn makes the elements of one shard, of those that are behind the first ones.
type generateFn struct{ Elements, Shards, First int }

func (f *generateFn) ProcessElement(shard int, emit func(string)) {
	for key := range stream(f.First+shard, f.Shards, f.Elements) {
		emit(key)
	}
}

// stream yields what one of the shards holds of a stream of the given length. It is the same at
// each call.
func stream(shard, shards, elements int) iter.Seq[string] {
	return func(yield func(string) bool) {
		zipf := rand.NewZipf(rand.New(rand.NewPCG(uint64(shard), 1)), 1.1, 1, 1<<20-1)
		for range elements/shards + min(1, max(0, elements%shards-shard)) {
			if !yield(fmt.Sprintf("/page/%d", zipf.Uint64())) {
				return
			}
		}
	}
}

// rowsFn makes the rows of one shard.
type rowsFn struct{ Rows, Users, Shards int }

func (f *rowsFn) ProcessElement(shard int, emit func(string, dpbeam.Entry)) {
	for row := range table(shard, f.Shards, f.Rows, f.Users) {
		emit(fmt.Sprintf("user%d", row.user), dpbeam.Entry{Key: fmt.Sprintf("/page/%d", row.page), Value: row.value})
	}
}

// row is a visit of a user to a page, worth a whole number.
type row struct {
	user, page int
	value      float64
}

// table yields what one of the shards holds of a table of the given length: Zipf(1.1) pages over
// 2²⁰, log-normal values. The users come in turn, so that one user's rows are in many shards. It is
// the same at each call.
func table(shard, shards, rows, users int) iter.Seq[row] {
	return func(yield func(row) bool) {
		rng := rand.New(rand.NewPCG(uint64(shard), 2))
		zipf := rand.NewZipf(rng, 1.1, 1, 1<<20-1)
		for i := shard * rows / shards; i < (shard+1)*rows/shards; i++ {
			if !yield(row{i % users, int(zipf.Uint64()), math.Round(math.Exp(2 + rng.NormFloat64()))}) {
				return
			}
		}
	}
}

// linesFn gives the lines that are not empty.
type linesFn struct{}

func (*linesFn) ProcessElement(line string, emit func(string)) {
	if line != "" {
		emit(line)
	}
}

// splitFn makes a row of a line, "user TAB key" or "user TAB key TAB value". A line without a value
// does not count in sums. Other lines are left out: that they were there must not show in an error.
type splitFn struct{}

func (*splitFn) ProcessElement(line string, emit func(string, dpbeam.Entry)) {
	parts := strings.Split(line, "\t")
	switch len(parts) {
	case 2:
		emit(parts[0], dpbeam.Entry{Key: parts[1], Value: math.NaN()})
	case 3:
		value, err := strconv.ParseFloat(parts[2], 64)
		if err == nil {
			emit(parts[0], dpbeam.Entry{Key: parts[1], Value: value})
		}
	}
}

func init() {
	register.DoFn2x0[string, func(string)](&linesFn{})
	register.DoFn2x0[string, func(string, dpbeam.Entry)](&splitFn{})
	register.DoFn2x0[int, func(string)](&generateFn{})
	register.DoFn2x0[int, func(string, dpbeam.Entry)](&rowsFn{})
	register.Emitter1[string]()
	register.Emitter2[string, dpbeam.Entry]()
}
