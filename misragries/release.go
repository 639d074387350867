package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/threshold"
)

// Release spends the budget and returns the private histogram, by the mechanism that the Params
// name or the one that suits what the Builder holds: for one stream Algorithm 2 of the paper, see
// [Mechanism]. The Builder gives up its data; a second Release returns an error that wraps
// [ErrReleased].
func (b *Builder[K]) Release() (*Histogram[K], error) {
	s, err := private.Take(b.secret, "misragries: Release: the Builder")
	if err != nil {
		return nil, err
	}
	l, err := b.params.choose(s.input)
	if err != nil { // only of public numbers: New has seen to OneStream, Merge to Merged
		return nil, err
	}
	var src noise.Source
	h := newHistogram[K](b.params, s.input, l)
	k := b.params.Counters
	switch l.mechanism {
	case KeptZeros:
		h.counts, h.decrements = releaseShared(&src, l, s.sketch.counters(), int64(s.sketch.decrements))
	case FreedZeros:
		h.counts, h.decrements = releaseShared(&src, l, s.sketch.positive(), int64(s.sketch.decrements))
		if s.input == GivenCounters { // the number of decrements is not known
			h.decrements = 0
		}
	case SparseVector:
		h.vector, err = releaseSparse(b.params, s.input, s.sketch.positive())
	case PureUniverse, ShiftedUniverse:
		h.counts = topOfUniverse(&src, l.noise(), k, b.params.Dim, inUnits(&src, l, s.sketch.positive(), k))
	default:
		h.counts = releaseRounded(&src, l, inUnits(&src, l, s.sketch.positive(), k))
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// releaseShared adds to every counter the same η and an own L and drops what is below the
// threshold, in the order of the keys. The number of decrements moves against the counters, so it
// takes −η: keptzeros_proof.md says why that is free.
//
// The proof compares η = x on one side with x or x − 1 on the other, where each common c + η is the
// same or one of them is one apart, and D − η is the same. Saturating these sums keeps that;
// saturating c itself would not.
func releaseShared[K hashing.Key](src *noise.Source, l scheme, counters []counter[K], decrements int64) ([]counter[K], int64) {
	d := l.noise()
	eta := d.SampleInt(src)
	var released []counter[K]
	for _, c := range counters {
		y := cutSum(c.count, eta)
		if x, shown := d.SampleTail(src, l.sum.threshold-y); shown {
			released = append(released, counter[K]{c.key, y + x})
		}
	}
	return released, cutSum(decrements, -eta)
}

// cutSum returns min(count + eta, 2⁶²), count ≥ 0.
func cutSum(count, eta int64) int64 {
	if eta > limit-count {
		return limit
	}
	return count + eta
}

// releaseSparse releases the positive counters as a sparse vector.
func releaseSparse[K hashing.Key](p Params, in Input, counters []counter[K]) (*threshold.Vector[K], error) {
	q, err := p.sparse(in)
	if err != nil {
		return nil, err
	}
	b, err := threshold.NewBounded[K](q)
	if err != nil {
		return nil, err
	}
	for _, c := range counters { // below 2⁵³ a float64 is exact, and a neighbour's differs by no more than the count
		b.Add(c.key, float64(min(c.count, 1<<53)))
	}
	return b.Release()
}

// inUnits reduces the positive counters of one sketch to units, by S or, with a private shift, by S
// + N₀ + o.
func inUnits[K hashing.Key](src *noise.Source, l scheme, counters []counter[K], k int) []counter[K] {
	if !l.mechanism.shifts() {
		return reduced(counters, k)
	}
	return reducedBy(counters, k, discreteLaplace(l.sum.shift).SampleInt(src)+l.sum.offset)
}

// releaseRounded releases units by Theorem 1 or 2 of sumlaw.go, each by the kernel.
func releaseRounded[K hashing.Key](src *noise.Source, l scheme, units []counter[K]) []counter[K] {
	d := l.noise()
	beyond, err := noise.NewGeometric(l.sum.scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	kernel := l.sum.kernel()
	tail := func(least int64) (int64, bool) { return d.SampleTail(src, least) }
	small := func() int64 { return beyond.SampleInt(src) }
	var released []counter[K]
	for _, c := range units {
		if count, shown := kernel.Show(c.count, tail, small); shown {
			released = append(released, counter[K]{c.key, count})
		}
	}
	return released
}
