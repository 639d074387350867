package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// augmented is the matching after k rounds, locally (Nguyen and Onak, Tětek's section 5.4): round i
// takes a maximal set of disjoint augmenting paths of 2i − 1 edges, greedily in an order of random
// ranks, so that after it no path of that length is left and the matching has at least i/(i+1) of
// the most edges: ρ = 1/k. The first round is the greedy matching.
type augmented struct {
	neighbours func(v uint64) []uint64
	known      map[string]bool // answers to this query
	seen       map[uint64]bool // vertices read for it
	limit      int             // of them; beyond, answers mean nothing
}

func (a *augmented) read(v uint64) []uint64 {
	a.seen[v] = true
	if len(a.seen) > a.limit {
		return nil
	}
	return a.neighbours(v)
}

// remember returns what was computed for the arguments.
func (a *augmented) remember(what byte, k int, path []uint64, compute func() bool) bool {
	key := string([]byte{what, byte(k)})
	for _, v := range path {
		key += string([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32)})
	}
	answer, ok := a.known[key]
	if !ok {
		answer = compute()
		a.known[key] = answer
	}
	return answer
}

// has reports whether an edge is in the matching after k rounds: a path of the last round through
// it changes whether it was before.
func (a *augmented) has(k int, e edge) bool {
	return k > 0 && a.remember('e', k, []uint64{e.u, e.v}, func() bool {
		before := a.has(k-1, e)
		return before != slices.ContainsFunc(a.paths(k, e.u), func(path []uint64) bool {
			for i, v := range path[1:] {
				if edgeOf(path[i], v) == e {
					return a.takes(k, path)
				}
			}
			return false
		})
	})
}

// matches reports whether a vertex is in the matching after k rounds.
func (a *augmented) matches(k int, v uint64) bool {
	return k > 0 && a.remember('v', k, []uint64{v}, func() bool {
		return a.matches(k-1, v) || slices.ContainsFunc(a.paths(k, v), func(path []uint64) bool { return a.takes(k, path) })
	})
}

// takes reports whether a path is one of round k: no path of a lower rank that meets it is.
func (a *augmented) takes(k int, path []uint64) bool {
	return a.remember('p', k, path, func() bool {
		var lower [][]uint64
		for _, v := range path {
			for _, other := range a.paths(k, v) {
				if before(other, path) {
					lower = append(lower, other)
				}
			}
		}
		slices.SortFunc(lower, func(x, y []uint64) int {
			if before(x, y) {
				return -1
			}
			return 1
		})
		return !slices.ContainsFunc(lower, func(other []uint64) bool { return a.takes(k, other) })
	})
}

// before is the order of the paths.
func before(x, y []uint64) bool {
	rank := func(path []uint64) (r uint64) {
		for _, v := range path {
			r = mix(r + v)
		}
		return r
	}
	if a, b := rank(x), rank(y); a != b {
		return a < b
	}
	return slices.Compare(x, y) < 0
}

// paths returns the augmenting paths of 2k − 1 edges that have the vertex, each from its lesser
// end: simple paths whose ends are free after k − 1 rounds, and whose edges are in that matching in
// turn, the first one not.
func (a *augmented) paths(k int, v uint64) (list [][]uint64) {
	for at := range 2 * k { // where v is
		var grow func(path []uint64, left int)
		grow = func(path []uint64, left int) { // first to the left end, then to the right one
			if len(a.seen) > a.limit {
				return
			}
			if left == 0 && len(path) == 2*k {
				if path[0] < path[2*k-1] {
					list = append(list, path)
				}
				return
			}
			from, index := path[len(path)-1], len(path)-1
			if left > 0 {
				from, index = path[0], left
			}
			for _, w := range a.read(from) {
				edgeIndex, place := index, index+1
				if left > 0 {
					edgeIndex, place = index-1, index-1
				}
				if slices.Contains(path, w) || a.has(k-1, edgeOf(from, w)) != (edgeIndex%2 == 1) || (place == 0 || place == 2*k-1) && a.matches(k-1, w) {
					continue
				}
				if left > 0 {
					grow(append([]uint64{w}, path...), left-1)
				} else {
					grow(append(slices.Clone(path), w), 0)
				}
			}
		}
		if (at == 0 || at == 2*k-1) && a.matches(k-1, v) {
			continue
		}
		grow([]uint64{v}, at)
	}
	return list
}

// ask returns whether a vertex is matched after k rounds and how many vertices were read.
func (a *augmented) ask(k int, v uint64) (matched bool, reads int) {
	a.known, a.seen = map[string]bool{}, map[uint64]bool{}
	matched = a.matches(k, v)
	return matched, len(a.seen)
}

// On small graphs the oracle's answers are those of a matching of at least k/(k+1) of the most
// edges.
func TestAugmentedMatchings(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pairs := pairsOf(8)
	for range 60 {
		s := smallGraph{pairs, uint(rng.Uint64N(1<<len(pairs)) & rng.Uint64N(1<<len(pairs)))}
		a := augmented{neighbours: s.neighbours, limit: 1 << 20, known: map[string]bool{}, seen: map[uint64]bool{}}
		most := largest(s, 0, 0)
		for k := 1; k <= 3; k++ {
			size, ends := 0, map[uint64]int{}
			for _, e := range pairs {
				if s.has(e) && a.has(k, e) {
					size++
					ends[e.u]++
					ends[e.v]++
				}
			}
			for v := range uint64(8) {
				if matched, _ := a.ask(k, v); ends[v] > 1 || matched != (ends[v] == 1) {
					t.Fatalf("%b, round %d: vertex %d has %d edges", s.bits, k, v, ends[v])
				}
			}
			if size*(k+1) < most*k {
				t.Fatalf("%b, round %d: %d edges of %d", s.bits, k, size, most)
			}
		}
	}
}

// What one answer costs, in vertices read, of the implicit graph: the table in main.go. -long goes
// on to where the first answer reads more than 100,000 vertices, and has the figures of the table.
func TestCostOfAugmentingPaths(t *testing.T) {
	limit, queries, rounds := 1_000, 100, 2
	if dptest.Long() {
		limit, queries, rounds = 100_000, 200, 8
	}
	for _, degree := range []float64{1, 2, 3, 4, 6} {
		graph := newImplicitGraph(vertices, degree)
		means := []float64{0}
		for k := 1; k <= rounds; k++ {
			a := augmented{neighbours: graph.neighbours, limit: limit}
			sum, most, beyond, rng := 0, 0, 0, rand.New(rand.NewPCG(1, 2))
			for range queries {
				_, reads := a.ask(k, rng.Uint64N(vertices))
				sum += reads
				most = max(most, reads)
				if reads > limit {
					beyond++
				}
			}
			means = append(means, float64(sum)/float64(queries))
			t.Logf("mean degree %v, ρ = 1/%d: %.0f vertices read on average, %d at most; %d of %d beyond %d", degree, k, means[k], most, beyond, queries, limit)
			if beyond > 0 {
				break
			}
		}
		if degree == 4 && !(means[1] < 12 && means[2] > 3*means[1]) {
			t.Errorf("%v: the second round costs no more than the greedy one", means)
		}
	}
}
