package kor

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// Cardinality is the estimated size of a set: public and immutable. The zero Cardinality is NaN.
type Cardinality struct {
	// Source is set by packages kor and distinct.
	Source sets.Size
}

// Estimate returns the estimated size. If it comes from one release, or from package kor, it is
// nearly unbiased and can be negative. distinct.Compare and distinct.Union keep it in the range
// that the sizes of the sets allow. NaN if there is no estimate.
func (c Cardinality) Estimate() float64 {
	if c.Source == nil {
		return math.NaN()
	}
	return c.Source.Estimate()
}

// StdErr returns the standard error of the estimate, +Inf if there is no estimate.
func (c Cardinality) StdErr() float64 {
	if c.Source == nil {
		return math.NaN()
	}
	return c.Source.StdErr()
}

// Interval returns bounds ≥ 0 on the size with the given confidence, even if there is no estimate.
// Coverage and confidence differ by about the squared relative errors. hi is +Inf if the releases
// do not bound the size. NaN for a confidence outside [0, 1).
func (c Cardinality) Interval(confidence float64) (lo, hi float64) {
	if c.Source == nil || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	return c.Source.Interval(confidence)
}

// String returns the estimate with its standard error, or the bounds at 95 %.
func (c Cardinality) String() string {
	switch {
	case c.Source == nil:
		return "kor.Cardinality (empty)"
	case math.IsNaN(c.Estimate()):
		lo, hi := c.Interval(0.95)
		return fmt.Sprintf("between %.6g and %.6g", lo, hi)
	}
	return fmt.Sprintf("%.6g ± %.3g", c.Estimate(), c.StdErr())
}

// Comparison holds the sizes of A∪B, A∩B, A∖B and B∖A for the sets of two releases: public and
// immutable. It is post-processing of both releases. The zero Comparison answers NaN.
type Comparison struct {
	// Parts is set by packages kor and distinct.
	Parts sets.Parts
}

// part returns one of the sizes.
func (c *Comparison) part(place int) Cardinality {
	if c == nil {
		return Cardinality{}
	}
	return Cardinality{c.Parts[place]}
}

// Union returns the size of A∪B.
func (c *Comparison) Union() Cardinality { return c.part(sets.Union) }

// Intersection returns the size of A∩B.
func (c *Comparison) Intersection() Cardinality { return c.part(sets.Intersection) }

// OnlyA returns the size of A∖B.
func (c *Comparison) OnlyA() Cardinality { return c.part(sets.OnlyA) }

// OnlyB returns the size of B∖A.
func (c *Comparison) OnlyB() Cardinality { return c.part(sets.OnlyB) }

// String returns the four sizes with their standard errors, or with bounds at 95 %.
func (c *Comparison) String() string {
	if c == nil || c.Parts == (sets.Parts{}) {
		return "kor.Comparison (empty)"
	}
	return fmt.Sprintf("union %v, intersection %v, only A %v, only B %v", c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB())
}

// Compare returns the sizes of A∪B = (|A| + |B| + |A∆B|)/2 (thesis, section 3.4.3), A∩B, A∖B and
// B∖A for releases of A and B. If a release has a count, its size comes from the count or from the
// sketch, whichever is tighter. Compare is post-processing and costs no budget. The errors are
// those of [Sketch.SymmetricDifference].
func Compare(a, b *Sketch) (*Comparison, error) {
	if a == nil {
		a = new(Sketch)
	}
	xored, err := a.SymmetricDifference(b)
	if err != nil {
		return nil, err
	}
	of := func(f, g, h float64) sets.Size { return combine(&a.release, &b.release, &xored.release, f, g, h) }
	return &Comparison{sets.Parts{of(0.5, 0.5, 0.5), of(0.5, 0.5, -0.5), of(0.5, -0.5, 0.5), of(-0.5, 0.5, 0.5)}}, nil
}

// CompareStreams returns the numbers of distinct keys in either of two streams, in both, and in
// only one. |A∪B| is that of [StreamSketch.Union]. The errors are those of Union.
func CompareStreams(a, b *StreamSketch) (*Comparison, error) {
	union, err := a.Union(b)
	if err != nil {
		return nil, err
	}
	of := func(f, g, h float64) sets.Size { return combine(&a.release, &b.release, &union.release, f, g, h) }
	return &Comparison{sets.Parts{of(0, 0, 1), of(1, 1, -1), of(0, -1, 1), of(-1, 0, 1)}}, nil
}

// Total returns the size of the set by the released count or by the sketch, whichever has the
// smaller standard error. A merged sketch has no count.
func (s *Sketch) Total() Cardinality {
	if !s.valid() {
		return Cardinality{}
	}
	return Cardinality{&combination{terms: [3]term{s.term(1)}}}
}
