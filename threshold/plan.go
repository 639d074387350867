package threshold

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/sparse"
)

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params Params // filled in, with the Method that is used
	// Threshold is the least value that is released, in the units of the data: the
	// least absolute value if Signed, −Inf for DenseLaplace.
	Threshold float64
	// StdDev is the standard deviation of the noise of one released value, in
	// the units of the data.
	StdDev float64
	// Bytes is the length of the encoding if no key is released. Each integer
	// key adds 16.
	Bytes int
	// Candidates are all mechanisms with what each would need here. First come the
	// possible ones by increasing threshold: Auto takes the first. Then come those
	// that it takes only if there is no other: LinearRounding if its guarantee has
	// a condition, PureLaplace and DenseLaplace if δ > 0. Impossible ones are
	// last.
	Candidates []Candidate

	law sparse.Law
}

// Plan calibrates all mechanisms, and caches that. It takes some 3 ms, most of it for
// CorrelatedGaussian (up to 0.1 s if ε is far from 1 or δ above 1e-3, and 0.15 s for Gaussian if
// MaxKeys is above 10⁶ as well). The error wraps [ErrParams], also where the Method is not
// possible.
func (p Params) Plan() (Plan, error) {
	q := p.inner()
	law, err := q.Law()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Params: outer(law.Params().Defaults()), Threshold: law.Threshold(), StdDev: law.StdDev(), Bytes: sparse.FixedSize, law: law}
	for m := ExponentialRounding; m <= DenseLaplace; m++ {
		l, reason := q.Possible(sparse.Method(m))
		plan.Candidates = append(plan.Candidates, Candidate{m, l.Threshold(), l.StdDev(), reason})
	}
	rank := func(c Candidate) float64 {
		switch {
		case c.Reason != "":
			return math.Inf(1)
		case !q.Chooses(sparse.Method(c.Method)):
			return math.MaxFloat64
		}
		return c.Threshold
	}
	slices.SortStableFunc(plan.Candidates, func(a, b Candidate) int { return cmp.Compare(rank(a), rank(b)) })
	return plan, nil
}

// String says what the release will be, in one line.
func (p Plan) String() string {
	return fmt.Sprintf("%v, values from %.4g on, noise of a value %.4g", p.Params.Method, p.Threshold, p.StdDev)
}

// ErrorBound returns a bound on |estimate − value| that holds with the given confidence for all
// keys at once, if at most stored keys have a value: a hidden key is off by at most the threshold
// and its noise, a released one by its noise. NaN if an argument is invalid, and for the zero Plan.
func (p Plan) ErrorBound(stored int, confidence float64) float64 {
	return p.law.ErrorBound(stored, confidence)
}
