package main

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// releases are audits of the release methods beside the first of each package.
func releases() []audited {
	return []audited{
		window(), discovered(), counter(), list(), sums(), found(), total(),
	}
}

// window has a key today in a cell that another key had yesterday: it moves the cell from one class
// to another.
func window() audited {
	p := distinct.Params{Epsilon: 1, Cells: 16, Levels: 1, Seed: hashing.Seed{1}}
	b := must(distinct.NewWindowBuilder(p, 1))
	return audited{"distinct, windows", b.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(distinct.NewWindowBuilder(p, 1))
			for key := range uint64(400) { // all cells
				b.Add(key)
			}
			if err := b.Advance(2); err != nil {
				panic(err)
			}
			if side == 0 {
				b.Add(1000)
			}
			data := must(must(b.Release()).MarshalBinary())
			x := make([]float64, 3)
			for i := range x { // its last 24 bytes, as FORMAT.md has them
				x[i] = float64(int64(binary.LittleEndian.Uint64(data[len(data)-8*(3-i):])))
			}
			emit(append(x, x[0]-x[1]))
		}
	}, 40_000}
}

// discovered is a key that nobody lists, of one element, in a step that ends two spans.
func discovered() audited {
	p := series.Params{Epsilon: 1, Delta: 0.02, Spans: [8]int{1, 2}, Discovery: [8]int{1, 2}}
	return audited{"series, a rare key", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(series.New[int](p))
			must(b.Step())
			if side == 0 {
				b.Add(7)
			}
			x := math.NaN()
			for range must(b.Step()).Found() {
				x = 1
			}
			emit([]float64{x})
		}
	}, 40_000}
}

// counter is one element of a series of one number.
func counter() audited {
	p := series.Params{Epsilon: 1, Dim: 1, Spans: [8]int{1, 2}}
	return audited{"series, a counter", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			c, x := must(series.New[int](p)), []float64{}
			c.AddN(0, 1-side)
			for range 2 {
				x = append(x, must(c.Step()).Estimate(0))
			}
			emit(append(x, x[0]+x[1]))
		}
	}, 40_000}
}

// list is a user with twice as many keys of a list as Clip, without δ.
func list() audited {
	p, keys := groupby.Params{Epsilon: 1, FullKeys: 2}, []int{1, 2, 3, 4}
	return audited{"groupby, listed keys", must(groupby.NewListed(p, keys...)).Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(groupby.NewListed(p, keys...))
			if side == 0 {
				b.AddUser(keys)
			}
			g, x := must(b.Release()), []float64{}
			for _, key := range keys {
				x = append(x, g.Estimate(key))
			}
			emit(x)
		}
	}, 100_000}
}

// sums has a user more with a value that is clamped, of many keys at once: see groups.
func sums() audited {
	const keys = 2000
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Max: 1}
	return audited{"groupby, counts and sums", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(groupby.New[int](p))
			for key := range keys {
				for range 200 - side {
					b.AddUserValues(split(func(yield func(int, float64) bool) { yield(key, 9) }))
				}
			}
			g := must(b.Release())
			for key := range keys {
				x, y := math.NaN(), math.NaN()
				if g.Has(key) {
					x, y = g.Estimate(key), g.Sum(key)
				}
				emit([]float64{x, y, x + y})
			}
		}
	}, 40_000}
}

// found is two passes over the data.
func found() audited {
	const keys = 4000
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Passes: 2}
	d := must(groupby.NewDiscovery[int](p))
	return audited{"groupby, Discovery", d.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			d := must(groupby.NewDiscovery[int](p))
			addUsers(d.AddUser, keys, 6-side)
			b := must(d.Release())
			addUsers(b.AddUser, keys, 6-side)
			emitCounts(must(b.Release()), keys, emit)
		}
	}, 40_000}
}

// total is a row more of those whose number is private, given as sums.
func total() audited {
	p := elliptical.Params{Epsilon: 1, Shape: elliptical.Independent, Relation: budget.AddRemove, Count: true, Min: elliptical.VectorOf(0, 0), Max: elliptical.VectorOf(1, 1)}
	return audited{"elliptical Laplace, with the count", p.Guarantee(), func() source {
		m := must(elliptical.New(p))
		return func(side int, emit func([]float64)) {
			x := float64(1 - side)
			s := must(m.Release([]float64{x, x, x}))
			v := s.Values()
			emit([]float64{v[0], v[1], s.Count(), s.Count() + v[0] + v[1]})
		}
	}, 20_000}
}

// split returns the keys and values of one user for AddUserValues.
func split[K comparable](user iter.Seq2[K, float64]) (keys []K, values []float64) {
	for key, value := range user {
		keys, values = append(keys, key), append(values, value)
	}
	return keys, values
}
