package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// graph is a graph as lists of neighbours.
type graph [][]int32

// newRandomGraph returns a graph of n vertices and m random edges, always the same.
func newRandomGraph(n, m int) graph {
	rng := rand.New(rand.NewPCG(5, 3))
	g := make(graph, n)
	for range m {
		u, v := rng.IntN(n), rng.IntN(n)
		g[u], g[v] = append(g[u], int32(v)), append(g[v], int32(u))
	}
	return g
}

// sizeUpTo returns the size of the component of v if it is at most limit, else 0, and reads no more
// than limit vertices.
func (g graph) sizeUpTo(v int32, limit int) int {
	seen := map[int32]bool{v: true}
	queue := []int32{v}
	for len(queue) > 0 {
		v, queue = queue[0], queue[1:]
		for _, u := range g[v] {
			if !seen[u] {
				seen[u] = true
				queue = append(queue, u)
			}
		}
		if len(seen) > limit {
			return 0
		}
	}
	return len(seen)
}

// count returns the number of components, reading all: each vertex is one part in its component's
// size.
func (g graph) count() float64 {
	sum := 0.0
	for v := range g {
		sum += 1 / float64(g.sizeUpTo(int32(v), len(g)))
	}
	return math.Round(sum)
}

const (
	componentSample = 40_000
	largeComponent  = 500
)

// components releases the number of components: the sum over all vertices of 1/(size of the
// component), of which a sample is taken (section 5.3). Components larger than largeComponent count
// as none.
//
// An edge changes the number by 1 at most. The terms of the sample of r lie in [0, 1], so by
// Hoeffding's inequality the deviation from the mean is t or more with probability at most
// 2e^{−2rt²/n²}: a diameter of n/√(2r·ln 2), as for the ranks. At most n/largeComponent components
// are not counted, a bias which adds that over ln 2 to the diameter (Tětek, Fact 5).
func components(g graph, opts options) (*result, error) {
	n := float64(len(g))
	diameter := n/math.Sqrt(2*componentSample*math.Ln2) + n/largeComponent/math.Ln2
	a, err := approx.New(approx.Params{Epsilon: opts.epsilon, Sensitivity: 1, Error: diameter, Max: n, Protects: budget.Row(budget.AddRemove)})
	if err != nil {
		return nil, err
	}
	var src noise.Source // the sample stays secret
	sum := 0.0
	for range componentSample {
		if size := g.sizeUpTo(int32(src.Uint64N(uint64(len(g)))), largeComponent); size > 0 {
			sum += 1 / float64(size)
		}
	}
	one, err := answerOf("components", g.count(), sum/componentSample*n, n, a, opts.confidence)
	return &result{
		title: fmt.Sprintf("Connected components of a graph of %d vertices; hidden is one edge; the error is in vertices", len(g)),
		method: fmt.Sprintf("Sample of %d vertices, search up to %d; subexponential diameter %.3g; %v of scale %.3g", componentSample, largeComponent, diameter,
			a.Params().Noise, scaleOf(a)),
		guarantee: a.Guarantee(),
		answers:   []answer{one},
	}, err
}
