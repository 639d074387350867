package alp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Plan is what a release of given Params will be, before any data is seen.
type Plan struct {
	Params  Params  // filled in: see [Params.Resolved]
	Bits    float64 // of the table
	Columns int     // cells of an entry: probes of a lookup
	// Error is the expected absolute error of an entry that is not 0, uniform on
	// the columns' axis, and Zero that of one that is 0, both in the units of the
	// data and under the default prior, by simulation with fixed randomness, to
	// about 3 %. All Sparsity entries are taken to lie at the end of the axis;
	// where there is a list, at its threshold, so that half of them are listed and
	// leave their cells to others.
	Error, Zero float64
	// Large is the expected absolute error of a listed entry far above Turn, in
	// the units of the data; NaN without a list.
	Large float64
}

// planTrials is the number of simulated entries of a Plan.
const planTrials = 4000

// Plan returns what a release will cost and how accurate it will be. The error wraps [ErrParams].
// It takes some milliseconds.
func (p Params) Plan() (Plan, error) {
	s, err := p.shape()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Params: s.params, Bits: 64 * float64(s.tableWords()), Columns: s.columns, Large: math.NaN()}
	d := s.plannedDecoder()
	plan.Error, plan.Zero = d.simulate()
	if d.list != nil {
		plan.Large = d.list.scale / float64(s.slopeAbove) * s.step
	}
	return plan, nil
}

// plannedDecoder returns a decoder for the load of Sparsity entries, all at the end of the axis;
// or, where there is a list, of half as many at its threshold: the other half are listed.
func (s *shape) plannedDecoder() *decoder {
	d := &decoder{shape: s, prior: Prior{Zero: DefaultPrior().Zero}}
	d.bins = newBins(&s.code, s.half, s.reach())
	d.odds = d.prior.Zero / (1 - d.prior.Zero) * float64(s.columns/s.half)
	worst := make(load, d.bins.total()+1)
	end, rate := d.bins.end(), float64(s.params.Sparsity)/float64(s.cells()*uint64(s.columns/s.half))
	if s.hasList {
		d.list = newPlannedListing(s, &d.bins)
		for b := range d.bins.used {
			if d.list.phi(s.valueAt(d.bins.point(b, 0.5))) <= d.list.least {
				end = b
			}
		}
		rate /= 2
	}
	worst[end] = rate
	for range s.columns / s.half {
		d.loads = append(d.loads, worst)
	}
	d.uniform = s.uniformPrior(&d.bins, d.list)
	d.sides = d.posteriors(&d.uniform, 0)
	d.flat = d.sides
	return d
}

// simulate returns the mean absolute errors of entries that are not listed, uniform on the axis,
// and of zeros, in the units of the data. The randomness is fixed: nothing depends on data, and the
// same Params have the same Plan.
func (d *decoder) simulate() (entries, zeros float64) {
	random := rand.New(rand.NewPCG(1, 2))
	laws := d.flat[0].laws(d.loads[0])
	outputs := make([]uint8, d.bins.columns)
	var other []uint8
	if len(d.sides) == 2 {
		other = make([]uint8, d.bins.columns)
	}
	estimate := func(b int) float64 {
		d.flat[0].draw(laws, b, outputs, random)
		if other != nil {
			d.flat[1].draw(laws, -1, other, random)
		}
		return d.median(outputs, other, 0, d.odds) * d.shape.step
	}
	weight := 0.0
	for range planTrials {
		b := random.IntN(d.bins.used)
		truth := d.shape.valueAt(d.bins.point(b, random.Float64()))
		w := d.list.absent(truth)
		weight += w
		entries += w * math.Abs(estimate(b)-truth*d.shape.step)
		zeros += math.Abs(estimate(-1))
	}
	return entries / weight, zeros / planTrials
}

// draw draws the outputs of an entry in bin b, or of one that is 0 for b = −1.
func (p *posterior) draw(laws [][]float64, b int, outputs []uint8, random *rand.Rand) {
	for j := range outputs {
		y := 0
		switch at := b - j*p.count; {
		case b >= 0 && at >= p.count:
			y = p.count + 1
		case b >= 0 && at >= 0:
			y = at + 1
		}
		left, o := random.Float64(), 0
		for ; o < p.levels-1; o++ {
			if left -= laws[j][o*(p.count+2)+y]; left < 0 {
				break
			}
		}
		outputs[j] = uint8(o)
	}
}

// String says what the release will be, in a line.
func (p Plan) String() string {
	var b strings.Builder
	code := fmt.Sprintf("%d columns of %d levels", p.Params.Columns, p.Params.Levels)
	switch {
	case p.Params.Linear:
		code = fmt.Sprintf("%d linear bits", p.Params.Columns)
	case p.Params.Levels == 2:
		code = fmt.Sprintf("%d S-shaped bits", p.Params.Columns)
	}
	fmt.Fprintf(&b, "%v, %s: %.3g bits, error %.3g, of zeros %.3g", p.Params.Structure, code, p.Bits, p.Error, p.Zero)
	if !math.IsNaN(p.Large) {
		fmt.Fprintf(&b, ", of listed entries %.3g", p.Large)
	}
	return b.String()
}
