package elliptical

import (
	"fmt"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Mechanism is calibrated noise for sums of rows. It holds no data: each Release spends the
// guarantee of the Params again. It is immutable and safe for concurrent use.
type Mechanism struct{ calibration }

// calibration is Params and what they come to.
type calibration struct {
	params Params
	noise  gridNoise
}

// Params returns the parameters, with the defaults filled in.
func (s *calibration) Params() Params { return s.params }

// Guarantee returns the guarantee of one release.
func (s *calibration) Guarantee() budget.Guarantee { return s.params.guarantee() }

// New returns the Mechanism of the Params, or an error that wraps [ErrParams]. Results are cached,
// up to 32 MiB in all, at some 90 bytes per coordinate. For experiments it accepts values that
// protect hardly anybody: ε above 20, δ above 0.01.
func New(p Params) (*Mechanism, error) {
	p = p.resolved()
	m, err := mechanisms.Get(p, func() (Mechanism, error) {
		if err := p.validate(); err != nil {
			return Mechanism{}, err
		}
		p, l, err := p.settled(fineness)
		return Mechanism{calibration{p, l}}, err
	})
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// mechanisms are those that were made last. They are public and immutable.
var mechanisms = memo.Store[Params, Mechanism]{Most: 32 << 20, Size: Mechanism.bytes}

// bytes returns the memory that the Mechanism and its Params take, about.
func (m Mechanism) bytes() int {
	p := m.params
	numbers := p.Min.Len() + p.Max.Len() + p.Weights.Len() + p.Ellipsoid.Len() + len(m.noise.lower)*(len(m.noise.lower)+3)
	return 8*numbers + 64*len(m.noise.coordinates) + 40*len(m.noise.groups) + 8*len(m.noise.coordinates)
}

// Release adds noise to a ready sum of d coordinates, in the units of the data; with Count the
// number of rows follows as entry d. The error wraps [ErrMismatch] if there are more or fewer
// entries, and [ErrParams] if Params.Ellipsoid or NormBound is given: these need the [Builder].
//
// The caller is responsible for the sensitivity: sums of neighbours may differ by at most Δᵢ in
// coordinate i under Replace, and under AddRemove by a row of the box. Floating-point sums of many
// rows may differ by more: only sums of a few rows, of integers, or of rows rounded to a grid are
// safe to make outside. NaN counts as 0, and sums saturate at 2¹⁰⁰ steps of the grid, 2⁶⁸ widths:
// an interval near that end is open.
func (m *Mechanism) Release(sum []float64) (*Sum, error) {
	switch {
	case m.noise.dim == 0:
		return nil, bad("Min.Len()", 0, "a Mechanism made by New")
	case m.noise.radius > 0:
		return nil, bad("NormBound", m.params.NormBound, "0 for a ready sum: only rows can be scaled to a ball")
	case m.noise.lower != nil:
		return nil, bad("Ellipsoid.Len()", m.params.Ellipsoid.Len(), "0 for a ready sum: only rows can be scaled to an ellipsoid")
	case len(sum) != len(m.noise.coordinates):
		return nil, check.MismatchError("elliptical", "len(sum)", len(sum), len(m.noise.coordinates))
	}
	totals, rows := make([]exact.Int128, len(sum)), int64(0)
	if m.params.Count {
		count := coordinate{step: 1}
		rows = int64(min(max(count.steps(sum[m.noise.dim]).Float64(), 0), maxRows))
	}
	for i := range m.noise.dim {
		totals[i] = m.noise.coordinates[i].deviation(sum[i], rows)
	}
	if m.params.Count {
		totals[m.noise.dim] = m.noise.countSteps(rows)
	}
	return m.release(totals), nil
}

// countSteps returns the number of rows, which saturates at 2⁵³, in steps of the count's grid.
func (l gridNoise) countSteps(rows int64) exact.Int128 {
	return l.coordinates[l.dim].steps(float64(min(rows, maxRows)))
}

// release adds noise to totals in steps, in place.
func (m *Mechanism) release(totals []exact.Int128) *Sum {
	var src noise.Source
	m.noise.addNoise(&src, totals)
	return &Sum{m.calibration, totals}
}

// addNoise adds noise to totals in steps.
func (l gridNoise) addNoise(src *noise.Source, totals []exact.Int128) {
	if l.kind == uniform {
		l.addBox(src, totals)
		return
	}
	for i, c := range l.coordinates {
		totals[i] = totals[i].Plus(exact.Int128Of(l.sample(src, c)))
	}
}

// String says what is added to d coordinates, and under which guarantee.
func (m *Mechanism) String() string {
	return fmt.Sprintf("elliptical.Mechanism: %s noise, %v, for %d coordinates, %v", m.noise.kind, m.params.Shape, m.noise.dim, m.Guarantee())
}
