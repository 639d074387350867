package dpbeam

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/threshold/groupby"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// entriesOf are the rows of a user: a key for each divisor of his number up to 20, with the value 3
// in two rows.
func entriesOf(user int) (rows []Entry) {
	for d := 1; d <= 20; d++ {
		if user%d == 0 {
			rows = append(rows, Entry{fmt.Sprint("by", d), 1}, Entry{fmt.Sprint("by", d), 2})
		}
	}
	return rows
}

// visitsFn gives a shard its rows: those of a user are in many shards. Each has one of NaN for
// by20, which is none where values are asked for.
type visitsFn struct{ Users, Shards int }

func (f *visitsFn) ProcessElement(shard int, emit func(string, Entry)) {
	for user := range f.Users {
		if user%f.Shards == shard {
			emit(fmt.Sprint("user", user), Entry{"by20", math.NaN()})
		}
		for i, e := range entriesOf(user) {
			if (user+i)%f.Shards == shard {
				emit(fmt.Sprint("user", user), e)
			}
		}
	}
}

func visits(users, shards int) func(beam.Scope) beam.PCollection {
	return func(s beam.Scope) beam.PCollection {
		return beam.ParDo(s, &visitsFn{users, shards}, numbers(s, shards))
	}
}

// Counts, sums and means are within their intervals, with the threshold of one machine, and no
// user's key counts twice. Each of 20 keys has three intervals of confidence 1 − 1e-9,
// and is beyond 7 standard deviations with probability 3e-12.
func TestUserGroups(t *testing.T) {
	p := groupby.Params{Epsilon: 1, Delta: 1e-6, Min: 0, Max: 10}
	const users = 6000
	var g groupby.Groups[string]
	cli.OK(g.UnmarshalBinary(through(t, UserGroups, p, visits(users, 64))))
	if g.Len() != 20 || !g.Guarantee().Equal(p.Guarantee()) {
		t.Errorf("%v: %d keys", &g, g.Len())
	}
	for d := 1; d <= 20; d++ {
		key, truth := fmt.Sprint("by", d), math.Ceil(users/float64(d))
		lo, hi := g.Interval(key, 1-1e-9)
		sumLo, sumHi := g.SumInterval(key, 1-1e-9)
		meanLo, meanHi := g.MeanInterval(key, 1-1e-9)
		if !(lo <= truth && truth <= hi && sumLo <= 3*truth && 3*truth <= sumHi && meanLo <= 3 && 3 <= meanHi) || math.Abs(g.Estimate(key)-truth) > 7*cli.Must(g.Params().Plan()).StdDev {
			t.Errorf("%s: %v users in [%v, %v], sum in [%v, %v], mean in [%v, %v]", key, truth, lo, hi, sumLo, sumHi, meanLo, meanHi)
		}
	}
}

// Every key of a public list is released, one that nobody has too and one that is no UTF-8, and no
// other. The counts, sums and means are within their intervals, each of confidence 1 − 1e-9, by
// normal noise and by Laplace noise.
func TestListedGroups(t *testing.T) {
	const users = 3000
	list := []string{"by1", "by2", "by20", "by21", "\xff", "by2"}
	listed := func(s beam.Scope, p groupby.Params, rows beam.PCollection) (beam.PCollection, error) {
		return ListedGroups(s, p, list, rows)
	}
	for _, delta := range []float64{1e-6, 0} {
		p := groupby.Params{Epsilon: 2, Delta: delta, Min: 0, Max: 10, Others: true}
		var g groupby.Groups[string]
		cli.OK(g.UnmarshalBinary(through(t, listed, p, visits(users, 16))))
		one := cli.Must(cli.Must(groupby.NewListed(p, list...)).Release())
		if g.Len() != 5 || g.Params() != one.Params() || !g.Guarantee().Equal(one.Guarantee()) {
			t.Errorf("%v: %d keys", &g, g.Len())
		}
		for key := range g.All() {
			truth := 0.0
			if d := 0; key != "by21" && key != "\xff" {
				_, _ = fmt.Sscanf(key, "by%d", &d)
				truth = math.Ceil(users / float64(d))
			}
			lo, hi := g.Interval(key, 1-1e-9)
			sumLo, sumHi := g.SumInterval(key, 1-1e-9)
			clitest.Not(t, !(lo <= truth && truth <= hi && sumLo <= 3*truth && 3*truth <= sumHi), "δ = %v, %q: %v users in [%v, %v], sum in [%v, %v]", delta, key, truth, lo, hi, sumLo, sumHi)
		}
		var nobody groupby.Groups[string]
		if err := nobody.UnmarshalBinary(through(t, listed, p, visits(0, 1))); err != nil || nobody.Len() != 5 {
			t.Errorf("nobody: %v, %v", &nobody, err)
		}
	}
	_, s := beam.NewPipelineWithRoot()
	for _, wrong := range [][]string{nil, {}} {
		if _, err := ListedGroups(s, groupby.Params{Epsilon: 1}, wrong, visits(1, 1)(s)); !errors.Is(err, groupby.ErrParams) {
			t.Errorf("no list: %v", err)
		}
	}
}

// Quantiles are of the users' values without a range as well, and so are sums, where it is learned.
func TestLevelsAndValues(t *testing.T) {
	const users = 6000
	for _, p := range []groupby.Params{
		{Epsilon: 2, Delta: 1e-6, Levels: [8]float64{.5, .9}},
		{Epsilon: 4, Delta: 1e-6, Passes: 2, Values: true},
	} {
		var g groupby.Groups[string]
		cli.OK(g.UnmarshalBinary(through(t, UserGroups, p, visits(users, 8))))
		if p.Values {
			if lo, hi := g.SumInterval("by1", 1-1e-9); !(lo <= 3*users && 3*users <= hi && hi-lo < users) {
				t.Errorf("sum in [%v, %v]", lo, hi)
			}
			continue
		}
		// each user has 1 and 2, one of which is drawn: half have 1
		lo, hi := g.QuantileInterval("by1", .9, 1-1e-9)
		if x := g.Quantile("by1", .9); !(math.Abs(x-2) < .05 && lo <= 2 && 2 <= hi) {
			t.Errorf("%v in [%v, %v]", x, lo, hi)
		}
	}
}

// No user, and one, are released like any number; one is not shown.
func TestFewUsers(t *testing.T) {
	for users := range 2 {
		var g groupby.Groups[string]
		if err := g.UnmarshalBinary(through(t, UserGroups, groupby.Params{Epsilon: 1, Delta: 1e-9}, visits(users, 3))); err != nil || g.Len() > 0 {
			t.Errorf("%d users: %v, %v", users, &g, err)
		}
	}
}

// Before the noise, the states of the bundles that were merged are the state of one machine that
// has all of each user in one call.
func TestShardsAreOneMachine(t *testing.T) {
	p := groupby.Params{Epsilon: 1, Delta: 1e-6, Max: 10}
	const users = 3000
	build := func() *groupby.Builder[string] { return cli.Must(groupby.New[string](p)) }
	single := build()
	for user := range users {
		sums := map[string]float64{}
		for _, e := range entriesOf(user) {
			sums[e.Key] += e.Value
		}
		keys := slices.Sorted(maps.Keys(sums))
		values := make([]float64, len(keys))
		for i, key := range keys {
			values[i] = sums[key]
		}
		single.AddUserValues(keys, values)
	}
	want := cli.Must(single.AppendPrivateState(nil))
	shuffled := map[int][][]byte{}
	shuffle := func(part int, rows []byte) { shuffled[part] = append(shuffled[part], rows) }
	for shard := range 64 { // a bundle each; Prism would make one of all
		f := new(batchFn)
		f.StartBundle(shuffle)
		(&visitsFn{users, 64}).ProcessElement(shard, func(user string, e Entry) { f.ProcessElement(user, e, shuffle) })
		f.FinishBundle(shuffle)
	}
	var states [][]byte
	for bundle := range 3 {
		f := &usersFn{Groups: groups{Params: p}}
		err := f.StartBundle(nil)
		for part, batches := range shuffled {
			if part%3 == bundle {
				err = errors.Join(err, f.ProcessElement(part, one(batches...), nil))
			}
		}
		cli.OK(errors.Join(err, f.FinishBundle(func(state []byte) { states = append(states, state) })))
	}
	all := build()
	for _, state := range states {
		b := build()
		cli.OK(errors.Join(b.RestorePrivateState(state), all.Merge(b)))
	}
	if got := cli.Must(all.AppendPrivateState(nil)); !bytes.Equal(got, want) {
		t.Errorf("merged: %d bytes, one machine: %d", len(got), len(want))
	}
}

func TestHostileGroups(t *testing.T) {
	p := groupby.Params{Epsilon: 1, Delta: 1e-6}
	state := cli.Must(cli.Must(groupby.New[string](p)).AppendPrivateState(nil))
	for _, n := range []int{1, 2, len(state) - 1} {
		if _, err := (&groupsFn{groups{Params: p}}).ProcessElement(0, one(state[:n])); !errors.Is(err, groupby.ErrFormat) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	p.FullKeys = 7
	if _, err := (&groupsFn{groups{Params: p}}).ProcessElement(0, one(state)); !errors.Is(err, groupby.ErrMismatch) {
		t.Error(err)
	}
	_, s := beam.NewPipelineWithRoot()
	if _, err := UserGroups(s, groupby.Params{Epsilon: 1}, visits(1, 1)(s)); !errors.Is(err, groupby.ErrParams) {
		t.Error(err)
	}
}

// An Entry is what its coder made of it, and other bytes are none.
func TestEntries(t *testing.T) {
	for _, e := range []Entry{{}, {"tea", 0}, {"", -1.5}, {"\xff\x00", math.Inf(1)}, {string(make([]byte, 300)), 1e-300}} {
		data := encodeEntry(e)
		if got, err := decodeEntry(data); err != nil || got != e {
			t.Errorf("%v: %v, %v", e, got, err)
		}
		if _, err := decodeEntry(append(data, 1)); !errors.Is(err, groupby.ErrFormat) {
			t.Errorf("%v and a byte: %v", e, err)
		}
	}
	for _, data := range []string{"", "\x05tea", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff", "\x03tea1234567"} {
		if _, err := decodeEntry([]byte(data)); !errors.Is(err, groupby.ErrFormat) {
			t.Errorf("%q: %v", data, err)
		}
		f := &usersFn{Groups: groups{Params: groupby.Params{Epsilon: 1, Delta: 1e-6}}}
		cli.OK(f.StartBundle(nil))
		if err := f.ProcessElement(0, one(append([]byte("\x02me"), data...)), nil); !errors.Is(err, groupby.ErrFormat) {
			t.Errorf("a row of %q: %v", data, err)
		}
	}
}

// A bundle's batches are its rows, each user in one part, sent before they are too many.
func TestBatches(t *testing.T) {
	f, got := new(batchFn), map[string]int{}
	sent := 0
	emit := func(part int, rows []byte) {
		sent += len(rows)
		for len(rows) > 0 {
			user, e, rest, err := row(rows)
			clitest.Not(t, err != nil || part != partOf(user), "%s in part %d: %v", user, part, err)
			got[user+e.Key[:3]] += int(e.Value)
			rows = rest
		}
	}
	f.StartBundle(emit)
	long := "key" + string(make([]byte, 1<<16))
	for i := range 1000 {
		f.ProcessElement(fmt.Sprint("user", i%100), Entry{long, 1}, emit)
		clitest.Not(t, f.size > batch || i == 900 && sent < batch, "%d bytes kept, %d sent", f.size, sent)
	}
	f.FinishBundle(emit)
	for i := range 100 {
		if n := got[fmt.Sprintf("user%dkey", i)]; n != 10 {
			t.Errorf("user %d has %d rows", i, n)
		}
	}
	clitest.Not(t, len(got) != 100, "%d users", len(got))
}

func init() {
	register.DoFn2x0[int, func(string, Entry)](&visitsFn{})
	register.Emitter2[string, Entry]()
}
