package main

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// source gives the elements, each with the number of a shard.
func source(s beam.Scope, o options) beam.PCollection {
	if o.input != "" {
		return beam.ParDo(s, &spreadFn{Shards: o.shards}, textio.Read(s, o.input))
	}
	return generated(s, o)
}

// generated is a stream of Zipf(1.1) keys over 2²⁰, made where the shards are, with their numbers.
func generated(s beam.Scope, o options) beam.PCollection {
	shards := make([]int, o.shards)
	for i := range shards {
		shards[i] = i
	}
	return beam.ParDo(s, &generateFn{Elements: o.elements, Shards: o.shards}, beam.Reshuffle(s, beam.CreateList(s, shards)))
}

// generateFn makes the elements of one shard.
type generateFn struct{ Elements, Shards int }

func (f *generateFn) ProcessElement(shard int, emit func(int, string)) {
	for key := range stream(shard, f.Shards, f.Elements) {
		emit(shard, key)
	}
}

// stream yields what one of the shards holds of a stream of the given length. It is the same at
// each call.
func stream(shard, shards, elements int) func(func(string) bool) {
	return func(yield func(string) bool) {
		zipf := rand.NewZipf(rand.New(rand.NewPCG(uint64(shard), 1)), 1.1, 1, 1<<20-1)
		for range elements/shards + min(1, max(0, elements%shards-shard)) {
			if !yield(fmt.Sprintf("/page/%d", zipf.Uint64())) {
				return
			}
		}
	}
}

// spreadFn gives each line a shard.
type spreadFn struct{ Shards int }

var spread = maphash.MakeSeed()

// ProcessElement assigns the shard by a hash of the line. Any assignment that does not depend on
// the other lines is as good.
func (f *spreadFn) ProcessElement(line string, emit func(int, string)) {
	if line != "" {
		emit(int(maphash.String(spread, line)%uint64(f.Shards)), line)
	}
}

func init() {
	register.DoFn2x0[string, func(int, string)](&spreadFn{})
	register.DoFn2x0[int, func(int, string)](&generateFn{})
	register.Emitter2[int, string]()
}
