package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// counter is a key and its count.
type counter[K hashing.Key] = sketch.Counter[K]

// reference is what Algorithm 1 holds, by its tests in package sketch.
type reference[K hashing.Key] struct {
	counts     map[K]int64
	decrements int64
	list       []counter[K]
}

// run feeds a stream to a sketch of k counters.
func run[K hashing.Key](k int, stream []K) *reference[K] {
	s := sketch.New[K](k)
	s.AddSlice(stream)
	r := &reference[K]{map[K]int64{}, s.Decrements(), s.Counters()}
	for _, c := range r.list {
		r.counts[c.Key] = c.Count
	}
	return r
}
