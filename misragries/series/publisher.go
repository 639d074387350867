package series

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise"
)

// publisher turns exact counts into what is published: all that leaves a Builder goes through it.
// The tests have another one, by which they compute the law of all releases.
type publisher[K hashing.Key] interface {
	// known publishes the count of a known key in a node of the l-th span.
	known(l int, count int64) int64
	// elements publishes the number of elements that count (i = 0) or are seen in a node of the
	// l-th span.
	elements(i, l int, count int64) int64
	// late publishes the count in a node of the j-th discovery span of a key that is known by now.
	late(j int, count int64) int64
	// show does so for a key that is not known, if the threshold is reached.
	show(j int, count int64) (published int64, shown bool)
	// sketch publishes what a sketch counted in a node of the j-th discovery span.
	sketch(j int, b *misragries.Builder[K]) (*misragries.Histogram[K], error)
}

// noisy is the publisher of every Builder that New makes.
type noisy[K hashing.Key] struct {
	law calibration
	src noise.Source
}

func (n *noisy[K]) known(_ int, count int64) int64 { return count + n.law.known.SampleInt(&n.src) }

func (n *noisy[K]) elements(i, _ int, count int64) int64 {
	return count + n.law.elements[i].SampleInt(&n.src)
}

func (n *noisy[K]) late(_ int, count int64) int64 { return count + n.law.found.SampleInt(&n.src) }

func (n *noisy[K]) show(_ int, count int64) (int64, bool) {
	x, shown := n.law.found.SampleTail(&n.src, n.law.threshold-count)
	if !shown {
		return 0, false
	}
	return count + x, true
}

func (n *noisy[K]) sketch(_ int, b *misragries.Builder[K]) (*misragries.Histogram[K], error) {
	return b.Release()
}
