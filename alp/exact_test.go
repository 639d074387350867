package alp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// The tests here compute the law of a whole release from the numbers that Release draws with:
// shape.size, shape.locate and code.

// contents returns what each cell of a table holds, for entries of given values in steps, which
// keep all columns or those from first[i] on.
func contents(s *shape, indices []uint64, values []int64, first ...int) []int {
	held := make([]int, s.words*s.wordCells*s.blocks)
	for i, index := range indices {
		from := 0
		if len(first) > 0 {
			from = first[i]
		}
		for j, cell := range s.locate(index, nil) {
			held[cell] = max(held[cell], s.held(values[i], from, j))
		}
	}
	return held
}

// tableLaw returns the probability of each output of the cells, which are numbers with digits of
// base Q.
func tableLaw(s *shape, c *code, held []int) []float64 {
	law := []float64{1}
	for cell, v := range held {
		if s.column(uint64(cell)) == s.columns {
			continue
		}
		next := make([]float64, 0, len(law)*c.levels)
		for _, p := range law {
			for o := range c.levels {
				next = append(next, p*c.prob(v, o))
			}
		}
		law = next
	}
	return law
}

// tableLaws are laws of tables by what their cells hold: equal contents share one.
type tableLaws map[string][]float64

func (known tableLaws) of(s *shape, c *code, held []int) []float64 {
	key := fmt.Sprint(held)
	if known[key] == nil {
		known[key] = tableLaw(s, c, held)
	}
	return known[key]
}

// lawsOf returns the law of the table for each of the inputs.
func lawsOf(s *shape, c *code, indices []uint64, inputs [][]int64) [][]float64 {
	laws, known := make([][]float64, len(inputs)), tableLaws{}
	for i, x := range inputs {
		laws[i] = known.of(s, c, contents(s, indices[:len(x)], x))
	}
	return laws
}

// gathering is how the cells of three indices coincide.
type gathering struct {
	name    string
	indices []uint64
}

// gatherings returns three indices without a common cell if there are any such, three of which some
// share some cells, and three that share all.
func gatherings(s *shape) (list []gathering) {
	const most = 60
	var shared [most][most]int // how many cells two indices have in common
	for a := range uint64(most) {
		cells := s.locate(a, nil)
		for b := range a {
			for j, cell := range s.locate(b, nil) {
				if cell == cells[j] {
					shared[b][a]++
				}
			}
		}
	}
	for _, want := range []struct {
		name string
		fits func(x, y, z int) bool
	}{
		{"apart", func(x, y, z int) bool { return x+y+z == 0 }},
		{"partly", func(x, y, z int) bool { return x > 0 && x < s.columns && z > 0 && z < s.columns }},
		{"together", func(x, y, z int) bool { return x == s.columns && y == s.columns }},
	} {
	search:
		for a := uint64(1); a < most; a++ {
			for b := a + 1; b < most; b++ {
				for c := b + 1; c < most; c++ {
					if want.fits(shared[a][b], shared[a][c], shared[b][c]) {
						list = append(list, gathering{want.name, []uint64{a, b, c}})
						break search
					}
				}
			}
		}
	}
	return list
}

// distance returns ‖x − y‖₁ and in how many coordinates they differ.
func distance(x, y []int64) (sum int64, changed int) {
	for i := range x {
		if d := max(x[i]-y[i], y[i]-x[i]); d > 0 {
			sum, changed = sum+d, changed+1
		}
	}
	return sum, changed
}

// grid returns all vectors of n coordinates with values from the list.
func grid(values []int64, n int) [][]int64 {
	list := [][]int64{nil}
	for range n {
		var next [][]int64
		for _, x := range list {
			for _, v := range values {
				next = append(next, append(slices.Clone(x), v))
			}
		}
		list = next
	}
	return list
}

// largestRatio returns the largest ratio of probabilities over all pairs of laws at a distance of
// at most reach, in units of the grid, and all outputs.
func largestRatio(inputs [][]int64, laws [][]float64, reach int64) (largest float64, changed [4]bool) {
	largest = 1
	for i, x := range inputs {
		for j, y := range inputs[:i] {
			d, n := distance(x, y)
			if d == 0 || d > reach {
				continue
			}
			changed[n] = true
			q := laws[j][:len(laws[i])]
			if &q[0] == &laws[i][0] { // one law for both
				continue
			}
			for o, p := range laws[i] {
				if p > largest*q[o] || q[o] > largest*p {
					largest = max(p/q[o], q[o]/p)
				}
			}
		}
	}
	return largest, changed
}

// family is the members of the family and the variants, small enough to enumerate: tables of at
// most 12 bits.
var family = []struct {
	name   string
	params Params
	values []int64 // in steps
	tight  bool    // the bound is attained
}{
	{"histogram", Params{Epsilon: 1, Max: 3, Variant: Variant{Levels: 2, Alpha: 1}}, []int64{0, 1, 2, 3, 4}, true},
	{"ladder/w=2", Params{Epsilon: 1, Max: 4, Variant: Variant{Levels: 2, Alpha: 2}}, []int64{0, 1, 2, 3, 4, 5}, true},
	{"ladder/w=3", Params{Epsilon: 0.5, Max: 6, Variant: Variant{Levels: 2, Alpha: 1.5}}, []int64{0, 1, 2, 3, 4, 5, 6}, true},
	{"ladder/w=4/delta=2", Params{Epsilon: 1.5, Sensitivity: 2, Max: 8, Variant: Variant{Levels: 2, Alpha: 3}}, []int64{0, 1, 2, 3, 4, 5, 6}, true},
	{"linear/w=3", Params{Epsilon: 0.5, Max: 6, Variant: Variant{Linear: true, Alpha: 1.5}}, []int64{0, 1, 2, 3, 4, 5, 6}, true},
	{"linear/w=4/delta=3", Params{Epsilon: 1.5, Sensitivity: 3, Max: 8, Variant: Variant{Linear: true, Alpha: 2}}, []int64{0, 1, 2, 3, 4, 5}, false},
	{"columns/levels=4", Params{Epsilon: 0.5, Max: 12, Variant: Variant{Levels: 4, Alpha: 3}}, []int64{0, 1, 2, 3, 5, 6, 7, 12}, true},
	{"columns/levels=4/delta=3", Params{Epsilon: 2, Sensitivity: 3, Max: 12, Variant: Variant{Levels: 4, Alpha: 4}}, []int64{0, 1, 2, 3, 4, 5, 6}, true},
	{"columns/levels=8", Params{Epsilon: 0.7, Max: 20, Variant: Variant{Levels: 8, Columns: 2}}, []int64{0, 1, 2, 9, 10, 11, 20}, true},
	{"max/levels=16", Params{Epsilon: 1, Max: 20, Variant: Variant{Levels: 16, Columns: 1}}, []int64{0, 1, 2, 3, 10, 11, 20}, true},
	{"signed/ladder", Params{Epsilon: 1, Max: 2, Signed: true, Variant: Variant{Levels: 2, Alpha: 1}}, []int64{-3, -2, -1, 0, 1, 2}, true},
	{"signed/levels=4/delta=2", Params{Epsilon: 1, Sensitivity: 2, Max: 5, Signed: true, Variant: Variant{Levels: 4, Columns: 1}}, []int64{-5, -2, -1, 0, 1, 2, 3}, true},
	{"signed/linear", Params{Epsilon: 1, Max: 3, Signed: true, Variant: Variant{Linear: true, Columns: 1}}, []int64{-3, -2, -1, 0, 1, 2, 3}, true},
	{"twovectors/ladder", Params{Epsilon: 1, Max: 2, Signed: true, Variant: Variant{Levels: 2, Alpha: 1, TwoVectors: true}}, []int64{-2, -1, 0, 1, 2}, true},
	{"logarithmic/ladder", Params{Epsilon: 1, Max: 40, Variant: Variant{Levels: 2, Columns: 3, Base: 1.3}}, []int64{0, 1, 2, 4, 5, 6, 20, 21}, true},
	{"logarithmic/levels=4", Params{Epsilon: 1, Max: 40, Variant: Variant{Levels: 4, Columns: 2, Base: 1.5}}, []int64{0, 1, 2, 3, 4, 30, 31}, true},
	{"logarithmic/signed", Params{Epsilon: 1, Max: 30, Signed: true, Variant: Variant{Levels: 2, Columns: 2, Base: 1.5}}, []int64{-4, -1, 0, 1, 2, 3, 4}, true},
}

// small returns the shape of a table of at most 12 bits.
func small(t *testing.T, p Params) shape {
	t.Helper()
	p.Independent, p.Sparsity, p.Structure = true, 1, ColumnsOnly
	p.Seed[0] = 1
	r := dptest.OK(p.resolved())(t)
	for r.Bits = 12; r.Bits > 1; r.Bits *= 0.95 { // the number of positions is rounded up
		s := dptest.OK(r.shape())(t)
		if int(s.positions)*s.columns*s.cellBits <= 12 {
			return s
		}
	}
	t.Fatal("a cell of each column has more than 12 bits")
	return shape{}
}

// spoiled returns the code with the probabilities of the rarest outputs of a column's ends one part
// in 1000 smaller.
func spoiled(c code) code {
	c.rise = slices.Clone(c.rise)
	first, last := &c.rise[0], &c.rise[len(c.rise)-1]
	*first -= min(*first/1000, *first-1)
	*last += -(*last + c.floor) / 1000
	return c
}

// Theorem 1: for all pairs of inputs of three entries at distance at most Δ, in one, two or three
// of them, without common cells, with some, and with all in common, no output of the whole table is
// more than e^ε times as likely for the one as for the other. Tight codes attain it, and break it
// if their smallest probabilities are one part in 1000 smaller.
func TestTableIsPrivateExactly(t *testing.T) {
	for i, f := range family {
		t.Run(f.name, func(t *testing.T) {
			skipMost(t, i)
			p := f.params
			p.Integers = true
			s := small(t, p)
			_, _, found := s.code.violation(s.decay)
			require.False(t, found)
			bad := spoiled(s.code)
			inputs := grid(f.values, 3)
			if testing.Short() {
				inputs = grid(f.values[:4], 3)
			} else if len(inputs) > 250 && !dptest.Long() {
				// all of them: go test ./alp -run Exactly -long
				inputs = grid(f.values[:5], 3)
			}
			limit := math.Exp(p.Epsilon)
			worst := 0.0
			groups := gatherings(&s)
			require.GreaterOrEqual(t, len(groups), 2)
			for _, group := range groups {
				laws := lawsOf(&s, &s.code, group.indices, inputs)
				reach := int64(p.sensitivity())
				ratio, changed := largestRatio(inputs, laws, reach)
				// the products of 12 probabilities are within 12 ulp
				require.LessOrEqual(t, ratio, limit*(1+1e-12), group.name)
				for n := 1; n <= int(min(reach, 3)); n++ {
					require.True(t, changed[n], "no pair with %d changes", n)
				}
				worst = max(worst, ratio)
			}
			if f.tight {
				require.Greater(t, worst, limit*(1-1e-9))
				few := grid(f.values, 2)
				ratio, _ := largestRatio(few, lawsOf(&s, &bad, groups[0].indices[:2], few), int64(p.sensitivity()))
				require.Greater(t, ratio, limit*(1+1e-6))
			}
		})
	}
}

// Every code of every width is certified in integers, for the least and the greatest losses a step,
// and those that are tight are not if one probability is off by one part in 1000.
func TestCodesMeetTheirCondition(t *testing.T) {
	for _, eta := range []float64{0x1p-30, 0x1p-11, 0.01, 0.3, 1, 5, 20, 44, 700} {
		decay := decayOf(eta)
		require.GreaterOrEqual(t, float64(decay)*0x1p-64, math.Exp(-eta)*(1-0x1p-52))
		widths := []int{1, 2, 3, 4, 7, 50, 701}
		if testing.Short() {
			widths = widths[:6]
		}
		for _, width := range widths {
			check := func(c code, tight bool) {
				v, o, found := c.violation(decay)
				require.False(t, found, "η = %v, W = %d, Q = %d: output %d at %d", eta, width, c.levels, o, v)
				for v := range width + 1 {
					for l := 1; l < c.levels; l++ {
						tail := c.tail(v, l)
						if l > 1 && tail > c.tail(v, l-1) || v > 0 && tail < c.tail(v-1, l) {
							t.Fatalf("the tails of %d are not monotone", v)
						}
					}
				}
				if bad := spoiled(c); tight {
					_, _, found := bad.violation(decay)
					require.True(t, found, "η = %v, W = %d, Q = %d", eta, width, c.levels)
				}
			}
			for _, levels := range []int{2, 4, 16, 256} {
				check(columnCode(width, levels, decay), levels == 2 && eta < 40 && eta*float64(width) < 30)
			}
			check(linearCode(width, decay), eta < 40)
		}
	}
}

// The formulas of the family: p of the ladder, of the thesis's rounding and of its histogram
// mechanism.
func TestCodesHaveTheirProbabilities(t *testing.T) {
	for _, eta := range []float64{0.01, 0.25, 1, 3} {
		decay := decayOf(eta)
		for width := 1; width <= 12; width++ {
			w := float64(width)
			want := math.Exp(-eta*w/2) / 2
			if width%2 == 1 {
				want = math.Exp(-eta*(w-1)/2) / (1 + math.Exp(eta))
			}
			ramp := columnCode(width, 2, decay)
			require.InDelta(t, want, ramp.prob(0, 1), 1e-12*want+0x1p-60)
			require.InDelta(t, want, ramp.prob(width, 0), 1e-12*want+0x1p-60)
			linear := linearCode(width, decay)
			// p is rounded up by 2⁻⁴⁰
			require.InEpsilon(t, 1/(2+w*math.Expm1(eta)), linear.prob(0, 1), 1e-11)
			for v := range width + 1 {
				// exactly linear
				require.Equal(t, linear.tail(0, 1)+uint64(v)*(linear.tail(1, 1)-linear.tail(0, 1)), linear.tail(v, 1))
			}
			for _, levels := range []int{2, 4, 8, 16} { // its own mirror image
				c := columnCode(width, levels, decay)
				for v := range width + 1 {
					for o := range levels {
						require.InDelta(t, c.prob(v, o), c.prob(width-v, levels-1-o), 1e-17)
					}
				}
			}
		}
		histogram := columnCode(1, 2, decay)
		require.InEpsilon(t, 1/(1+math.Exp(eta)), histogram.prob(0, 1), 1e-12) // Algorithm 10
	}
}

// Real values: the law is the mixture over the random rounding of each value, and inputs at
// distance at most Δ, on a grid off the table's, are within e^ε.
func TestRealTableIsPrivateExactly(t *testing.T) {
	for name, p := range map[string]Params{
		"ramp":        {Epsilon: 1, Max: 6, Variant: Variant{Levels: 2, Alpha: 3}},
		"linear":      {Epsilon: 0.5, Sensitivity: 2, Max: 24, Variant: Variant{Linear: true, Alpha: 3}},
		"columns":     {Epsilon: 1, Max: 12, Variant: Variant{Levels: 4, Columns: 2}},
		"signed":      {Epsilon: 2, Max: 3, Signed: true, Variant: Variant{Levels: 4, Columns: 1}},
		"logarithmic": {Epsilon: 1, Max: 30, Variant: Variant{Levels: 2, Columns: 2, Base: 1.7}},
	} {
		t.Run(name, func(t *testing.T) {
			s := small(t, p)
			require.True(t, s.mixed)
			unit := p.sensitivity() / 4
			offset := 0.3 * s.step // off the grid
			var values []int64     // in quarters of Δ
			most := 6
			if dptest.Long() {
				most = 12
			}
			for v := int64(0); float64(v)*unit <= p.Max && len(values) < most; v++ {
				values = append(values, v)
			}
			if p.Signed {
				values = append(values, -1, -2, -3, -4)
			}
			inputs := grid(values, 2)
			worst := 0.0
			for _, group := range gatherings(&s) {
				laws := make([][]float64, len(inputs))
				for i, x := range inputs {
					laws[i] = mixedLaw(&s, group.indices[:2], []float64{float64(x[0])*unit + offset, float64(x[1])*unit - offset/2})
				}
				ratio, _ := largestRatio(inputs, laws, 4)
				require.LessOrEqual(t, ratio, math.Exp(p.Epsilon)*(1+1e-12), group.name)
				worst = max(worst, ratio)
			}
			if name == "ramp" || name == "columns" {
				// ln(1+κ) in the place of κ ≤ 2⁻⁹
				require.Greater(t, worst, math.Exp(p.Epsilon*(1-0x1p-9)))
			}
		})
	}
}

// mixedLaw returns the law of the table for real values of two entries.
func mixedLaw(s *shape, indices []uint64, values []float64) []float64 {
	var law []float64
	for up := range 4 {
		weight, steps := 1.0, make([]int64, 2)
		for i, x := range values {
			whole := math.Floor(x / s.step)
			theta := x/s.step - whole
			if up>>i&1 == 1 {
				weight, whole = weight*theta, whole+1
			} else {
				weight *= 1 - theta
			}
			if steps[i] = int64(whole); !s.params.Signed {
				steps[i] = max(steps[i], 0)
			}
		}
		for o, p := range tableLaw(s, &s.code, contents(s, indices, steps)) {
			if up == 0 {
				law = append(law, 0)
			}
			law[o] += weight * p
		}
	}
	return law
}

// Release draws the law that the tests above enumerate.
func TestReleaseHasTheEnumeratedLaw(t *testing.T) {
	releases := dptest.Full(6000, 2500)
	for i, f := range family {
		t.Run(f.name, func(t *testing.T) {
			skipMost(t, i)
			p := f.params
			p.Integers = true
			s := small(t, p)
			groups := gatherings(&s)
			indices := groups[len(groups)/2].indices
			values := []int64{f.values[len(f.values)-1], f.values[1], f.values[2]}
			law := tableLaw(&s, &s.code, contents(&s, indices, values))
			counts := make([]int64, len(law))
			var src noise.Source
			for range releases {
				st := &state{params: s.params, shape: s}
				for i, index := range indices {
					st.totals.add(index, values[i])
				}
				table := s.draw(&src, clamped(st.totals.sums(), s.limit, p.Signed), nil)
				counts[outputNumber(&s, &table)]++
			}
			observed, expected := byProbability(law, counts)
			dptest.ChiSquare(t, "table", observed, expected, 1e-10)
		})
	}
}

// byProbability sorts outcomes by their probability, so that rare ones are pooled with rare ones.
func byProbability(law []float64, counts []int64) (observed []int64, expected []float64) {
	sorted := make([]int, len(law))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(a, b int) int { return cmp.Compare(law[b], law[a]) })
	for _, o := range sorted {
		observed, expected = append(observed, counts[o]), append(expected, law[o])
	}
	return observed, expected
}

// drawGiven draws the table of entries in any order, given the list, which may be nil.
func (s *shape) drawGiven(src *noise.Source, entries []total, list *sparse.Vector[uint64]) packed {
	entries = slices.Clone(entries)
	sparse.SortEntries(entries)
	var large []total
	if list != nil {
		large, _ = list.Steps()
	}
	return s.draw(src, entries, large)
}

// outputNumber is the number that tableLaw gives an output.
func outputNumber(s *shape, table *packed) (n int) {
	for cell := range s.words * s.wordCells * s.blocks {
		if s.column(cell) < s.columns {
			n = n*s.code.levels + int(table.at(cell))
		}
	}
	return n
}

// The thresholds of a column are where its outputs' medians change: at l·W/Q, up to the grid.
func TestThresholdsAreEquallySpaced(t *testing.T) {
	decay := decayOf(0.05)
	for _, width := range []int{8, 31, 200, 1001} {
		for _, levels := range []int{2, 4, 8, 16} {
			c := columnCode(width, levels, decay)
			for l := 1; l < levels; l++ {
				crossing := 0 // values whose outputs are below l more often than not
				for crossing <= width && c.tail(crossing, l) < 1<<63 {
					crossing++
				}
				require.InDelta(t, float64(l*width)/float64(levels), float64(crossing), 1.51, "W = %d, Q = %d, l = %d", width, levels, l)
			}
		}
	}
}
