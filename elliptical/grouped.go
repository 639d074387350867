package elliptical

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/keytable"
)

// Which coordinates share a radius. A group of m coordinates with sensitivities aᵢ that spends ε_j
// has the error G/ε_jᵖ, G = Γ(m+1+p)/(Γ(m+1)·(p+1))·Σ aᵢᵖ, by the K-norm mechanism of its box. For
// groups with Σ ε_j = ε the error Σ G_j/ε_jᵖ is least at ε_j ∝ G_j^{1/(p+1)}, by Hölder's
// inequality, and is (Σ G_j^{1/(p+1)})^{p+1}/εᵖ then.
//
// Theorem. Some grouping with the least error consists of intervals of the sorted sensitivities.
// Proof. Take two of the groups. With their sizes and the sum T of all their aᵢᵖ fixed, the error
// depends on S, the sum of the first, alone, and increases with (c₁S)^{1/(p+1)} +
// (c₂(T−S))^{1/(p+1)}, which is concave in S. So it is least where S is least or most, where one of
// the two has all the largest: exchanging them so never makes it worse, and ends with intervals. ∎
//
// So a shortest path through the places where the sorted list may be cut finds the best grouping,
// in time quadratic in their number. These are the first 128 places, and behind them every place
// that is 1/64 further than the one before, so that a group's size can be within 1/64 of the best.
// A group of one has Laplace noise, so the result is never worse than the best independent Laplace
// noise, except for what the missing places cost.

// share is a group and its part of ε.
type share struct {
	portions []portion
	share    float64
}

// grouped returns the groups that have the least mean squared error, for classes with the
// given numbers of coordinates, and weights that stand for sensitivities. No share is below least,
// and the shares add up to less than 1. Of equal weights the first classes, and of a class the
// first coordinates, come first.
func grouped(weights []float64, many []int, least float64) []share {
	order := descending(weights)
	// of the classes in this order: the squares of the weights, in units of the largest, the places
	// where they end, and Σ over the places from there on
	squares, ends, rest := make([]float64, len(order)), make([]int, len(order)), make([]float64, len(order))
	d := 0
	for k, i := range order {
		x := weights[i] / weights[order[0]]
		squares[k] = max(x*x, 1e-280)
		d += many[i]
		ends[k] = d
	}
	for k := len(order) - 2; k >= 0; k-- {
		rest[k] = rest[k+1] + float64(many[order[k+1]])*squares[k+1]
	}
	cuts, sums, class := []int{0}, []float64{rest[0] + float64(ends[0])*squares[0]}, 0
	for at := 0; at < d; {
		at = min(at+1+max(at-128, 0)/64, d)
		for ends[class] < at {
			class++
		}
		cuts = append(cuts, at)
		sums = append(sums, rest[class]+float64(ends[class]-at)*squares[class])
	}
	root := func(i, j int) float64 { // G^{1/3} of the places between two cuts
		m, sum := float64(cuts[j]-cuts[i]), sums[i]-sums[j]
		return math.Cbrt((m + 1) * (m + 2) / 3 * sum)
	}
	total, from := make([]float64, len(cuts)), make([]int, len(cuts))
	for j := 1; j < len(cuts); j++ {
		total[j] = math.Inf(1)
		for i := range j {
			if sum := total[i] + root(i, j); sum < total[j] {
				total[j], from[j] = sum, i
			}
		}
	}
	var groups []share
	sum, all := 0.0, total[len(cuts)-1]
	for j := len(cuts) - 1; j > 0; j = from[j] {
		s := max(root(from[j], j)/all, least)
		groups = append(groups, share{portionsOf(order, ends, cuts[from[j]], cuts[j]), s})
		sum += s
	}
	slices.Reverse(groups)
	for i := range groups {
		// the sum and the quotients are off by 2⁻⁴² in at most 2¹⁰ groups
		groups[i].share /= sum * (1 + 0x1p-40)
	}
	return groups
}

// portionsOf returns what the places from ≤ k < to hold of the classes, which end at the given
// places.
func portionsOf(order, ends []int, from, to int) (portions []portion) {
	k, _ := slices.BinarySearch(ends, from+1)
	last, _ := slices.BinarySearch(ends, to)
	portions = make([]portion, 0, last-k+1)
	for ; from < to; k++ {
		end := min(ends[k], to)
		portions = append(portions, portion{order[k], end - from})
		from = end
	}
	return portions
}

// descending returns the places of numbers ≥ 0 from the largest on, those of equal numbers in
// ascending order. The bits of such numbers are in the order of the numbers.
func descending(numbers []float64) []int {
	n := len(numbers)
	items, order := make([]keytable.Entry[uint64], 2*n), make([]int, n)
	for i, x := range numbers {
		items[i] = keytable.Entry[uint64]{Key: ^math.Float64bits(x), Steps: int64(i)}
	}
	keytable.Sort(items[:n], items[n:])
	for i := range order {
		order[i] = int(items[i].Steps)
	}
	return order
}
