package misragries

import "github.com/dpsketch/dpsketch/internal/private"

// AddN counts n elements of the key at once: the bytes of a packet, the amount of a sale, in a unit
// of the caller's choice. It does what n times [Builder.Add] does, whatever n is: in O(1) time
// where the key has a counter, and else in O(log k), amortised. A constant is not to be had by
// comparing counters: k new keys of any weights and then k more of large ones take the first k out
// in the order of their weights, which sorts them.
//
// The guarantee is that of MaxElements = m, so one event is protected that adds up to m by one
// call: noise and threshold are about m times those of one element, ε/m being spent on each. What n
// has above m is cut off, as the guarantee would not hold for it; so with MaxElements 0, which is
// 1, it counts one element. Nothing is counted where n is 0 or negative.
//
// At 2⁶² and a half of that, a counter together with all decrements so far, elements count no more:
// that takes 2⁴¹ calls at the largest weight, or counters from elsewhere that are near it.
//
// The mechanism ReducedSum, that of every [Sum], suits large m: its threshold is that
// of one element times m, where KeptZeros pays for a factor of about m in δ. At ε = 1, δ = 1e-6, k
// = 1024 it is 15.6·m for all m, and 19.8·m or 24.2·m by KeptZeros for m = 20 or 1500. Auto takes
// KeptZeros for a Builder all the same: ReducedSum first takes 1/(k+1) of the sum of all counters
// off each, which is more than those 4·m or 9·m unless the counters hold fewer than 4 or 9 events
// of the largest weight on average. [Params.Candidates] has both.
func (b *Builder[K]) AddN(key K, n int) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	if n = min(n, b.params.most()); n > 0 && (s.dim == 0 || !outside(key, s.dim)) {
		s.sketch.addN(key, uint64(n))
	}
	private.Leave(b.secret)
}
