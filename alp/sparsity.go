package alp

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

// Unknown sparsity (section 2.10). Of each step's η a share goes to an estimate of k: of the number
// of non-zero entries, if the grid is that of the integers, else of Σ min(|x|, Δ/ε) in steps, which
// counts an entry as far as it is above the noise. Either changes by at most 1 if an entry moves by
// one step, so discrete Laplace noise of scale 1/(share·η) is e^{share·η}-close for one step, and
// what is drawn afterwards, given the estimate, has the rest of η. So the whole is e^η-close for
// one step, up to the list's bad mass, and ε and δ count as in Theorem 2.
//
// ln(500) times the scale is added, so that the estimate is too small with probability 1/1000 at
// most: a table that is a little too small has a little more error. (The thesis adds ln(d/2), 700/ε
// entries for d = 2⁶⁴, and estimates ‖x‖₁ where values are real; the clamped sum is no larger than
// it or than k·Δ/ε, and changes as little.)

// sparsityShare is what an unknown Sparsity is estimated with, of ε.
const sparsityShare = 1.0 / 16

// sparsityEta returns what an estimate of the Sparsity has of η, rounded down.
func (p Params) sparsityEta() float64 { return p.eta() * p.share * (1 - 0x1p-50) }

// fitting returns k as a Sparsity: an integer of at least 1 with which the table is not too large
// when it is drawn, at Bits cells at most an entry.
func (p Params) fitting(k float64) int {
	return int(min(max(math.Ceil(k), 1), math.Floor(maxTableBytes*4/p.withDefaults().Bits/float64(max(bits.Len(uint(p.Levels))-1, 1))), math.MaxInt32))
}

// resolveUnknown is resolve where Sparsity is to be estimated. It refuses Params of which a release
// could fail: Release takes the data, so all that can go wrong is decided before.
//
// Structure, Levels, Alpha and Columns are chosen for k = 1, and kept. Where there is no δ the list
// has more false keys for a larger k, hence a lower threshold and a lower Turn: the axis for any k
// is at most as long as that for k = 1, and a Turn that is given is not below the threshold for any
// k. So the columns for k are those for k = 1, without some of the last ones; or, where the axis is
// shorter than a column, a single narrower one. Thus the limits on columns, levels and widths hold
// for all k if they do for 1, and the limit on the table if it does for the largest k.
func (p Params) resolveUnknown() (Params, error) {
	if p.share == 0 {
		p.share = sparsityShare
	}
	r, err := p.withSparsity(1)
	if err != nil {
		return p, err
	}
	if _, err := r.geometry(); err != nil {
		return p, err
	}
	if _, err := r.sparsityNoise(); err != nil {
		return p, check.ParamsError("alp", "Sparsity", 0, "at least 1: the noise of an estimate is out of range")
	}
	r.Sparsity, r.Turn, r.FalseKeys = 0, p.Turn+0, p.FalseKeys+0
	if r.Structure == ColumnsOnly {
		r.Turn, r.FalseKeys = 0, 0
	}
	most, err := r.withSparsity(r.fitting(math.Inf(1)))
	if err == nil {
		_, err = most.geometry()
	}
	return r, err
}

// withSparsity returns the Params resolved for an estimate of the Sparsity.
func (p Params) withSparsity(k int) (Params, error) {
	p.Sparsity = k
	return p.resolve()
}

// sparsityNoise returns the noise of the estimate of the Sparsity, in steps.
func (p Params) sparsityNoise() (noise.DiscreteLaplace, error) {
	return noise.NewDiscreteLaplace(1 / p.sparsityEta() * (1 + 0x1p-50))
}

// estimateSparsity draws the Sparsity that the release is made for.
func (s *state) estimateSparsity(entries []total) (int, error) {
	p := s.params
	d, err := p.sparsityNoise()
	if err != nil {
		return 0, err // New has built it
	}
	full := s.fullSize()
	margin := math.Log(500)
	if p.Dim > 0 {
		margin = min(margin, max(math.Log(float64(p.Dim)/2), 0))
	}
	estimate := float64(clampedSum(entries, full)+d.SampleInt(&s.src)) + margin*d.Scale()
	return p.fitting(estimate / float64(full)), nil
}

// fullSize returns the size in steps from which on an entry counts as one: 1 for integers, else
// Δ/ε.
func (s *state) fullSize() int64 {
	if !s.shape.mixed {
		return 1
	}
	return int64(math.Ceil(1 / s.params.kappa()))
}

// clampedSum returns Σ min(|v|, full). There are at most 2³² entries, and full is at most 2¹⁰.
func clampedSum(entries []total, full int64) (n int64) {
	for _, e := range entries {
		n += min(max(e.Steps, -e.Steps), full)
	}
	return n
}
