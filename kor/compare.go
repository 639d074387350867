package kor

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/sizes"
)

// Cardinality is the estimated size of a set: public and immutable. The zero Cardinality is NaN.
type Cardinality struct {
	// Source is what packages kor and distinct set.
	Source sizes.Source
}

// Estimate returns the estimated size. From one release and of package kor it is as unbiased as
// these, and so it can be negative; distinct.Compare and distinct.Union keep it within what the
// sizes of the sets leave possible. NaN where there is none.
func (c Cardinality) Estimate() float64 {
	if c.Source == nil {
		return math.NaN()
	}
	return c.Source.Estimate()
}

// StdErr returns the standard error of the estimate, +Inf where there is none.
func (c Cardinality) StdErr() float64 {
	if c.Source == nil {
		return math.NaN()
	}
	return c.Source.StdErr()
}

// Interval returns bounds of the size for the confidence, at least 0, also where there is no
// estimate. The coverage is the confidence up to the order of the squared relative errors. hi is
// +Inf where the releases do not bound the size. NaN for a confidence outside [0, 1).
func (c Cardinality) Interval(confidence float64) (lo, hi float64) {
	if c.Source == nil || !limits.Confidence(confidence) {
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
// immutable. What the releases promise holds for it: it is post-processing of both. The zero
// Comparison answers NaN.
type Comparison struct {
	// Parts is what packages kor and distinct set.
	Parts sizes.Parts
}

// part returns one of the sizes.
func (c *Comparison) part(place int) Cardinality {
	if c == nil {
		return Cardinality{}
	}
	return Cardinality{c.Parts[place]}
}

// Union returns the size of A∪B.
func (c *Comparison) Union() Cardinality { return c.part(sizes.Union) }

// Intersection returns the size of A∩B.
func (c *Comparison) Intersection() Cardinality { return c.part(sizes.Intersection) }

// OnlyA returns the size of A∖B.
func (c *Comparison) OnlyA() Cardinality { return c.part(sizes.OnlyA) }

// OnlyB returns the size of B∖A.
func (c *Comparison) OnlyB() Cardinality { return c.part(sizes.OnlyB) }

// String returns the four sizes with their standard errors, or with bounds at 95 %.
func (c *Comparison) String() string {
	if c == nil || c.Parts == (sizes.Parts{}) {
		return "kor.Comparison (empty)"
	}
	return fmt.Sprintf("union %v, intersection %v, only A %v, only B %v", c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB())
}

// Compare returns the sizes of A∪B = (|A| + |B| + |A∆B|)/2 (thesis, section 3.4.3), A∩B, A∖B and
// B∖A for releases of A and B. Where a release carries a count, |A| and |B| come from that or from
// the sketch, whichever is tighter. It is post-processing and costs no budget. The errors are those
// of [Sketch.SymmetricDifference].
func Compare(a, b *Sketch) (*Comparison, error) {
	if a == nil {
		a = new(Sketch)
	}
	xored, err := a.SymmetricDifference(b)
	if err != nil {
		return nil, err
	}
	of := func(f, g, h float64) sizes.Source { return combine(&a.release, &b.release, &xored.release, f, g, h) }
	return &Comparison{sizes.Parts{of(0.5, 0.5, 0.5), of(0.5, 0.5, -0.5), of(0.5, -0.5, 0.5), of(-0.5, 0.5, 0.5)}}, nil
}

// CompareStreams returns the numbers of distinct keys that are in either of two streams, in both
// and in one alone, of which |A∪B| is that of [StreamSketch.Union]. The errors are those of Union.
func CompareStreams(a, b *StreamSketch) (*Comparison, error) {
	union, err := a.Union(b)
	if err != nil {
		return nil, err
	}
	of := func(f, g, h float64) sizes.Source { return combine(&a.release, &b.release, &union.release, f, g, h) }
	return &Comparison{sizes.Parts{of(0, 0, 1), of(1, 1, -1), of(0, -1, 1), of(-1, 0, 1)}}, nil
}

// Total returns the size of the set by the released count or by the sketch, whichever has the
// smaller standard error; for a merged sketch, by the sketch.
func (s *Sketch) Total() Cardinality {
	if !s.valid() {
		return Cardinality{}
	}
	return Cardinality{&combination{terms: [3]term{s.term(1)}}}
}
