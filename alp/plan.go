package alp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Plan is what a release of given Params will be, before any data is seen.
type Plan struct {
	Params Params // filled in; Sparsity 0 is unknown, and planned for as 1000
	// Bytes is the length of the encoding with the expected number of listed keys.
	Bytes   int
	Columns int // cells of an entry: probes of a lookup
	// Error is the expected absolute error of an entry with one of Plan's values,
	// Zero that of an index without an entry, in the units of the data and under
	// the default prior. They are simulated: Error to some 5 %, or 10 % with
	// thousands of columns or if nearly all entries lie just below the list; Zero
	// to some 20 %.
	Error, Zero float64
	// Large is the expected absolute error of a listed entry far above Turn, in
	// the units of the data; NaN without a list.
	Large float64
}

// trials returns the number of simulated entries of a Plan: fewer where there are very many
// columns, so that no Plan takes long.
func (g *bins) trials() int { return min(4000, max(100, 1<<18/g.columns)) }

// rounds returns how often a Plan fits the load, which changes little after few.
func (g *bins) rounds() int { return min(loadRounds, max(6, 1<<16/g.columns)) }

// Plan returns what a release will cost, and its errors if the Sparsity entries have the given
// values, each equally often; without values, if they are uniform on the columns' axis. The error
// of an entry depends on the others in its cells: it is largest if all lie just below the list, and
// smallest if all are listed. The error wraps [ErrParams], also for NaN. Plan takes some
// milliseconds, or .1 s with thousands of columns.
func (p Params) Plan(values ...float64) (Plan, error) {
	for _, v := range values {
		if math.IsNaN(v) {
			return Plan{}, check.ParamsError("alp", "Plan", v, "numbers")
		}
	}
	s, err := p.shape()
	if err != nil {
		return Plan{}, err
	}
	filled, _ := p.resolved()
	plan := Plan{Params: filled, Columns: s.columns, Large: math.NaN()}
	f := s.forecast(values)
	var listed float64
	plan.Error, plan.Zero, listed = f.simulate(values)
	plan.Bytes = s.encoded(uint64(math.Round(f.values)), int(math.Round(listed*float64(s.params.Sparsity)+s.params.FalseKeys)))
	if s.hasList {
		plan.Large = f.decoder.list.scale / float64(s.slopeAbove) * s.step
		if s.params.Integers { // rounded to one: the sum of Pr[|X| > n + ½] over n ≥ 0
			plan.Large = 1 / (2 * math.Sinh(1/(2*plan.Large)))
		}
	}
	return plan, nil
}

// forecast is a decoder for a release that is not there, and what the cells will show.
type forecast struct {
	*decoder
	// upTo[c][side][(y·m+column)·levels+o] is Pr[output ≤ o] for an entry at y as
	// in bins.chance, in a block of the c-th of the loads: what a trial reads lies
	// side by side
	upTo [][2][]float64
	// of all cells, how many show another output than 0
	values float64
}

// mostLoads is the number of loads of blocks that a Plan tells apart.
const mostLoads = 8

// loads returns how full blocks are, as multiples of the mean, each of the same weight: all columns
// of an entry share its block, so one that is full spoils them all.
func (g *geometry) loads(entries int) []float64 {
	mean := float64(entries) / float64(g.blocks)
	if g.blocks < mostLoads || mean > 600 { // one table for all, or the same everywhere
		return []float64{1}
	}
	loads := make([]float64, mostLoads)
	poisson, at, left := math.Exp(-mean), 0, 1.0/mostLoads // of which load, and how much of it
	for n := 0.0; at < mostLoads; n++ {
		for p := poisson; p > 0 && at < mostLoads; {
			part := min(p, left)
			loads[at] += part * n * mostLoads / mean
			if p, left = p-part, left-part; left < 1e-12 {
				at, left = at+1, 1.0/mostLoads
			}
		}
		if poisson *= mean / (n + 1); n > mean && poisson < 1e-18 {
			break // what rounding has left
		}
	}
	return loads
}

// forecast reads the load as of a table in which each output is as frequent as expected.
func (s *shape) forecast(values []float64) forecast {
	d := &decoder{shape: s}
	d.bins = newBins(&s.code, s.half, s.reach())
	if s.hasList {
		d.list = newPlannedListing(s, &d.bins)
	}
	loads := s.loads(s.params.Sparsity)
	f := forecast{decoder: d, upTo: make([][2][]float64, len(loads))}
	var histograms [][][]uint64
	for side := range s.columns / s.half {
		crowds, histogram := d.crowds(values, side), make([][]uint64, s.half)
		for i := range loads {
			f.upTo[i][side] = make([]float64, s.half*(d.bins.count+2)*d.bins.levels)
		}
		for j, c := range crowds {
			shown := make([]float64, s.code.levels)
			for i, load := range loads {
				laws := d.bins.distributions(c.times(load))
				d.bins.cumulate(laws, j, f.upTo[i][side])
				for o := range shown {
					shown[o] += laws[o*(d.bins.count+2)] / float64(len(loads))
				}
			}
			f.values += (1 - shown[0]) * float64(s.cells())
			histogram[j] = make([]uint64, s.code.levels)
			for o := range histogram[j] {
				histogram[j][o] = uint64(math.Round(shown[o] * float64(s.cells())))
			}
		}
		histograms = append(histograms, histogram)
	}
	d.learn(histograms, d.bins.rounds())
	f.decoder = d.under(defaultPrior)
	return f
}

// cumulate sets the column's part of forecast.upTo, of what distributions returned.
func (g *bins) cumulate(laws []float64, column int, upTo []float64) {
	n := g.count + 2
	for y := range n {
		sum := 0.0
		for o := range g.levels {
			sum += laws[o*n+y]
			upTo[(y*g.columns+column)*g.levels+o] = sum
		}
	}
}

// crowd is how many entries there are for one cell of a column: in each of its bins, and above it.
type crowd struct {
	in    []float64
	above float64
}

// times returns the crowd of a block with load times as many entries.
func (c crowd) times(load float64) (in []float64, above float64) {
	in = make([]float64, len(c.in))
	for i, x := range c.in {
		in[i] = load * x
	}
	return in, load * c.above
}

// crowds returns the crowds of all columns of a side. An entry is missing in a column if its value
// in the list says so: see [shape.kept].
func (d *decoder) crowds(values []float64, side int) []crowd {
	s, g := d.shape, &d.bins
	crowds, left := make([]crowd, g.columns), make([]float64, g.columns)
	for j := range crowds {
		crowds[j].in, left[j] = make([]float64, g.count), math.Inf(1)
		if s.hasList { // the least value in the list that leaves the column empty
			left[j] = float64(exact.LeastInt(0, func(v int64) bool { return s.kept(v) > j }))
		}
	}
	add := func(b int, v, rate float64) {
		for j := range min(b/g.count+1, g.columns) { // none is in the columns beyond
			stays := 1 - d.list.shows(v, left[j])
			switch at := b - j*g.count; {
			case at >= g.count:
				crowds[j].above += rate * stays
			case at >= 0:
				crowds[j].in[at] += rate * stays
			}
		}
	}
	rate := float64(s.params.Sparsity) / float64(s.cells())
	if len(values) == 0 {
		skip := 1 + g.used*g.columns>>21 // not all of very many bins
		for b := skip / 2; b < g.used; b += skip {
			add(b, s.valueAt(g.point(b, 0.5)), rate*float64(skip)/float64(g.used*(s.columns/s.half)))
		}
	}
	for _, value := range values {
		if v, negative := s.magnitude(value); negative == (side == 1) && v > 0 {
			b, next := g.around(s, v)
			each := rate / float64(len(values))
			add(b, v, each*(1-next))
			if next > 0 {
				add(b+1, v, each*next)
			}
		}
	}
	return crowds
}

// magnitude returns the absolute value of an entry, in steps, and whether it is negative. What Add
// takes for 0 is 0.
func (s *shape) magnitude(value float64) (v float64, negative bool) {
	if value < 0 && !s.params.Signed {
		return 0, false
	}
	return min(math.Abs(value)/s.step, float64(s.limit)), value < 0
}

// around returns a bin and the share of the next one, such that a value of v steps, which bins take
// for one that is anywhere in them, is between their middles in these shares. It is end() if it
// fills all columns.
func (g *bins) around(s *shape, v float64) (b int, next float64) {
	if v >= float64(s.turn) {
		return g.end(), 0
	}
	at := s.point(int64(math.Ceil(v)))
	if g.exact() {
		return min(max(int(at)-1, 0), g.used-1), 0
	}
	place := float64(at)*float64(g.count)/float64(g.width) - 0.5 // 0 in the middle of bin 0
	whole, part := math.Modf(min(max(place, 0), float64(g.used-1)))
	return int(whole), part
}

// simulate returns the mean absolute errors of entries and of zeros, in the units of the data, and
// the share of entries that are listed. The randomness is fixed: nothing depends on data, and the
// same Params have the same Plan.
func (f forecast) simulate(values []float64) (entries, zeros, shown float64) {
	s, g := f.shape, &f.bins
	source := rand.NewPCG(1, 2)
	random, trials := rand.New(source), g.trials()
	var outputs [2][]uint8
	for side := range s.columns / s.half {
		outputs[side] = make([]uint8, g.columns)
	}
	estimate := func(side, b, kept int, listed, first float64) float64 {
		upTo := &f.upTo[random.IntN(len(f.upTo))]
		g.draw(upTo[side], b, kept, outputs[side], first, source)
		if s.params.Signed {
			g.draw(upTo[1-side], -1, 0, outputs[1-side], random.Float64(), source)
		}
		return s.inUnits(f.median(outputs[0], outputs[1], listed, f.odds))
	}
	for i := range trials {
		b := random.IntN(g.used)
		truth, negative := s.valueAt(g.point(b, random.Float64())), s.params.Signed && i%2 == 1
		if len(values) > 0 {
			var next float64
			truth, negative = s.magnitude(values[i*len(values)/trials])
			b, next = g.around(s, truth)
			if _, turn := math.Modf(float64(i) * math.Phi); turn < next {
				b++
			}
			if truth == 0 {
				b = -1
			}
		}
		side, kept, listed := 0, 0, 0.0
		if negative {
			side = 1
		}
		if s.hasList && truth > 0 {
			noise := f.list.scale * random.ExpFloat64()
			if random.IntN(2) == 0 {
				noise = -noise
			}
			if y := f.list.phi(truth) + noise; y >= f.list.least {
				kept, listed = s.kept(int64(y)), sign(y, negative)
				shown++
			}
		}
		entries += math.Abs(estimate(side, b, kept, listed, random.Float64()) - sign(truth*s.step, negative))
		// few zeros have most of the error: one of each quantile of the first column
		zeros += math.Abs(estimate(0, -1, 0, 0, (float64(i)+random.Float64())/float64(trials)))
	}
	n := float64(trials)
	return entries / n, zeros / n, shown / n
}

// draw draws the outputs of an entry in bin b, or of one that is 0 for b = −1. In the columns
// before the first one that it keeps it is as good as 0. The first column's output is at the given
// quantile.
func (g *bins) draw(upTo []float64, b, kept int, outputs []uint8, first float64, random *rand.PCG) {
	for j := range outputs {
		y := 0
		switch at := b - j*g.count; {
		case b < 0 || j < kept:
		case at >= g.count:
			y = g.count + 1
		case at >= 0:
			y = at + 1
		}
		row, o := upTo[(y*g.columns+j)*g.levels:][:g.levels], 0
		for half := g.levels / 2; half > 0; half /= 2 { // levels are a power of two
			above := 0
			if row[o+half-1] <= first { // no jump: it would be foreseen half the time
				above = 1
			}
			o += above * half
		}
		outputs[j], first = uint8(o), float64(random.Uint64()<<11>>11)*0x1p-53
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
	fmt.Fprintf(&b, "%v, %s: %d bytes, error %.3g, of zeros %.3g", p.Params.Structure, code, p.Bytes, p.Error, p.Zero)
	if !math.IsNaN(p.Large) {
		fmt.Fprintf(&b, ", of listed entries %.3g", p.Large)
	}
	return b.String()
}
