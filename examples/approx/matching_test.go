package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/noise/approx"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// pairsOf are all pairs of n vertices.
func pairsOf(n uint64) (pairs []edge) {
	for v := range n {
		for u := range v {
			pairs = append(pairs, edge{u, v})
		}
	}
	return pairs
}

// smallGraph has the pairs of the bits that are set.
type smallGraph struct {
	pairs []edge
	bits  uint
}

func (s smallGraph) neighbours(v uint64) (list []uint64) {
	for i, e := range s.pairs {
		if s.bits>>i&1 == 1 && (e.u == v || e.v == v) {
			list = append(list, e.u+e.v-v)
		}
	}
	return list
}

// without returns the graph without the edges of a vertex.
func (s smallGraph) without(v uint64) smallGraph {
	for i, e := range s.pairs {
		if e.u == v || e.v == v {
			s.bits &^= 1 << i
		}
	}
	return s
}

// inOrder is the greedy matching by its definition.
func inOrder(s smallGraph, rank []int) (matched uint, size int) {
	order := make([]int, len(rank))
	for i, r := range rank {
		order[r] = i
	}
	for _, i := range order {
		e := s.pairs[i]
		if ends := uint(1)<<e.u | 1<<e.v; s.bits>>i&1 == 1 && matched&ends == 0 {
			matched |= ends
			size++
		}
	}
	return matched, size
}

// byDegree is an order that depends on the edges: large degrees first.
func byDegree(s smallGraph) []int {
	degree := func(v uint64) int { return len(s.neighbours(v)) }
	order := make([]int, len(s.pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := s.pairs[i], s.pairs[j]
		return cmp.Compare(degree(b.u)+degree(b.v), degree(a.u)+degree(a.v))
	})
	rank := make([]int, len(order))
	for r, i := range order {
		rank[i] = r
	}
	return rank
}

// largest returns the size of a maximum matching, by trying all.
func largest(s smallGraph, from int, used uint) (most int) {
	for i := from; i < len(s.pairs); i++ {
		e := s.pairs[i]
		if ends := uint(1)<<e.u | 1<<e.v; s.bits>>i&1 == 1 && used&ends == 0 {
			most = max(most, 1+largest(s, i+1, used|ends))
		}
	}
	return most
}

// unbounded returns an error if one vertex changes the size of the matching by anything but 0 or 1
// in a graph, the order being that which order gives for each.
func unbounded(s smallGraph, n uint64, order func(smallGraph) []int) error {
	_, size := inOrder(s, order(s))
	for v := range n {
		rest := s.without(v)
		if _, less := inOrder(rest, order(rest)); size-less < 0 || size-less > 1 {
			return fmt.Errorf("%010b has %d edges, and %d without vertex %d", s.bits, size, less, v)
		}
	}
	return nil
}

// All graphs of up to 5 vertices, with all orders up to 4 vertices and some for 5: a vertex less
// changes the greedy matching by 0 or 1, the local oracle tells its vertices, and a maximum
// matching has between once and twice as many edges. With an order that depends on the degrees it
// does not.
func TestGreedyMatchingHasNodeSensitivityOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := uint64(1); n <= 5; n++ {
		pairs := pairsOf(n)
		try := func(rank []int) {
			for bits := range uint(1) << len(pairs) {
				s := smallGraph{pairs, bits}
				cli.OK(unbounded(s, n, func(smallGraph) []int { return rank }))
				matched, size := inOrder(s, rank)
				if n < 5 || bits%8 == 5 {
					g := greedy{neighbours: s.neighbours, rank: func(e edge) uint64 { return uint64(rank[slices.Index(pairs, e)]) }}
					for v := range n {
						clitest.Not(t, g.matches(v) != (matched>>v&1 == 1), "%v %b: the oracle is wrong about %d", rank, bits, v)
					}
				}
				if m := largest(s, 0, 0); size > m || m > 2*size {
					t.Fatalf("%v %b: %d of %d", rank, bits, size, m)
				}
			}
		}
		if n < 5 {
			for rank := range permutations(len(pairs)) {
				try(rank)
			}
			continue
		}
		for range dptest.Full(30, 6) {
			try(rng.Perm(len(pairs)))
		}
	}
	flaws, jump := 0, 0
	pairs := pairsOf(7)
	for range dptest.Full(3000, 600) {
		s := smallGraph{pairs, uint(rng.Uint64N(1<<len(pairs)) & rng.Uint64N(1<<len(pairs)))}
		if unbounded(s, 7, byDegree) != nil {
			flaws++
		}
		other := s.without(0)
		other.bits |= (smallGraph{pairs, uint(rng.Uint64N(1 << len(pairs)))}).bits &^ (smallGraph{pairs, 1<<len(pairs) - 1}).without(0).bits
		_, a := inOrder(s, byDegree(s))
		_, b := inOrder(other, byDegree(other))
		jump = max(jump, a-b, b-a)
	}
	clitest.Not(t, flaws == 0 || jump < 2, "an order by degrees: %d flaws, one vertex changes up to %d edges", flaws, jump)
}

// permutations yields all of n numbers.
func permutations(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		var next func(k int) bool
		next = func(k int) bool {
			if k == n {
				return yield(slices.Clone(list))
			}
			for i := k; i < n; i++ {
				list[k], list[i] = list[i], list[k]
				if !next(k + 1) {
					return false
				}
				list[k], list[i] = list[i], list[k]
			}
			return true
		}
		next(0)
	}
}

// The whole release is ε-DP for one vertex, with the exact law of the sample: a binomial number of
// matched vertices, for every size of the matching and its neighbours, and Laplace noise of the
// scale that is used. With half the scale it is not.
func TestReleasedMatchingIsPrivate(t *testing.T) {
	const n = 8
	for _, r := range []int{20, 400, 4000} {
		for _, epsilon := range []float64{0.5, 2} {
			a := cli.Must(approx.New(approx.Params{Epsilon: epsilon, Sensitivity: 1, Error: matchingDiameter(n, r), Max: n / 2}))
			if loss := matchingLoss(n, r, scaleOf(a)); loss > epsilon {
				t.Errorf("ε = %v, r = %d: loss %v", epsilon, r, loss)
			}
			if loss := matchingLoss(n, r, scaleOf(a)/2); r == 4000 && loss < 1.3*epsilon {
				t.Errorf("ε = %v: half the noise has loss %v", epsilon, loss)
			}
		}
	}
}

// matchingLoss returns the largest logarithm of a ratio of densities of what is released, over
// matchings whose sizes differ by 1. The density at z is a mean of e^{−|z−A|/scale} apart from a
// constant, A = n/2·K/r and K binomial.
func matchingLoss(n, r int, scale float64) (loss float64) {
	densities := make([][]float64, n/2+1)
	for size := range densities {
		mass := make([]float64, r+1)
		for k := range mass {
			mass[k] = binomial(r, k, 2*float64(size)/float64(n))
		}
		for z := -2.0; z <= float64(n/2)+2; z += 0.25 {
			sum := 0.0
			for k, m := range mass {
				sum += m * math.Exp(-math.Abs(z-float64(n)/2*float64(k)/float64(r))/scale)
			}
			densities[size] = append(densities[size], sum)
		}
		if size > 0 {
			for i, x := range densities[size] {
				loss = max(loss, math.Abs(math.Log(x/densities[size-1][i])))
			}
		}
	}
	return loss
}

// binomial returns the probability of k of r.
func binomial(r, k int, p float64) float64 {
	if p == 0 || p == 1 {
		return float64(1 - min(1, max(k-int(p)*r, int(p)*r-k)))
	}
	a, _ := math.Lgamma(float64(r + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(r - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(r-k)*math.Log1p(-p))
}

// The exact answers of the graph of 100,000 agree with others: the greedy matching with its
// definition, the maximum one with what brute force finds on small graphs.
func TestMatchingOfAKnownGraph(t *testing.T) {
	graph := newImplicitGraph(exactVertices, matchingDegree)
	g := greedy{neighbours: graph.neighbours, rank: publicRank}
	var edges []edge
	degrees := 0
	for v := range uint64(exactVertices) {
		list := graph.neighbours(v)
		degrees += len(list)
		for _, w := range list {
			clitest.Not(t, v%2 == w%2 || !slices.Contains(graph.neighbours(w), v), "%d and %d", v, w)
			if v < w {
				edges = append(edges, edge{v, w})
			}
		}
	}
	if mean := float64(degrees) / exactVertices; math.Abs(mean-matchingDegree) > 0.05 {
		t.Errorf("a mean degree of %v", mean)
	}
	slices.SortFunc(edges, g.compare)
	used, size := make([]bool, exactVertices), 0
	for _, e := range edges {
		if !used[e.u] && !used[e.v] {
			used[e.u], used[e.v] = true, true
			size++
		}
	}
	for v := range uint64(exactVertices) {
		clitest.Not(t, v%10 == 3 && g.matches(v) != used[v], "the oracle is wrong about %d", v)
	}
	most := graph.maximum()
	clitest.Not(t, !(size <= most && most <= 2*size && most > size), "%d edges of %d", size, most)
	for range 200 { // small graphs, against all matchings
		n := uint64(10)
		small := newImplicitGraph(n, 1+rand.Float64())
		s := smallGraph{pairs: pairsOf(n)}
		for i, e := range s.pairs {
			if slices.Contains(small.neighbours(e.u), e.v) {
				s.bits |= 1 << i
			}
		}
		if got, want := small.maximum(), largest(s, 0, 0); got != want {
			t.Fatalf("a maximum matching of %d, not %d", got, want)
		}
	}
}

// What is released of 2⁴⁰ and of 100,000 vertices covers the truth, at a confidence of 1 − 1e-8
// each, and reads a few vertices for each of the sample.
func TestMatchingRelease(t *testing.T) {
	clitest.Seed(t)
	r := cli.Must(matching(options{epsilon: 1, confidence: 1 - 1e-8}))
	big, small, bounds := r.answers[0], r.answers[2], r.answers[3]
	for _, a := range []answer{small, bounds} {
		clitest.Not(t, !(a.lo <= a.truth && a.truth <= a.hi), "%s: %v is not in [%v, %v]", a.name, a.truth, a.lo, a.hi)
	}
	// the two graphs are alike: the large one has as many per vertex
	if share, want := big.estimate/vertices, small.truth/exactVertices; math.Abs(share-want) > 0.01 {
		t.Errorf("%v of all vertices, %v of few", share, want)
	}
}
