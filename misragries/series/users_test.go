package series

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// rule says how many of the elements of one user count in each step.
type rule func(p Params, stream []int) []int

// tokens is what the Builder does: some elements one by one, the others at once, and users are
// forgotten whenever that is possible.
func tokens(p Params, user string, stream []int) (counts []int) {
	s := state[int]{params: p, users: map[string]*bucket{}, known: make([]member[int], 1)}
	for now, n := range stream {
		s.steps = now
		s.forgetUsers()
		together := 0
		for range n % 2 {
			together += s.addFor(user, []int{0})
		}
		counts = append(counts, together+s.addFor(user, make([]int, n-n%2)))
	}
	return counts
}

// inPhase returns a user's name.
func inPhase(p Params, phase int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint(i); p.phase(name) == int64(phase) {
			return name
		}
	}
}

// The rules below are not bounded as tokens are.
var otherRules = map[string]rule{
	// a token in W/m steps, in parts of tokens
	"parts of tokens": func(p Params, stream []int) (counts []int) {
		part, left := float64(p.MaxElements)/float64(p.longest()), float64(p.Burst)
		for now, n := range stream {
			if now > 0 {
				left = min(left+part, float64(p.Burst))
			}
			taken := min(n, int(left))
			left -= float64(taken)
			counts = append(counts, taken)
		}
		return counts
	},
	// a token comes W/m steps after the last one, not at public times
	"tokens by the user's time": func(p Params, stream []int) (counts []int) {
		left, since := p.Burst, 0
		for now, n := range stream {
			if every := p.longest() / p.MaxElements; now-since >= every {
				left = min(left+(now-since)/every, p.Burst)
				since = now
			}
			taken := min(n, left)
			if left -= taken; taken > 0 {
				since = now
			}
			counts = append(counts, taken)
		}
		return counts
	},
	"elements that do not count take the next token": func(p Params, stream []int) (counts []int) {
		left := p.Burst
		for now, n := range stream {
			if now > 0 {
				left = min(left+p.refilled("", 1, now-1, now), p.Burst)
			}
			counts = append(counts, max(min(n, left), 0))
			left -= n
		}
		return counts
	},
	"a limit of what counts, in steps that slide": func(p Params, stream []int) (counts []int) {
		for now, n := range stream {
			had := 0
			for _, x := range counts[max(now-p.longest()+1, 0):] {
				had += x
			}
			counts = append(counts, min(n, p.MaxElements-had))
		}
		return counts
	},
	"periods": func(p Params, stream []int) (counts []int) {
		had := 0
		for now, n := range stream {
			if now%p.longest() == 0 {
				had = 0
			}
			counts = append(counts, min(n, p.MaxElements-had))
			had += counts[now]
		}
		return counts
	},
}

// moved returns by how many elements that count a user's steps change all that count, at most, over
// all streams of so many steps with less than so many values each.
func moved(p Params, r rule, steps, values int) (most int) {
	known, stream := map[string][]int{}, make([]int, steps)
	remembered := func(p Params, stream []int) []int {
		id := make([]byte, 0, 16)
		for _, n := range stream {
			id = append(id, byte(n))
		}
		counts, ok := known[string(id)]
		if !ok {
			counts = r(p, stream)
			known[string(id)] = counts
		}
		return counts
	}
	for code := range int(math.Pow(float64(values), float64(steps))) {
		for i, rest := 0, code; i < steps; i, rest = i+1, rest/values {
			stream[i] = rest % values
		}
		most = max(most, movedBy(p, remembered, stream))
	}
	return most
}

// movedBy is moved for one stream.
func movedBy(p Params, r rule, stream []int) (most int) {
	x := r(p, stream)
	for from := range len(stream) - p.longest() + 1 {
		without := slices.Clone(stream)
		clear(without[from : from+p.longest()])
		differ := 0
		for now, y := range r(p, without) {
			differ += max(x[now], y) - min(x[now], y)
		}
		most = max(most, differ)
	}
	return most
}

// limited are Params of one key with a span of so many steps.
func limited(span, most, burst int) Params {
	p := Params{Epsilon: 1, Dim: 1, Spans: spansOf(1, span), MaxElements: most, Burst: burst}
	if span == 1 {
		p.Spans = spansOf(1)
	}
	return p.normal()
}

// What a user does in any steps as many as the longest span has changes the elements that count by
// 2·Burst + MaxElements at most: over all streams of some steps, with all that lies in some of them
// and without. It is attained. Other rules exceed the noise that tokens need.
func TestUserIsBounded(t *testing.T) {
	exceeds, attained := map[string]bool{}, 0
	for _, c := range []struct{ span, most, burst, steps, values int }{
		{2, 1, 1, 7, 3}, {2, 2, 1, 6, 4}, {2, 2, 2, 5, 5}, {3, 1, 1, 8, 2}, {3, 2, 1, 7, 3}, {1, 2, 1, 6, 4}, {2, 3, 2, 5, 6}, {3, 1, 2, 8, 3},
	} {
		p := limited(c.span, c.most, c.burst)
		bound := 2*c.burst + c.most
		for phase := range c.span {
			user := inPhase(p, phase)
			change := moved(p, func(p Params, stream []int) []int { return tokens(p, user, stream) }, c.steps, c.values)
			require.LessOrEqual(t, change, bound, "%+v in phase %d", c, phase)
			if change == bound {
				attained++
			}
		}
		for name, r := range otherRules {
			if c.span%c.most == 0 && !exceeds[name] && moved(p, r, c.steps, c.values) > bound {
				exceeds[name] = true
			}
		}
	}
	require.GreaterOrEqual(t, attained, 4)
	// parts add up slowly: random streams
	rng, p := rand.New(rand.NewPCG(1, 1)), limited(5, 3, 2)
	most := map[string]int{}
	for range 800 {
		stream := make([]int, 60)
		for i := range stream {
			stream[i] = max(rng.IntN(4)-1, 0)
		}
		user := inPhase(p, rng.IntN(5))
		most["tokens"] = max(most["tokens"], movedBy(p, func(p Params, stream []int) []int { return tokens(p, user, stream) }, stream))
		for name, r := range otherRules {
			most[name] = max(most[name], movedBy(p, r, stream))
		}
	}
	require.LessOrEqual(t, most["tokens"], 2*p.Burst+p.MaxElements)
	for name := range otherRules {
		require.True(t, exceeds[name] || most[name] > 2*p.Burst+p.MaxElements, "%s: %v", name, most)
	}
}

// The part of the elements that count of a user who comes once in so many hours.
func TestShareThatCounts(t *testing.T) {
	p := limited(168, 10, 0)
	require.Equal(t, 5, p.Burst)
	for every, want := range map[float64]float64{34: 1, 17: 1, 16.8: 1, 16: 0.97, 12: 0.73, 8: 0.49, 4: 0.24, 1: 0.061} {
		const steps = 5000
		stream := make([]int, steps)
		sum := 0
		for at := 0.0; at < steps; at += every {
			stream[int(at)]++
			sum++
		}
		counted := 0
		for _, n := range tokens(p, "a", stream) {
			counted += n
		}
		require.InDelta(t, want, float64(counted)/float64(sum), 0.012, "%v", every)
	}
	// ten at once in each week: half of them, and those that come a day later as well
	week := make([]int, 20*168)
	for i := 0; i < len(week); i += 168 {
		week[i], week[i+84] = 10, 5
	}
	counts := tokens(p, "a", week)
	require.Equal(t, 5, counts[0])
	require.Equal(t, 5, counts[84])
	require.Equal(t, 5, counts[168])
	for i := 84; i < len(week); i += 168 {
		week[i] = 0
	}
	require.Equal(t, 10, tokens(limited(168, 10, 10), "a", week)[168*7])
}

// Users who come above their rate are counted in all hours alike, as their tokens come in different
// ones.
func TestHoursCountAlike(t *testing.T) {
	p := limited(168, 10, 0)
	s := state[int]{params: p, users: map[string]*bucket{}, known: make([]member[int], 1)}
	least, most := math.Inf(1), 0.0
	for s.steps = range 400 {
		counted := 0
		for user := s.steps % 4; user < 4000; user += 4 {
			counted += s.addFor(fmt.Sprint("user ", user), []int{0})
		}
		if share := float64(counted) / 1000; s.steps >= 200 {
			least, most = min(least, share), max(most, share)
		}
	}
	require.InDelta(t, 10./42, least, 0.06)
	require.InDelta(t, 10./42, most, 0.06)
}

// Without MaxElements nothing bounds a user: a hundred thousand elements of one would count. So the
// user is not ignored: Step refuses, whatever the elements are. A restart takes nothing back.
func TestUsersNeedMaxElements(t *testing.T) {
	for _, p := range []Params{short, {Epsilon: 1, Delta: 1e-2, Counters: 4}, {Epsilon: 1, Dim: 3}} {
		for _, keys := range [][]int{nil, {1}, make([]int, 100_000)} {
			b := dptest.OK(New[int](p))(t)
			b.Add(1)
			require.Zero(t, b.AddFor("u", keys))
			b.Add(1)
			dptest.Refused(t, dptest.Err(b.Step()), ErrReleased, "no MaxElements")
			dptest.Refused(t, dptest.Err(b.AppendPrivateState(nil)), ErrReleased, "no MaxElements")
			require.True(t, b.Released())
		}
	}
	require.Zero(t, new(Builder[int]).AddFor("u", []int{1}))
}

// What counts, what is kept, and what is forgotten.
func TestUsers(t *testing.T) {
	p := short // the longest span has 6 steps
	p.MaxElements, p.Burst, p.Delta = 2, 3, 1e-30
	of := dptest.OK(New[int](p))(t)
	of.Add(5) // of no user
	dptest.Refused(t, dptest.Err(of.Step()), ErrReleased, "without a user")
	b := dptest.OK(New[int](p))(t)
	s := held(b)
	x, y := inPhase(s.params, 0), inPhase(s.params, 1) // in which tokens come in the same steps
	require.Equal(t, 2, b.AddFor(x, []int{1, 1}))
	require.Zero(t, b.AddFor(y, nil))
	require.Equal(t, 3, b.AddFor(y, []int{2, 3, 4, 5}), "the first ones")
	require.Zero(t, b.AddFor(y, []int{2}))
	require.Equal(t, map[string]*bucket{x: {1, 46, 0}, y: {0, 43, 0}}, s.users)
	require.Len(t, s.unknown.rows, 4)
	for range 3 {
		dptest.OK(b.Step())(t)
	}
	require.Equal(t, 2, b.AddFor(x, []int{7, 8, 9}), "one token came in step 3, the next one comes in step 6")
	again := dptest.OK(New[int](p))(t)
	require.NoError(t, again.RestorePrivateState(dptest.OK(b.AppendPrivateState(nil))(t), 3))
	require.Equal(t, map[string]*bucket{x: {0, 45, 3}, y: {1, 48, 3}}, held(again).users)
	for _, b := range []*Builder[int]{b, again} {
		for range 3 {
			dptest.OK(b.Step())(t)
		}
		require.Equal(t, 1, b.AddFor(x, []int{7, 8}))
		for range 6 {
			dptest.OK(b.Step())(t)
		}
		require.Equal(t, map[string]*bucket{x: {0, 46, 6}}, held(b).users, "who has all tokens is forgotten at the end of the longest span")
		require.Equal(t, 3, b.AddFor(y, []int{1, 2, 3, 4}))
		require.Equal(t, 2, b.AddFor(x, []int{1, 2, 3, 4}))
	}
	all := dptest.OK(New[int](Params{Epsilon: 1, Dim: 3}))(t)
	for _, key := range []int{1, 2, 2, 9, -1, 0} {
		all.Add(key)
	}
	all.AddN(2, 10)
	all.AddN(2, -10)
	all.AddN(3, 10)
	require.EqualValues(t, 12, held(all).known[2].sums[0])
	for range 2 {
		all.AddN(0, math.MaxInt)
	}
	require.LessOrEqual(t, held(all).known[0].sums[0], int64(limit))

	p = limited(6, 2, 1) // of one key
	few := dptest.OK(New[int](p))(t)
	require.Equal(t, 1, few.AddFor("a", []int{5, 9, 0, 0}), "a key outside of Dim takes no token")
	exact := dptest.OK(New[int](Params{Epsilon: 1, Delta: 1e-30}))(t)
	sketched := dptest.OK(New[int](Params{Epsilon: 1, Delta: 1e-30, Counters: 3}))(t)
	exact.AddN(4, 1000)
	sketched.AddN(4, 1000)
	exact.AddN(5, math.MaxInt)
	require.EqualValues(t, 1000, held(exact).unknown.of(4, 0))
	require.EqualValues(t, 1000, readCounters(t, held(sketched).sketches[0], held(sketched).calibration.sketch).of[4])
}

// The joint law of all releases of four steps is (ε, δ)-private for what one user does in any two
// of them, however much, and half the noise is not enough.
func TestUsersExact(t *testing.T) {
	for _, sketches := range []int{0, 2} {
		p := small(1)
		p.MaxElements, p.Burst, p.Delta, p.Counters = 1, 1, 1e-2, sketches
		if sketches > 0 {
			p.Discovery = spansOf(2)
		}
		worst := 0.0
		for _, x := range []stream{sevens(1, 1, 1, 1), sevens(0, 2, 1, 1), sevens(2, 0, 2, 2)} {
			for from := range 3 {
				y := slices.Clone(x)
				y[from], y[from+1] = nil, nil
				xy, yx, sumX, sumY := divergences(t, p, p.Epsilon, x, y, mutant{})
				require.InDelta(t, 1, sumX, 1e-9)
				require.InDelta(t, 1, sumY, 1e-9)
				require.LessOrEqual(t, max(xy, yx), p.Delta, "%v without %d and %d", x, from, from+1)
				worst = max(worst, xy, yx)
			}
		}
		t.Logf("%d counters: δ %.3g of %.3g", sketches, worst, p.Delta)
	}
	// A key that is known: purely ε-private, and not with the noise that hides one element.
	p := Params{Epsilon: 1, Dim: 1, Spans: spansOf(1, 2), MaxElements: 1, Burst: 1}
	one := dptest.OK(Params{Epsilon: 1, Dim: 1, Spans: p.Spans}.calibrate())(t)
	x, y := stream{nil, {0}, {0}, {0}}, stream{nil, nil, nil, {0}}
	xy, yx, _, _ := divergences(t, p, p.Epsilon, x, y, mutant{})
	require.LessOrEqual(t, max(xy, yx), 1e-12)
	xy, yx, _, _ = divergences(t, p, p.Epsilon, x, y, mutant{calibration: func(c *calibration) { *c = one }})
	require.Greater(t, max(xy, yx), 0.05)
}

// elementsMoved returns by how much the numbers of elements that count and that are seen differ
// between two streams of one user, in all nodes of a span together; and whether ever more elements
// count than are seen.
func elementsMoved(t *testing.T, p Params, user string, x, y stream) (moved [maxSpans][2]int64, contradiction bool) {
	nodes := func(x stream) (all [][][2]int64) {
		b := dptest.OK(New[int](p))(t)
		s := held(b)
		s.draw = quiet{}
		for _, keys := range x {
			b.AddFor(user, keys)
			all = append(all, dptest.OK(b.Step())(t).elements)
		}
		return all
	}
	right := nodes(y)
	for step, spans := range nodes(x) {
		for l, n := range spans {
			contradiction = contradiction || n[0] > n[1]
			for i := range n {
				moved[l][i] += max(n[i]-right[step][l][i], right[step][l][i]-n[i])
			}
		}
	}
	return moved, contradiction
}

// The numbers of elements lose 1/32 of ε at most, for all that one user does in any steps as many
// as the longest span has: over all streams of some steps, with numbers of elements at which both
// buckets run dry. Up to the steps in which a bucket is refilled it is attained.
func TestElementsMove(t *testing.T) {
	for _, c := range []struct {
		span, most, burst, steps int
		values                   []int
		attained                 float64
	}{{2, 1, 1, 5, []int{0, 1, 3, 40}, 0.55}, {2, 2, 1, 5, []int{0, 1, 3, 40}, 0.49}, {4, 1, 1, 8, []int{0, 40}, 0.7}} {
		p := limited(c.span, c.most, c.burst)
		law := dptest.OK(p.calibrate())(t)
		require.Greater(t, law.elements[1].Scale(), 5*law.elements[0].Scale())
		worst := 0.0
		for code := range int(math.Pow(float64(len(c.values)), float64(c.steps))) {
			x, rest := make(stream, c.steps), code
			for i := range x {
				x[i] = make([]int, c.values[rest%len(c.values)])
				rest /= len(c.values)
			}
			user := inPhase(p, code%c.span)
			for from := range c.steps - c.span + 1 {
				y := slices.Clone(x)
				clear(y[from : from+c.span])
				moved, contradiction := elementsMoved(t, p, user, x, y)
				require.False(t, contradiction)
				loss := 0.0
				for l := range used(&p.Spans) {
					for i, n := range moved[l] {
						require.LessOrEqual(t, n, int64(2*c.burst+c.most)*[2]int64{1, seenTimes}[i])
						loss += float64(n) / law.elements[i].Scale()
					}
				}
				worst = max(worst, loss)
			}
		}
		require.LessOrEqual(t, worst, p.Epsilon/32)
		require.Greater(t, worst, c.attained*p.Epsilon/32, "%+v", c)
	}
}

// The joint law of counts of a known key and the numbers of elements has ε, and not if the keys had
// all of it.
func TestElementsExact(t *testing.T) {
	p := Params{Epsilon: 1, Dim: 1, Spans: spansOf(1), MaxElements: 1, Burst: 1}
	x, y := stream{nil, {0}, {0}}, stream{nil, nil, {0}}
	// one element of three
	xy, yx, sumX, sumY := divergences(t, p, p.Epsilon/3, x, y, mutant{joint: true})
	require.InDelta(t, 1, sumX, 1e-9)
	require.InDelta(t, 1, sumY, 1e-9)
	require.LessOrEqual(t, max(xy, yx), 1e-12)
	xy, yx, _, _ = divergences(t, p, p.Epsilon/3, x, y, mutant{joint: true, calibration: func(c *calibration) {
		c.known = dptest.OK(noise.NewDiscreteLaplace(3))(t)
	}})
	require.Greater(t, max(xy, yx), 1e-4)
}

// load is a stream of users who come every so many steps.
type load struct {
	name  string
	every []int // of the users in turn
	times int   // elements at once
}

// Users whose elements are 1/2 to 10 times as many as count: the true share is in its interval, as
// often as that says, in windows of a day, a week and two weeks.
func TestCounted(t *testing.T) {
	runs := dptest.Full(300, 40)
	p := Params{Epsilon: 1, Dim: 1, Spans: spansOf(1, 24, 168), MaxElements: 10}
	windows := [][2]int{{168, 336}, {168, 192}, {100, 268}}
	misses, asked, narrow := make([]int64, len(windows)), 0, 0.0
	for _, c := range []load{
		{"below the rate", []int{34}, 1}, {"at the rate", []int{17}, 1}, {"3 times the rate", []int{56}, 10}, {"10 times the rate", []int{17}, 10},
		{"most below, some 10 times above", []int{34, 34, 34, 34, 34, 34, 34, 34, 34, 2}, 1},
	} {
		numbers := elementsOf(t, p, c, 336)
		for range runs {
			b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
			for _, n := range numbers {
				for i := range n {
					held(b).elements[i].raise(n[i])
				}
				require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
			}
			for i, at := range windows {
				lo, hi := dptest.OK(l.Window(at[0], at[1]))(t).Counted(0.95)
				in, all := 0.0, 0.0
				for _, n := range numbers[at[0]:at[1]] {
					in, all = in+float64(n[0]), all+float64(n[1])
				}
				if share := in / all; share < lo || share > hi {
					misses[i]++
				}
				if i == 0 && c.name == "3 times the rate" {
					narrow += (hi - lo) / float64(runs)
				}
			}
			asked++
		}
	}
	t.Logf("%d of %d missed; width %.3f of a week at 3 times the rate", misses, asked, narrow)
	require.Less(t, narrow, 0.25)
	for _, m := range misses {
		dptest.Tail(t, "shares inside", min(int64(asked)-m, int64(asked)*95/100), int64(asked), 0.95, 1e-10)
	}
}

// elementsOf returns how many elements of 40,000 users count, and came, in each step.
func elementsOf(t *testing.T, p Params, c load, steps int) [][2]int64 {
	const users, each = 2000, 20
	b := dptest.OK(New[int](p))(t)
	s := held(b)
	s.draw = quiet{}
	keys, names, all := make([]int, c.times), make([]string, users), make([][2]int64, steps)
	for i := range names {
		names[i] = fmt.Sprint("user ", i)
	}
	for now := range all {
		came := int64(0)
		for i, name := range names {
			if every := c.every[i%len(c.every)]; (now+i)%every == 0 {
				b.AddFor(name, keys)
				came += int64(c.times)
			}
		}
		n := dptest.OK(b.Step())(t).elements[0]
		require.Equal(t, came, n[1], "all are seen")
		all[now] = [2]int64{each * n[0], each * n[1]}
	}
	return all
}

// What Counted says where there is nothing to say, and in JSON.
func TestCountedEdges(t *testing.T) {
	lo, hi := new(Window[int]).Counted(0.95)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	for _, most := range []int{0, 2} {
		p := Params{Epsilon: 1, Dim: 1, Spans: spansOf(1, 2), MaxElements: most}
		b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
		require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
		w := dptest.OK(l.Window(0, 1))(t)
		lo, hi = w.Counted(1 - 1e-12)
		text := string(dptest.OK(w.MarshalJSON())(t))
		if most == 0 {
			require.True(t, lo == 1 && hi == 1)
			require.NotContains(t, text, "counted")
		} else {
			dptest.Alarm(t, 1e-11)
			require.True(t, lo == 0 && hi == 1, "of nothing any share counts")
			require.Contains(t, text, `"counted":[`)
		}
		for _, confidence := range []float64{-1, 1, math.NaN()} {
			lo, hi = w.Counted(confidence)
			require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
		}
	}
}

// The bounds are those of two numbers whose noise exceeds its quantile with half of what may be
// missed.
func TestCountedIsOfQuantiles(t *testing.T) {
	p := Params{Epsilon: 1, Dim: 1, Spans: spansOf(1, 2), MaxElements: 2}
	b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
	s := held(b)
	s.draw = quiet{}
	for range 3 {
		s.elements[0].raise(1e6)
		s.elements[1].raise(3e6)
		require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
	}
	for _, at := range [][3]int{{0, 2, 1}, {0, 3, 2}, {1, 3, 2}} { // with the numbers of nodes
		lo, hi := dptest.OK(l.Window(at[0], at[1]))(t).Counted(0.9)
		steps, half := float64(at[1]-at[0]), [2]float64{}
		for i := range half {
			half[i] = newLaplaceSum(s.calibration.elements[i].Scale(), at[2]).beyond(0.05)
		}
		require.InDelta(t, (1e6*steps-half[0])/(3e6*steps+half[1]), lo, 1e-12)
		require.InDelta(t, (1e6*steps+half[0])/(3e6*steps-half[1]), hi, 1e-12)
	}
}

// A number of elements that a sketch would count for years is refused, whatever the key is: that a
// key is known must not be seen in an error.
func TestAddNWithCounters(t *testing.T) {
	const tooMany = 1<<32 + 1
	for _, n := range []int64{tooMany, math.MaxInt64} {
		if int64(int(n)) != n {
			t.Skip("an int has 32 bits")
		}
		b := dptest.OK(New[int](Params{Epsilon: 1, Delta: 1e-6, Counters: 3}))(t)
		b.AddN(4, int(n))
		err := dptest.Err(b.Step())
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorContains(t, err, "2³² elements at once")
	}
	b := dptest.OK(New[int](Params{Epsilon: 1, Delta: 1e-6, Counters: 3}))(t)
	b.AddN(4, 1<<20)
	b.AddN(5, math.MinInt)
	dptest.OK(b.Step())(t)
}

// From as many elements on as Plan says, of which half count, Counted tells that some do and some
// do not, in 95 of 100 series; of a tenth of that load it tells so of few.
func TestCountedFrom(t *testing.T) {
	const runs = 300
	p := Params{Epsilon: 1, Dim: 1, Spans: spansOf(1, 2), MaxElements: 3}
	from := dptest.OK(p.Plan())(t).CountedFrom
	told := func(elements float64) (told int64) {
		for range runs {
			b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
			for range 2 {
				held(b).elements[0].raise(int64(elements / 4))
				held(b).elements[1].raise(int64(elements / 2))
				require.NoError(t, l.Append(dptest.OK(b.Step())(t)))
			}
			if lo, hi := dptest.OK(l.Window(0, 2))(t).Counted(0.95); lo > 0 && hi < 1 {
				told++
			}
		}
		return told
	}
	all, few := told(from), told(from/10)
	t.Logf("%.0f elements: told in %d of %d; a tenth: %d", from, all, runs, few)
	dptest.Tail(t, "shares told", min(all, runs*95/100), runs, 0.95, 1e-10)
	dptest.Alarm(t, 1e-11) // each with a probability below .1
	require.Less(t, few, int64(runs/3))
	require.Zero(t, dptest.OK(Params{Epsilon: 1, Dim: 1}.Plan())(t).CountedFrom)
}

// What the documentation of Counted says of its width.
func TestWidthOfCounted(t *testing.T) {
	const m = 10
	c := dptest.OK(Params{Epsilon: 1, Delta: 1e-6, MaxElements: m}.normal().calibrate())(t)
	counted := newLaplaceSum(c.elements[0].Scale(), 1).beyond(0.025)
	seen := newLaplaceSum(c.elements[1].Scale(), 1).beyond(0.025)
	require.InDelta(t, 3800, counted/m, 50)
	require.InDelta(t, 20_100, seen/m, 50)
	const n = 1e5 * m
	require.InDelta(t, 1./3+0.1, (n/3+counted)/(n-seen), 0.05)
	require.InDelta(t, 1./3-0.1, (n/3-counted)/(n+seen), 0.03)
}
