package alp

import (
	"math"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// listLaw is what package threshold does with one value φ, an integer: its Theorem 1, or noise on
// all keys.
type listLaw struct {
	scale       float64
	from, least int64 // R and T
	pure        bool
	signed      bool
	// noisy values of top or more are one outcome: from there on the ratio of two laws is constant
	top int64
}

func listLawOf(t *testing.T, l sparse.Params, largest int64) listLaw {
	list := dptest.OK(l.Law())(t)
	law := listLaw{scale: l.Sensitivity / l.Epsilon, least: int64(list.Threshold()), pure: l.Delta == 0, signed: l.Signed}
	law.from = max(1, int64(math.Round(5*law.scale)))
	if !law.pure {
		require.Greater(t, law.least, law.from+1) // else package threshold takes another R
	}
	law.top = max(law.least, largest, law.from) + 1
	return law
}

// reach returns Pr[L ≥ n].
func (l listLaw) reach(n int64) float64 {
	q := math.Exp(-1 / l.scale)
	if n >= 1 {
		return math.Exp(-float64(n)/l.scale) / (1 + q)
	}
	return 1 - math.Exp(-float64(1-n)/l.scale)/(1+q)
}

// of returns the law of the outcomes: hidden, −top or less … −T if signed, T … top or more.
func (l listLaw) of(phi int64) []float64 {
	size, weight := max(phi, -phi), 1.0
	if !l.pure && size < l.from {
		weight = math.Expm1(float64(size)/l.scale) / math.Expm1(float64(l.from)/l.scale)
		size = l.from
	}
	hidden := 1 - weight*l.reach(l.least-size)
	// of the value's own sign, and of the other
	near, far := l.shown(size, weight), make([]float64, l.top-l.least+1)
	if l.pure && l.signed {
		far = l.shown(-size, 1)
		hidden -= l.reach(l.least + size)
	}
	if !l.signed {
		return append([]float64{hidden}, near...)
	}
	if phi < 0 {
		near, far = far, near
	}
	slices.Reverse(far)
	return slices.Concat([]float64{hidden}, far, near)
}

// shown returns the probabilities of T … top or more, for an entry that is released as size + L
// with the weight.
func (l listLaw) shown(size int64, weight float64) []float64 {
	shown := make([]float64, l.top-l.least+1)
	for i := range shown {
		y := l.least + int64(i)
		shown[i] = weight * (l.reach(y-size) - l.reach(y+1-size))
	}
	shown[len(shown)-1] = weight * l.reach(l.top-size)
	return shown
}

// value returns the value that the list shows in an outcome, 0 if it shows none.
func (l listLaw) value(outcome int) int64 {
	if outcome == 0 {
		return 0
	}
	value := l.least + int64(outcome-1)
	if l.signed {
		value = -l.top + int64(outcome-1)
		if value > -l.least {
			value += 2*l.least - 1
		}
	}
	return value
}

// enumeration is the joint law of list and table, the list first, with the code that the table is
// drawn from.
type enumeration struct {
	s    *shape
	code *code
	list listLaw
	// the first column kept by an entry of v steps that the list shows as listed
	kept    func(listed, v int64) int
	indices []uint64
	tables  tableLaws
}

func enumerationOf(s *shape, list listLaw, indices []uint64) enumeration {
	return enumeration{s, &s.code, list, func(listed, _ int64) int { return s.kept(listed) }, indices, tableLaws{}}
}

// outcomes returns what the list shows of an entry, with the first column that the entry then
// keeps. Of an entry that does not change, what leaves it the same columns may be merged: no ratio
// of probabilities depends on the rest.
func (e *enumeration) outcomes(v int64, merged bool) (law []float64, first []int) {
	law = e.list.of(e.s.phi(v))
	for o := range law {
		first = append(first, e.kept(e.list.value(o), v))
	}
	if !merged {
		return law, first
	}
	classes, firsts := make([]float64, e.s.half+1), make([]int, e.s.half+1)
	for o, p := range law {
		classes[first[o]] += p
	}
	for i := range firsts {
		firsts[i] = i
	}
	return classes, firsts
}

// law returns the probabilities of all that the list shows of the entries, and of all tables given
// that.
func (e *enumeration) law(values []int64, merged []bool) []float64 {
	var law []float64
	tables := map[[2]int][]float64{}
	var walk func(i int, p float64, first [2]int)
	walk = func(i int, p float64, first [2]int) {
		if i < len(values) {
			outcomes, firsts := e.outcomes(values[i], merged[i])
			for o, q := range outcomes {
				first[i] = firsts[o]
				walk(i+1, p*q, first)
			}
			return
		}
		table, known := tables[first]
		if !known {
			table = e.tables.of(e.s, e.code, contents(e.s, e.indices[:len(values)], values, first[:len(values)]...))
			tables[first] = table
		}
		for _, q := range table {
			law = append(law, p*q)
		}
	}
	walk(0, 1, [2]int{})
	return law
}

// combination is a combined structure small enough to enumerate.
type combination struct {
	name   string
	params Params
	tight  bool // δ is attained, but for the rounding of the threshold
}

var combinations = []combination{
	{"split/delta=1", Params{Epsilon: 1, Delta: 1e-5, Variant: Variant{Split: 0.5, Levels: 2, Columns: 2}}, true},
	{"split/delta=2", Params{Epsilon: 3, Delta: 1e-6, Sensitivity: 2, Variant: Variant{Split: 1.0 / 3, Levels: 4, Columns: 1}}, false},
	{"split/delta=3", Params{Epsilon: 3, Delta: 1e-6, Sensitivity: 3, Variant: Variant{Split: 0.5, Levels: 2, Columns: 1}}, false},
	{"split/signed", Params{Epsilon: 1, Delta: 1e-5, Signed: true, Variant: Variant{Split: 0.5, Levels: 2, Columns: 1}}, true},
	{"split/linear", Params{Epsilon: 2, Delta: 1e-5, Variant: Variant{Split: 0.5, Linear: true, Columns: 2}}, true},
	{"split/logarithmic", Params{Epsilon: 1, Delta: 1e-5, Variant: Variant{Split: 0.5, Levels: 2, Columns: 2, Base: 1.3}}, true},
	{"composition", Params{Epsilon: 2, Delta: 1e-5, Structure: Composition, Variant: Variant{Split: 0.5, Levels: 2, Columns: 2}}, true},
	{"composition/delta=2", Params{Epsilon: 3, Delta: 1e-5, Sensitivity: 2, Structure: Composition, Variant: Variant{Split: 0.5, Levels: 2, Columns: 1}}, false},
	{"pure/split", Params{Epsilon: 1.5, Dim: 4, Variant: Variant{FalseKeys: 0.2, Split: 0.5, Levels: 2, Columns: 2}}, false},
	{"pure/signed", Params{Epsilon: 2, Dim: 4, Signed: true, Variant: Variant{FalseKeys: 0.2, Split: 0.5, Levels: 2, Columns: 2}}, false},
	{"split/share", Params{Epsilon: 1.5, Delta: 1e-5, share: 0.25, Variant: Variant{Split: 0.5, Levels: 2, Columns: 2}}, false},
	{"pure/composition", Params{Epsilon: 3, Dim: 4, Sensitivity: 2, Structure: Composition, Variant: Variant{Split: 0.5, Levels: 2, Columns: 2}}, false},
}

// tiny returns the shape of a combined structure with a table of a few bits, its indices sharing
// cells or not.
func tiny(t *testing.T, p Params) shape {
	p.Integers, p.Independent, p.Sparsity, p.Bits = true, true, 1, 4
	p.Seed[0] = 1
	s := dptest.OK(p.shape())(t)
	require.LessOrEqual(t, int(s.positions)*s.columns*s.cellBits, 12)
	return s
}

// skipMost skips two of three cases with -short.
func skipMost(t *testing.T, number int) {
	t.Helper()
	if testing.Short() && number%3 != 0 {
		t.Skip("without -short")
	}
}

// divergence returns the largest hockey-stick divergence, in either direction, over all pairs of
// inputs of two entries at distance at most Δ, or the first above enough.
func (c combination) divergence(e enumeration, values []int64, enough float64) (largest float64) {
	reach := int64(c.params.sensitivity())
	epsilon := e.s.params.tableEta() * float64(reach) // without a share for the Sparsity that is ε
	inputs := grid(values, 2)
	for i, x := range inputs {
		for _, y := range inputs[i+1:] {
			d, n := distance(x, y)
			if d > reach || n == 2 && testing.Short() && i%5 > 0 {
				continue
			}
			if largest > enough {
				return largest
			}
			merged := []bool{x[0] == y[0], x[1] == y[1]}
			p, q := e.law(x, merged), e.law(y, merged)
			largest = max(largest, excess(p, q, epsilon), excess(q, p, epsilon))
		}
	}
	return largest
}

// excess returns Σ (p − e^ε·q)₊. Its error is below 1e-14: the terms are, relatively, within an ulp
// of e^ε, and few are large.
func excess(p, q []float64, epsilon float64) (sum float64) {
	factor := math.Exp(epsilon) * (1 + 0x1p-50)
	for i := range p {
		sum += max(p[i]-factor*q[i], 0)
	}
	return sum
}

// around returns the values where something happens: around 0, the list's radius, the end of the
// first column, the columns' last step, the turn, and the list's threshold.
func (c combination) around(s *shape, law listLaw) (values []int64) {
	column, last := int64(s.width), s.turn
	if s.logAxis != nil {
		column, last = s.logAxis.from[column], s.logAxis.from[s.logAxis.point(s.turn)]
	}
	for _, v := range []int64{0, law.from / s.slopeBelow, column, last, s.turn, (law.least + s.slopeBelow - 1) / s.slopeBelow} {
		for w := max(v-1, 0); w <= v+1; w++ {
			values = append(values, w)
			if s.params.Signed && w <= 3 {
				values = append(values, -w)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// Theorem 2: list and table together are (ε, δ)-private, for all pairs of neighbours with one or
// two entries, at all values where something happens, for every set of keys that is listed and what
// it leaves of the table. One step less of the list's threshold breaks it; so does a table with a
// tenth more budget, and a table that leaves out the columns of listed keys by their true values.
func TestCombinationIsPrivateExactly(t *testing.T) {
	for i, c := range combinations {
		t.Run(c.name, func(t *testing.T) {
			skipMost(t, i)
			s := tiny(t, c.params)
			require.True(t, s.hasList)
			// beyond, all listed keys keep as much
			law := listLawOf(t, s.list, max(s.phi(s.turn+2), s.slack()+s.slopeBelow*s.turn))
			values := c.around(&s, law)
			limit := c.params.Delta*(1+1e-8) + 1e-13
			groups := gatherings(&s)
			if testing.Short() {
				groups = groups[len(groups)-1:]
			}
			honest := enumerationOf(&s, law, groups[0].indices)
			for _, group := range groups {
				honest.indices = group.indices
				require.LessOrEqual(t, c.divergence(honest, values, limit), limit, group.name)
			}
			control := func(spoil func(e *enumeration)) {
				t.Helper()
				e := honest
				spoil(&e)
				require.Greater(t, c.divergence(e, values, limit), limit)
			}
			if c.tight { // but for the threshold, which is an integer
				control(func(e *enumeration) { e.list.least-- })
			}
			over := columnCode(s.width, s.code.levels, decayOf(s.params.columnEta()*1.1))
			control(func(e *enumeration) { e.code, e.tables = &over, tableLaws{} })
			control(func(e *enumeration) {
				e.kept = func(listed, v int64) int {
					if listed == 0 {
						return 0
					}
					return s.kept(s.slack() + s.phi(max(v, -v)))
				}
			})
		})
	}
}

// What is drawn has the law that the test above enumerates: list first, then the table, of a large
// entry and one that may or may not be listed.
func TestCombinationHasTheEnumeratedLaw(t *testing.T) {
	releases := 1600
	if dptest.Long() {
		releases = 4000
	}
	for i, c := range combinations {
		t.Run(c.name, func(t *testing.T) {
			skipMost(t, i)
			s := tiny(t, c.params)
			e := enumerationOf(&s, listLawOf(t, s.list, s.slack()+s.slopeBelow*s.turn), gatherings(&s)[0].indices[:2])
			if s.params.Dim > 0 { // indices are not below it: any stand-ins
				e.indices = []uint64{0, 1}
			}
			values := []int64{s.turn + 1, (e.list.least + s.slopeBelow - 1) / s.slopeBelow}
			law := e.law(values, []bool{true, true})
			counts := make([]int64, len(law))
			tables := len(law) / (s.half + 1) / (s.half + 1)
			var src noise.Source
			for range releases {
				entries := []total{{Key: e.indices[0], Steps: values[0]}, {Key: e.indices[1], Steps: values[1]}}
				list := dptest.OK(s.releaseList(&src, entries))(t)
				table, values := s.drawGiven(&src, entries, list), listed(list)
				class := s.kept(int64(values.value(e.indices[0])))*(s.half+1) + s.kept(int64(values.value(e.indices[1])))
				counts[class*tables+outputNumber(&s, &table)]++
			}
			observed, expected := byProbability(law, counts)
			dptest.ChiSquare(t, "classes and tables", observed, expected, 1e-10)
		})
	}
}

// The same for real values of one entry, rounded to the grid at random, list and table after the
// same rounding: halves of Δ off the grid, around 0, where the list's rounding ends, the turn and
// the list's threshold. A threshold lower by the scale of the noise breaks it.
func TestRealCombinationIsPrivateExactly(t *testing.T) {
	for name, p := range map[string]Params{
		"split": {Epsilon: 1, Delta: 1e-5, Variant: Variant{Split: 0.5, Levels: 2, Columns: 2}}, "signed": {Epsilon: 2, Delta: 1e-4, Signed: true, Variant: Variant{Split: 0.5, Levels: 2, Columns: 1}},
		"composition": {Epsilon: 1, Delta: 1e-5, Structure: Composition, Variant: Variant{Split: 0.5, Levels: 4, Columns: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "signed" {
				skipMost(t, 1)
			}
			p.Independent, p.Sparsity, p.Bits = true, 1, 2
			s := dptest.OK(p.shape())(t)
			require.True(t, s.mixed)
			half := 0.5 / s.step
			law := listLawOf(t, s.list, max(s.phi(s.turn+int64(2*half)), s.slack()+s.slopeBelow*s.turn))
			lower := law
			lower.least -= int64(law.scale)
			for _, control := range []bool{false, true} {
				list := law
				if control {
					list = lower
				}
				worst := 0.0
				for _, at := range []float64{0, float64(law.from) / float64(s.slopeBelow), float64(s.turn), float64(law.least) / float64(s.slopeBelow)} {
					var laws [][]float64
					for n := range 5 {
						x := at + (float64(n)-2)*half
						if n == 1 { // off the grid
							x += 0.3
						}
						if !p.Signed {
							x = max(x, 0)
						}
						laws = append(laws, mixture(enumerationOf(&s, list, []uint64{1}), x))
					}
					for i := range laws {
						for j := range laws {
							if gap := i - j; gap >= -2 && gap <= 2 {
								worst = max(worst, excess(laws[i], laws[j], p.Epsilon))
							}
						}
					}
				}
				limit := p.Delta*(1+1e-8) + 1e-13
				if control {
					require.Greater(t, worst, limit)
				} else {
					require.LessOrEqual(t, worst, limit)
				}
			}
		})
	}
}

// mixture returns the law of table and list for one entry of x steps, not an integer.
func mixture(e enumeration, x float64) []float64 {
	whole := math.Floor(x)
	law := e.law([]int64{int64(whole)}, []bool{false})
	for i, p := range e.law([]int64{int64(whole) + 1}, []bool{false}) {
		law[i] += (x - whole) * (p - law[i])
	}
	return law
}

// The condition of Theorem 2: where the columns end before φ₁ has passed the rounding radius, δ is
// exceeded.
func TestTurnBelowTheRadiusIsNotPrivate(t *testing.T) {
	c := combinations[0]
	s := tiny(t, c.params)
	s.turn = 2
	law := listLawOf(t, s.list, s.phi(30))
	values := []int64{0, 1, 2, 3, 4, 5, 6, 7}
	require.Greater(t, c.divergence(enumerationOf(&s, law, []uint64{1, 2}), values, c.params.Delta*1.1), c.params.Delta*1.1)
}

// φ₁ and its inverse, and the turn behind the list's threshold.
func TestPhi(t *testing.T) {
	for _, c := range combinations {
		s := tiny(t, c.params)
		law := dptest.OK(s.list.Law())(t)
		require.GreaterOrEqual(t, float64(s.slopeBelow*s.turn), law.Threshold())
		for v := -2 * s.turn; v <= 2*s.turn; v++ {
			require.InDelta(t, float64(v), s.unphi(float64(s.phi(v))), 1e-9)
			d := s.phi(v+1) - s.phi(v)
			require.True(t, d == s.slopeBelow || d == s.slopeAbove)
		}
		require.Less(t, s.phi(maxTotal), int64(1)<<60)
	}
}
