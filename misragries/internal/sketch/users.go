package sketch

// AddUser processes the keys of one user, at most m and distinct, as Algorithm 4 of the paper
// (PAMG): all counters of a user's keys are raised by one, and then, if more than k are positive,
// all are lowered by one, once. The sketch has k + m counters, of which at most k are positive
// before, so it does not decrement by itself.
//
// That is the merge (see Merge) with the user's sketch, c = 1 for the keys and D = 0: of the sums,
// those above 1 are of keys held before, at most k, so v, the (k+1)-th largest, is 1 if more than k
// are positive, else 0. So for N keys of users in all, c ≤ f ≤ c + D and (k+1)·D ≤ N − Σc (Lemmas
// 26 and 29). And before the merge of a user that only one side has, up to m counters are higher by
// 1 there, which is (A); so (A) or (B) holds ever after, with up to k counters that differ, not m
// (Lemma 27 and Corollary 28, and D besides).
//
// A decrement takes O(k + m) time, and as it takes k + 1 or more off Σc, happens at most once in k
// + 1 keys.
func (s *Sketch[K]) AddUser(keys []K, k int) {
	s.AddSlice(keys)
	if len(s.entries) > k {
		s.decrement()
	}
}
