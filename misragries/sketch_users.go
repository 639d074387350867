package misragries

import "github.com/dpsketch/dpsketch/hashing"

// userSketch is Algorithm 4 of the paper, PAMG, the Misra-Gries sketch of a stream of users with up
// to m ≤ k distinct keys each: all counters of a user's keys are raised by one, and then, if more
// than k are positive, all are lowered by one, once.
//
// That is the merge (see sketch.merge) with the user's sketch, c = 1 for the keys and D = 0: of the
// sums, those above 1 are of keys held before, at most k, so v, the (k+1)-th largest, is 1 if more
// than k are positive, else 0. So for N keys of users in all, c ≤ f ≤ c + D and (k+1)·D ≤ N − Σc
// (Lemmas 26 and 29). And before the merge of a user that only one side has, up to m counters are
// higher by 1 there, which is (A); so (A) or (B) holds ever after, with up to k counters that
// differ, not m (Lemma 27 and Corollary 28, and D besides).
type userSketch[K hashing.Key] struct {
	k     int
	table sketch[K] // with room for k + m counters
}

func newUserSketch[K hashing.Key](k, m int) *userSketch[K] {
	return &userSketch[K]{k, *newSketch[K](k + m)}
}

// addUser processes the keys of one user, at most m and distinct. The table has at most k before,
// so it does not decrement by itself.
//
// A decrement takes O(k + m) time, and as it takes k + 1 or more off Σc, happens at most once in k
// + 1 keys.
func (u *userSketch[K]) addUser(keys []K) {
	u.table.addSlice(keys)
	if len(u.table.entries) > u.k {
		u.table.decrement()
	}
}

// merge makes u the sketch of the users of both. other has the same k, and is only read.
func (u *userSketch[K]) merge(other *userSketch[K]) { u.table.absorb(&other.table, u.k) }

// decrements returns D.
func (u *userSketch[K]) decrements() uint64 { return u.table.decrements }

// positive returns the counters, at most k, sorted by key.
func (u *userSketch[K]) positive() []counter[K] { return u.table.positive() }
