package replay_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// subjects are the release methods with all their ways in.
func subjects() map[string]*subject {
	all := map[string]*subject{}
	groupbySubjects(all)
	thresholdSubject(all)
	sketchSubjects(all)
	seriesSubject(all)
	setSubjects(all)
	vectorSubjects(all)
	columnSubjects(all)
	planSubjects(all)
	return all
}

// saved is the end of a way on which the data go through a private state, merged one on which they
// are in two Builders.
const (
	saved  = " AppendPrivateState RestorePrivateState"
	merged = " Merge"
)

// stateful is a Builder with a private state.
type stateful interface {
	AppendPrivateState(dst []byte) ([]byte, error)
	RestorePrivateState(data []byte) error
}

// refusal is an error of the library in a case, which then compares nothing.
type refusal struct{ error }

// try returns x, or ends the case.
func try[T any](x T, err error) T {
	check(err)
	return x
}

// check ends the case if there is an error.
func check(err error) {
	if err != nil {
		panic(refusal{err})
	}
}

// moved returns a fresh Builder with the state of another.
func moved[B stateful](from B, fresh func() (B, error)) B {
	to := try(fresh())
	check(to.RestorePrivateState(try(from.AppendPrivateState(nil))))
	return to
}

// published is a Builder whose private state is restored with the number of what is published.
type published[B interface {
	AppendPrivateState(dst []byte) ([]byte, error)
	RestorePrivateState(data []byte, published int) error
}] struct {
	b    B
	last int
}

func (p published[B]) AppendPrivateState(dst []byte) ([]byte, error) {
	return p.b.AppendPrivateState(dst)
}
func (p published[B]) RestorePrivateState(data []byte) error {
	return p.b.RestorePrivateState(data, p.last)
}

// promised returns what is released, with its Guarantee.
func promised[R interface{ Guarantee() budget.Guarantee }](r R, err error) (any, budget.Guarantee) {
	check(err)
	return r, r.Guarantee()
}

// filled makes a Builder, or what two of them make together, by the way: give adds rows.
func filled[B stateful, R any](way string, fresh func() (B, error), merge func(a, b B) error, rows []R, split func([]R) (a, b []R), give func(b B, rows []R)) B {
	b := try(fresh())
	if !strings.Contains(way, merged) {
		give(b, rows)
	} else {
		other := made(fresh())
		first, second := split(rows)
		if strings.Contains(way, "swapped") {
			first, second = second, first
		}
		give(b, first)
		give(other, second)
		check(merge(b, other))
	}
	if strings.Contains(way, saved) {
		return moved(b, fresh)
	}
	return b
}

// parted splits users, the same ones whether the unit is there or not.
func parted(all [][]row) (a, b [][]row) {
	for _, user := range all {
		if len(user) == 0 || user[0].user%2 == 0 {
			a = append(a, user)
		} else {
			b = append(b, user)
		}
	}
	return a, b
}

// cut splits a list.
func cut[T any](all []T) (a, b []T) { return all[:len(all)/2], all[len(all)/2:] }

// keysAndValues returns the columns of a user's rows.
func keysAndValues(rows []row) (keys []int, values []float64) {
	for _, r := range rows {
		keys, values = append(keys, r.key), append(values, r.value)
	}
	return keys, values
}

func groupbySubjects(all map[string]*subject) {
	const places = `quantile\.\(\*Spread\)\.Draw|groupby\.\(\*scale\)\.sample|groupby\.\(\*state\[\.\.\.\]\)\.quantiles`
	draws := pair{extra: places, most: 100, why: "spread_proof.md: a place is chosen by rejection from a range that depends on the weights, with the exact law whatever the range is; and a user's own values draw which of them counts"}
	rare := pair{extra: places + `|groupby\.\(\*state\[\.\.\.\]\)\.(shows|noise|release|releaseRetained)|groupby\.drawSome`, most: 100,
		why: "quadratic_proof.md: a key without weight is as if it were hidden, but for δ; what is drawn for a key that is shown is drawn after that"}
	listed := make([]int, shared+2)
	for i := range listed {
		listed[i] = i
	}
	const derived, given = `\.cells\[|\.all$|\.threshold$|^\.lost$|^\.mostLost`, `^\.chosen\.|^\.radius|\.scale$`
	within := [2]string{`\.weights\[`, `\.cells\[`} // of quantiles, between cells that were drawn
	rarely := func(c *pcase) bool { return c.others == "all keys each" }
	valued := func(p groupby.Params) bool { return p.Min != 0 || p.Max != 0 || p.Values || p.Levels[0] != 0 }
	values := map[string][]any{
		"Epsilon": {1., 4.}, "Delta": {1e-6}, "Min": {0., -2., 1.}, "Max": {0., 3.}, "FullKeys": {0, groupby.AutoFullKeys, 1, 3, 36}, "Releases": {0, 3}, "Passes": {0, 1, 2},
		"Resolution": {0., 0.25}, "CountShare": {0., 0.2}, "QuantileShare": {0., 0.3}, "TailIndex": {0., 3.},
	}
	give := func(b *groupby.Builder[int], users [][]row) {
		for _, user := range users {
			keys, x := keysAndValues(user)
			if valued(b.Params()) {
				b.AddUserValues(keys, x)
			} else {
				b.AddUser(keys)
			}
		}
	}
	fresh := func(c *pcase) (*groupby.Builder[int], error) {
		p := c.params.(groupby.Params)
		if strings.HasPrefix(c.way, "NewListed") {
			return groupby.NewListed(p, listed...)
		}
		return groupby.New[int](p)
	}
	const users = " AddUser AddUserValues"
	lists := maps.Clone(values)
	lists["Delta"] = []any{1e-6, 0.}
	all["threshold/groupby.Builder.Release"] = &subject{
		params: groupby.Params{Epsilon: 1, Delta: 1e-6}, values: lists, unchecked: func(way string) bool { return strings.HasPrefix(way, "NewListed") }, builder: (*groupby.Builder[int])(nil), derived: derived, given: given, within: within, alike: `.`, costly: true, draws: draws, rare: rare, rarely: rarely,
		ways: []string{"New" + users, "New" + users + merged, "New" + users + merged + " swapped", "New" + users + saved, "New" + users + merged + saved,
			"NewListed" + users, "NewListed" + users + merged, "NewListed" + users + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*groupby.Builder[int], error) { return fresh(c) }, (*groupby.Builder[int]).Merge, c.users(), parted, give)
			return try(b.Release()), b.Guarantee()
		},
	}
	all["threshold/groupby.Discovery.Release"] = &subject{
		params: groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2}, values: values, builder: (*groupby.Discovery[int])(nil), derived: derived, given: given, within: within, alike: `.`, costly: true, draws: draws, rare: rare, rarely: func(c *pcase) bool { return true },
		ways: []string{"NewDiscovery AddUser", "NewDiscovery AddUser" + merged, "NewDiscovery AddUser" + merged + " swapped", "NewDiscovery AddUser SecondPass" + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			fresh := func() (*groupby.Discovery[int], error) { return groupby.NewDiscovery[int](c.params.(groupby.Params)) }
			d := filled(c.way, fresh, (*groupby.Discovery[int]).Merge, c.users(), parted, func(d *groupby.Discovery[int], users [][]row) {
				for _, user := range users {
					keys, _ := keysAndValues(user)
					d.AddUser(keys)
				}
			})
			b := try(d.Release())
			b.SecondPass()
			give(b, c.users())
			return try(b.Release()), b.Guarantee()
		},
	}
	all["threshold/groupby.Rows.Release"] = &subject{
		params: groupby.Params{Epsilon: 1, Delta: 1e-6}, values: lists, unchecked: func(way string) bool { return strings.HasPrefix(way, "NewListed") }, builder: (*groupby.Rows[string, int])(nil), derived: derived, given: given, within: within, alike: `.`, costly: true, draws: draws, rare: rare, rarely: rarely,
		own: map[string]func() []row{"a row without a user": func() []row { return []row{{user: -1, key: 3, value: 1}} }},
		ways: []string{"NewRows Add AddValue", "NewRows Add AddValue mixed", "NewRows Add AddValue mixed" + merged, "NewRows Add AddValue mixed" + merged + " swapped",
			"NewRows Add AddValue mixed" + saved, "NewRows Add AddValue mixed" + merged + saved,
			"NewListedRows Add AddValue mixed", "NewListedRows Add AddValue mixed" + merged, "NewListedRows Add AddValue" + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			p := c.params.(groupby.Params)
			rows := c.rows()
			if strings.Contains(c.way, "mixed") {
				rows = c.mixed()
			}
			fresh := func() (*groupby.Rows[string, int], error) {
				if strings.HasPrefix(c.way, "NewListed") {
					return groupby.NewListedRows[string](p, listed...)
				}
				return groupby.NewRows[string, int](p)
			}
			b := filled(c.way, fresh, (*groupby.Rows[string, int]).Merge, rows, halves, func(b *groupby.Rows[string, int], rows []row) {
				for _, r := range rows {
					user := ""
					if r.user >= 0 {
						user = strconv.Itoa(r.user)
					}
					if valued(p) {
						b.AddValue(user, r.key, r.value)
					} else {
						b.Add(user, r.key)
					}
				}
			})
			return promised(b.Release())
		},
	}
}

// keysIn returns the keys of rows.
func keysIn[K ~uint64 | ~int](rows []row) (keys []K) {
	for _, r := range rows {
		keys = append(keys, K(r.key))
	}
	return keys
}

// limitedUnit are roles of a unit that the caller answers for: its values are within what the
// Params allow.
var small = map[string]func() []row{
	"a unit":        func() []row { return keysOf(3, 1, 1) },
	"half a unit":   func() []row { return keysOf(3, 1, 0.5) },
	"a new key":     func() []row { return keysOf(own, 1, 1) },
	"minus a unit":  func() []row { return keysOf(3, 1, -1) },
	"no number":     func() []row { return keysOf(3, 1, nan) },
	"negative zero": func() []row { return keysOf(3, 1, math.Copysign(0, -1)) },
}

func thresholdSubject(all map[string]*subject) {
	listed := make([]uint64, shared)
	for i := range listed {
		listed[i] = uint64(i)
	}
	all["threshold.Builder.Release"] = &subject{
		params: threshold.Params{Epsilon: 1, Delta: 1e-6}, builder: (*threshold.Builder[uint64])(nil), derived: `\.threshold$`,
		draws: pair{data: 0x1p46, extra: `calibration\.small|Builder.*\.Add`, most: 3,
			why: "rounding_proof.md: an entry below R that has passed the threshold is rounded by a draw of its own"},
		rare: pair{data: 0x1p46, extra: `sparse\.releaseLaplace|sparse\.releaseNormal|calibration\.small|rounding\.Kernel|Builder.*\.Add`, most: 3,
			why: "laplace_proof.md, gaussian_proof.md: keys without a value are not looked at, and are as if they were hidden but for δ"},
		ways: []string{"New Add", "NewListed Add", "NewBounded Add"}, units: []string{"none"}, own: small,
		others: []string{"few", "one key each", "all keys each"},
		values: map[string][]any{
			"Epsilon": {1., 4.}, "Delta": {1e-6, 0.}, "Dim": {uint64(0), uint64(2000)}, "MaxKeys": {0, 1, 3}, "MaxValue": {0., 1., 2.}, "Sensitivity": {0., 1., 2.}, "Stored": {0, shared + 1},
			"FalseKeys": {0., 0.125},
		},
		release: func(c *pcase) (any, budget.Guarantee) {
			p := c.params.(threshold.Params)
			construct := threshold.New[uint64]
			switch {
			case strings.HasPrefix(c.way, "NewListed"):
				p.Delta = 0 // no key is hidden
				construct = func(p threshold.Params) (*threshold.Builder[uint64], error) { return threshold.NewListed(p, listed...) }
			case strings.HasPrefix(c.way, "NewBounded"):
				construct = threshold.NewBounded[uint64]
			}
			b := try(construct(p))
			for _, r := range c.rows() {
				b.Add(uint64(r.key), r.value)
			}
			return try(b.Release()), b.Guarantee()
		},
	}
}

// paperCounters are the k counters of the paper's Algorithm 1, without those of 0.
func paperCounters(k int, rows []row) map[uint64]int64 {
	counters := map[uint64]int64{}
	for _, r := range rows {
		if _, stored := counters[uint64(r.key)]; stored || len(counters) < k {
			counters[uint64(r.key)]++
			continue
		}
		for key := range counters {
			if counters[key]--; counters[key] == 0 {
				delete(counters, key)
			}
		}
	}
	return counters
}

// spaceSaving are the counters of Space-Saving, where a new key takes over the smallest.
func spaceSaving(k int, rows []row) map[uint64]int64 {
	counters := map[uint64]int64{}
	for _, r := range rows {
		if _, stored := counters[uint64(r.key)]; stored || len(counters) < k {
			counters[uint64(r.key)]++
			continue
		}
		least := slices.MinFunc(slices.Sorted(maps.Keys(counters)), func(a, b uint64) int { return cmp.Compare(counters[a], counters[b]) })
		counters[uint64(r.key)] = counters[least] + 1
		delete(counters, least)
	}
	return counters
}

// sketchSubjects: an element may move the counters of keys which its unit does not have.
func sketchSubjects(all map[string]*subject) {
	values := map[string][]any{
		"Epsilon": {1., 4.}, "Delta": {1e-6, 0.}, "Counters": {0, 4, 16, 64}, "Dim": {uint64(0), uint64(2000)}, "MaxElements": {0, 1, 3}, "MaxLength": {uint64(0), uint64(1 << 20)},
	}
	elements := func(p any) int { return max(p.(misragries.Params).MaxElements, 1) }
	fresh := func(c *pcase) func() (*misragries.Builder[uint64], error) {
		return func() (*misragries.Builder[uint64], error) {
			return misragries.New[uint64](c.params.(misragries.Params))
		}
	}
	give := func(way string, atOnce int) func(b *misragries.Builder[uint64], rows []row) {
		return func(b *misragries.Builder[uint64], rows []row) {
			switch {
			case strings.Contains(way, " AddSlice"):
				b.AddSlice(keysIn[uint64](rows))
			case strings.Contains(way, " AddN"):
				for len(rows) > 0 {
					n, most := 1, min(atOnce, 3)
					for n < len(rows) && n < most && rows[n].key == rows[0].key {
						n++
					}
					b.AddN(uint64(rows[0].key), n)
					rows = rows[n:]
				}
			default:
				for _, r := range rows {
					b.Add(uint64(r.key))
				}
			}
		}
	}
	// A unit is in one stream, which others it is with does not depend on it.
	split := func(rows []row) (a, b []row) {
		for _, r := range rows {
			if r.user%2 == 0 {
				a = append(a, r)
			} else {
				b = append(b, r)
			}
		}
		return a, b
	}
	const derived = `\.sketches$|\.known$`
	draws := pair{data: 2*1024 + 1, extra: `AddUser`, most: 1, why: "which keys of a user count is drawn for each by itself"}
	rare := pair{data: 2*1024 + 1, most: 32, extra: `misragries\.release(Shared|Rounded)|sparse\.releaseNormal|misragries\.newUniverse|misragries\.\(\*universe\[\.\.\.\]\)\.(all|cut|distinctZeros|layer|single)|subset\.Draw|AddUser`,
		why: "section 5.1 of the paper, thresholds/reduced.go: a counter of 0 is as if it were hidden, but for δ, and takes no draw; universe.go: what is drawn is the law of noise on every key of the universe, whichever of them are stored"}
	rarely := func(c *pcase) bool { k := c.params.(misragries.Params).Counters; return k == 4 || k == 16 }
	all["misragries.Builder.Release"] = &subject{
		params: misragries.Params{Epsilon: 1, Delta: 1e-6}, values: values, builder: (*misragries.Builder[uint64])(nil), alike: `^New Add(Slice|N)?( Append|$)`, most: elements, spills: true, derived: derived, draws: draws, rare: rare, rarely: rarely,
		others: []string{"few", "one key each", "all keys each"},
		ways:   []string{"New Add", "New AddSlice", "New AddN", "New Add" + merged, "New AddSlice" + merged + " swapped", "New Add" + saved, "New Add" + merged + saved, "FromMisraGries", "FromSpaceSaving"},
		release: func(c *pcase) (any, budget.Guarantee) {
			p := c.params.(misragries.Params)
			switch k := cmp.Or(p.Counters, 1024); c.way {
			case "FromMisraGries":
				return promised(try(misragries.FromMisraGries(p, paperCounters(k, c.rows()))).Release())
			case "FromSpaceSaving":
				return promised(try(misragries.FromSpaceSaving(p, spaceSaving(k+1, c.rows()))).Release())
			}
			return promised(filled(c.way, fresh(c), (*misragries.Builder[uint64]).Merge, c.rows(), split, give(c.way, p.MaxElements)).Release())
		},
	}
	all["misragries.Sum.Release"] = &subject{
		params: misragries.Params{Epsilon: 1, Delta: 1e-6}, values: values, builder: (*misragries.Sum[uint64])(nil), alike: `Add( Append|$)`, most: elements, spills: true, derived: derived, draws: draws, rare: rare, rarely: rarely,
		others: []string{"few", "one key each", "all keys each"},
		ways:   []string{"NewSum Add", "NewSum Add" + merged, "NewSum Add" + merged + " swapped", "NewSum Add" + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			p := c.params.(misragries.Params)
			t := filled(c.way, func() (*misragries.Sum[uint64], error) { return misragries.NewSum[uint64](p) },
				(*misragries.Sum[uint64]).Merge, c.rows(), split, func(t *misragries.Sum[uint64], rows []row) {
					first, second := split(rows)
					for _, part := range [][]row{first, second} {
						b := made(misragries.New[uint64](p))
						give(c.way, p.MaxElements)(b, part)
						if err := t.Add(b); err != nil {
							panic(err)
						}
					}
				})
			return promised(t.Release())
		},
	}
	// Of a user's keys above MaxElements some are drawn, and the draws of others are frozen by
	// their number: so the others have few.
	uservalues := maps.Clone(values)
	uservalues["MaxElements"] = []any{0, 2, 3, 6}
	all["misragries.UserBuilder.Release"] = &subject{
		params: misragries.Params{Epsilon: 1, Delta: 1e-6, MaxElements: 3}, values: uservalues, builder: (*misragries.UserBuilder[uint64])(nil), alike: `AddUser( Append|$)`, spills: true, derived: derived, draws: draws, rare: rare, rarely: rarely,
		others: []string{"few", "one key each", "two keys each"},
		ways:   []string{"NewUserBuilder AddUser", "NewUserBuilder AddUser" + merged, "NewUserBuilder AddUser" + merged + " swapped", "NewUserBuilder AddUser" + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*misragries.UserBuilder[uint64], error) {
				return misragries.NewUserBuilder[uint64](c.params.(misragries.Params))
			}, (*misragries.UserBuilder[uint64]).Merge, c.users(), parted, func(b *misragries.UserBuilder[uint64], users [][]row) {
				for _, rows := range users {
					b.AddUser(keysIn[uint64](rows))
				}
			})
			return promised(b.Release())
		},
	}
}

// seriesSubject: six steps are one release.
func seriesSubject(all map[string]*subject) {
	all["misragries/series.Builder.Step"] = &subject{
		params: series.Params{Epsilon: 4, Delta: 1e-6, Spans: [8]int{1, 2}, Discovery: [8]int{1, 2}}, builder: (*series.Builder[int])(nil), alike: `AddFor( Append|$)`, spills: true,
		draws: pair{data: 1, extra: `AddFor`, most: 1, why: "which of a user's elements count is drawn for each by itself"}, rare: pair{data: 1, most: 32, extra: `misragries/series\.`, why: "series_proof.md: a key without an element in a node is as if it were hidden, but for δ, and takes no draw; what is drawn for a key that is shown is drawn after that"},
		// Which keys are found depends on counts that may be near a threshold.
		rarely: func(c *pcase) bool { return !strings.Contains(c.way, "known") },
		given:  `\.since\[|\.keys\[`, // which keys are known follows from what was published
		values: map[string][]any{
			"Epsilon": {1., 4.}, "Delta": {1e-6}, "Spans": {[8]int{1, 2}, [8]int{1}, [8]int{1, 3, 6}}, "Discovery": {[8]int{2}, [8]int{1, 2}, [8]int{3}, [8]int{}}, "Counters": {0, 16}, "Dim": {0},
			"MaxKnown": {0, 4}, "Retire": {0, 40}, "MaxElements": {0, 1, 6}, "Burst": {0, 2},
		},
		others: []string{"few", "one key each"},
		most: func(p any) int {
			if p.(series.Params).MaxElements > 0 {
				return 0
			}
			return 1
		},
		ways: []string{"New Add AddFor", "New AddN AddFor", "New Add AddFor" + saved, "New Add AddFor of known keys"},
		release: func(c *pcase) (any, budget.Guarantee) {
			p := c.params.(series.Params)
			if strings.Contains(c.way, "known") {
				p.Dim, p.Delta, p.Discovery, p.Counters, p.MaxKnown, p.Retire = shared, 0, [8]int{}, 0, 0, 0
			}
			b := try(series.New[int](p))
			var steps []*series.Slice[int]
			// When the unit comes.
			when := map[string]int{"before": 0, "between": 2, "after": 5}[c.place]
			for step := range 6 {
				for _, rows := range c.users() {
					if len(rows) > 0 && rows[0].user == 0 && step != when {
						continue
					}
					switch {
					case p.MaxElements > 0 && len(rows) > 0:
						b.AddFor(fmt.Sprint(rows[0].user), keysIn[int](rows))
					case strings.Contains(c.way, "AddN"):
						for _, r := range rows {
							b.AddN(r.key, 1)
						}
					default:
						for _, r := range rows {
							b.Add(r.key)
						}
					}
				}
				if strings.Contains(c.way, saved) {
					data := made(b.AppendPrivateState(nil))
					b = made(series.New[int](p))
					check(b.RestorePrivateState(data, step))
				}
				s := try(b.Step())
				steps = append(steps, s)
			}
			return steps, b.Guarantee()
		},
	}
}

// setSubjects: a key with all its occurrences is the unit.
func setSubjects(all map[string]*subject) {
	oneKey := []string{"one key", "own key"}
	sets := []string{"nobody", "few", "one key each"}
	kparams := kor.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	kvalues := map[string][]any{"Epsilon": {1., 4., 0.25}, "Cells": {64, 128}, "Levels": {8, 12}, "CountShare": {0., 0.25}, "Seed": {hashing.Seed{1}, hashing.Seed{2}}}
	dparams := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	dvalues := map[string][]any{"Epsilon": {1., 4., 0.25}, "Cells": {64, 128}, "Levels": {8, 12}, "CountShare": {0., 0.5, 1.}, "Seed": {hashing.Seed{1}, hashing.Seed{2}},
		"Spans": {[8]int{}}}
	wvalues := maps.Clone(dvalues)
	wvalues["Spans"] = []any{[8]int{}, [8]int{1, 2}, [8]int{1, 7}}
	// The others' keys are not the unit's: it is there with a key of its own, or not at all.
	others := func(c *pcase) (rows []row) {
		for _, r := range c.rows() {
			if r.user != 0 {
				r.key = 5000 + (31*r.user+r.key)%700
			}
			rows = append(rows, r)
		}
		return rows
	}
	const ids = `\.parts|\.id\[|\.release\[|\.origin|\.releases`
	add := func(name string, s *subject) {
		s.units, s.others, s.spills, s.derived = oneKey, sets, true, ids+s.derived
		s.own = map[string]func() []row{"often": func() []row { return slices.Repeat(keysOf(own, 1, 1), 41) }}
		all[name] = s
	}
	korBuilder := func(c *pcase) *kor.Builder {
		return filled(c.way, func() (*kor.Builder, error) { return kor.New(c.params.(kor.Params)) }, (*kor.Builder).Merge,
			others(c), func(rows []row) (a, b []row) { return cut(rows) }, func(b *kor.Builder, rows []row) {
				switch {
				case strings.Contains(c.way, "Weighted"):
					for _, r := range rows {
						b.ToggleWeighted(uint64(r.key), 1)
					}
				case strings.Contains(c.way, "ToggleSlice"):
					b.ToggleSlice(keysIn[uint64](rows))
				default:
					for _, r := range rows {
						b.Toggle(uint64(r.key))
					}
				}
			})
	}
	korWays := []string{"New Toggle", "New ToggleSlice", "New ToggleWeighted", "New Toggle" + merged, "New Toggle" + merged + saved, "New ToggleSlice" + saved}
	add("kor.Builder.Release", &subject{params: kparams, values: kvalues, builder: (*kor.Builder)(nil), ways: korWays, alike: `.`, release: func(c *pcase) (any, budget.Guarantee) {
		return promised(korBuilder(c).Release())
	}})
	add("kor.Builder.Share", &subject{params: kparams, values: map[string][]any{"Epsilon": {1., 4., 0.25}, "Cells": {64, 128}, "Levels": {8, 12}, "CountShare": {0.}, "Seed": {hashing.Seed{1}}},
		// One bit, by the noise of all parties together.
		builder: (*kor.Builder)(nil), ways: korWays, limit: func(c *pcase, label string) (float64, float64) { return 1, 1 },
		release: func(c *pcase) (any, budget.Guarantee) {
			b := korBuilder(c)
			s := try(b.Share(3))
			return bitsOf(s.Bytes(), 64), b.Guarantee()
		}})
	add("kor.StreamBuilder.Release", &subject{params: kparams, values: map[string][]any{"Epsilon": {1., 4., 0.25}, "Cells": {64, 128}, "Levels": {8, 12}, "CountShare": {0.}, "Seed": {hashing.Seed{1}}},
		builder: (*kor.StreamBuilder)(nil), alike: `.`, ways: []string{"NewStreamBuilder Add", "NewStreamBuilder AddWeighted", "NewStreamBuilder Add" + merged, "NewStreamBuilder Add" + saved},
		draws: pair{extra: `kor\.tossCoins`, most: 1,
			why: "a cell that was hit is a fair coin, one that was not is 0: coins are tossed for words with a cell that was hit, and a neighbour hits one more cell"},
		// A cell that is hit becomes a fair coin, and coins are tossed by the word, so those of
		// later words move where a word is hit for the first time: kor has the exact law.
		limit: func(c *pcase, label string) (float64, float64) { return inf, 1 },
		release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*kor.StreamBuilder, error) { return kor.NewStreamBuilder(c.params.(kor.Params)) }, (*kor.StreamBuilder).Merge,
				others(c), func(rows []row) (a, b []row) { return cut(rows) }, func(b *kor.StreamBuilder, rows []row) {
					for _, r := range rows {
						if strings.Contains(c.way, "Weighted") {
							b.AddWeighted(uint64(r.key), 1)
						} else {
							b.Add(uint64(r.key))
						}
					}
				})
			return promised(b.Release())
		}})
	halves := func(rows []row) (a, b []row) { return halves(rows) }
	add("kor/distinct.Builder.Release", &subject{params: dparams, values: dvalues, builder: (*distinct.Builder)(nil), alike: `.`,
		ways: []string{"New Add", "New Add" + merged, "New Add" + merged + " swapped", "New Add" + saved, "New Add" + merged + saved}, release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*distinct.Builder, error) { return distinct.New(c.params.(distinct.Params)) }, (*distinct.Builder).Merge,
				others(c), halves, func(b *distinct.Builder, rows []row) { b.Add(keysIn[uint64](rows)...) })
			return promised(b.Release())
		}})
	add("kor/distinct.FrequencyBuilder.Release", &subject{params: dparams, values: dvalues, builder: (*distinct.FrequencyBuilder)(nil), alike: `.`,
		ways: []string{"NewFrequencyBuilder Add", "NewFrequencyBuilder Add" + merged, "NewFrequencyBuilder Add" + saved, "NewFrequencyBuilder Add" + merged + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*distinct.FrequencyBuilder, error) {
				return distinct.NewFrequencyBuilder(c.params.(distinct.Params), 3)
			},
				(*distinct.FrequencyBuilder).Merge, others(c), halves, func(b *distinct.FrequencyBuilder, rows []row) { b.Add(keysIn[uint64](rows)...) })
			return promised(b.Release())
		}})
	// days adds the rows, a third a day, the unit's on every day.
	days := func(rows []row, add func(keys ...uint64), advance func(day int)) {
		for day := range 3 {
			if day > 0 {
				advance(day)
			}
			for _, r := range rows {
				if r.user == 0 || r.user%3 == day {
					add(uint64(r.key))
				}
			}
		}
	}
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	add("kor/distinct.CohortBuilder.Release", &subject{params: dparams, values: dvalues, builder: (*distinct.CohortBuilder)(nil), alike: `.`,
		ways: []string{"NewCohortBuilder Add Advance", "NewCohortBuilder Add Advance" + merged, "NewCohortBuilder Add Advance" + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*distinct.CohortBuilder, error) {
				return distinct.NewCohortBuilder(c.params.(distinct.Params), 3)
			},
				(*distinct.CohortBuilder).Merge, others(c), halves, func(b *distinct.CohortBuilder, rows []row) {
					days(rows, b.Add, func(day int) { check(b.Advance(day + 1)) })
				})
			return promised(b.Release())
		}})
	add("kor/distinct.WindowBuilder.Release", &subject{params: dparams, values: wvalues, builder: (*distinct.WindowBuilder)(nil), alike: `.`, derived: `|\.day$`,
		ways: []string{"NewWindowBuilder Add Advance", "NewWindowBuilder Add Advance" + merged, "NewWindowBuilder Add Advance" + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			type windows = published[*distinct.WindowBuilder]
			b := filled(c.way, func() (windows, error) {
				b, err := distinct.NewWindowBuilder(c.params.(distinct.Params), 0)
				return windows{b, -1}, err
			}, func(a, b windows) error { return a.b.Merge(b.b) }, others(c), halves, func(b windows, rows []row) {
				days(rows, b.b.Add, func(day int) { check(b.b.Advance(day)) })
			})
			return promised(b.b.Release())
		}})
	add("kor/distinct.RunningBuilder.Step", &subject{params: dparams, values: dvalues, builder: (*distinct.RunningBuilder)(nil), alike: `.`, derived: `|\.slots$`,
		ways: []string{"NewRunningBuilder Add", "NewRunningBuilder Add" + merged, "NewRunningBuilder Add" + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			p := c.params.(distinct.Params)
			b := try(distinct.NewRunningBuilder(p))
			// Each total is a sum of all noise so far: what it is more than the last one has a draw
			// of its own.
			last, increases := int64(0), []int64{}
			var rest []row
			step := func(int) {
				if strings.Contains(c.way, merged) {
					o := made(distinct.New(p))
					o.Add(keysIn[uint64](rest)...)
					check(b.Merge(o))
				} else {
					b.Add(keysIn[uint64](rest)...)
				}
				rest = nil
				if strings.Contains(c.way, saved) {
					type running = published[*distinct.RunningBuilder]
					b = moved(running{b, len(increases)}, func() (running, error) { return running{made(distinct.NewRunningBuilder(p)), len(increases)}, nil }).b
				}
				total := labels(made(b.Step()))[".numbers[0]"].whole.Int64()
				increases, last = append(increases, total-last), total
			}
			days(others(c), func(keys ...uint64) { rest = append(rest, row{key: int(keys[0])}) }, step)
			step(3)
			return increases, b.Guarantee()
		}})
	add("kor/distinct.ReleasePair", &subject{params: dparams, values: dvalues, builder: (*distinct.Builder)(nil), alike: `Add( Merge|$)`,
		ways: []string{"New ReleasePair Add", "New ReleasePair Add one", "New ReleasePair Add" + merged + saved}, release: func(c *pcase) (any, budget.Guarantee) {
			a := filled(c.way, func() (*distinct.Builder, error) { return distinct.New(c.params.(distinct.Params)) }, (*distinct.Builder).Merge,
				others(c), halves, func(b *distinct.Builder, rows []row) { b.Add(keysIn[uint64](rows)...) })
			b := made(distinct.New(c.params.(distinct.Params)))
			for _, r := range others(c) {
				if r.user == 0 && !strings.Contains(c.way, "one") || r.user%2 == 1 {
					b.Add(uint64(r.key))
				}
			}
			return promised(distinct.ReleasePair(a, b))
		}})
}

// vectorSubjects: entries of vectors, and rows of numbers.
func vectorSubjects(all map[string]*subject) {
	const dim = 32
	all["jl.Builder.Release"] = &subject{
		params: jl.Params{Dim: dim, Rows: 16, Epsilon: 1, Seed: hashing.Seed{1}}, builder: (*jl.Builder)(nil), alike: `^New Add(Sparse)?( |$)`, units: []string{"none"}, own: small, spills: true,
		derived: `\.step$|\.releases`, others: []string{"few", "one key each"},
		values: map[string][]any{
			"Dim": {uint64(dim), uint64(64)}, "Rows": {16, 32}, "Sparsity": {0, 1, 4}, "Independence": {0, 4, 8}, "Epsilon": {0., 1., 4.}, "Delta": {0., 1e-6}, "Rho": {0., 0.5}, "Change": {jl.Change{}, jl.L1(1), jl.L1(2), jl.L2(1), jl.OneCoordinate(1)},
			"Seed": {hashing.Seed{1}, hashing.Seed{7}},
		},
		ways:  []string{"New Add", "New AddSparse", "New AddDense", "New Add" + merged, "New AddSparse Sibling" + merged},
		slack: 1e-6,
		release: func(c *pcase) (any, budget.Guarantee) {
			b := try(jl.New(c.params.(jl.Params)))
			dense := make([]float64, dim)
			give := func(b *jl.Builder, rows []row) {
				for _, r := range rows {
					index := uint64(r.key % dim)
					switch {
					case strings.Contains(c.way, "AddSparse"):
						b.AddSparse([]uint64{index}, []float64{r.value})
					case strings.Contains(c.way, "AddDense") && r.value == r.value:
						dense[index] += r.value
					default:
						b.Add(index, r.value)
					}
				}
			}
			rows := c.rows()
			if strings.Contains(c.way, merged) {
				var other *jl.Builder
				if strings.Contains(c.way, "Sibling") {
					other = try(b.Sibling())
				} else {
					other = try(jl.New(c.params.(jl.Params)))
				}
				first, second := halves(rows)
				give(b, first)
				give(other, second)
				check(b.Merge(other))
			} else {
				give(b, rows)
			}
			if strings.Contains(c.way, "AddDense") {
				b.AddDense(dense)
			}
			return try(b.Release()), b.Guarantee()
		},
	}
	all["alp.Builder.Release"] = &subject{
		params: alp.Params{Epsilon: 1, Delta: 1e-6, Dim: 2000, Sparsity: shared, Max: 200, Seed: hashing.Seed{1}}, builder: (*alp.Builder)(nil), units: []string{"none"}, own: small,
		others: []string{"few", "one key each"},
		// The table is drawn cell by cell with the law of the largest value in a cell: alp's own
		// tests enumerate it. Here are the list of large values and its budget.
		derived: `^\.table|\.threshold$|^\.keys`,
		draws: pair{data: 1e9, extra: `alp\.\(\*shape\)\.occupy|calibration\.small|sparse\.releaseLaplace|distinctZeros|Builder.*\.Add`, most: 64,
			why: "Theorem 2 of the ALP paper holds for any order of the draws: cells are independent given the list, and each is drawn once by the law of its largest occupant"},
		values: map[string][]any{
			"Epsilon": {1., 4.}, "Delta": {1e-6, 0.}, "Dim": {uint64(2000), uint64(0)}, "Sparsity": {shared}, "Sensitivity": {0., 1., 2.}, "Max": {200., 0.}, "Bits": {0., 50.}, "Seed": {hashing.Seed{1}},
			"TwoVectors": {false}, "Alpha": {0.}, "Base": {0.}, "Levels": {0}, "Columns": {0}, "Split": {0.}, "Turn": {0.}, "FalseKeys": {0.}, "Linear": {false}, "Independent": {false},
		},
		ways: []string{"New Add"},
		release: func(c *pcase) (any, budget.Guarantee) {
			b := try(alp.New(c.params.(alp.Params)))
			for _, r := range c.rows() {
				if r.user != 0 {
					r.value *= 16 // so that the list has some
				}
				b.Add(uint64(r.key), r.value)
			}
			return try(b.Release()), b.Guarantee()
		},
	}
	vector := func(x ...float64) elliptical.Vector { return elliptical.VectorOf(x...) }
	one := func(rows []row) []float64 { // a row of three numbers from the rows of a user
		x := make([]float64, 3)
		for i := range x {
			if len(rows) > 0 {
				x[i] = rows[i%len(rows)].value
			}
		}
		return x
	}
	all["elliptical.Builder.Release"] = &subject{
		params: elliptical.Params{Min: vector(0, -1, 2), Max: vector(1, 1, 6), Rho: 0.5}, builder: (*elliptical.Builder)(nil), alike: `^NewBuilder Add( Merge)?$`, spills: true,
		others: []string{"few", "one key each"},
		values: map[string][]any{
			"Min": {vector(0, -1, 2), vector(-1, -1, -1)}, "Max": {vector(1, 1, 6), vector(8, 8, 8)}, "Ellipsoid": {elliptical.Vector{}},
			"NormBound": {0.}, "Dim": {0}, "Rho": {0.5, 0.}, "Epsilon": {0., 1.}, "Delta": {0., 1e-6}, "Relative": {false, true}, "Weights": {elliptical.Vector{}, vector(1, 2, 3)},
			"Shape": {elliptical.Optimal, elliptical.Independent},
		},
		ways: []string{"NewBuilder Add", "NewBuilder AddSparse", "NewBuilder Add" + merged, "NewBuilder AddSparse Add" + merged + " swapped",
			"NewBuilder Add within a ball", "NewBuilder AddSparse within an ellipsoid"},
		replaced: func(p any) bool { return p.(elliptical.Params).Relation == budget.Replace },
		slack:    1e-3, // of whole numbers of steps
		release: func(c *pcase) (any, budget.Guarantee) {
			p := c.params.(elliptical.Params)
			if p.Epsilon > 0 && p.Delta == 0 { // Optimal may be Box, whose noise no law draws
				p.Shape = elliptical.Independent
			}
			if p.Shape == elliptical.Independent && p.Delta == 0 { // which is for ε alone
				p.Rho, p.Epsilon = 0, max(p.Epsilon, 1)
			}
			if strings.Contains(c.way, "within") { // in the place of Min and Max
				p.Min, p.Max, p.Relative, p.Weights, p.Shape = elliptical.Vector{}, elliptical.Vector{}, false, elliptical.Vector{}, 0
				if strings.Contains(c.way, "ball") {
					p.NormBound, p.Dim = 2, 3
				} else {
					p.Ellipsoid = elliptical.PackSymmetric(mat.NewSymDense(3, []float64{1, 0.5, 0, 0.5, 1, 0, 0, 0, 4}))
				}
			}
			b := try(elliptical.NewBuilder(p))
			give := func(b *elliptical.Builder, users [][]row) {
				for _, rows := range users {
					x, even := one(rows), len(rows) == 0 || rows[0].user%2 == 0
					if strings.Contains(c.way, "AddSparse") && (even || !strings.Contains(c.way, " Add ")) {
						indices, values := []int{2, 0, 1}, []float64{x[2], x[0], x[1]}
						for _, r := range rows { // an index more than once
							indices, values = append(indices, r.key%3), append(values, r.value)
						}
						b.AddSparse(indices, values)
					} else {
						b.Add(x)
					}
				}
			}
			users := c.users()
			if strings.Contains(c.way, merged) {
				other := made(elliptical.NewBuilder(p))
				first, second := parted(users)
				give(b, first)
				give(other, second)
				check(b.Merge(other))
			} else {
				give(b, users)
			}
			return try(b.Release()), b.Guarantee()
		},
	}
}

// valuesOf returns a row of each user.
func valuesOf(c *pcase) (x []float64) {
	for _, rows := range c.users() {
		if len(rows) > 0 {
			x = append(x, rows[0].value)
		}
	}
	return x
}

var extremes = map[string]func() []row{
	"NaN": func() []row { return keysOf(1, 1, nan) }, "infinite": func() []row { return keysOf(1, 1, inf) }, "minus infinite": func() []row { return keysOf(1, 1, -inf) },
	"zero": func() []row { return keysOf(1, 1, math.Copysign(0, -1)) },
}

// addRows adds the rows of a column, or with AddN the runs of equal ones.
func addRows(b interface {
	Add(x float64)
	AddN(x float64, n int)
}, way string, rows []float64) {
	for i := 0; i < len(rows); {
		n := 1
		if strings.Contains(way, "AddN") {
			for i+n < len(rows) && rows[i+n] == rows[i] {
				n++
			}
			b.AddN(rows[i], n)
		} else {
			b.Add(rows[i])
		}
		i += n
	}
}

func columnSubjects(all map[string]*subject) {
	values := map[string][]any{
		"Epsilon": {1., 0., 4.}, "Delta": {0., 1e-6}, "Rho": {0., 0.5}, "Min": {-1., 0., 2.}, "Max": {3., 0.}, "Rows": {0}, "Resolution": {0., 0.25}, "TailIndex": {0., 3.}, "Bound": {0., 8.},
		"Want": {column.Statistic(0), column.Count, column.Sum, column.Mean, column.Variance, column.StdDev},
	}
	quantiles := maps.Clone(values)
	values["Resolution"] = []any{0.}
	quantiles["Want"], quantiles["TailIndex"], quantiles["Bound"] = []any{column.Statistic(0)}, []any{0.}, []any{0.}
	draws := pair{extra: `quantile\.mass\.below|quantile\.\(\*Spread\)\.Draw`, most: 128,
		why: "a place is chosen by rejection from a range that depends on the weights, which is exact whatever is drawn (internal/quantile/spread.go)"}
	units := []string{"one key", "largest", "least", "few keys"}
	others := []string{"nobody", "few", "one key each"}
	replaced := func(p any) bool { return p.(column.Params).Relation == budget.Replace }
	all["elliptical/column.Builder.Release"] = &subject{
		params: column.Params{Epsilon: 1, Min: -1, Max: 3}, values: values, builder: (*column.Builder)(nil), draws: draws, alike: `.`, units: units, own: extremes, others: others, spills: true, replaced: replaced,
		given: `^\.found\.`, slack: 1e-3,
		ways: []string{"New Add", "New Add" + merged, "New Add" + merged + " swapped", "New Add" + saved, "New Add" + merged + saved, "New AddN", "New AddN" + merged + saved},
		release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*column.Builder, error) { return column.New(c.params.(column.Params)) }, (*column.Builder).Merge,
				valuesOf(c), cut[float64], func(b *column.Builder, rows []float64) { addRows(b, c.way, rows) })
			return try(b.Release()), b.Guarantee()
		},
	}
	all["elliptical/column.QuantileBuilder.Release"] = &subject{
		params: column.Params{Epsilon: 1, Min: -1, Max: 3}, values: quantiles, builder: (*column.QuantileBuilder)(nil), alike: `.`, units: units, own: extremes, others: others, spills: true, replaced: replaced,
		draws: draws,
		// A quantile is a place that is drawn by the weights of ranks: a rank moves by 1 at most,
		// so a frozen draw moves only to a neighbouring value (internal/quantile has the exact
		// law).
		limit: func(c *pcase, label string) (float64, float64) { return inf, inf },
		ways:  []string{"NewQuantiles Add", "NewQuantiles Add" + merged, "NewQuantiles Add" + saved, "NewQuantiles AddN"},
		release: func(c *pcase) (any, budget.Guarantee) {
			b := filled(c.way, func() (*column.QuantileBuilder, error) { return column.NewQuantiles(c.params.(column.Params), 0.5) },
				(*column.QuantileBuilder).Merge, valuesOf(c), cut[float64], func(b *column.QuantileBuilder, rows []float64) { addRows(b, c.way, rows) })
			return try(b.Release()), b.Guarantee()
		},
	}
}

// planSubjects: means whose steps before the sum are drawn by quantiles; where these differ nothing
// is compared.
func planSubjects(all map[string]*subject) {
	const dim = 3
	p := plan.Params{Rho: 2, Dim: dim, Max: 4, Method: plan.Plain}
	values := map[string][]any{
		"Rho": {2., 0.5, 0.}, "Epsilon": {0., 4.}, "Delta": {0., 1e-3}, "Dim": {dim}, "Max": {4., 1.}, "Rows": {0, 1000}, "NonNegative": {false, true}, "Symmetric": {false, true}, "Relative": {false, true}, "Resolution": {0., 0.0625},
		"Workers": {0, 1}, "Method": {plan.Auto, plan.Plain, plan.Adaptive, plan.TwoPass},
	}
	ready := func(c *pcase) *plan.Mechanism {
		p := c.params.(plan.Params)
		if p.Epsilon > 0 { // in the place of Rho
			p.Rho, p.Delta = 0, max(p.Delta, 1e-3)
		}
		if strings.HasPrefix(c.way, "ReleaseSparse New WithScales") && p.NonNegative && (p.Method == plan.Auto || p.Method == plan.TwoPass) {
			// What follows adapts to the C of the first of two passes, of which nothing tells where
			// scales are given. Steps are compared by TestEveryStepKeepsItsSensitivity of the
			// engine.
			p.Method = plan.Adaptive
		}
		if strings.Contains(c.way, "thesis") { // which has no sign and centres rows
			return try(thesis.New(thesis.Params{Rho: p.Rho, Dim: p.Dim, Max: p.Max, Rows: p.Rows, Relation: p.Relation, Instance: thesis.IOME}))
		}
		m := try(plan.New(p))
		if strings.Contains(c.way, "WithRanges") {
			low := []float64{0, 0.5, -1}
			if strings.Contains(c.way, "Sparse") {
				low[1] = 0 // it wants 0 in every range
			}
			m = try(m.WithRanges(low, []float64{1, 4, 1}))
		}
		if strings.Contains(c.way, "WithScales") {
			m = try(m.WithScales([]float64{1, 0.5, 0.25}))
		}
		return m
	}
	release := func(c *pcase) (any, budget.Guarantee) {
		m := ready(c)
		var rows [][]row
		for _, user := range c.users() {
			if len(user) == 0 || user[0].user <= 800 {
				rows = append(rows, user)
			}
		}
		if strings.HasPrefix(c.way, "ReleaseSparse") {
			s := plan.Sparse{Offsets: []int{0}}
			for _, user := range rows {
				for _, r := range user {
					if r.key < dim {
						s.Indices, s.Values = append(s.Indices, uint32(r.key)), append(s.Values, r.value)
					}
				}
				s.Offsets = append(s.Offsets, len(s.Indices))
			}
			// A row without its entries.
			if strings.Contains(c.way, "emptied") && c.side == 1 && !c.replaced {
				s.Offsets = append(s.Offsets, len(s.Indices))
			}
			return promised(m.ReleaseSparse(context.Background(), s))
		}
		x := [][]float64{}
		for _, user := range rows {
			one := make([]float64, dim)
			for _, r := range user {
				if r.key < dim {
					one[r.key] = r.value
				}
			}
			x = append(x, one)
		}
		return promised(m.Release(context.Background(), x))
	}
	own := map[string]func() []row{
		"ends": func() []row { return []row{{key: 0, value: 1}, {key: 1, value: 4}, {key: 2, value: 1}} }, "other ends": func() []row { return []row{{key: 1, value: 0.5}, {key: 2, value: -1}} },
		"one end": func() []row { return keysOf(0, 1, 1) }, "beyond an end": func() []row { return keysOf(1, 1, 1e9) }, "NaN": func() []row { return keysOf(1, 1, nan) },
	}
	for name, ways := range map[string][]string{
		"plan.Mechanism.Release": {"New Release", "New Release WithRanges", "New Release WithScales", "Release thesis"},
		"plan.Mechanism.ReleaseSparse": {"ReleaseSparse New", "ReleaseSparse New WithRanges", "ReleaseSparse New WithScales", "ReleaseSparse New WithRanges emptied",
			"ReleaseSparse New emptied", "ReleaseSparse thesis emptied", "ReleaseSparse thesis"},
	} {
		all[name] = &subject{
			params: p, values: values, builder: (*plan.Mechanism)(nil), units: []string{"none", "few keys"}, own: own, others: []string{"one key each"}, spills: true, ways: ways,
			replaced: func(p any) bool { return p.(plan.Params).Relation == budget.Replace },
			// The noise of a divisor, a hundredth of ρ at least .5, is 1/(800·√(2·.005)) of 800
			// rows: so much a ratio bends where noise is tried, in each of two passes.
			slack: 0.025,
			draws: pair{extra: `quantile\.\(\*Sampler\)\.(Quantile|choose|below|BinarySearch)`, most: 1000, adapts: `means\.\(\*sampler\)\.addNoise`,
				why: "internal/quantile/quantile.go: a quantile is accepted from an envelope that the data make, and has the exact law whatever the envelope is"},
			given: `\.(Limit|Scaled|Scales|Centres)`, derived: `\.Spent\.|\.Lower|\.Upper|\.Errors`, capped: true, first: `\.of\.Rows$`, release: release,
		}
	}
}
