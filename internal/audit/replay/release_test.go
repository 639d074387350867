package replay_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/audit/replay"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/noise"
)

// pair is two neighbouring inputs of one release.
type pair struct {
	name string
	// run makes the release of input 0 or 1 and returns its numbers.
	run func(side int) map[string]float64
	// norm and bound say how far the numbers of both sides are apart at most: ‖x − x′‖ₚ ≤ bound. A
	// norm of 0 compares none. Numbers whose names begin with "given " were released before the
	// others: where they differ, nothing is compared.
	norm, bound float64
	// data bounds how far the parameters are apart that depend on data, in steps: how far a
	// threshold is from a count, say.
	data float64
	// extra are places whose draws may be there on one side only, at most so many. Without it the
	// draws are the same in the same order.
	extra string
	most  int
	// adapts are places whose laws follow from what was released before, which is public: of their
	// parameters nothing is compared, but that they draw, and in which order.
	adapts string
	// why says by what theorem these draws may differ.
	why string
}

// checked is what a comparison found.
type checked struct {
	draws    int
	distance float64
	given    bool   // something was released before the numbers
	differs  string // and differs, so that nothing was compared
}

// compare records both releases and returns what is wrong.
func compare(p pair) (c checked, wrong []string) {
	fail := func(format string, values ...any) { wrong = append(wrong, fmt.Sprintf(format, values...)) }
	var out [2]map[string]float64
	var draws [2][]replay.Draw
	for side := range out {
		draws[side] = replay.Record(func() { out[side] = p.run(side) })
	}
	c.draws = len(draws[0])
	for key, x := range out[0] {
		if strings.HasPrefix(key, "given ") {
			if c.given = true; out[1][key] != x {
				c.differs += fmt.Sprintf("%s: %g, %g; ", key, x, out[1][key])
			}
		}
	}
	if c.differs != "" {
		return c, nil
	}
	if p.extra != "" {
		may := regexp.MustCompile(p.extra)
		left, removed := [2][]replay.Draw{}, [2]int{}
		for side := range draws {
			left[side] = slices.DeleteFunc(slices.Clone(draws[side]), func(d replay.Draw) bool { return may.MatchString(d.From) })
			removed[side] = len(draws[side]) - len(left[side])
		}
		if d := removed[0] - removed[1]; max(d, -d) > p.most {
			fail("%d and %d draws by %s, which may differ by %d", removed[0], removed[1], p.extra, p.most)
		}
		draws = left
	}
	if p.adapts != "" {
		may := regexp.MustCompile(p.adapts)
		for side := range draws {
			for i, d := range draws[side] {
				if may.MatchString(d.From) {
					draws[side][i].Call, _, _ = strings.Cut(d.Call, " ")
				}
			}
		}
	}
	if len(draws[0]) != len(draws[1]) {
		fail("%d draws, and %d of the neighbour", len(draws[0]), len(draws[1]))
	}
	for i := range min(len(draws[0]), len(draws[1])) {
		a, b := draws[0][i], draws[1][i]
		if a.Call != b.Call || a.From != b.From {
			fail("draw %d: %s from %s, and %s from %s", i, a.Call, a.From, b.Call, b.From)
			break
		}
		if d := apart(a.Data, b.Data); !(d <= p.data) {
			fail("draw %d, %s from %s: %v and %v are more than %g apart", i, a.Call, a.From, a.Data, b.Data, p.data)
		}
	}
	if p.norm > 0 {
		c.distance = distance(out[0], out[1], p.norm)
		if !(c.distance <= p.bound*(1+1e-9)) {
			fail("the numbers are %g apart in ℓ_%g, declared are %g: %v, %v", c.distance, p.norm, p.bound, out[0], out[1])
		}
		if len(out[0]) == 0 {
			fail("nothing is compared")
		}
	}
	return c, wrong
}

// apart returns |a − b| of two parameters.
func apart(a, b any) float64 {
	number := func(x any) float64 {
		switch x := x.(type) {
		case nil:
			return 0
		case int64:
			return float64(x)
		case uint64:
			return float64(x)
		case float64:
			return x
		}
		return math.NaN()
	}
	return math.Abs(number(a) - number(b))
}

// distance returns ‖a − b‖ₚ, infinite where the keys differ.
func distance(a, b map[string]float64, p float64) (sum float64) {
	for key, x := range a {
		y, ok := b[key]
		if !ok {
			return math.Inf(1)
		}
		if math.IsInf(p, 1) {
			sum = max(sum, math.Abs(x-y))
		} else {
			sum += math.Pow(math.Abs(x-y), p)
		}
	}
	if len(a) != len(b) {
		return math.Inf(1)
	}
	if !math.IsInf(p, 1) {
		sum = math.Pow(sum, 1/p)
	}
	return sum
}

// TestReleases compares all pairs.
func TestReleases(t *testing.T) {
	if !frozen() {
		t.Skip("TestReplay runs this with frozen noise")
	}
	met := map[string]int{} // how often what was given is the same
	for method, pairs := range releases() {
		compared := 0
		for _, p := range pairs {
			t.Run(method+"/"+p.name, func(t *testing.T) {
				c, wrong := compare(p)
				compared += min(len(c.differs), 1) ^ 1
				require.Empty(t, wrong)
				if name, _, _ := strings.Cut(p.name, ","); c.given && p.norm > 0 {
					met[name] += min(len(c.differs), 1) ^ 1
				}
				if c.differs != "" {
					t.Skip(c.differs)
				}
				if p.norm > 0 {
					t.Logf("%d draws, %.4g apart of %.4g", c.draws, c.distance, p.bound)
				} else {
					t.Logf("%d draws", c.draws)
				}
			})
		}
		require.Greater(t, compared, len(pairs)/3, "%s: most cases are not compared", method)
	}
	for name, times := range met {
		require.Positive(t, times, name)
	}
}

// Every release method of the library, by what the audit of internal/audit/surface lists, has a
// pair, and every pair is of one.
func TestEveryReleaseMethod(t *testing.T) {
	text := dptest.OK(os.ReadFile("../surface/testdata/releases.txt"))(t)
	listed := strings.Fields(string(text))
	require.NotEmpty(t, listed)
	have := releases()
	for _, method := range listed {
		require.NotEmpty(t, have[method], "%s has no replay", method)
	}
	for method, pairs := range have {
		require.Contains(t, listed, method, "there is no such method")
		for _, p := range pairs {
			require.Equal(t, p.extra == "", p.why == "", "%s/%s: draws that may differ need a reason", method, p.name)
		}
	}
}

// Frozen noise is a function of the place and of how often it drew.
func TestFrozen(t *testing.T) {
	if !frozen() {
		t.Skip("TestReplay runs this with frozen noise")
	}
	d := dptest.OK(noise.NewDiscreteLaplace(5))(t)
	var drawn [2][]int64
	for side := range drawn {
		replay.Record(func() {
			var src noise.Source
			if side == 1 {
				src.Uint64() // another place
			}
			for range 8 {
				drawn[side] = append(drawn[side], d.SampleInt(&src))
			}
		})
	}
	require.Equal(t, drawn[0], drawn[1])
	require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(drawn[0])))), 2)

	// What SampleTail shows does not depend on what it is asked for, and has the law of SampleInt.
	seen := map[int64]int64{}
	for least := int64(-30); least < 10; least++ {
		var x int64
		var shown bool
		replay.Record(func() { x, shown = d.SampleTail(new(noise.Source), least) })
		if shown {
			require.GreaterOrEqual(t, x, least)
			seen[x]++
		}
	}
	require.Len(t, seen, 1)
}

// TestControls plants flaws in a mechanism of this test, one at a time, and expects each to be
// found.
func TestControls(t *testing.T) {
	if !frozen() {
		t.Skip("TestReplay runs this with frozen noise")
	}
	d := dptest.OK(noise.NewDiscreteLaplace(3))(t)
	wide := dptest.OK(noise.NewDiscreteLaplace(4))(t)
	counts := [2][]int64{{40, 7, 3}, {40, 6, 3}}
	mechanism := func(release func(src *noise.Source, x []int64) []int64) pair {
		return pair{norm: 1, bound: 1, data: 1, run: func(side int) map[string]float64 {
			out := map[string]float64{}
			for i, y := range release(new(noise.Source), slices.Clone(counts[side])) {
				out[fmt.Sprint(i)] = float64(y)
			}
			return out
		}}
	}
	each := func(draw func(src *noise.Source, x int64) int64) pair {
		return mechanism(func(src *noise.Source, x []int64) []int64 {
			for i := range x {
				x[i] += draw(src, x[i])
			}
			return x
		})
	}
	_, wrong := compare(each(func(src *noise.Source, x int64) int64 { return d.SampleInt(src) }))
	require.Empty(t, wrong)
	for name, c := range map[string]struct {
		pair
		want string
	}{
		"a draw more for a large count": {each(func(src *noise.Source, x int64) int64 {
			if x > 6 {
				d.SampleInt(src)
			}
			return d.SampleInt(src)
		}), "draw"},
		"a word that only one input draws": {each(func(src *noise.Source, x int64) int64 {
			if x == 7 {
				src.Uint64()
			}
			return d.SampleInt(src)
		}), "draws, and"},
		"another law for a large count": {each(func(src *noise.Source, x int64) int64 {
			if x > 6 {
				return wide.SampleInt(src)
			}
			return d.SampleInt(src)
		}), "draw 1"},
		"the same law at another place": {each(func(src *noise.Source, x int64) int64 {
			if x > 6 {
				return d.SampleInt(src)
			}
			y := d.SampleInt(src)
			return y
		}), "draw 1"},
		"the order of the data": {mechanism(func(src *noise.Source, x []int64) []int64 {
			first := func(x int64) int64 { return x + d.SampleInt(src) }
			second := func(x int64) int64 { return x + wide.SampleInt(src) }
			if x[1] > 6 {
				return []int64{first(x[0]), second(x[1])}
			}
			y := second(x[1])
			return []int64{first(x[0]), y}
		}), "draw 0"},
		"a sensitivity of 2": {each(func(src *noise.Source, x int64) int64 { return x + d.SampleInt(src) }), "apart in"},
		"a count looked at twice as closely": {each(func(src *noise.Source, x int64) int64 {
			d.SampleTail(src, 5-2*x)
			return 0
		}), "more than 1 apart"},
		"no noise for a large count": {each(func(src *noise.Source, x int64) int64 {
			z := d.SampleInt(src)
			if x > 6 {
				z = 60
			}
			return z
		}), "apart in"},
		"a key that only one side has": {mechanism(func(src *noise.Source, x []int64) []int64 {
			for range x {
				d.SampleInt(src)
			}
			return x[:x[1]-5]
		}), "apart in"},
	} {
		_, wrong := compare(c.pair)
		require.Contains(t, strings.Join(wrong, "\n"), c.want, name)
	}

	// A law that follows what was released may differ, a draw more may not.
	for draws, want := range map[int]string{1: "", 2: "draw"} {
		p := each(func(src *noise.Source, x int64) (y int64) {
			law, n := d, 1
			if x == 7 {
				law, n = wide, draws
			}
			for range n {
				y = law.SampleInt(src)
			}
			return y
		})
		p.norm, p.adapts = 0, "TestControls"
		_, wrong := compare(p)
		require.Equal(t, want == "", len(wrong) == 0, wrong)
	}
}

// What may differ is compared by its declaration, and nothing else: cells that are hit by 100 keys
// toss coins.
func TestDeclaredDifferences(t *testing.T) {
	if !frozen() {
		t.Skip("TestReplay runs this with frozen noise")
	}
	for keys, found := range map[uint64][]pair{1: {{extra: `kor\.tossCoins`, most: 1}}, 100: {{extra: "kor.nowhere", most: 1}, {}, {extra: `kor\.tossCoins`}}} {
		for _, p := range found {
			p.run = func(side int) map[string]float64 {
				b := made(kor.NewStreamBuilder(korParams))
				for key := range 2 + keys*uint64(side) {
					b.Add(key)
				}
				made(b.Release())
				return nil
			}
			c, wrong := compare(p)
			require.Positive(t, c.draws)
			require.Equal(t, keys == 1, len(wrong) == 0, "%d keys, %+v: %v", keys, p, wrong)
		}
	}
}
