package audit

import (
	"encoding"
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// releases are audits of the release methods beside the first of each package.
func releases() []audited {
	return []audited{
		window(), discovered(), counter(), list(), sums(), found(), total(),
		summed("misragries Sum, trimmed", misragries.TrimmedSum, 200), summed("misragries Sum, trimmed, a rare key", misragries.TrimmedSum, 0),
		pair(), cohorts(), frequencies(), visitor(), rows(), twice(), percentile(), learned(), tail(),
	}
}

// numbers are the last n noisy numbers of an encoding, and how the first two differ.
func numbers(o encoding.BinaryMarshaler, n int) []float64 {
	data, x := cli.Must(o.MarshalBinary()), make([]float64, n)
	for i := range x { // 8 bytes each, as FORMAT.md has them
		x[i] = float64(int64(binary.LittleEndian.Uint64(data[len(data)-8*(n-i):])))
	}
	return append(x, x[0]-x[1], x[n-2]-x[n-1])
}

// cells are so few that 400 keys are in all of them.
var cells = distinct.Params{Epsilon: 1, Cells: 16, Levels: 1, Seed: hashing.Seed{1}}

// pair has a key in the second set in a cell that is taken in the first.
func pair() audited {
	return each("distinct, pair", cli.Must(cells.Plan()).Pair, 40_000, func(side int) []float64 {
		a, b := cli.Must(distinct.New(cells)), cli.Must(distinct.New(cells))
		for key := range uint64(400) {
			a.Add(key)
		}
		if side == 0 {
			b.Add(1000)
		}
		return numbers(cli.Must(distinct.ReleasePair(a, b)), 4)
	})
}

// cohorts has a key on the second day in a cell that was new on the first.
func cohorts() audited {
	return each("distinct, cohorts", cli.Must(distinct.NewCohortBuilder(cells, 2)).Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(distinct.NewCohortBuilder(cells, 2))
		for key := range uint64(400) {
			b.Add(key)
		}
		cli.OK(b.Advance(2))
		if side == 0 {
			b.Add(1000)
		}
		return numbers(cli.Must(b.Release()), 4)
	})
}

// frequencies is one key.
func frequencies() audited {
	return each("distinct, frequencies", cli.Must(distinct.NewFrequencyBuilder(cells, 2)).Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(distinct.NewFrequencyBuilder(cells, 2))
		if side == 0 {
			b.Add(1)
		}
		return numbers(cli.Must(b.Release()), 4)
	})
}

// visitor is a user of a series with all elements that count.
func visitor() audited {
	p := series.Params{Epsilon: 1, Dim: 2, Spans: [8]int{1, 2}, MaxElements: 2}
	return each("series, a user", p.Guarantee(), 20_000, func(side int) []float64 {
		b, x := cli.Must(series.New[int](p)), []float64{}
		for step := range 2 {
			if side == 0 {
				b.AddFor("user", []int{step, step, step})
			}
			x = append(x, inStep(cli.Must(b.Step()), 0, 1)...)
		}
		return append(x, x[0]+x[3])
	})
}

// rows has a user more, where FullKeys is chosen.
func rows() audited {
	p := groupby.Params{Epsilon: 1, Delta: 0.009}
	return each("groupby, rows", cli.Must(groupby.NewRows[int, int](p)).Guarantee(), 20_000, func(side int) []float64 {
		r := cli.Must(groupby.NewRows[int, int](p))
		for user := range 100 - side {
			r.Add(user, 7)
		}
		g := cli.Must(r.Release())
		return []float64{shown(g, 7), float64(g.FullKeys())}
	})
}

// twice is a user of two releases that share the budget.
func twice() audited {
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Releases: 2}
	return each("groupby, two releases", p.Guarantee().Times(2), 20_000, func(side int) []float64 {
		x := []float64{0, 0}
		for i := range x {
			b := cli.Must(groupby.New[int](p))
			addUsers(b.AddUser, 1, 100-side)
			x[i] = shown(cli.Must(b.Release()), 0)
		}
		return append(x, x[0]+x[1])
	})
}

// percentile has a user more at the upper end, of many keys at once: see groups.
func percentile() audited {
	const keys = 1000
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Max: 2, Resolution: 1, Levels: [8]float64{0.5}, QuantileShare: 0.5}
	return many("groupby, a median", p.Guarantee(), 40_000, func(side int, emit func([]float64)) {
		b := cli.Must(groupby.New[int](p))
		for key := range keys {
			for user := range 121 - side {
				b.AddUserValues([]int{key}, []float64{float64(2 - user%2*2)})
			}
		}
		g := cli.Must(b.Release())
		for key := range keys {
			emit([]float64{shown(g, key), g.Quantile(key, 0.5)})
		}
	})
}

// learned has a user with a value far above the others', whose range is learned.
func learned() audited {
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Values: true}
	return each("groupby, a learned range", cli.Must(groupby.NewRows[int, int](p)).Guarantee(), 4_000, func(side int) []float64 {
		r := cli.Must(groupby.NewRows[int, int](p))
		for user := range 1000 {
			r.AddValue(user, 1, 1)
		}
		if side == 0 {
			r.AddValue(1000, 1, 1e6)
		}
		g := cli.Must(r.Release())
		return []float64{shown(g, 1), g.Sum(1), g.Radius(), g.Scale(1), math.Log(g.Sum(1))}
	})
}

// tail has a row far above the others, in a column whose range is learned.
func tail() audited {
	p := column.Params{Epsilon: 1}
	return each("column, a learned range", p.Guarantee(), 4_000, func(side int) []float64 {
		b := cli.Must(column.New(p))
		for range 100 {
			b.Add(1)
		}
		if side == 0 {
			b.Add(1e6)
		}
		s := cli.Must(b.Release())
		lo, hi := s.Range()
		x := []float64{s.Value(column.Count), s.Value(column.Mean), math.Log1p(math.Abs(hi)), math.Log1p(math.Abs(lo)), 0}
		for _, bin := range s.Tail() {
			x[4] += bin.Rows
		}
		return x
	})
}

// window has a key today in a cell that another key had yesterday: it moves the cell from one class
// to another.
func window() audited {
	b := cli.Must(distinct.NewWindowBuilder(cells, 1))
	return each("distinct, windows", b.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(distinct.NewWindowBuilder(cells, 1))
		for key := range uint64(400) { // all cells
			b.Add(key)
		}
		cli.OK(b.Advance(2))
		if side == 0 {
			b.Add(1000)
		}
		return numbers(cli.Must(b.Release()), 3)
	})
}

// discovered is a key that nobody lists, of one element, in a step that ends two spans.
func discovered() audited {
	p := series.Params{Epsilon: 1, Delta: 0.02, Spans: [8]int{1, 2}, Discovery: [8]int{1, 2}}
	return each("series, a rare key", p.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(series.New[int](p))
		cli.Must(b.Step())
		if side == 0 {
			b.Add(7)
		}
		x := math.NaN()
		for range cli.Must(b.Step()).Found() {
			x = 1
		}
		return []float64{x}
	})
}

// counter is one element of a series of one number.
func counter() audited {
	p := series.Params{Epsilon: 1, Dim: 1, Spans: [8]int{1, 2}}
	return each("series, a counter", p.Guarantee(), 40_000, func(side int) []float64 {
		c, x := cli.Must(series.New[int](p)), []float64{}
		c.AddN(0, 1-side)
		for range 2 {
			x = append(x, inStep(cli.Must(c.Step()), 0)...)
		}
		return append(x, x[0]+x[1])
	})
}

// list is a user with twice as many keys of a list as Clip, without δ.
func list() audited {
	p, keys := groupby.Params{Epsilon: 1, FullKeys: 2}, []int{1, 2, 3, 4}
	return each("groupby, listed keys", cli.Must(groupby.NewListed(p, keys...)).Guarantee(), 100_000, func(side int) []float64 {
		b := cli.Must(groupby.NewListed(p, keys...))
		if side == 0 {
			b.AddUser(keys)
		}
		g, x := cli.Must(b.Release()), []float64{}
		for _, key := range keys {
			x = append(x, g.Estimate(key))
		}
		return x
	})
}

// sums has a user more with a value that is clamped, of many keys at once: see groups.
func sums() audited {
	const keys = 2000
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Max: 1}
	return many("groupby, counts and sums", p.Guarantee(), 40_000, func(side int, emit func([]float64)) {
		b := cli.Must(groupby.New[int](p))
		for key := range keys {
			for range 200 - side {
				b.AddUserValues([]int{key}, []float64{9})
			}
		}
		g := cli.Must(b.Release())
		for key := range keys {
			x, y := shown(g, key), g.Sum(key)
			emit([]float64{x, y, x + y})
		}
	})
}

// found is two passes over the data.
func found() audited {
	const keys = 4000
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Passes: 2}
	d := cli.Must(groupby.NewDiscovery[int](p))
	return many("groupby, Discovery", d.Guarantee(), 40_000, func(side int, emit func([]float64)) {
		d := cli.Must(groupby.NewDiscovery[int](p))
		addUsers(d.AddUser, keys, 6-side)
		b := cli.Must(d.Release())
		b.SecondPass()
		addUsers(b.AddUser, keys, 6-side)
		emitCounts(cli.Must(b.Release()), keys, emit)
	})
}

// total is a row more of those whose number is private, given as sums.
func total() audited {
	p := elliptical.Params{Epsilon: 1, Shape: elliptical.Independent, Relation: budget.AddRemove, Count: true, Min: elliptical.VectorOf(0, 0), Max: elliptical.VectorOf(1, 1)}
	m := cli.Must(elliptical.New(p))
	return each("elliptical Laplace, with the count", p.Guarantee(), 20_000, func(side int) []float64 {
		x := float64(1 - side)
		s := cli.Must(m.Release([]float64{x, x, x}))
		v := s.Values()
		return []float64{v[0], v[1], s.Count(), s.Count() + v[0] + v[1]}
	})
}
