package main

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The size M of a maximum matching has node sensitivity 1, but the local algorithms that
// approximate it closely read far too many vertices (see main.go). So what is released is the size
// G of the greedy matching: of all pairs of vertices in an order that is public and fixed before
// any edge is known, each edge joins the matching if neither of its ends is in it yet.
//
// Theorem. Let g(H) be the size of the greedy matching of a graph H, and H − v the graph without
// the vertex v. Then g(H) − g(H − v) is 0 or 1. So g changes by at most 1 if the edges of one
// vertex change, however many, or a vertex comes or goes with its edges.
//
// Proof. Run both side by side, over all pairs in their order. Let F be the vertices of H that are
// free in its run, F′ those of H − v that are free in the other. At first F = F′ ∪ {v}. Always F
// and F′ differ in exactly one vertex, say w: a pair without w has the same fate in both runs. A
// pair {w, u} is taken in at most one, that in which w is free, and only if u is free and the pair
// an edge; then u is free in the other run alone, and w in none. Of n vertices n − |F| = 2g(H) are
// not free in the end, and n − 1 − |F′| = 2g(H − v): so g(H) − g(H − v) = (1 − |F| + |F′|)/2, which
// is 0 or 1. Two graphs that differ in the edges of v alone share H − v. ∎
//
// An order that depends on the edges, such as "large degrees first", has no such bound.
//
// A vertex is in the greedy matching or not, and half the sum of these n bits is G. So the mean of
// a sample of r, times n/2, is off by t or more with probability at most 2e^{−8rt²/n²} (Hoeffding):
// a diameter of n/√(8r·ln 2), as for the components. G ≤ M ≤ min(2G, n/2), as every edge of a
// maximum matching has an end in the greedy one.
//
// How long the search from a vertex takes depends on the graph. The guarantee does not cover who
// measures that.

// edge is a pair of vertices, u < v.
type edge struct{ u, v uint64 }

func edgeOf(a, b uint64) edge { return edge{min(a, b), max(a, b)} }

// greedy is the greedy matching of a graph of which only the vertices asked about are read. The
// order is by rank, and among equal ranks by the vertices.
type greedy struct {
	neighbours func(v uint64) []uint64
	rank       func(e edge) uint64
	reads      int // of vertices
}

// edges returns the edges of the vertices that come before the limit, in order.
func (g *greedy) edges(limit *edge, vertices ...uint64) (list []edge) {
	for _, v := range vertices {
		g.reads++
		for _, w := range g.neighbours(v) {
			if e := edgeOf(v, w); limit == nil || g.compare(e, *limit) < 0 {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, g.compare)
	return list
}

func (g *greedy) compare(a, b edge) int {
	return cmp.Or(cmp.Compare(g.rank(a), g.rank(b)), cmp.Compare(a.u, b.u), cmp.Compare(a.v, b.v))
}

// takes reports whether an edge is in the matching: no edge before it that shares an end is. Along
// the recursion ranks fall, so for ranks like random ones it ends after about as many vertices as
// one has neighbours.
func (g *greedy) takes(e edge) bool { return !slices.ContainsFunc(g.edges(&e, e.u, e.v), g.takes) }

// matches reports whether a vertex is in the matching.
func (g *greedy) matches(v uint64) bool { return slices.ContainsFunc(g.edges(nil, v), g.takes) }

// sample estimates the size of the matching in a graph of n vertices from r of them.
func (g *greedy) sample(n uint64, r int) float64 {
	var src noise.Source // the sample stays secret
	matched := 0
	for range r {
		if g.matches(src.Uint64N(n)) {
			matched++
		}
	}
	return float64(n) / 2 * float64(matched) / float64(r)
}

// matchingDiameter returns a subexponential diameter of the error of sample.
func matchingDiameter(n uint64, r int) float64 {
	return float64(n) / math.Sqrt(8*float64(r)*math.Ln2)
}

// publicRank is a hash of the edge that anybody can compute.
func publicRank(e edge) uint64 { return mix(mix(e.u) + e.v) }

// mix is a step of SplitMix64.
func mix(x uint64) uint64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// implicitGraph is bipartite, so that the exact answer for a small one is easily found: the even
// vertices on one side, the odd ones on the other. Pairing j joins 2i and 2·(a·i + b mod half) + 1
// for some primes a and b, if a hash is below the density. So degrees are at most 8.
type implicitGraph struct {
	half     uint64
	density  float64
	factors  [8]uint64
	inverses [8]uint64
}

const leastPrime = 1_000_003

// newImplicitGraph returns a graph of n vertices, n even, of the mean degree.
func newImplicitGraph(n uint64, mean float64) *implicitGraph {
	g := &implicitGraph{half: n / 2, density: mean / 8}
	modulus, a := new(big.Int).SetUint64(g.half), big.NewInt(leastPrime)
	for j := range g.factors {
		for inverse := (*big.Int)(nil); inverse == nil; a.Add(a, big.NewInt(2*leastPrime)) { // odd
			if inverse = new(big.Int).ModInverse(a, modulus); inverse != nil {
				g.factors[j], g.inverses[j] = new(big.Int).Mod(a, modulus).Uint64(), inverse.Uint64()
			}
		}
	}
	return g
}

// neighbours returns those of a vertex. Two pairings may join the same two vertices.
func (g *implicitGraph) neighbours(v uint64) (list []uint64) {
	for j := range uint64(8) {
		shift := mix(j) % g.half
		i := v / 2
		other := 2*((g.times(g.factors[j], i)+shift)%g.half) + 1
		if v%2 == 1 {
			i = g.times(g.inverses[j], (v/2+g.half-shift)%g.half)
			other = 2 * i
		}
		if float64(mix(8*i+j)>>11) < g.density*0x1p53 {
			list = append(list, other)
		}
	}
	return list
}

// times returns a·b modulo half.
func (g *implicitGraph) times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	_, rest := bits.Div64(hi, lo, g.half)
	return rest
}

const (
	matchingSample = 200_000
	exactVertices  = 100_000
	matchingDegree = 1 // on average, at most 8
)

// matching releases the size of the greedy matching of a graph of 2⁴⁰ vertices, which no algorithm
// reads, and of one of 100,000, of which the truth is known.
func matching(opts options) (*result, error) {
	r := &result{title: "Maximum matching, and the greedy one that is found locally; hidden are all edges of one vertex"}
	for _, n := range []uint64{vertices, exactVertices} {
		graph := newImplicitGraph(n, matchingDegree)
		truth := math.NaN()
		if n == exactVertices {
			truth = float64(graph.maximum())
		}
		one, bounds, err := releaseMatching(graph, n, truth, opts, r)
		if err != nil {
			return nil, err
		}
		r.answers = append(r.answers, one, bounds)
	}
	return r, nil
}

// releaseMatching returns the greedy matching, and what it tells about the maximum one.
func releaseMatching(graph *implicitGraph, n uint64, truth float64, opts options, r *result) (one, bounds answer, err error) {
	diameter := matchingDiameter(n, matchingSample)
	a, err := approx.New(approx.Params{Epsilon: opts.epsilon, Sensitivity: 1, Error: diameter, Max: float64(n) / 2, Protects: budget.Row(budget.Replace)})
	if err != nil {
		return one, bounds, err
	}
	g := greedy{neighbours: graph.neighbours, rank: publicRank}
	size := math.NaN()
	if n == exactVertices {
		size = float64(g.size(n))
		g.reads = 0
	}
	one, err = answerOf(fmt.Sprintf("greedy, %.0g", float64(n)), size, g.sample(n, matchingSample), float64(n)/2, a, opts.confidence)
	bounds = one
	bounds.name, bounds.truth, bounds.estimate, bounds.value = "maximum", truth, math.NaN(), math.NaN()
	bounds.hi = min(2*one.hi, float64(n)/2)
	r.guarantee = a.Guarantee()
	if r.method != "" {
		r.method += "\n  "
	}
	r.method += fmt.Sprintf("%d vertices: sample of %d, %.1f read for each; subexponential diameter %.3g; %v of scale %.3g",
		n, matchingSample, float64(g.reads)/matchingSample, diameter, a.Params().Noise, scaleOf(a))
	return one, bounds, err
}

// size returns the size of the whole matching.
func (g *greedy) size(n uint64) (size int) {
	for v := range n {
		if g.matches(v) {
			size++
		}
	}
	return size / 2
}

// maximum returns the size of a maximum matching, by augmenting paths from each even vertex that is
// still free, all of one length at a time (Hopcroft and Karp).
func (g *implicitGraph) maximum() (size int) {
	adjacent, partner, level := make([][]uint64, g.half), make([]int64, 2*g.half), make([]int, g.half)
	for i := range adjacent {
		adjacent[i] = g.neighbours(2 * uint64(i))
	}
	for v := range partner {
		partner[v] = -1
	}
	var augment func(i uint64) bool
	augment = func(i uint64) bool {
		for len(adjacent[i]) > 0 { // what fails once fails until the next phase
			w := adjacent[i][0]
			next := partner[w]
			if next < 0 || level[next/2] == level[i]+1 && augment(uint64(next/2)) {
				partner[2*i], partner[w] = int64(w), int64(2*i)
				return true
			}
			adjacent[i] = adjacent[i][1:]
		}
		return false
	}
	for {
		var queue []uint64
		for i := range level {
			level[i] = -1
			adjacent[i] = g.neighbours(2 * uint64(i))
			if partner[2*i] < 0 {
				level[i] = 0
				queue = append(queue, uint64(i))
			}
		}
		for ; len(queue) > 0; queue = queue[1:] {
			for _, w := range adjacent[queue[0]] {
				if next := partner[w]; next >= 0 && level[next/2] < 0 {
					level[next/2] = level[queue[0]] + 1
					queue = append(queue, uint64(next/2))
				}
			}
		}
		found := 0
		for i := range level {
			if partner[2*i] < 0 && augment(uint64(i)) {
				found++
			}
		}
		if found == 0 {
			return size
		}
		size += found
	}
}
