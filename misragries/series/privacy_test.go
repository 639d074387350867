package series

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise"
)

// The law of all that a Builder ever releases, of one or two keys and a few steps, is computed by
// running the Builder itself with a publisher that follows a script: for each count that is
// published, a range of integers in which the number lies, and for each sketch the keys that
// it shows. The probability of these is a factor of that of the script. Ranges are cut where two
// neighbouring inputs differ in their likelihood ratio and where the published number decides
// something, so each stands for all of its numbers; and so do the answers of a sketch.

// stream has the keys of each step, in order.
type stream [][]int

// sevens returns the stream of so many elements of the key 7 in each step.
func sevens(counts ...int) (x stream) {
	for _, n := range counts {
		x = append(x, slices.Repeat([]int{7}, n))
	}
	return x
}

// with returns the stream with n elements more of a key in a step, before the i-th element.
func (x stream) with(step, i, key, n int) stream {
	y := slices.Clone(x)
	y[step] = slices.Insert(slices.Clone(y[step]), i, slices.Repeat([]int{key}, n)...)
	return y
}

// draw names what is published: the step, what kind of count, the span, and which of several.
type draw struct {
	step int
	kind string
	span int
	nth  int
}

// answer is a range of integers from lo to hi − 1, ±∞ allowed; or the keys that a sketch shows,
// with the probability of this for each of the two streams.
type answer struct {
	lo, hi float64
	shown  string // the keys
	prob   [2]float64

	released *misragries.Histogram[int] // that shows them
}

// some returns a number of the range.
func (a answer) some() int64 {
	if !math.IsInf(a.lo, 0) {
		return int64(a.lo)
	}
	return int64(a.hi) - 1
}

// scripted is a publisher that follows a script and stops where it ends.
type scripted struct {
	t           *testing.T
	calibration calibration
	step        int
	side        int // which of the two streams
	script      map[draw]answer
	used        map[draw]bool
	prob        float64
	hide        bool
	joint       bool // with the numbers of elements
}

// wanted is the draw at which a script ended.
type wanted struct {
	draw   draw
	count  int64
	sketch counters
}

// next names the next draw of a kind.
func (s *scripted) next(kind string, span int) (d draw) {
	d = draw{s.step, kind, span, 0}
	for s.used[d] {
		d.nth++
	}
	return d
}

func (s *scripted) follow(kind string, span int, count int64, law noise.DiscreteLaplace) answer {
	d := s.next(kind, span)
	a, ok := s.script[d]
	if !ok {
		panic(wanted{draw: d, count: count})
	}
	s.used[d] = true
	// Pr[lo ≤ count + X < hi], from the nearer tail
	lo, hi := a.lo-float64(count), a.hi-float64(count)
	if lo > 0 {
		s.prob *= law.Survival(lo-1) - law.Survival(hi-1)
	} else {
		s.prob *= law.CDF(hi-1) - law.CDF(lo-1)
	}
	return a
}

func (s *scripted) known(l int, count int64) int64 {
	if s.hide && count == 0 {
		return 0
	}
	return s.follow("known", l, count, s.calibration.known).some()
}

func (s *scripted) elements(i, l int, count int64) int64 {
	if !s.joint {
		return 0
	}
	return s.follow("elements", l, count, s.calibration.elements[i]).some()
}

func (s *scripted) late(j int, count int64) int64 {
	if s.hide && count == 0 {
		return 0
	}
	return s.follow("late", j, count, s.calibration.found).some()
}

func (s *scripted) show(j int, count int64) (int64, bool) {
	a := s.follow("show", j, count, s.calibration.found)
	return a.some(), a.lo >= float64(s.calibration.threshold)
}

func (s *scripted) sketch(j int, b *misragries.Builder[int]) (*misragries.Histogram[int], error) {
	d := s.next("sketch", j)
	a, ok := s.script[d]
	if !ok {
		panic(wanted{draw: d, sketch: readCounters(s.t, b, s.calibration.sketch)})
	}
	s.used[d] = true
	s.prob *= a.prob[s.side]
	return a.released, nil
}

// counters are those of a sketch that are above 0, or 0 and kept, and the number of its decrements.
type counters struct {
	of         map[int]int64
	decrements int64
}

// readCounters takes them from the sketch's private state, which ends with the number of
// decrements, the entries, of which some came after the last decrement, and the keys that it
// brought to zero.
func readCounters(t *testing.T, b *misragries.Builder[int], p misragries.Params) counters {
	fresh := dptest.OK(misragries.New[int](p))(t)
	data := dptest.OK(b.AppendPrivateState(nil))(t)[len(dptest.OK(fresh.AppendPrivateState(nil))(t))-20:]
	word := func() int64 {
		x := binary.LittleEndian.Uint64(data)
		data = data[8:]
		return int64(x)
	}
	short := func() int {
		n := binary.LittleEndian.Uint32(data)
		data = data[4:]
		return int(n)
	}
	c := counters{map[int]int64{}, word()}
	settled, since := short(), []int{}
	for i := range short() {
		key := int(word())
		if c.of[key] = word() - c.decrements; i >= settled {
			since = append(since, key)
		}
	}
	var zeros []int
	for range short() {
		zeros = append(zeros, int(word()))
	}
	slices.Sort(zeros)
	for _, key := range since { // each takes the place of a key at zero: its own, or the smallest
		if i, found := slices.BinarySearch(zeros, key); found {
			zeros = slices.Delete(zeros, i, i+1)
		} else if len(zeros) > 0 {
			zeros = zeros[1:]
		}
	}
	for _, key := range zeros {
		c.of[key] = 0
	}
	require.Empty(t, data)
	return c
}

// showing returns a release that shows some of the keys 7 and 8.
func showing(t *testing.T, shown string) *misragries.Histogram[int] {
	b := dptest.OK(misragries.New[int](misragries.Params{Counters: 2, Epsilon: 1000, Delta: 0.5}))(t)
	for _, key := range shown {
		for range 100 {
			b.Add(int(key - '0'))
		}
	}
	h := dptest.OK(b.Release())(t)
	require.Equal(t, len(shown), h.Len())
	return h
}

// answers returns all that a sketch may show, and the number D − η, for two lists of counters: one
// answer for all outcomes of one likelihood ratio and the same keys (or, where the keys do not
// matter any more, any keys). Outcomes of less than 1e-14 are left out.
func answers(x, y counters, scale float64, threshold int64, last bool) (all []answer) {
	law, err := noise.NewDiscreteLaplace(scale)
	if err != nil {
		panic(err)
	}
	both := [2]counters{x, y}
	between := func(lo, hi, center float64) float64 { // Pr[lo ≤ center + L < hi]
		if lo > center {
			return law.Survival(lo-center-1) - law.Survival(hi-center-1)
		}
		return law.CDF(hi-center-1) - law.CDF(lo-center-1)
	}
	type class struct {
		shown string
		ratio int64
	}
	sums := map[class][2]float64{}
	reach := int64(40*scale) + 20
	for published := -reach; published <= reach; published++ { // D − η
		outcomes := []answer{{prob: [2]float64{law.Prob(float64(x.decrements - published)), law.Prob(float64(y.decrements - published))}}}
		for _, key := range []int{7, 8} {
			var center [2]float64
			var kept [2]bool
			for side, c := range both {
				count, ok := c.of[key]
				center[side], kept[side] = float64(count+c.decrements-published), ok
			}
			if !kept[0] && !kept[1] {
				continue
			}
			tau := float64(threshold)
			cuts := []float64{tau, math.Inf(1)}
			for _, c := range center {
				cuts = append(cuts, max(c, tau))
			}
			for v := min(center[0], center[1]); v < max(center[0], center[1]) && kept[0] && kept[1]; v++ {
				cuts = append(cuts, max(v, tau))
			}
			slices.Sort(cuts)
			cuts = slices.Compact(cuts)
			var next []answer
			for _, a := range outcomes {
				for i, lo := range append([]float64{math.Inf(-1)}, cuts[:len(cuts)-1]...) {
					b := a
					if i > 0 {
						b.shown += fmt.Sprint(key)
					}
					for side := range both {
						switch {
						case kept[side]:
							b.prob[side] *= between(lo, cuts[i], center[side])
						case i > 0:
							b.prob[side] = 0
						}
					}
					next = append(next, b)
				}
			}
			outcomes = next
		}
		for _, a := range outcomes {
			c := class{a.shown, 0}
			switch {
			case a.prob[0] < 1e-17 && a.prob[1] < 1e-17:
				// two of them are not cut where they should be
				continue
			case a.prob[0] == 0:
				c.ratio = math.MinInt64
			case a.prob[1] == 0:
				c.ratio = math.MaxInt64
			default:
				c.ratio = int64(math.Round(1e6 * math.Log(a.prob[0]/a.prob[1])))
			}
			if last {
				c.shown = ""
			}
			sum := sums[c]
			sums[c] = [2]float64{sum[0] + a.prob[0], sum[1] + a.prob[1]}
		}
	}
	for c, prob := range sums {
		all = append(all, answer{shown: c.shown, prob: prob})
	}
	return all
}

// mutant is what a broken Builder does, for controls.
type mutant struct {
	start       func(s *state[int])
	before      func(s *state[int], key int)  // each element
	calibration func(c *calibration)          // of what is published
	after       func(s *state[int], x stream) // each step
	hide        bool                          // zeros of known keys
	lower       int64                         // than the threshold of sketches
	quieter     bool                          // half the noise of sketches
	joint       bool                          // the numbers of elements as well, no mutant
}

// run gives the stream to a Builder and returns the probability of the script, or the draw at which
// it ended.
func run(t *testing.T, p Params, x stream, side int, script map[draw]answer, m mutant) (prob float64, at *wanted) {
	b, err := New[int](p)
	if err != nil {
		t.Fatal(err)
	}
	s := private.Enter(b.secret)
	if m.calibration != nil {
		m.calibration(&s.calibration)
	}
	if m.start != nil {
		m.start(s)
	}
	d := &scripted{t: t, calibration: s.calibration, side: side, script: script, used: map[draw]bool{}, prob: 1, hide: m.hide, joint: m.joint}
	s.draw = d
	defer func() {
		if e := recover(); e != nil {
			w, ok := e.(wanted)
			if !ok {
				panic(e)
			}
			at = &w
		}
	}()
	for step, keys := range x {
		d.step = step
		for _, key := range keys {
			if m.before != nil {
				m.before(s, key)
			}
			if p.MaxElements > 0 {
				s.addFor("a", []int{key})
			} else {
				s.add(key, 1)
			}
		}
		if _, err := s.step(); err != nil {
			t.Fatal(err)
		}
		if m.after != nil {
			m.after(s, x)
		}
	}
	// What the script shows and this input does not publish at all has probability 0; what it hides
	// has probability 1.
	for draw, a := range script {
		if !d.used[draw] && (draw.kind != "show" || a.lo >= float64(s.calibration.threshold)) {
			d.prob = 0
		}
	}
	return d.prob, nil
}

// divergences goes through all scripts and returns the exact hockey-stick divergences of two
// streams, in both directions.
func divergences(t *testing.T, p Params, epsilon float64, x, y stream, m mutant) (xy, yx, sumX, sumY float64) {
	law := dptest.OK(p.normal().calibrate())(t)
	if m.calibration != nil {
		m.calibration(&law)
	}
	releases := map[string]*misragries.Histogram[int]{}
	var visit func(script map[draw]answer)
	visit = func(script map[draw]answer) {
		px, atX := run(t, p, x, 0, script, m)
		py, atY := run(t, p, y, 1, script, m)
		if atX == nil && atY == nil {
			sumX, sumY = sumX+px, sumY+py
			xy += max(px-math.Exp(epsilon)*py, 0)
			yx += max(py-math.Exp(epsilon)*px, 0)
			return
		}
		at := atX
		if at == nil || atY != nil && before(atY.draw, at.draw) {
			at = atY
		}
		same := atX != nil && atY != nil && atX.draw == atY.draw
		var all []answer
		if at.draw.kind == "sketch" {
			require.True(t, same, "sketches end in each step that they should")
			scale := 1 / law.sketch.Epsilon
			if m.quieter {
				scale /= 2
			}
			all = answers(atX.sketch, atY.sketch, scale, int64(law.tau())-m.lower, at.draw.step == len(x)-1)
			for i, a := range all {
				if releases[a.shown] == nil {
					releases[a.shown] = showing(t, a.shown)
				}
				all[i].released = releases[a.shown]
			}
		} else {
			cuts := []float64{math.Inf(-1), math.Inf(1)}
			if !same || atX.count != atY.count { // else the number tells nothing
				cuts = append(cuts, float64(at.count))
			}
			if same && atX.count != atY.count {
				cuts = append(cuts, float64(atX.count), float64(atY.count))
			}
			switch {
			case at.draw.kind == "show":
				cuts = append(cuts, float64(law.threshold))
			case at.draw.kind == "known" && p.Retire > 0:
				cuts = append(cuts, float64(p.Retire))
			}
			all = ranges(cuts, at.draw.kind == "show", float64(law.threshold))
		}
		for _, a := range all {
			next := maps.Clone(script)
			next[at.draw] = a
			visit(next)
		}
	}
	visit(map[draw]answer{})
	return xy, yx, sumX, sumY
}

// ranges returns the ranges between the cuts; below a threshold there is one, of what is hidden.
func ranges(cuts []float64, hidden bool, threshold float64) (all []answer) {
	cuts = slices.DeleteFunc(cuts, func(x float64) bool { return hidden && x < threshold && !math.IsInf(x, 0) })
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i, hi := range cuts[1:] {
		all = append(all, answer{lo: cuts[i], hi: hi})
	}
	return all
}

// before is the order in which a Builder draws.
func before(a, b draw) bool {
	kind := map[string]int{"known": 0, "elements": 1, "late": 2, "show": 2, "sketch": 2}
	return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(kind[a.kind], kind[b.kind]), cmp.Compare(a.span, b.span), cmp.Compare(a.nth, b.nth)) < 0
}

// small has two spans of each kind.
func small(epsilon float64) Params {
	two := [maxSpans]int{1, 2}
	return Params{Epsilon: epsilon, Delta: 1e-3, Spans: two, Discovery: two}
}

// exactDelta returns 1 − Π(1 − η).
func exactDelta(t *testing.T, p Params) float64 {
	law := dptest.OK(p.normal().calibrate())(t)
	eta := law.found.Survival(float64(law.threshold) - 2)
	return -math.Expm1(float64(len(used(&p.Discovery))) * math.Log1p(-eta))
}

// The output of four steps is exactly (ε, 1 − Π(1 − η))-private, and the other way round ε-private.
func TestExact(t *testing.T) {
	worst := 0.0
	check := func(p Params, counts []int, at int) {
		x := sevens(counts...)
		y := x.with(at, 0, 7, 1)
		yx, xy, sumY, sumX := divergences(t, p, p.Epsilon, y, x, mutant{})
		name := fmt.Sprintf("%+v, %v, one more in step %d", p, counts, at)
		require.InDelta(t, 1, sumX, 1e-12, name)
		require.InDelta(t, 1, sumY, 1e-12, name)
		delta := exactDelta(t, p)
		require.LessOrEqual(t, yx, delta*(1+1e-9), name)
		require.LessOrEqual(t, xy, 1e-12, name)
		require.LessOrEqual(t, delta, p.Delta)
		worst = max(worst, yx/delta)
	}
	epsilons, retires := []float64{1}, []int{0, 1}
	if dptest.Long() {
		epsilons, retires = []float64{0.5, 1, 2}, []int{0, 1, 3}
	}
	for _, epsilon := range epsilons {
		for _, retire := range retires {
			p := small(epsilon)
			p.Retire = retire
			law := dptest.OK(p.normal().calibrate())(t)
			tau := int(law.threshold)
			streams := [][]int{{0, 0, 0, 0}, {tau, 0, 0, 0}, {0, tau, 1, 0}, {tau - 1, 0, 0, 1}}
			if dptest.Long() {
				streams = nil
				every := 11
				if dptest.Deep() {
					every = 1
				}
				for n := 0; n < 81; n += every {
					x := []int{n % 3, n / 3 % 3, n / 9 % 3, n / 27}
					streams = append(streams, x)
					for at := range x {
						high := slices.Clone(x)
						high[at] += tau
						streams = append(streams, high)
					}
				}
			}
			for _, x := range streams {
				for at := range x {
					check(p, x, at)
				}
			}
		}
	}
	require.InDelta(t, 1, worst, 1e-9, "the bound is attained")
}

// Each of these Builders does one thing otherwise, and exceeds (ε, δ) for one element more in a
// step.
func TestMutantsExceed(t *testing.T) {
	noiseOf := func(scale float64) noise.DiscreteLaplace {
		return dptest.OK(noise.NewDiscreteLaplace(scale))(t)
	}
	p := small(1)
	p.Retire = 2
	law, delta := dptest.OK(p.normal().calibrate())(t), exactDelta(t, p)
	tau := int(law.threshold)
	for name, c := range map[string]struct {
		x    stream
		step int
		m    mutant
	}{
		"counters also count while a key is unknown": {sevens(tau, 0, 0, 0), 0, mutant{after: func(s *state[int], x stream) {
			if len(s.known) == 1 && s.known[0].since == s.steps && s.steps%2 == 1 {
				s.known[0].sums[1] += int64(len(x[s.steps-1]))
			}
		}}},
		"zeros of known keys are hidden": {sevens(tau, 0, 0, 0), 1, mutant{hide: true}},
		"a threshold lower by one":       {sevens(0, 0, 0, 0), 0, mutant{calibration: func(c *calibration) { c.threshold-- }}},
		"a key becomes known inside of a step": {sevens(1, 0, 0, 0), 0, mutant{before: func(s *state[int], _ int) {
			if _, known := s.at[7]; !known && s.unknown.of(7, 0) > 0 {
				s.known = append(s.known, member[int]{key: 7, since: s.steps, rate: rate{1, 1}})
				s.index()
			}
		}}},
		"half the noise of known keys": {sevens(tau, 0, 0, 0), 1, mutant{calibration: func(c *calibration) { c.known = noiseOf(c.known.Scale() / 2) }}},
		"half the noise of discovery":  {sevens(tau, 0, 0, 0), 0, mutant{calibration: func(c *calibration) { c.found = noiseOf(c.found.Scale() / 2) }}},
		"open counts survive a retirement": {sevens(tau, tau-1, tau-1, 0), 1, mutant{after: func(s *state[int], x stream) {
			if len(s.known) == 0 && s.steps == 2 {
				// and the node of the span 2 begins again with them
				s.unknown.add(7, 1)
				s.unknown.rows[0].sums.raise(int64(len(x[1])))
			}
		}}},
	} {
		yx, xy, _, _ := divergences(t, p, p.Epsilon, c.x.with(c.step, 0, 7, 1), c.x, c.m)
		t.Logf("%s: %.3g times δ, and %.3g where 0 is allowed", name, yx/delta, xy)
		require.True(t, yx > 1.01*delta || xy > 1e-6, name)
	}
}
