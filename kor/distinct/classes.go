package distinct

import (
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Theorem (classes_proof.md). Let every cell be in one class, by what the keys that are placed in
// it did, and by public numbers. The numbers of cells of all classes, the empty one included, each
// with discrete Laplace noise of scale ≥ 2/ε, are ε-private when a key is added with all its
// occurrences, or removed; and they are no easier to tell apart than two responses of ε/2.
//
// The sum of all numbers is public. What is off from it, r, is noise: less r/(k+1) in each of the
// k+1 classes, the noise of the sum of j of them has j·(k+1−j)/(k+1) times the variance of one.

// classLaw returns the noise of each of several numbers of which a key moves two by one.
func (p Params) classLaw() (noise.DiscreteLaplace, error) {
	if err := p.validate(); err != nil {
		return noise.DiscreteLaplace{}, err
	}
	if p.published() {
		return noise.DiscreteLaplace{}, bad("CountShare", p.CountShare, "0 or 1 for counts without bits")
	}
	return sets.Laplace(p.Epsilon, 2)
}

// twoMoves returns the guarantee of such numbers.
func (p Params) twoMoves() budget.Guarantee {
	if _, err := p.classLaw(); err != nil {
		return budget.Guarantee{}
	}
	return budget.PureDP(p.Epsilon, unit).WithPair(budget.PureDP(p.Epsilon/2, unit).Times(2))
}

// numbers are those of the cells in each class, with noise once they are released.
type numbers []int64

// addNoise adds a draw from the law to each.
func (n numbers) addNoise(law noise.DiscreteLaplace, src *noise.Source) {
	for i := range n {
		n[i] += law.SampleInt(src)
	}
}

// unionCurve returns the curve of the number of cells in some of all classes.
func (p Params) unionCurve(some, all int) (c curve, ok bool) {
	share := float64(some) / float64(all)
	return p.classCurve(draws{some, 1 - share}, draws{all - some, share})
}

// classCurve returns the curve of a count with draws from classLaw.
func (p Params) classCurve(a, b draws) (c curve, ok bool) {
	law, err := p.classLaw()
	if err == nil {
		c = bareCurve(p)
		c.add(law, a, b)
	}
	return c, err == nil
}

// union returns the count of the cells in some of the classes.
func (p Params) union(n numbers, in func(class int) bool) *count {
	c, some, excess := &count{}, 0, -float64(p.Cells)*float64(p.Levels)
	for class, x := range n {
		excess += float64(x)
		if in(class) {
			c.ones += float64(x)
			some++
		}
	}
	c.ones -= excess * float64(some) / float64(len(n))
	c.curve, _ = p.unionCurve(some, len(n))
	return c
}
