package dptest

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// minExpected is the least expected count of a cell after pooling.
const minExpected = 10

// cell is one cell of a χ² test after pooling.
type cell struct{ observed, expected float64 }

// ChiSquarePValue tests observed counts against probabilities. expected[i] is the probability of
// cell i and the probabilities sum to at most 1; the remainder is one more cell, whose count is the
// last entry of observed if that is one longer than expected, else 0. Adjacent cells are pooled
// until each is expected at least 10 times, so the cells should stand in their natural order.
//
// The p-value is the greater of Pearson's X² and the likelihood ratio G, both referred to χ² with
// (cells − 1) degrees of freedom. X² is right in the bulk, yet rejects too often far out when a
// cell is expected 10 times: a Poisson(10) cell exceeds its 1e-6 point 18 times too often. There G,
// a large-deviation exponent, is right. Taking the greater keeps the rejection rate at 1e-6 below
// 1e-6 (the tests compute it exactly).
//
// A cell of probability 0 that was observed gives 0. NaN is returned for negative counts or
// probabilities, a sum above 1 (beyond rounding), wrong lengths, and if pooling leaves one cell.
func ChiSquarePValue(observed []int64, expected []float64) float64 {
	if len(observed) != len(expected) && len(observed) != len(expected)+1 {
		return math.NaN()
	}
	var n, sum float64
	for _, o := range observed {
		if o < 0 {
			return math.NaN()
		}
		n += float64(o)
	}
	cells := make([]cell, 0, len(expected)+1)
	impossible := false
	for i, p := range expected {
		if !(p >= 0) {
			return math.NaN()
		}
		sum += p
		impossible = impossible || p == 0 && observed[i] > 0
		cells = append(cells, cell{float64(observed[i]), n * p})
	}
	if sum > 1+1e-9 {
		return math.NaN()
	}
	rest := cell{0, n * max(1-sum, 0)}
	if len(observed) > len(expected) {
		rest.observed = float64(observed[len(expected)])
		impossible = impossible || rest.expected == 0 && rest.observed > 0
	}
	cells = pool(append(cells, rest), func(c cell) float64 { return c.expected }, cell.add)
	switch {
	case len(cells) < 2:
		return math.NaN()
	case impossible:
		return 0
	}
	return statisticsPValue(cells, len(cells)-1)
}

// ChiSquare fails the test if the counts differ from the probabilities; see [ChiSquarePValue].
func ChiSquare(t testing.TB, name string, observed []int64, expected []float64, falseReject float64) {
	t.Helper()
	reject(t, name+": χ² goodness of fit", ChiSquarePValue(observed, expected), falseReject)
}

// HomogeneityPValue tests whether two rows of counts over the same cells come from one law,
// whatever it is: the outputs at x = 0 against those at x = 1, say. Adjacent cells are pooled until
// each is expected 10 times in both rows. The p-value is made as in [ChiSquarePValue], with (cells
// − 1) degrees of freedom. NaN is returned for rows of unequal length, negative counts, an empty
// row, and if pooling leaves one cell.
func HomogeneityPValue(a, b []int64) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	var nA, nB float64
	pairs := make([]pair, len(a))
	for i := range a {
		if a[i] < 0 || b[i] < 0 {
			return math.NaN()
		}
		pairs[i] = pair{float64(a[i]), float64(b[i])}
		nA, nB = nA+pairs[i].a, nB+pairs[i].b
	}
	if nA == 0 || nB == 0 {
		return math.NaN()
	}
	less := min(nA, nB) / (nA + nB)
	pairs = pool(pairs, func(p pair) float64 { return (p.a + p.b) * less }, pair.add)
	if len(pairs) < 2 {
		return math.NaN()
	}
	var cells []cell
	for _, p := range pairs {
		total := p.a + p.b
		cells = append(cells, cell{p.a, total * nA / (nA + nB)}, cell{p.b, total * nB / (nA + nB)})
	}
	return statisticsPValue(cells, len(pairs)-1)
}

// Homogeneity fails the test if two rows of counts come from different laws; see
// [HomogeneityPValue].
func Homogeneity(t testing.TB, name string, a, b []int64, falseReject float64) {
	t.Helper()
	reject(t, name+": χ² homogeneity", HomogeneityPValue(a, b), falseReject)
}

// pair is one column of a table with two rows.
type pair struct{ a, b float64 }

func (p pair) add(q pair) pair { return pair{p.a + q.a, p.b + q.b} }
func (c cell) add(d cell) cell { return cell{c.observed + d.observed, c.expected + d.expected} }

// pool joins adjacent cells from the left until each weighs minExpected; a light remainder joins
// the last.
func pool[C any](cells []C, weight func(C) float64, add func(C, C) C) []C {
	var pooled []C
	var open C
	for _, c := range cells {
		if open = add(open, c); weight(open) >= minExpected {
			pooled = append(pooled, open)
			var empty C
			open = empty
		}
	}
	if len(pooled) > 0 {
		pooled[len(pooled)-1] = add(pooled[len(pooled)-1], open)
	}
	return pooled
}

// statisticsPValue returns the greater of the p-values of X² and G.
func statisticsPValue(cells []cell, freedom int) float64 {
	var x2, g float64
	for _, c := range cells {
		d := c.observed - c.expected
		x2 += d * d / c.expected
		if c.observed > 0 {
			g += 2 * (c.observed*math.Log(c.observed/c.expected) - d)
		} else {
			g += 2 * c.expected
		}
	}
	return mathext.GammaIncRegComp(float64(freedom)/2, min(x2, max(g, 0))/2)
}

// reject fails the test if p is below falseReject or NaN.
func reject(t testing.TB, name string, p, falseReject float64) {
	t.Helper()
	Alarm(t, falseReject)
	switch {
	case math.IsNaN(p):
		t.Errorf("%s: the check is not possible with this data", name)
	case p < falseReject:
		t.Errorf("%s: p-value %.3g, below the false-reject probability %.3g", name, p, falseReject)
	}
}
