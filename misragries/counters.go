package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// FromMisraGries returns a Builder with the counters of a Misra-Gries sketch from elsewhere: of one
// stream, with k = Counters, that adds 1 to the counter of an element that has one, else gives it a
// free counter, and if there is none lowers all k counters by 1 and frees those at zero.
//
// THE GUARANTEE HOLDS ONLY FOR COUNTERS OF THIS ALGORITHM, NOT MERGED, which nothing can check. In
// other sketches one element can empty counters of any size: filtered Space-Saving, frequent items
// of DataSketches, lossy counting, HeavyKeeper, count-min with a heap of keys, one decrement for
// each miss.
//
// The error wraps [ErrParams], also if no stream leads to such counters: more than k, one below 0
// or above 2⁶², or a key outside Dim. ε above 20, or δ above 0.01, protects hardly anybody.
func FromMisraGries[K hashing.Key](p Params, counters map[K]int64) (*Builder[K], error) {
	return fromCounters(p, counters, 0)
}

// FromSpaceSaving is [FromMisraGries] for a Space-Saving sketch of one stream with Counters + 1
// counters, NOT MERGED, which gives an element without a counter a free one, else the smallest,
// raised by 1. The smallest of k + 1 counters is subtracted from all. ε above 20, or δ above 0.01,
// protects hardly anybody.
func FromSpaceSaving[K hashing.Key](p Params, counters map[K]int64) (*Builder[K], error) {
	return fromCounters(p, counters, 1)
}

// fromCounters takes the counters of a sketch that has k + more of them, and subtracts the smallest
// if all are in use.
//
// Theorem (Agarwal et al., Mergeable Summaries, section 3). Let s be the k + 1 counters of
// Space-Saving and μ the smallest, 0 for a free one. Then c = s − μ are the counters of Misra-Gries
// with k counters, and μ is its number of decrements. Proof by induction. An element with a counter
// above μ raises s and c by 1. Any other gets a counter of μ + 1: its own, or a smallest one. If
// another counter is at μ still, then fewer than k of c were positive, μ stays, and Misra-Gries too
// gives the element a free counter, of 1. Else all k others are above μ, and the smallest is μ + 1
// now: so all k counters of c fall by 1, which is what Misra-Gries does with k counters and an
// element that has none; and the element's own is at 0. Keys at μ are not in c, so it does not
// matter which of them lost its counter. ∎
func fromCounters[K hashing.Key](p Params, counters map[K]int64, more int) (*Builder[K], error) {
	b, err := newBuilder[K](p, givenCounters)
	if err != nil {
		return nil, err
	}
	p = b.params
	if len(counters) > p.Counters+more {
		return nil, bad("counters", "too many", "at most one for each of the sketch's counters")
	}
	least, used := int64(math.MaxInt64), 0
	for key, count := range counters {
		switch {
		case count < 0 || count > sketch.Limit:
			return nil, bad("counters", "one out of range", "counts in [0, 2⁶²]")
		case p.Dim != 0 && sketch.Outside(key, p.Dim):
			// to leave it out would leave what is no sketch of any stream
			return nil, bad("counters", "one outside Dim", "keys in [0, Dim)")
		}
		if count > 0 {
			least = min(least, count)
			used++
		}
	}
	if used <= p.Counters {
		least = 0
	}
	s := private.Enter(b.secret)
	s.Sketch = *sketch.Given(p.Counters, counters, least)
	private.Leave(b.secret)
	return b, nil
}
