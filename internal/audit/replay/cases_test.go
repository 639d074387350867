package replay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

var inf = math.Inf(1)

// made returns what a constructor of valid Params makes.
func made[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// listed returns a released list as numbers.
func listed[K comparable](all iter.Seq2[K, float64]) map[string]float64 {
	out := map[string]float64{}
	for key, x := range all {
		out[fmt.Sprint(key)] = x
	}
	return out
}

// numbers returns numbers by their places.
func numbers(x ...float64) map[string]float64 {
	out := map[string]float64{}
	for i, y := range x {
		out[fmt.Sprint(i)] = y
	}
	return out
}

// releases are pairs of neighbours for every release method of the library.
func releases(t *testing.T) map[string][]pair {
	all := map[string][]pair{
		"threshold.Builder.Release":                 thresholdPairs(),
		"threshold/groupby.Builder.Release":         groupbyPairs(),
		"threshold/groupby.Discovery.Release":       {discoveryPair()},
		"threshold/groupby.Rows.Release":            {rowsPair()},
		"misragries.Builder.Release":                streamPairs(t),
		"misragries.Sum.Release":                    sumPairs(),
		"misragries.UserBuilder.Release":            userPairs(),
		"misragries/series.Builder.Step":            seriesPairs(),
		"alp.Builder.Release":                       alpPairs(),
		"jl.Builder.Release":                        jlPairs(),
		"kor.Builder.Release":                       korPairs(),
		"kor.Builder.Share":                         {korShare()},
		"kor.Share.Bytes":                           {korShare()},
		"kor.StreamBuilder.Release":                 {korStream()},
		"kor/distinct.Builder.Release":              distinctPairs(),
		"kor/distinct.RunningBuilder.Step":          {runningPair()},
		"kor/distinct.WindowBuilder.Release":        {windowPair()},
		"kor/distinct.ReleasePair":                  {setsPair()},
		"kor/distinct.CohortBuilder.Release":        {cohortPair()},
		"kor/distinct.FrequencyBuilder.Release":     {frequencyPair()},
		"elliptical.Builder.Release":                ellipticalPairs(false),
		"elliptical.Mechanism.Release":              ellipticalPairs(true),
		"elliptical/column.Builder.Release":         append(columnPairs(), columnLearned(column.Params{Epsilon: 1}), columnLearned(column.Params{Rho: 0.5})),
		"elliptical/column.QuantileBuilder.Release": {columnQuantiles()},
		"noise/approx.Mechanism.Release":            approxPairs(),
		"noise/approx.Search":                       {advisedPair()},
	}
	for method, pairs := range aretePairs() {
		all["arete."+method] = pairs
	}
	for method, pairs := range planPairs() {
		all["plan."+method] = pairs
	}
	return all
}

// thresholdPairs are vectors that differ in one entry by Δ, for each mechanism: entries far above
// the threshold, whose noise is seen; and one near it, and one that only one side has.
func thresholdPairs() (pairs []pair) {
	for _, c := range []struct {
		p      threshold.Params
		signed bool
	}{
		{p: threshold.Params{Epsilon: 1, Delta: 1e-6, Method: threshold.ExponentialRounding, Integers: true}},
		{p: threshold.Params{Epsilon: 1, Delta: 1e-6, Method: threshold.LinearRounding, Integers: true}},
		{p: threshold.Params{Epsilon: 1, Delta: 1e-6, Method: threshold.Laplace, MaxKeys: 1}},
		{p: threshold.Params{Epsilon: 1, Delta: 1e-6, Method: threshold.Gaussian, MaxKeys: 3, Sensitivity: 1}},
		{p: threshold.Params{Epsilon: 1, Delta: 1e-6, Method: threshold.CorrelatedGaussian, MaxKeys: 3, Stored: 3, Sensitivity: 1}},
		{p: threshold.Params{Epsilon: 1, Dim: 64, Method: threshold.PureLaplace, Integers: true}},
		{p: threshold.Params{Epsilon: 1, Dim: 64, Method: threshold.PureLaplace, Integers: true, Signed: true}},
		{p: threshold.Params{Epsilon: 1, Dim: 64, Method: threshold.DenseLaplace, Integers: true}},
		{p: threshold.Params{Epsilon: 1, Delta: 1e-6, Method: threshold.ExponentialRounding, Sensitivity: 3, Integers: true}},
	} {
		release := func(x ...float64) map[string]float64 {
			construct := threshold.New[uint64]
			if c.p.MaxKeys > 0 {
				construct = threshold.NewBounded[uint64]
			}
			b := made(construct(c.p))
			for i, y := range x {
				b.Add(uint64(3*i+1), y)
			}
			v := made(b.Release())
			return listed(v.All())
		}
		size := max(c.p.Sensitivity, 1)
		name := fmt.Sprint(c.p.Method, " ", size, " ", c.p.Signed)
		high := func(side int) map[string]float64 { return release(900, 700-size*float64(side), 800) }
		// Steps are finer than the unit of the data where values are real: 2⁻⁴⁰ at least.
		pairs = append(pairs, pair{name: name + " high", run: high, norm: 1, bound: size, data: size * 0x1p44})
		low := func(side int) map[string]float64 { release(900, size*float64(1-side)+2, 2); return nil }
		pairs = append(pairs, pair{name: name + " low", run: low, data: size * 0x1p44, extra: `sparse\.\(calibration\)\.small|calibration\.small`, most: 3,
			why: "rounding_proof.md: an entry below R that has passed the threshold is rounded by a draw of its own"})
		if c.p.Method == threshold.DenseLaplace || c.p.Signed || c.p.Method == threshold.PureLaplace {
			continue
		}
		one := func(side int) map[string]float64 {
			x := []float64{900, 700, size}
			release(x[:3-side]...)
			return nil
		}
		pairs = append(pairs, pair{name: name + " one key more", run: one, data: size * 0x1p44, most: 2,
			extra: `sparse\.releaseLaplace|sparse\.releaseNormal|calibration\.small|rounding\.Kernel`,
			why:   "laplace_proof.md, gaussian_proof.md: keys without a value are not looked at, and are as if they were hidden but for δ"})
	}
	return pairs
}

// groupbyPairs are users of whom one leaves: he has keys of which all have many others.
func groupbyPairs() (pairs []pair) {
	const places = `quantile\.\(\*Spread\)\.Draw|groupby\.\(\*scale\)\.sample`
	for _, c := range []struct {
		name string
		p    groupby.Params
		list []string
	}{
		{"counts", groupby.Params{Epsilon: 1, Delta: 1e-6}, nil},
		{"sums", groupby.Params{Epsilon: 1, Delta: 1e-6, Max: 4}, nil},
		{"others", groupby.Params{Epsilon: 1, Delta: 1e-6, Others: true}, nil},
		{"keys", groupby.Params{Epsilon: 1, Delta: 1e-6, KeysOnly: true}, nil},
		{"two passes", groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2}, nil},
		{"learned", groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2, Values: true}, nil},
		{"quantiles", groupby.Params{Epsilon: 1, Delta: 1e-6, Max: 4, Levels: [8]float64{0.5, 0.9}}, nil},
		{"listed", groupby.Params{Epsilon: 1, Delta: 1e-6, Max: 4, Others: true}, []string{"a", "b", "f"}},
		{"listed without δ", groupby.Params{Epsilon: 1, FullKeys: 1}, []string{"a", "b", "f"}},
	} {
		release := func(users int, last ...string) map[string]float64 {
			var b *groupby.Builder[string]
			if c.list != nil {
				b = made(groupby.NewListed(c.p, c.list...))
			} else {
				b = made(groupby.New[string](c.p))
			}
			add := func(keys ...string) {
				if c.p.Max == 0 && !c.p.Values {
					b.AddUser(keys)
					return
				}
				b.AddUserValues(split(func(yield func(string, float64) bool) {
					for _, key := range keys {
						if !yield(key, 3) {
							return
						}
					}
				}))
			}
			for range users {
				add("a", "b", "c")
			}
			if len(last) > 0 {
				add(last...)
			}
			g := made(b.Release())
			out := listed(g.All())
			if c.p.Max > 0 {
				for key := range g.All() {
					out["sum "+key] = g.Sum(key) / 4
				}
			}
			return out
		}
		// One user counts at most 1 in each of his keys, and with values at most Max.
		all := pair{name: c.name, norm: inf, bound: 1, run: func(side int) map[string]float64 {
			return release(1000, []string{"a", "b", "c"}[:3*(1-side)]...)
		}}
		if c.p.KeysOnly { // there are no numbers
			all.norm = 0
		}
		if c.p.Levels[0] != 0 {
			all.extra, all.most = places, 100
			all.why = "spread_proof.md: a place is chosen by rejection from a range that depends on the weights, with the exact law whatever the range is; and a user's own values draw which of them counts"
		}
		pairs = append(pairs, all)
		if c.list != nil { // other keys make no difference to the draws
			all.name += " with other keys"
			all.run = func(side int) map[string]float64 { return release(60, []string{"a", "d", "e"}[:3*(1-side)]...) }
			pairs = append(pairs, all)
			continue
		}
		const why = "quadratic_proof.md: a key without weight is as if it were hidden, but for δ; what is drawn for a key that is shown is drawn after that"
		pairs = append(pairs, pair{name: c.name + " rare keys", most: 3*4 + all.most, why: why, extra: places + `|groupby\.\(\*state\[\.\.\.\]\)\.(shows|noise|release|releaseRetained)`,
			run: func(side int) map[string]float64 {
				release(60, []string{"a", "d", "e"}[:3*(1-side)]...)
				return nil
			}})
	}
	return pairs
}

func discoveryPair() pair {
	return pair{name: "one user", run: func(side int) map[string]float64 {
		d := made(groupby.NewDiscovery[string](groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2}))
		for range 500 + side {
			d.AddUser([]string{"a", "b", "c"})
		}
		b := made(d.Release())
		b.SecondPass()
		for range 500 + side {
			b.AddUser([]string{"a", "b", "c"})
		}
		return listed(made(b.Release()).All())
	}, norm: inf, bound: 1}
}

// rowsPair are rows in no order of users, of whom one leaves.
func rowsPair() pair {
	return pair{name: "one user", run: func(side int) map[string]float64 {
		r := made(groupby.NewRows[int, string](groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 1, Max: 4}))
		for _, key := range []string{"a", "b", "c"} {
			for user := range 1001 - side {
				r.AddValue(user, key, 1)
				r.AddValue(user, key, 2)
			}
		}
		g := made(r.Release())
		out := listed(g.All())
		for key := range g.All() {
			out["sum "+key] = g.Sum(key) / 4
		}
		return out
	}, norm: inf, bound: 1}
}

// mechanisms lists those of each constructor.
var mechanisms = map[string][]misragries.Method{
	"New": {misragries.KeptZeros, misragries.FreedZeros, misragries.ReducedSum, misragries.TrimmedSum, misragries.SparseVector,
		misragries.PureUniverse},
	"FromMisraGries": {misragries.FreedZeros, misragries.ReducedSum, misragries.TrimmedSum, misragries.SparseVector, misragries.PureUniverse},
	"Builder.Merge":  {misragries.SparseVector, misragries.PureUniverse},
	"NewSum":         {misragries.TrimmedSum, misragries.ReducedSum, misragries.PureUniverse},
	"NewUserBuilder": {misragries.SparseVector, misragries.KeptZeros, misragries.PureUniverse},
}

// sketches are the Params of each mechanism of a constructor.
func sketches(in string) (all []misragries.Params) {
	for _, m := range mechanisms[in] {
		p := misragries.Params{Counters: 4, Epsilon: 1, Delta: 1e-6, Method: m}
		if m == misragries.PureUniverse {
			p.Delta, p.Dim = 0, 1000
		}
		all = append(all, p)
	}
	return all
}

// No mechanism is left out.
func TestEveryMechanism(t *testing.T) {
	dptest.NeedsLong(t)
	for m := misragries.KeptZeros; m.String() != fmt.Sprintf("Method(%d)", m); m++ {
		for _, servers := range []int{1, 2} {
			plan := dptest.OK(misragries.Params{Counters: 4, Epsilon: 1, Delta: 1e-6, Dim: 1000, MaxElements: 1, Method: m}.Plan(servers))(t)
			for _, r := range plan.Rows {
				if r.Constructor != "Combine" {
					require.Contains(t, mechanisms[r.Constructor], m)
				}
			}
		}
	}
	plan := dptest.OK(threshold.Params{Epsilon: 1, Delta: 1e-6, Dim: 64}.Plan())(t)
	var names []string
	for _, p := range thresholdPairs() {
		names = append(names, p.name)
	}
	for _, c := range plan.Candidates {
		require.Contains(t, strings.Join(names, "\n"), c.Method.String()+" ")
	}
}

// distanceOf says how far the released counts of neighbours are apart by the theorem of each
// mechanism, for k counters, in elements. ℓ∞: all k counters by 1 (Lemma 8 of the paper); one by at
// most k of k+1 units, the others by 1 unit, where sketches are reduced (thresholds/reduced.go).
// Where they are trimmed one moves by a count and the others by 1/j of one, or all do by at most a
// count, as the cap is the same here.
func distanceOf(m misragries.Method, k float64) (norm, bound float64) {
	switch m {
	case misragries.ReducedSum, misragries.PureUniverse:
		return 1, (2*k - 1) / (k + 1)
	}
	return inf, 1
}

// universeDraws are those that depend on which keys are stored and how noisy counts tie.
const universeDraws = `misragries\.newUniverse|misragries\.\(\*universe\[\.\.\.\]\)\.(all|cut|distinctZeros|layer|single)|subset\.Draw`

// overUniverse declares the ties of a release over a universe.
func (p pair) overUniverse(m misragries.Method) pair {
	if m == misragries.PureUniverse {
		p.extra, p.most = `misragries\.\(\*universe\[\.\.\.\]\)\.cut`, 4
		p.why = "universe.go: of the keys that tie at the k-th largest noisy count a uniform set is taken"
	}
	return p
}

// streams are neighbouring streams: an element of a stored key, one of a key that evicts nothing
// and decrements all counters.
var streams = []struct {
	name string
	last [2][]uint64
}{{"one counter", [2][]uint64{{1}, nil}}, {"all counters", [2][]uint64{{5}, nil}}}

func fill(add func(key uint64), last []uint64) {
	for i := range 4000 {
		add(uint64(1 + i%4))
	}
	for _, key := range last {
		add(key)
	}
}

// lower returns the noisy counts without what was lost, which would hide what differs.
func lower(h *misragries.Histogram[uint64]) map[string]float64 {
	out := map[string]float64{}
	for key := range uint64(6) {
		if h.Estimate(key) > 50 {
			out[fmt.Sprint(key)] = h.Lower(key)
		}
	}
	return out
}

func streamPairs(t *testing.T) (pairs []pair) {
	for _, in := range []string{"New", "FromMisraGries", "Builder.Merge"} {
		for _, p := range sketches(in) {
			for _, s := range streams {
				norm, bound := distanceOf(p.Method, 4)
				if in == "Builder.Merge" && p.Method == misragries.PureUniverse {
					bound = 4 * 5 / 2 / 5.
				}
				q := pair{name: fmt.Sprint(in, " ", p.Method, " ", s.name), norm: norm, bound: bound, data: 2*4 + 1, run: func(side int) map[string]float64 {
					var b *misragries.Builder[uint64]
					switch in {
					case "FromMisraGries":
						counters := map[uint64]int64{}
						fill(func(key uint64) {
							switch {
							case key < 5:
								counters[key]++
							default:
								for old := range counters {
									counters[old]--
								}
							}
						}, s.last[side])
						b = made(misragries.FromMisraGries(p, counters))
					default:
						b = made(misragries.New[uint64](p))
						fill(b.Add, s.last[side])
					}
					if in == "Builder.Merge" {
						other := made(misragries.New[uint64](p))
						fill(other.Add, nil)
						require.NoError(t, b.Merge(other))
					}
					h := made(b.Release())
					require.Equal(t, p.Method, h.Params().Method)
					return lower(h)
				}}
				pairs = append(pairs, q.overUniverse(p.Method))
			}
		}
	}
	// Keys of few elements: zero counters are drawn for as well, where the paper keeps them.
	for _, p := range sketches("New") {
		q := pair{name: fmt.Sprint("few elements ", p.Method), data: 2*4 + 1, run: func(side int) map[string]float64 {
			b := made(misragries.New[uint64](p))
			for _, key := range []uint64{1, 1, 2, 3, 4, 4, 4, 5}[:8-side] {
				b.Add(key)
			}
			made(b.Release())
			return nil
		}}
		switch p.Method {
		case misragries.FreedZeros, misragries.ReducedSum, misragries.TrimmedSum, misragries.SparseVector:
			q.extra, q.most = `misragries\.release(Shared|Rounded)|sparse\.releaseNormal`, 2*4
			q.why = "section 5.1 of the paper, thresholds/reduced.go: a counter of 0 is as if it were hidden, but for δ, and takes no draw"
		case misragries.PureUniverse:
			q.extra, q.most = universeDraws, 32
			q.why = "universe.go: what is drawn is the law of noise on every key of the universe, whichever of them are stored"
		}
		pairs = append(pairs, q)
	}
	return pairs
}

func sumPairs() (pairs []pair) {
	for _, p := range sketches("NewSum") {
		for _, s := range streams {
			norm, bound := distanceOf(p.Method, 4)
			q := pair{name: fmt.Sprint(p.Method, " ", s.name), norm: norm, bound: bound, data: 9, run: func(side int) map[string]float64 {
				sum := made(misragries.NewSum[uint64](p))
				for i := range 3 {
					b := made(misragries.New[uint64](p))
					last := s.last[side]
					if i > 0 {
						last = nil
					}
					fill(b.Add, last)
					if err := sum.Add(b); err != nil {
						panic(err)
					}
				}
				return lower(made(sum.Release()))
			}}
			pairs = append(pairs, q.overUniverse(p.Method))
		}
	}
	return pairs
}

func userPairs() (pairs []pair) {
	for _, keys := range []int{1, 3} {
		for _, m := range []misragries.Method{misragries.SparseVector, misragries.KeptZeros, misragries.PureUniverse} {
			p := misragries.Params{Counters: 4, Epsilon: 1, Delta: 1e-6, MaxElements: keys, Method: m}
			bound, norm := float64(keys), inf
			switch m {
			case misragries.SparseVector:
				bound = 1
			case misragries.PureUniverse:
				p.Delta, p.Dim = 0, 1000
				norm, bound = 1, float64(keys)*7/5
			}
			q := pair{name: fmt.Sprint(m, " ", keys), norm: norm, bound: bound, data: 3 * 9, run: func(side int) map[string]float64 {
				b := made(misragries.NewUserBuilder[uint64](p))
				for i := range uint64(400) {
					b.AddUser([]uint64{1 + i%4, 1 + (i+1)%4, 1 + (i+2)%4}[:keys])
				}
				b.AddUser([]uint64{1, 5, 2}[:keys*(1-side)])
				return lower(made(b.Release()))
			}}
			pairs = append(pairs, q.overUniverse(m))
		}
	}
	return pairs
}

func seriesPairs() (pairs []pair) {
	for _, c := range []struct {
		name string
		p    series.Params
	}{
		{"exact discovery", series.Params{Epsilon: 2, Delta: 1e-6, Spans: [8]int{1, 2}, Discovery: [8]int{2}}},
		{"sketches", series.Params{Epsilon: 2, Delta: 1e-6, Spans: [8]int{1, 2}, Discovery: [8]int{2}, Counters: 4}},
		{"listed keys", series.Params{Epsilon: 2, Dim: 6, Spans: [8]int{1, 2}}},
		{"users", series.Params{Epsilon: 2, Delta: 1e-6, Spans: [8]int{1, 2}, Discovery: [8]int{2}, MaxElements: 2}},
	} {
		elements := float64(max(c.p.MaxElements, 1))
		// All that six steps publish: one element is in one node of each span.
		pairs = append(pairs, pair{name: c.name, norm: 1, bound: 3 * elements, data: elements, run: func(side int) map[string]float64 {
			b, out := made(series.New[int](c.p)), map[string]float64{}
			for step := range 6 {
				add := func(user, key int) {
					if c.p.MaxElements > 0 {
						b.AddFor(fmt.Sprint(user, " ", step), []int{key})
					} else {
						b.Add(key)
					}
				}
				for i := range 600 {
					add(i, 1+i%3)
				}
				if step == 2 && side == 0 {
					add(1000, 2)
				}
				maps.Copy(out, inStep(step, made(b.Step())))
			}
			return out
		}})
	}
	return pairs
}

// inStep returns the counts of a Slice in its step, as JSON has them.
func inStep(step int, slice *series.Slice[int]) map[string]float64 {
	var read struct {
		Keys []struct {
			Key      string
			Estimate float64
		}
	}
	if err := json.Unmarshal(made(json.Marshal(slice)), &read); err != nil {
		panic(err)
	}
	out := map[string]float64{}
	for _, k := range read.Keys {
		out[fmt.Sprint(step, " ", k.Key)] = k.Estimate
	}
	return out
}

// alpPairs: a table draws a cell for each that has something in it after it has drawn all as empty.
func alpPairs() (pairs []pair) {
	for _, c := range []struct {
		name string
		p    alp.Params
	}{
		{"split axis", alp.Params{Epsilon: 1, Delta: 1e-6, Dim: 1000, Sparsity: 4, Max: 100, Integers: true, Structure: alp.SplitAxis, Seed: hashing.Seed{1}}},
		{"composition", alp.Params{Epsilon: 1, Dim: 1000, Sparsity: 4, Max: 100, Integers: true, Structure: alp.Composition, Seed: hashing.Seed{1}}},
		{"columns", alp.Params{Epsilon: 1, Dim: 1000, Sparsity: 4, Max: 20, Integers: true, Structure: alp.ColumnsOnly, Seed: hashing.Seed{1}}},
		{"columns of their own", alp.Params{Epsilon: 1, Dim: 1000, Sparsity: 4, Max: 20, Integers: true, Structure: alp.ColumnsOnly, Seed: hashing.Seed{1}, Variant: alp.Variant{Independent: true}}},
	} {
		release := func(x ...float64) *alp.Projection {
			b := made(alp.New(c.p))
			for i, y := range x {
				b.Add(uint64(7*i), y)
			}
			return made(b.Release())
		}
		// The cells of an entry that does not change are drawn with the same words, so the tables
		// are apart only where the entry that changes has cells.
		pairs = append(pairs, pair{name: c.name, data: 1e9, extra: `alp\.\(\*shape\)\.occupy|calibration\.small`, most: 64,
			why: "Theorem 2 of the ALP paper holds for any order of the draws: cells are independent given the list, and each is drawn once by the law of its largest occupant",
			run: func(side int) map[string]float64 {
				release(15, 9-float64(side), 12)
				return nil
			}})
		// Far above all columns an entry looks the same to the table.
		if c.p.Structure == alp.ColumnsOnly {
			pairs = append(pairs, pair{name: c.name + " clamped", norm: 1, bound: 0, run: func(side int) map[string]float64 {
				p := release(100, 101-float64(side))
				return numbers(p.Estimate(0), p.Estimate(7), p.Estimate(14))
			}})
		}
		// The list holds φ₁ of the values with Laplace noise: in units of its scale they move by ε.
		if c.p.Structure != alp.ColumnsOnly {
			var list threshold.Vector[uint64]
			run := func(side int) map[string]float64 {
				data := made(release(90, 85-float64(side), 95).MarshalBinary())
				if err := list.UnmarshalBinary(data[bytes.LastIndex(data, []byte("dpsk")):]); err != nil {
					panic(err)
				}
				out := listed(list.All())
				for key, q := range out {
					out[key] = q * list.Params().Epsilon / list.Params().Sensitivity
				}
				return out
			}
			pairs = append(pairs, pair{name: c.name + " listed", norm: 1, bound: 1, data: 1e9, extra: `alp\.\(\*shape\)\.occupy`, most: 64,
				why: "the cells of an entry are drawn by the law of its value", run: run})
		}
	}
	return pairs
}

// jlPairs: an entry moves the sketch by the length of a column of the matrix, 1 in ℓ₂, √s in ℓ₁.
func jlPairs() (pairs []pair) {
	for _, c := range []struct {
		name  string
		p     jl.Params
		norm  float64
		bound float64
	}{
		{"SJLT", jl.Params{Epsilon: 1, Sparsity: 4}, 1, 2},
		{"SJLT, integers", jl.Params{Epsilon: 1, Sparsity: 4, Integers: true}, 1, 2},
		{"SJLT, Gaussian", jl.Params{Epsilon: 1, Delta: 1e-6, Sparsity: 4, Noise: jl.Gaussian}, 2, 1},
		{"SRHT", jl.Params{Transform: jl.SRHT, Rho: 0.5}, 2, math.Sqrt(64. / 16)},
		{"FJLT, on the input", jl.Params{Transform: jl.FJLT, Epsilon: 1, Input: true}, 0, 0},
		{"Rademacher", jl.Params{Transform: jl.Rademacher, Rho: 0.5}, 2, 1},
	} {
		c.p.Dim, c.p.Rows, c.p.Seed = 64, 16, hashing.Seed{1}
		pairs = append(pairs, pair{name: c.name, norm: c.norm, bound: c.bound + 0x1p-20, run: func(side int) map[string]float64 {
			b := made(jl.New(c.p))
			for i := range uint64(64) {
				b.Add(i, float64(i%7))
			}
			b.Add(5, float64(side))
			s, out := made(b.Release()), map[string]float64{}
			for i := range 16 {
				out[fmt.Sprint(i)] = s.Row(i)
			}
			return out
		}})
	}
	return pairs
}

// words returns the bits of an encoding, so that ℓ₁ is the number of bits that differ. Identities
// of releases are drawn from the system, so only the last bytes are taken.
func bitsOf(data []byte, last int) map[string]float64 {
	out := map[string]float64{}
	for i, b := range data[len(data)-last:] {
		for j := range 8 {
			out[fmt.Sprint(i, ".", j)] = float64(b >> j & 1)
		}
	}
	return out
}

var korParams = kor.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}

// korPairs: a key toggles one bit in each level it is in, one of which is its own: the flips are
// the same, so at most that bit differs.
func korPairs() (pairs []pair) {
	for _, share := range []float64{0, 0.1} {
		p := korParams
		p.CountShare = share
		pairs = append(pairs, pair{name: fmt.Sprint("count ", share), norm: 1, bound: 1, run: func(side int) map[string]float64 {
			b := made(kor.New(p))
			for key := range uint64(200 + side) {
				b.Toggle(key)
			}
			s := made(b.Release())
			data := made(s.MarshalBinary())
			if share > 0 { // as many as the last bit, or one more
				return numbers(math.Ldexp(float64(int64(binary.LittleEndian.Uint64(data[47:]))), -20))
			}
			return bitsOf(data, 64)
		}})
	}
	return pairs
}

func korShare() pair {
	return pair{name: "one of three", norm: 1, bound: 1, run: func(side int) map[string]float64 {
		b := made(kor.New(korParams))
		for key := range uint64(200 + side) {
			b.Toggle(key)
		}
		return bitsOf(made(b.Share(3)).Bytes(), 64)
	}}
}

func korStream() pair {
	return pair{name: "one key", norm: 1, bound: 1, extra: `kor\.tossCoins`, most: 1,
		why: "a cell that was hit is a fair coin, one that was not is 0: coins are tossed for words with a cell that was hit, and a neighbour hits one more cell",
		run: func(side int) map[string]float64 {
			b := made(kor.NewStreamBuilder(korParams))
			for key := range uint64(30 + side) {
				b.Add(key)
			}
			return bitsOf(made(made(b.Release()).MarshalBinary()), 64)
		}}
}

func distinctPairs() (pairs []pair) {
	for _, share := range []float64{0.5, 1} {
		p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, CountShare: share, Seed: hashing.Seed{1}}
		pairs = append(pairs, pair{name: fmt.Sprint("count share ", share), norm: 1, bound: 2, run: func(side int) map[string]float64 {
			b := made(distinct.New(p))
			for key := range uint64(100 + side) {
				b.Add(key)
			}
			data := made(made(b.Release()).MarshalBinary())
			size := 64 // of the bits
			if share == 1 {
				size = 0
			}
			out := bitsOf(data, size)
			count := int64(0)
			for i := range 8 {
				count |= int64(data[len(data)-size-8+i]) << (8 * i)
			}
			out["count"] = float64(count)
			return out
		}})
	}
	return pairs
}

func runningPair() pair {
	p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	return pair{name: "one key", norm: inf, bound: 1, run: func(side int) map[string]float64 {
		b, out := made(distinct.NewRunningBuilder(p)), map[string]float64{}
		for slot := range 3 {
			for key := range uint64(20 + side) {
				b.Add(uint64(1000*slot) + key)
			}
			side = 0
			data := made(made(b.Step()).MarshalBinary())
			out[fmt.Sprint(slot)] = float64(int8(data[len(data)-8])) // of a small number
		}
		return out
	}}
}

func windowPair() pair {
	p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	// A key that comes on both days moves from one class to another: once out and once in.
	return pair{name: "one key on both days", norm: 1, bound: 2, run: func(side int) map[string]float64 {
		b := made(distinct.NewWindowBuilder(p, 1))
		for key := range uint64(21) {
			b.Add(key)
		}
		made(b.Release())
		if err := b.Advance(2); err != nil {
			panic(err)
		}
		for key := range uint64(10) {
			b.Add(100 + key)
		}
		if side == 0 {
			b.Add(20)
		}
		return numbersOf(made(made(b.Release()).MarshalBinary()), 4)
	}}
}

func setsPair() pair {
	p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	return pair{name: "one key of both sets", norm: 1, bound: 2, run: func(side int) map[string]float64 {
		a, b := made(distinct.New(p)), made(distinct.New(p))
		for key := range uint64(20) {
			a.Add(key)
			b.Add(10 + key)
		}
		if side == 1 {
			a.Add(100)
			b.Add(100)
		}
		return numbersOf(made(made(distinct.ReleasePair(a, b)).MarshalBinary()), 4)
	}}
}

func cohortPair() pair {
	p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	// A key that comes on the second day as well moves from one class to another.
	return pair{name: "one key that comes back", norm: 1, bound: 2, run: func(side int) map[string]float64 {
		b := made(distinct.NewCohortBuilder(p, 2))
		for key := range uint64(20) {
			b.Add(key)
		}
		if err := b.Advance(2); err != nil {
			panic(err)
		}
		for key := range uint64(20) {
			b.Add(10 + key)
		}
		if side == 1 {
			b.Add(5)
		}
		return numbersOf(made(made(b.Release()).MarshalBinary()), 4)
	}}
}

func frequencyPair() pair {
	p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	// A key moves one cell from one class to another, and the number of ones by one.
	return pair{name: "one key that came often", norm: 1, bound: 3, run: func(side int) map[string]float64 {
		b := made(distinct.NewFrequencyBuilder(p, 3))
		for key := range uint64(30) {
			b.Add(key, key%7, key%3)
		}
		for range 5 * side {
			b.Add(100)
		}
		return numbersOf(made(made(b.Release()).MarshalBinary()), 5)
	}}
}

// numbersOf returns the last n numbers of an encoding, small ones.
func numbersOf(data []byte, n int) map[string]float64 {
	out := map[string]float64{}
	for i := range n {
		out[fmt.Sprint(i)] = float64(int8(data[len(data)-8*(n-i)]))
	}
	return out
}

// ellipticalPairs are sums of which one row is replaced by another, or goes.
func ellipticalPairs(ready bool) (pairs []pair) {
	box := elliptical.Params{Min: elliptical.VectorOf(0, -1, 2), Max: elliptical.VectorOf(1, 1, 6), Relation: budget.Replace}
	for _, c := range []struct {
		name string
		p    elliptical.Params
		set  func(p *elliptical.Params)
	}{
		{"Gaussian", box, func(p *elliptical.Params) { p.Rho = 0.5 }},
		{"Laplace", box, func(p *elliptical.Params) { p.Epsilon, p.Shape = 1, elliptical.Independent }},
		{"box", box, func(p *elliptical.Params) { p.Epsilon, p.Shape = 1, elliptical.Box }},
		{"count", box, func(p *elliptical.Params) { p.Rho, p.Relation, p.Count = 0.5, budget.AddRemove, true }},
		{"ellipsoid", elliptical.Params{Ellipsoid: elliptical.VectorOf(1, 0.5, 1), Relation: budget.Replace}, func(p *elliptical.Params) { p.Rho = 0.5 }},
		{"ball", elliptical.Params{NormBound: 2, Dim: 3, Relation: budget.Replace}, func(p *elliptical.Params) { p.Rho = 0.5 }},
	} {
		c.set(&c.p)
		if ready && (c.p.Ellipsoid.Len() > 0 || c.p.Count || c.p.NormBound > 0) {
			continue
		}
		rows := [][]float64{{0.5, 0, 3}, {1, 1, 6}, {0, -1, 2}, {0.25, 0.5, 5}}
		far := [2][]float64{{1, 1, 6}, {0, -1, 2}}
		pairs = append(pairs, pair{name: c.name, norm: inf, bound: 1, run: func(side int) map[string]float64 {
			all := append(rows[:len(rows):len(rows)], far[side])
			if c.p.Count && side == 1 {
				all = rows
			}
			width := func(i int) float64 {
				switch {
				case c.p.Ellipsoid.Len() > 0:
					return 1
				case c.p.NormBound > 0:
					return 2 * c.p.NormBound
				}
				return max(c.p.Max.At(i)-c.p.Min.At(i), c.p.Max.At(i), -c.p.Min.At(i))
			}
			var s *elliptical.Sum
			if ready {
				sum := make([]float64, 3)
				for _, row := range all {
					for i, x := range row {
						sum[i] += x
					}
				}
				s = made(made(elliptical.New(c.p)).Release(sum))
			} else {
				b := made(elliptical.NewBuilder(c.p))
				for _, row := range all {
					b.Add(row)
				}
				s = made(b.Release())
			}
			out := map[string]float64{}
			for i, x := range s.All() {
				out[fmt.Sprint(i)] = x / width(i)
			}
			return out
		}})
	}
	return pairs
}

// columnPairs: a row more, at an end of the interval, moves the number of rows by 1 and the sum by
// at most the largest value.
func columnPairs() (pairs []pair) {
	for _, c := range []struct {
		name string
		p    column.Params
	}{
		{"Laplace", column.Params{Epsilon: 1, Min: -1, Max: 3}},
		{"Gaussian", column.Params{Rho: 0.5, Min: -1, Max: 3}},
		{"by δ", column.Params{Epsilon: 1, Delta: 1e-6, Min: -1, Max: 3}},
		{"one moment", column.Params{Epsilon: 1, Min: -1, Max: 3, Want: column.Mean}},
		{"replaced", column.Params{Epsilon: 1, Min: -1, Max: 3, Relation: budget.Replace}},
		{"count", column.Params{Epsilon: 1, Want: column.Count}},
		{"sum", column.Params{Epsilon: 1, Min: -1, Max: 3, Want: column.Sum}},
	} {
		pairs = append(pairs, pair{name: c.name, norm: inf, bound: 1.001, run: func(side int) map[string]float64 {
			b := made(column.New(c.p))
			for i := range 100 {
				b.Add(float64(i%4) - 1)
			}
			x := [2]float64{3, -1}[side]
			if c.p.Relation == budget.Replace || side == 0 {
				b.Add(x)
			}
			s := made(b.Release())
			largest := 3.
			if c.p.Relation == budget.Replace {
				largest = 4
			}
			switch c.p.Want {
			case column.Count:
				return numbers(s.Value(column.Count))
			case column.Sum:
				return numbers(s.Value(column.Sum) / largest)
			}
			return numbers(s.Value(column.Count), s.Value(column.Sum)/largest)
		}})
	}
	return pairs
}

// columnLearned: where both sides find the same centre and range, a row more moves the number of
// rows by 1 and the sum by its value.
func columnLearned(p column.Params) pair {
	return pair{name: fmt.Sprint("learned by ", p.Epsilon, p.Rho), norm: inf, bound: 1.001, extra: `quantile\.mass\.below|quantile\.\(\*Spread\)\.Draw`, most: 128,
		why: "the centre is chosen by rejection from a range that depends on the weights, which is exact whatever is drawn (internal/quantile/spread.go); all else is the same draws for both",
		run: func(side int) map[string]float64 {
			b := made(column.New(p))
			for i := range 4000 + side {
				b.Add([4]float64{0, -1, 2, 0}[i%4]) // so many zeros that they have the centre
			}
			s := made(b.Release())
			lo, hi := s.Range()
			return map[string]float64{"given low": lo, "given high": hi, "count": s.Value(column.Count), "sum": s.Value(column.Sum)}
		}}
}

func columnQuantiles() pair {
	return pair{name: "one row", extra: `quantile\.mass\.below|quantile\.\(\*Spread\)\.Draw`, most: 128,
		why: "a place is chosen by rejection from a range that depends on the weights, which is exact whatever is drawn (internal/quantile/spread.go)",
		run: func(side int) map[string]float64 {
			b := made(column.NewQuantiles(column.Params{Epsilon: 1, Max: 100, Resolution: 1}, 0.25, 0.5, 0.75))
			for i := range 300 + side {
				b.Add(float64(i % 97))
			}
			made(b.Release())
			return nil
		}}
}

func approxPairs() (pairs []pair) {
	for _, p := range []approx.Params{
		{Epsilon: 1}, {Epsilon: 1, Error: 1}, {Epsilon: 1, Error: 1, Moment: 4, Noise: approx.StudentNoise},
		{Epsilon: 1, Error: 1, Moment: 4, Noise: approx.ParetoNoise}, {Epsilon: 1, Error: 1, Queries: 3},
	} {
		p.Max = 1000
		pairs = append(pairs, pair{name: fmt.Sprint(p.Noise, " ", p.Error, " ", p.Queries), norm: inf, bound: 1 + 0x1p-20, run: func(side int) map[string]float64 {
			m := made(approx.New(p))
			out := map[string]float64{}
			for i := range max(p.Queries, 1) {
				out[fmt.Sprint(i)] = made(m.Release(float64(i+10) + float64(side))).Estimate()
			}
			return out
		}})
	}
	return pairs
}

// advisedPair: with the same number of rounds the same draws; how many there are is released.
func advisedPair() pair {
	return pair{name: "the same rounds", norm: inf, bound: 1.001e-3, run: func(side int) map[string]float64 {
		p := approx.Params{Epsilon: 1, Max: 1 << 10, Sensitivity: 1e-3, Advice: approx.Advice{Min: 1}}
		a := made(approx.Search(p, func(advice, accuracy float64) float64 { return 300 + 1e-3*float64(side) }))
		return map[string]float64{fmt.Sprint("advice ", a.Advice()): a.Estimate()}
	}}
}

func aretePairs() map[string][]pair {
	all := map[string][]pair{}
	for _, p := range []arete.Params{
		{Epsilon: 1, Law: arete.Jump}, {Epsilon: 4, Law: arete.DiscreteArete}, {Epsilon: 8}, {Epsilon: 1, Law: arete.DiscreteLaplace},
		{Epsilon: 1, Delta: 1e-6, Law: arete.Gaussian}, {Epsilon: 2, Integers: true, Sensitivity: 3}, {Epsilon: 1, Parties: 4}, {Epsilon: 2, Integers: true, Sensitivity: 3, Modulus: 1<<64 - 1<<32 + 1},
	} {
		size := max(p.Sensitivity, 1)
		// signed is what a word of the Modulus stands for
		signed := func(word int64) float64 {
			if p.Modulus > 0 && uint64(word) > p.Modulus/2 {
				word -= int64(p.Modulus)
			}
			return float64(word)
		}
		m := sync.OnceValue(func() *arete.Mechanism { return made(arete.New(p)) })
		add := func(method string, steps bool, run func(x float64) map[string]float64) {
			all[method] = append(all[method], pair{name: fmt.Sprint(p.Law, " ", p.Epsilon, " ", p.Parties, " ", p.Modulus), norm: inf, bound: size, data: inf,
				run: func(side int) map[string]float64 {
					out := run(size * float64(side))
					for key := range out {
						if steps { // what a party sends is in steps of the lattice
							out[key] *= m().Lattice().Step()
						}
					}
					return out
				}})
		}
		add("Mechanism.Release", false, func(x float64) map[string]float64 { return numbers(made(m().Release(x)).Estimate()) })
		share := func(x float64) *arete.Share { return made(m().Share(3, 0)) }
		add("Mechanism.Share", true, func(x float64) map[string]float64 { return numbers(signed(share(x).Mask(x))) })
		add("Mechanism.Share", true, func(x float64) map[string]float64 { return numbers(signed(made(m().Share(3, 1)).Mask(x))) })
		add("Share.Mask", true, func(x float64) map[string]float64 { return numbers(signed(share(x).Mask(x))) })
		// Noise takes no data, and Sum draws nothing.
		add("Share.Noise", true, func(x float64) map[string]float64 { return numbers(signed(share(x).Noise())) })
		add("Share.Sum", false, func(x float64) map[string]float64 {
			s := share(x)
			total := signed(s.Mask(x)) + signed(share(0).Mask(0)) + signed(share(0).Mask(0))
			return numbers(made(s.Sum(int64(total), 3)).Estimate())
		})
	}
	return all
}

// planPairs: a plain mean is a sum with noise. In the other methods quantiles come first, which are
// drawn by rejection: their draws may differ, and then all that follows has another scale.
func planPairs() map[string][]pair {
	all := map[string][]pair{}
	rows := func(side int) [][]float64 {
		var x [][]float64
		for i := range 64 {
			x = append(x, []float64{float64(i%5) / 5, float64(i%3) / 3})
		}
		x[7] = [2][]float64{{1, 1}, {-1, -1}}[side]
		return x
	}
	sparse := func(side int) plan.Sparse {
		s := plan.Sparse{Offsets: []int{0}}
		for _, row := range rows(side) {
			s.Indices, s.Values = append(s.Indices, 0, 1), append(s.Values, row...)
			s.Offsets = append(s.Offsets, len(s.Indices))
		}
		return s
	}
	ctx := context.Background()
	const quantiles, noises = `quantile\.\(\*Sampler\)\.(Quantile|choose|below|BinarySearch)`, `means\.\(\*sampler\)\.addNoise`
	const why = "internal/quantile/quantile.go: a quantile is accepted from an envelope that the data make, and has the exact law whatever the envelope is"
	published := func(instance thesis.Instance, search int) *plan.Mechanism {
		return made(thesis.New(thesis.Params{Rho: 1, Dim: 2, Max: 1, Relation: budget.Replace, Instance: instance, Steps: thesis.Steps{Search: search}}))
	}
	mechanisms := []*plan.Mechanism{published(thesis.Algorithm18, 0), published(thesis.Direct, 0), published(thesis.Direct, 8), published(thesis.IOME, 0)}
	for _, method := range []plan.Method{plan.Plain, plan.Adaptive, plan.TwoPass} {
		mechanisms = append(mechanisms, made(plan.New(plan.Params{Rho: 1, Dim: 2, Max: 1, Method: method, NonNegative: method == plan.TwoPass, Relation: budget.Replace})))
	}
	for at, m := range mechanisms {
		method := m.Params().Method
		for name, release := range map[string]func(side int) *plan.Mean{
			"Mechanism.Release":       func(side int) *plan.Mean { return made(m.Release(ctx, rows(side))) },
			"Mechanism.ReleaseSparse": func(side int) *plan.Mean { return made(m.ReleaseSparse(ctx, sparse(side))) },
		} {
			if method == plan.TwoPass && !strings.Contains(name, "Sparse") {
				continue // refused
			}
			p := pair{name: fmt.Sprint(method, " ", at), run: func(side int) map[string]float64 { return numbers(release(side).Values()...) }}
			if method == plan.Plain { // a coordinate of the mean moves by 2·Max/n
				p.norm, p.bound = inf, 2./64
			} else {
				p.extra, p.most, p.adapts, p.why = quantiles, 1000, noises, why
			}
			all[name] = append(all[name], p)
		}
	}
	// The sum, in units of what one row may move it by. Centre, scales and C are released before,
	// and frozen noise gives the same ones for some rows.
	undo := func(y *plan.Mean, i int) float64 { // of the division, and of σ = that/√(2ρ)
		return (y.Estimate(i) - y.Centre(i)) / y.StdDev(i) / math.Sqrt(2*y.Spent().Sum)
	}
	scaled := func(y *plan.Mean, i int) float64 { // of the division by a released γ, and of 2C
		return (y.Estimate(i) - y.Centre(i)) * y.Spent().Gamma * y.Rows() / math.Sqrt(0.3) / (2 * y.Clip())
	}
	far, near := [2][]float64{{1, 1}, {-1, -1}}, [2][]float64{{0.8, 2. / 3}, {0, 0}}
	given := func(nonNegative bool) *plan.Mechanism { // of whose rows C does not see near ones
		m := made(plan.New(plan.Params{Rho: 1, Dim: 2, Max: 1, Method: plan.Adaptive, NonNegative: nonNegative, Relation: budget.Replace}))
		return made(m.WithScales([]float64{0.3, 0.3}))
	}
	for _, c := range []struct {
		name  string
		m     *plan.Mechanism
		ends  [2][]float64
		units func(y *plan.Mean, i int) float64
	}{
		{"Thesis", published(thesis.Algorithm18, 0), far, undo}, {"InstanceOptimal", published(thesis.IOME, 0), far, undo},
		{"Adaptive", given(false), near, scaled}, {"Adaptive, without a sign", given(true), near, scaled},
	} {
		for row := range 8 {
			all["Mechanism.Release"] = append(all["Mechanism.Release"], pair{name: fmt.Sprint(c.name, ", sum, row ", row), norm: 2, bound: 1 + 1e-9,
				extra: quantiles, most: 1000, why: why, run: func(side int) map[string]float64 {
					x := slices.Repeat(rows(0), 32+row)
					x[row] = c.ends[side]
					y, out := made(c.m.Release(ctx, x)), map[string]float64{}
					out["given C"] = y.Clip()
					for i := range 2 {
						out[fmt.Sprint("given centre ", i)], out[fmt.Sprint(i)] = y.Centre(i), c.units(y, i)
						if c.name == "Thesis" {
							out[fmt.Sprint("given scale ", i)] = y.StdDev(i)
						}
					}
					return out
				}})
		}
	}
	return all
}

// split returns the keys and values of one user for AddUserValues.
func split[K comparable](user iter.Seq2[K, float64]) (keys []K, values []float64) {
	for key, value := range user {
		keys, values = append(keys, key), append(values, value)
	}
	return keys, values
}
