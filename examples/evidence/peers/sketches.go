package peers

import (
	"encoding/binary"
	"errors"

	"github.com/axiomhq/hyperloglog"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
	plain "github.com/dpsketch/dpsketch/kor/distinct"
)

// hllError is the relative standard error of HyperLogLog with 2^14 registers, 1.04/2^7.
const hllError = 1.04 / 128

// sketches compares packages kor and kor/distinct with HyperLogLog, which has no privacy, 16 KiB of
// memory on each side. Updates go into a new sketch, and a unit is a key: kor hashes it, and so
// does HyperLogLog's Insert, while InsertHash gets it hashed already. A Builder of kor is for sets,
// in which no key comes twice; what counts as HyperLogLog does is package kor/distinct. Two
// HyperLogLog sketches have the symmetric difference as 2|A ∪ B| − |A| − |B|, with an error
// relative to the union where that of kor is relative to the difference. No peer: sketches in Go
// from which the difference of sets can be had privately.
func sketches(n int) []comparison {
	p := kor.Params{Epsilon: 2, Cells: 4096, Levels: 32, Seed: hashing.Seed{1}}
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = mix(uint64(i))
	}
	set := func() (*kor.Builder, error) { return kor.New(p) }
	occurrences := func() (*kor.StreamBuilder, error) { return kor.NewStreamBuilder(p) }
	count := func() (*plain.Builder, error) {
		return plain.New(plain.Params{Epsilon: p.Epsilon, Cells: p.Cells, Levels: p.Levels, Seed: p.Seed})
	}
	toggle := filling(set, func(b *kor.Builder, keys []uint64) {
		for _, key := range keys {
			b.Toggle(key)
		}
	})
	slice := filling(set, func(b *kor.Builder, keys []uint64) { b.ToggleSlice(keys) })
	stream := filling(occurrences, func(b *kor.StreamBuilder, keys []uint64) {
		for _, key := range keys {
			b.Add(key)
		}
	})
	streamSlice := filling(occurrences, func(b *kor.StreamBuilder, keys []uint64) { b.Add(keys...) })
	single := filling(count, func(b *plain.Builder, keys []uint64) {
		for _, key := range keys {
			b.Add(key)
		}
	})
	bulk := filling(count, func(b *plain.Builder, keys []uint64) { b.Add(keys...) })
	texts := spell(keys)
	singleText := filling(count, func(b *plain.Builder, keys []string) {
		for _, key := range keys {
			plain.AddKey(b, key)
		}
	})
	bulkText := filling(count, func(b *plain.Builder, keys []string) { plain.AddKey(b, keys...) })
	const hashed, bytes = "HyperLogLog InsertHash", "HyperLogLog Insert"
	return append([]comparison{
		distinct("set of uint64 keys, Toggle", hashed, 0.4, keys, toggle, insertHashes),
		distinct("set of uint64 keys, ToggleSlice", hashed, 0.4, keys, slice, insertHashes),
		distinct("stream of uint64 keys, Add", hashed, 0.61, keys, stream, insertHashes),
		distinct("stream of uint64 keys, Add of a slice", hashed, 0.4, keys, streamSlice, insertHashes),
		distinct("kor/distinct, uint64 keys, Add", hashed, 0.6, keys, single, insertHashes),
		distinct("kor/distinct, uint64 keys, Add of a slice", hashed, 0.4, keys, bulk, insertHashes),
		distinct("kor/distinct, uint64 keys, Add", bytes, 0.3, keys, single, insertBytes),
		distinct("kor/distinct, uint64 keys, Add of a slice", bytes, 0.2, keys, bulk, insertBytes),
		distinct("kor/distinct, 16-byte strings, AddKey", bytes, 1, texts, singleText, insertTexts),
		distinct("kor/distinct, 16-byte strings, AddKey of a slice", bytes, 0.9, texts, bulkText, insertTexts),
	}, published(p, keys)...)
}

// counter is what both kinds of released sketches are.
type counter interface {
	Estimate() float64
	StdErr() float64
}

// begin makes a Builder, with a function that adds keys and one that releases it.
type begin[K any] = func() (add func(keys []K), release func() counter)

func filling[B interface{ Release() (R, error) }, R counter, K any](make func() (B, error), add func(b B, keys []K)) begin[K] {
	return func() (func([]K), func() counter) {
		b := cli.Must(make())
		return func(keys []K) { add(b, keys) }, func() counter { return cli.Must(b.Release()) }
	}
}

// distinct compares filling a Builder with filling a HyperLogLog sketch; both then have to know the
// number of keys.
func distinct[K any](work, peer string, target float64, keys []K, ours begin[K], insert func(s *hyperloglog.Sketch, keys []K)) comparison {
	n := float64(len(keys))
	return comparison{
		work: work, peer: peer, target: target, units: len(keys) / pieces, short: true,
		ours: shortly(keys, func() func([]K) {
			add, _ := ours()
			return add
		}),
		theirs: shortly(keys, func() func([]K) {
			sketch := hyperloglog.NewNoSparse()
			return func(keys []K) { insert(sketch, keys) }
		}),
		check: func() error {
			add, release := ours()
			add(keys)
			sketch := release()
			plain := hyperloglog.NewNoSparse()
			insert(plain, keys)
			return errors.Join(near("kor", sketch.Estimate(), n, sure*sketch.StdErr()),
				near(peer, float64(plain.Estimate()), n, sure*hllError*n))
		},
	}
}

// insertHashes inserts keys that are as good as hashed. The sketches take their 16 KiB from the
// start; the kind that grows is slower at first.
func insertHashes(sketch *hyperloglog.Sketch, keys []uint64) {
	for _, key := range keys {
		sketch.InsertHash(key)
	}
}

// insertBytes lets the sketch hash the keys, which it takes as bytes.
func insertBytes(sketch *hyperloglog.Sketch, keys []uint64) {
	var b [8]byte
	for _, key := range keys {
		binary.LittleEndian.PutUint64(b[:], key)
		sketch.Insert(b[:])
	}
}

// insertTexts does so with strings, which are copied, as what the sketch takes is a slice of bytes.
func insertTexts(sketch *hyperloglog.Sketch, keys []string) {
	var b [16]byte
	for _, key := range keys {
		sketch.Insert(b[:copy(b[:], key)])
	}
}

// published compares what is done with sketches once they are made. The two sets are half of the
// keys each, and have half of those in common.
func published(p kor.Params, keys []uint64) []comparison {
	n := len(keys)
	var sketches [2]*kor.Sketch
	var plains [2]*hyperloglog.Sketch
	for i, set := range [2][]uint64{keys[:n/2], keys[n/4:][:n/2]} {
		b := cli.Must(kor.New(p))
		b.ToggleSlice(set)
		sketches[i] = cli.Must(b.Release())
		plains[i] = hyperloglog.NewNoSparse()
		insertHashes(plains[i], set)
	}
	symmetric := func() *kor.Sketch { return cli.Must(sketches[0].SymmetricDifference(sketches[1])) }
	included := func() float64 {
		union := plains[0].Clone()
		cli.OK(union.Merge(plains[1]))
		return 2*float64(union.Estimate()) - float64(plains[0].Estimate()) - float64(plains[1].Estimate())
	}
	size := float64(n / 2) // of each set and of the difference
	return []comparison{{
		work: "size of a set, from its sketch", peer: "HyperLogLog Estimate", units: 1,
		ours: repeat(func() { sketches[0].Estimate() }), theirs: repeat(func() { plains[0].Estimate() }),
		check: func() error {
			return errors.Join(near("kor", sketches[0].Estimate(), size, sure*sketches[0].StdErr()),
				near("HyperLogLog", float64(plains[0].Estimate()), size, sure*hllError*size))
		},
	}, {
		work: "size of a symmetric difference, from two sketches", peer: "HyperLogLog, 2|A∪B|−…", units: 1,
		ours: repeat(func() { symmetric().Estimate() }), theirs: repeat(func() { included() }),
		check: func() error {
			d := symmetric()
			// The three errors of the peer are at most hllError of 2|A ∪ B| = 3·size, and of size
			// twice, added.
			return errors.Join(near("kor", d.Estimate(), size, sure*d.StdErr()), near("HyperLogLog", included(), size, sure*hllError*5*size))
		},
	}}
}
