package threshold

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// AddUser adds the keys of one user, 1 for each time a key occurs, within the limits of the Params: see [Builder.AddUserValues].
func (b *Builder[K]) AddUser(keys ...K) {
	if b.Released() {
		return
	}
	counts := make(map[K]float64, len(keys))
	for _, key := range keys {
		counts[key]++
	}
	(*b.state).addUser(counts)
}

// AddUserValues adds the values of one user and sees to it that they stay within the limits of the Params; without that no
// guarantee about users holds. All values of a user must come in one call: a second call is a second user.
//
// The values of each key are summed, and each sum is clamped to MaxValue, and to 0 from below unless Signed. If more than MaxKeys
// keys are left, MaxKeys of them are kept, chosen uniformly by secret randomness; in the order of the choice they then get
// what is left of Sensitivity. Dropping is the user's loss in accuracy and not in privacy: keep what matters. NaN counts as 0, and keys
// outside Dim do not count. Under L1, Sensitivity alone limits.
func (b *Builder[K]) AddUserValues(values iter.Seq2[K, float64]) {
	if b.Released() || values == nil {
		return
	}
	sums := map[K]float64{}
	for key, value := range values {
		if !math.IsNaN(value) {
			sums[key] += value
		}
	}
	if !b.Released() { // by the sequence itself
		(*b.state).addUser(sums)
	}
}

// addUser adds one user's values, each key's summed.
func (s *state[K]) addUser(sums map[K]float64) {
	limit, left := s.params.perKey(), s.params.total()
	type value struct {
		key K
		x   float64
	}
	var values []value
	for key, x := range sums {
		if s.params.Integers {
			x = math.Round(x)
		}
		x = min(max(x, -limit), limit)
		if x != 0 && !math.IsNaN(x) && (x > 0 || s.params.Signed) && !s.outside(key) {
			values = append(values, value{key, x})
		}
	}
	slices.SortFunc(values, func(a, b value) int { return cmp.Compare(a.key, b.key) }) // the randomness chooses, not the map
	keep := len(values)
	if s.params.MaxKeys > 0 {
		keep = min(keep, s.params.MaxKeys)
	}
	for i := 0; i < keep && left > 0; i++ {
		j := i + int(s.src.Uint64N(uint64(len(values)-i)))
		values[i], values[j] = values[j], values[i]
		x := math.Copysign(min(math.Abs(values[i].x), left), values[i].x)
		if left -= math.Abs(x); !s.params.Integers {
			left = math.Nextafter(left, 0) // what is spent is never more than Sensitivity
		}
		s.totals.Add(values[i].key, s.steps(x))
	}
}
