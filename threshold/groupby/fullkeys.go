package groupby

import (
	"math"
)

// This file chooses C² = FullKeys from the users' numbers of keys, before any value is looked at,
// by steps whose noise is in proportion to that of the counts which they decide about.
// fullkeys_proof.md has the proof that their budget, at most a quarter of what the counts have, is
// all that is spent; counts and values pay for it in proportion.

// Where the choice ends, and what it takes for the loss of a large key: the part of what clipping
// takes from all users together.
const (
	lossPart = 0.3
	stopAt   = 4
)

// clip is one of the choices of FullKeys.
type clip struct {
	full   int     // C²
	pure   bool    // noise is without δ, and bounded in ℓ₁
	mix    int64   // a count is (rests + mix·weights)/fine
	length float64 // of a user's rests: the largest ℓ₂ norm, in units of S
	values float64 // of what a user moves the sums of values by: likewise
}

// counts are what counts and sums of values are released with, in units of S.
type counts struct {
	clips []clip  // what FullKeys can be, from the largest down; none with KeysOnly
	sigma float64 // σ, in users
	share float64 // of 1/σ² for the counts, as far as they are no weights
	// of 1/σ² for the sums of values
	valueShare float64
}

// clipping is how the users of a state are clipped.
type clipping struct {
	counts
	shorts []int64 // what each clip has cost a key at most, summed over users
	losses []int64 // of one user, for reuse: by each clip
	chosen choice  // which clip counts have, once it is chosen
}

// choice is which of the clips counts have, and for how many of them the loss was asked.
type choice struct{ clip, asked int }

// root returns C.
func (c clip) root() float64 { return math.Sqrt(float64(c.full)) }

// question returns the standard deviation, in users, of what is asked about clip j: 5/√(3f) times
// that of what it would leave to be released, σ·C, at a share f.
func (c *counts) question(j int) float64 {
	const up = 1 + 0x1p-40
	return 5 / math.Sqrt(3*c.share) * c.clips[j].root() * c.sigma * up
}

// spent returns an upper bound on the share of 1/σ² that the questions asked take, at most .24·f
// for all.
func (c *counts) spent(asked int) (share float64) {
	const up = 1 + 0x1p-40
	for j := range asked {
		x := c.sigma / c.question(j)
		share += x * x * up
	}
	return share
}

// left returns a lower bound on the part of the share of counts and values that the questions asked
// leave.
func (c *counts) left(asked int) float64 {
	if asked == 0 {
		return 1
	}
	return (1 - c.spent(asked)/(c.share+c.valueShare)) * (1 - 0x1p-50)
}

// value returns the standard deviation of a sum of values in steps, or with Values that of one
// which a user moves by 1, by what is left of their share.
func (c *counts) value(at choice) float64 {
	const up = 1 + 0x1p-40
	if c.valueShare == 0 {
		return 0
	}
	return c.sigma * c.clips[at.clip].values / math.Sqrt(c.valueShare*c.left(at.asked)) * up * unit
}

// rest returns the standard deviation of the rests in 1/fine of a step, by what is left of their
// share.
func (c *counts) rest(at choice) float64 {
	const up = 1 + 0x1p-40
	if len(c.clips) == 0 || c.clips[at.clip].length == 0 {
		return 0
	}
	left := c.share * c.left(at.asked) / up
	return c.sigma * c.clips[at.clip].length / math.Sqrt(left) * up * fine * unit
}

// stops reports whether smaller clips lose more than they are worth, where clip j loses y.
func (c *counts) stops(j int, y float64) bool {
	return lossPart*y > stopAt*c.clips[j].root()*c.sigma/math.Sqrt(c.share)
}

// best returns the clip with the least error, of those that were asked about: of its noise and of
// what it loses in a large key. A smaller clip loses more, so the answers are made to ascend, by
// means with weights 1/variance (pool adjacent violators).
func (c *counts) best(losses []float64) (best int) {
	type pool struct {
		sum, weight float64
		n           int
	}
	mean := func(p pool) float64 { return p.sum / p.weight }
	var pools []pool
	for j, y := range losses {
		w := 1 / float64(c.clips[j].full)
		pools = append(pools, pool{w * y, w, 1})
		for last := len(pools) - 1; last > 0 && mean(pools[last-1]) > mean(pools[last]); last-- {
			a, b := pools[last-1], pools[last]
			pools = append(pools[:last-1], pool{a.sum + b.sum, a.weight + b.weight, a.n + b.n})
		}
	}
	least, j := math.Inf(1), 0
	for _, p := range pools {
		for range p.n {
			loss := lossPart * max(mean(p), 0)
			if error := math.Hypot(c.clips[j].root()*c.sigma/math.Sqrt(c.share), loss); error < least {
				best, least = j, error
			}
			j++
		}
	}
	return best
}

// choose asks from the largest clip down what each loses, until that is too much.
func (s *clipping) choose(noise func(sd float64) func() int64) (at choice) {
	if len(s.clips) < 2 {
		return at
	}
	var losses []float64
	for j, loss := range s.shorts {
		y := float64(loss+noise(s.question(j)*unit)()) / unit
		if losses = append(losses, y); s.stops(j, y) {
			break
		}
	}
	return choice{s.best(losses), len(losses)}
}

// possible reports whether it can be a choice.
func (c *counts) possible(at choice) bool {
	if len(c.clips) < 2 {
		return at == choice{}
	}
	return at.clip >= 0 && at.clip < at.asked && at.asked <= len(c.clips)
}

// noisiest returns the choice that leaves counts and values with the most noise.
func (c *counts) noisiest() choice {
	if len(c.clips) < 2 {
		return choice{}
	}
	return choice{0, len(c.clips)}
}

// clip returns the clip that was chosen.
func (s *clipping) clip() clip { return s.clips[s.chosen.clip] }

// lose adds what so many users with k keys each lose by each clip, fewer than 2³², all of the keys
// that do not count, and returns what one of them loses in a key that does.
func (s *clipping) lose(users int64, k int, all bool) (losses []int64) {
	for j, c := range s.clips {
		s.losses[j] = unit - c.counts(k)
		short := s.losses[j]
		if all {
			short = unit
		}
		s.shorts[j] = sum(s.shorts[j], users*short)
	}
	return s.losses
}

// counts returns x: what a user counts in each of his l keys.
func (c clip) counts(l int) int64 {
	if c.pure {
		return min(unit, int64(c.full)*unit/int64(l))
	}
	return clipped(l, c.full)
}

// fine is how many steps of a rest are one of a weight.
const fine = 16

// mostSum is beyond what users of a key give: 2³³ of them.
const mostSum = 1 << 53

// rest returns what is released of a count in addition to the weights of a key: fine·count −
// mix·weight. A user who gives the weight w and the count x to each of his keys adds fine·x − mix·w
// to it. Without that difference he would add up to C times as much as his weights do; with it,
// half of that.
func rest(count, weight, mix int64) int64 {
	return fine*min(count, mostSum) - mix*min(weight, mostSum)
}
