package threshold

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/enum"
)

// Method is a way to draw the release. All but DenseLaplace release a key only if its noisy
// value reaches the threshold.
type Method uint8

const (
	// Auto chooses: see [Params.Candidates].
	Auto Method = iota
	// ExponentialRounding, for δ > 0: a value v below R counts as R with probability
	// (e^{v/b}−1)/(e^{R/b}−1), else as 0; then Laplace noise of scale b = Δ/ε. It is valid
	// under every relation and has the least threshold where one user changes one or a few
	// keys.
	ExponentialRounding
	// LinearRounding, for δ > 0: the same with probability v/R. With R = Δ it is the paper's
	// Algorithm 9 (Threshold2) with its least threshold. Where values are real and MaxKeys is
	// not given, it is never chosen by itself: the guarantee needs that what changes of a key is
	// in one call of Add.
	LinearRounding
	// Laplace, for δ > 0: Laplace noise of scale Δ/ε without rounding. It needs a limit on the
	// number of keys that one user changes: MaxKeys, or Integers.
	Laplace
	// Gaussian, for δ > 0 and MaxKeys: independent normal noise, the Gaussian sparse histogram
	// mechanism (TODS Theorem 23) at its exact joint δ. It does not gain from a Sensitivity
	// below MaxKeys·MaxValue.
	Gaussian
	// CorrelatedGaussian, for δ > 0, MaxKeys and Stored, where users only add values ≥ 0
	// (AddRemove, not Signed): normal noise of which a part is shared by all keys.
	CorrelatedGaussian
	// PureLaplace needs Dim: Laplace noise on all d coordinates, those without a value
	// included, and a threshold (the paper's Algorithm 6). It is ε-private without δ. Keys
	// without a value are released now and then: see FalseKeys.
	PureLaplace
	// DenseLaplace needs Dim ≤ 2²⁶: Laplace noise on all d coordinates, all of them released
	// (Algorithm 1), ε-private. It is never chosen by itself but for listed keys.
	DenseLaplace

	lastMethod = DenseLaplace
)

var methodNames = []string{
	"Auto", "ExponentialRounding", "LinearRounding", "Laplace", "Gaussian", "CorrelatedGaussian", "PureLaplace", "DenseLaplace",
}

// String returns the name of the constant.
func (m Method) String() string {
	return enum.Name(m, methodNames, "Method")
}

// pure reports whether the mechanism is ε-private without δ.
func (m Method) pure() bool { return m == PureLaplace || m == DenseLaplace }

// Candidate is a mechanism that the Params allow, or the reason why they do not.
type Candidate struct {
	Method Method
	// Threshold is the least value that is released, and StdDev the standard
	// deviation of its noise, both in the units of the data. NaN where Reason is
	// given.
	Threshold, StdDev float64
	// Reason says why the mechanism is not possible here; "" if it is.
	Reason string
}

// Candidates returns all mechanisms with what each would need here, the possible ones first, by
// increasing threshold. Auto chooses the first one: the least threshold, not the least noise. With
// Delta = 0 only PureLaplace and DenseLaplace are possible. They are not compared with the others:
// where δ > 0 a key without a value is never released, and Auto does not give that up. DenseLaplace
// has no threshold: it is listed last and never chosen. LinearRounding is not chosen either where
// its guarantee has a condition; it is then listed after the mechanisms whose guarantee has none.
//
// It returns an error that wraps [ErrParams] if the Params are invalid. Nothing depends on data.
// Calibrating all takes some 3 ms, most of it for CorrelatedGaussian (up to 0.1 s where ε is far
// from 1 or δ above 1e-3, and for Gaussian 0.15 s where MaxKeys is above 10⁶ besides). What was
// calibrated is remembered, for New and whatever asks again.
func (p Params) Candidates() ([]Candidate, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	var list []Candidate
	for m := ExponentialRounding; m <= lastMethod; m++ {
		c, reason := p.calibrate(m)
		candidate := Candidate{Method: m, Threshold: math.NaN(), StdDev: math.NaN(), Reason: reason}
		if reason == "" {
			candidate.Threshold, candidate.StdDev = c.lowest(), c.stdDev()
		}
		list = append(list, candidate)
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(p.rank(a), p.rank(b)) })
	return list, nil
}

// rank orders candidates: by threshold, then those that are never chosen if others are possible,
// then those that are not possible.
func (p Params) rank(c Candidate) float64 {
	switch {
	case c.Reason != "":
		return math.Inf(1)
	case c.Method == DenseLaplace:
		return math.MaxFloat64
	case c.Method == PureLaplace:
		return math.MaxFloat64 / 2
	case !p.chooses(c.Method):
		return math.MaxFloat64 / 4
	}
	return c.Threshold
}

// String says what the candidate needs, or why it is not possible.
func (c Candidate) String() string {
	if c.Reason != "" {
		return fmt.Sprintf("%v: not possible, %s", c.Method, c.Reason)
	}
	return fmt.Sprintf("%v: threshold %.4g, standard deviation %.4g", c.Method, c.Threshold, c.StdDev)
}

// Explain returns a text of several lines that says which mechanism is used, why, and what the
// others would need; the error's text if the Params are invalid. It takes as long as
// [Params.Candidates].
func (p Params) Explain() string {
	list, err := p.Candidates()
	if err != nil {
		return err.Error()
	}
	used, why := 0, "the least threshold of those possible"
	if p.Method != Auto {
		used = slices.IndexFunc(list, func(c Candidate) bool { return c.Method == p.Method })
		why = "asked for by name"
	} else if p.Delta == 0 {
		why = "the method with a threshold that needs no δ"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", list[used])
	if list[used].Reason == "" {
		fmt.Fprintf(&b, "  used: %s\n", why)
	}
	for i, c := range list {
		if i != used {
			fmt.Fprintf(&b, "%v\n", c)
		}
	}
	return b.String()
}
