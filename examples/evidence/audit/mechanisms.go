package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// audited is a mechanism with worst-case neighbours and what tells them apart.
type audited struct {
	name  string
	claim budget.Guarantee
	make  func() source
	n     int // releases for the final count
}

// many is audited by releases that its source makes, some at a time, and each by one at a time.
func many(name string, claim budget.Guarantee, n int, s source) audited {
	return audited{name, claim, func() source { return s }, n}
}

func each(name string, claim budget.Guarantee, n int, release func(side int) []float64) audited {
	return many(name, claim, n, func(side int, emit func([]float64)) { emit(release(side)) })
}

// at returns a released number, NaN where the key is hidden.
func at(v *threshold.Vector[uint64], key uint64) float64 {
	if x := v.Estimate(key); x != 0 {
		return x
	}
	return math.NaN()
}

// mechanisms are all that are audited.
func mechanisms() []audited {
	return slices.Concat([]audited{
		stream("misragries KeptZeros, all counters", misragries.KeptZeros, 3),
		stream("misragries KeptZeros, one counter", misragries.KeptZeros, 1),
		rare(misragries.KeptZeros), rare(misragries.FreedZeros),
		stream("misragries FreedZeros, one counter", misragries.FreedZeros, 1),
		stream("misragries PureUniverse", misragries.PureUniverse, 1),
		merged(), users("misragries users", 1, 2), users("misragries users, all counters", 5, 6), summed("misragries Sum", misragries.ReducedSum, 60), summed("misragries Sum, pure", misragries.PureUniverse, 60),
		summed("misragries Sum, a rare key", misragries.ReducedSum, 0),
		correlated("threshold CorrelatedGaussian, all keys", 3, 60, 3), correlated("threshold CorrelatedGaussian, rare keys", 3, 0, 3), correlated("threshold CorrelatedGaussian, one key", 3, 60, 1),
		correlated("threshold CorrelatedGaussian, many keys", 100, 1000, 100),
		vector("threshold ExponentialRounding", threshold.Params{Epsilon: 1, Delta: 0.02, Integers: true, Method: threshold.ExponentialRounding}, 1),
		vector("threshold LinearRounding", threshold.Params{Epsilon: 1, Delta: 0.02, Integers: true, Method: threshold.LinearRounding}, 1),
		vector("threshold Laplace", threshold.Params{Epsilon: 1, Delta: 0.02, MaxKeys: 1, Integers: true, Method: threshold.Laplace}, 1),
		vector("threshold Laplace, far above", threshold.Params{Epsilon: 1, Delta: 0.02, MaxKeys: 1, Integers: true, Method: threshold.Laplace}, 60),
		vector("threshold Gaussian", threshold.Params{Epsilon: 1, Delta: 0.02, MaxKeys: 1, Integers: true, Method: threshold.Gaussian}, 1),
		vector("threshold PureLaplace", threshold.Params{Epsilon: 1, Dim: 4, FalseKeys: 1, Integers: true, Method: threshold.PureLaplace}, 1),
		vector("threshold DenseLaplace", threshold.Params{Epsilon: 1, Dim: 2, Integers: true, Method: threshold.DenseLaplace}, 1),
		groups("groupby, far above", 4000, 400, 1), groups("groupby, rare keys", 4000, 1, 1), groups("groupby, second pass, far above", 4000, 400, 2),
		groups("groupby, second pass, rare keys", 4000, 1, 2), groups("groupby, second pass, between", 4000, 6, 2), groups("groupby, second pass, the only key", 1, 1, 2),
		table("alp ColumnsOnly", alp.Params{Epsilon: 1, Max: 8, Structure: alp.ColumnsOnly, Variant: alp.Variant{Independent: true, Columns: 8}}, 4),
		table("alp SplitAxis, below the turn", alp.Params{Epsilon: 1, Delta: 0.02, Structure: alp.SplitAxis}, 3),
		table("alp SplitAxis, just below the turn", alp.Params{Epsilon: 1, Delta: 0.02, Structure: alp.SplitAxis, Variant: alp.Variant{Split: 0.5}}, 9),
		table("alp SplitAxis, a rare key", alp.Params{Epsilon: 1, Delta: 0.02, Structure: alp.SplitAxis}, 1),
		table("alp SplitAxis, far above", alp.Params{Epsilon: 1, Delta: 0.02, Structure: alp.SplitAxis}, 500),
		table("alp Composition", alp.Params{Epsilon: 1, Delta: 0.02, Structure: alp.Composition}, 3),
		projection("jl SJLT, Laplace", jl.Params{Epsilon: 1, Sparsity: 2}), projection("jl SRHT, Gaussian", jl.Params{Transform: jl.SRHT, Rho: 0.5, Change: jl.L2(1)}),
		projection("jl SJLT, integers", jl.Params{Epsilon: 1, Integers: true}),
		set(), keys(), shares(), counted(false), counted(true), running(),
		number("arete Jump", arete.Params{Epsilon: 4, Law: arete.Jump}), number("arete Gaussian", arete.Params{Epsilon: 1, Delta: 0.02, Law: arete.Gaussian}),
		number("arete DiscreteArete", arete.Params{Epsilon: 4, Law: arete.DiscreteArete}),
		parties("arete, sum of two shares", 2, 0, 0), parties("arete, one of two shares missing", 2, 1, 0), parties("arete, a party replaced", 2, 0, budget.Replace),
		sum("elliptical Laplace", elliptical.Params{Epsilon: 1, Shape: elliptical.Independent}), sum("elliptical Box", elliptical.Params{Epsilon: 1, Shape: elliptical.Box}),
		sum("elliptical Gaussian", elliptical.Params{Rho: 0.5}),
		statistics("column, two moments", column.Params{Epsilon: 1, Min: -1, Max: 1}, 9, 20_000), statistics("column, a row between", column.Params{Epsilon: 1, Min: -1, Max: 1}, 0.3, 20_000),
		statistics("column, one moment", column.Params{Epsilon: 1, Min: -1, Max: 1, Want: column.Mean}, 9, 400_000),
		statistics("column, zCDP", column.Params{Rho: 0.5, Min: -1, Max: 1}, 9, 20_000), middle(),
		estimate("approx Laplace", approx.Params{Epsilon: 1}), estimate("approx Laplace, exponential errors", approx.Params{Epsilon: 1, Error: 1}),
		estimate("approx Student", approx.Params{Epsilon: 1, Error: 1, Moment: 4, Noise: approx.StudentNoise}),
		estimate("approx Pareto", approx.Params{Epsilon: 1, Error: 1, Moment: 4, Noise: approx.ParetoNoise}),
		discrete(1),
		mean(cli.Must(plan.New(plan.Params{Method: plan.Plain, Rho: 0.5, Dim: 1, Max: 1, Relation: budget.Replace})), 2),
		mean(cli.Must(plan.New(plan.Params{Method: plan.Adaptive, Rho: 0.5, Dim: 1, Max: 1, Relation: budget.Replace})), 100),
		mean(cli.Must(thesis.New(thesis.Params{Instance: thesis.IOME, Rho: 0.5, Dim: 2, Max: 1, Relation: budget.Replace})), 100),
		mean(cli.Must(plan.New(plan.Params{Method: plan.TwoPass, Rho: 0.5, Dim: 1, NonNegative: true, Relation: budget.Replace})), 100),
		mean(cli.Must(thesis.New(thesis.Params{Rho: 0.5, Dim: 2, Max: 1, Relation: budget.Replace})), 100), turned(), centre(),
		steps(),
	}, releases())
}

// stream is two heavy keys and a last element, and that element left out.
func stream(name string, m misragries.Method, last uint64) audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.02, Method: m}
	if m == misragries.PureUniverse {
		p.Delta, p.Dim = 0, 8
	}
	return each(name, p.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(misragries.New[uint64](p))
		for range 40 {
			b.Add(1)
			b.Add(2)
		}
		if side == 0 {
			b.Add(last)
		}
		return readings(cli.Must(b.Release()), 1, 2)
	})
}

// rare is a key with one element, beside one that has none of it.
func rare(m misragries.Method) audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.05, Method: m}
	return each("misragries "+m.String()+", a rare key", p.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(misragries.New[uint64](p))
		for _, key := range []uint64{1, 1, 2}[:3-side] {
			b.Add(key)
		}
		return readings(cli.Must(b.Release()), 2)
	})
}

// merged has an element more of a key that no counter is left for: it takes one from all counters.
func merged() audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.02, Method: misragries.SparseVector}
	return each("misragries merged", p.Guarantee(), 10_000, func(side int) []float64 {
		a, b := cli.Must(misragries.New[uint64](p)), cli.Must(misragries.New[uint64](p))
		for range 60 {
			for key := range uint64(2) {
				a.Add(key)
				b.Add(key)
			}
		}
		if side == 1 {
			a.Add(3)
		}
		cli.OK(a.Merge(b))
		return readings(cli.Must(a.Release()), 0, 1)
	})
}

// readings returns the counters of keys, NaN where they are hidden, what was lost, and the sum and
// the difference of the counters.
func readings(h *misragries.Histogram[uint64], keys ...uint64) []float64 {
	x, lost, sum, difference := []float64{}, 0.0, 0.0, 0.0
	for _, key := range keys {
		value := math.NaN()
		if h.Estimate(key) > 0 {
			value = h.Lower(key)
			lost = h.Estimate(key) - value
		}
		x, sum, difference = append(x, value), sum+value, value-difference
	}
	return append(x, lost, sum, difference)
}

func users(name string, own ...uint64) audited {
	p := misragries.Params{Counters: 4, Epsilon: 1, Delta: 0.02, MaxElements: 2, Method: misragries.KeptZeros}
	b := cli.Must(misragries.NewUserBuilder[uint64](p))
	return each(name, b.Guarantee(), 20_000, func(side int) []float64 {
		b := cli.Must(misragries.NewUserBuilder[uint64](p))
		for range 60 {
			b.AddUser([]uint64{1, 2})
			b.AddUser([]uint64{3, 4})
		}
		if side == 0 {
			b.AddUser(own)
		}
		return readings(cli.Must(b.Release()), 1, 2, 3, 4)
	})
}

// summed has an element more of one of two keys, which are reduced sketches of high counts or of
// none.
func summed(name string, m misragries.Method, high int) audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.02, Method: m}
	if m == misragries.PureUniverse {
		p.Delta, p.Dim = 0, 8
	}
	if m == misragries.TrimmedSum {
		p.Counters = 20 // the mean of the least 16 is taken from all
	}
	t := cli.Must(misragries.NewSum[uint64](p))
	return each(name, t.Guarantee(), 4_000, func(side int) []float64 {
		t := cli.Must(misragries.NewSum[uint64](p))
		for i := range 2 {
			b := cli.Must(misragries.New[uint64](p))
			for range high {
				b.Add(0)
				b.Add(1)
			}
			if side == 0 && i == 0 {
				b.Add(0)
			}
			cli.OK(t.Add(b))
		}
		return readings(cli.Must(t.Release()), 0, 1)
	})
}

// correlated is a user with some of the keys.
func correlated(name string, keys, high, changed int) audited {
	p := threshold.Params{Epsilon: 1, Delta: 0.02, MaxKeys: keys, Stored: keys, Integers: true, Method: threshold.CorrelatedGaussian}
	return each(name, p.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(threshold.NewBounded[uint64](p))
		for key := range keys {
			x := high
			if key < changed {
				x += 1 - side
			}
			b.Add(uint64(key), float64(x))
		}
		v, sum := cli.Must(b.Release()), 0.0
		for key := range keys {
			sum += at(v, uint64(key))
		}
		x := []float64{at(v, 0), at(v, 1), at(v, 2), float64(v.Len()), sum}
		return append(x, 2*x[0]-x[1]-x[2])
	})
}

// vector is one entry, and the entry smaller by 1.
func vector(name string, p threshold.Params, value float64) audited {
	return each(name, p.Guarantee(), 40_000, func(side int) []float64 {
		construct := threshold.New[uint64]
		if p.MaxKeys > 0 {
			construct = threshold.NewBounded[uint64]
		}
		b := cli.Must(construct(p))
		b.Add(1, value-float64(side))
		v := cli.Must(b.Release())
		return []float64{at(v, 1), float64(v.Len())}
	})
}

// groups has many keys at once, as their noise is independent: each is a release of its own. One
// user's key is what differs.
func groups(name string, keys, count, passes int) audited {
	p := groupby.Params{Epsilon: 1, Delta: 0.009, FullKeys: 1, Passes: passes}
	return many(name, p.Guarantee(), 40_000, func(side int, emit func([]float64)) {
		b := cli.Must(groupby.New[int](p))
		addUsers(b.AddUser, keys, count-side)
		emitCounts(cli.Must(b.Release()), keys, emit)
	})
}

// addUsers adds so many users of each key.
func addUsers(add func(keys []int), keys, users int) {
	for key := range keys {
		for range users {
			add([]int{key})
		}
	}
}

// emitCounts emits the count of each key by itself, NaN if it is not released.
func emitCounts(g *groupby.Groups[int], keys int, emit func([]float64)) {
	for key := range keys {
		emit([]float64{shown(g, key)})
	}
}

func shown(g *groupby.Groups[int], key int) float64 {
	if g.Has(key) {
		return g.Estimate(key)
	}
	return math.NaN()
}

// pilot is the number of releases from which table learns.
var pilot = 4000

// table is an entry of a value, and the entry smaller by 1. Given the values the cells are
// independent, so their likelihood ratio is a sum over the cells of the logarithm of that of each,
// which is learned from releases of its own.
func table(name string, p alp.Params, value float64) audited {
	p.Dim, p.Sparsity, p.Integers, p.Bits, p.Seed = 64, 1, true, 64, hashing.Seed{1}
	size := uint64(bits.Len(uint(cli.Must(p.Plan()).Params.Levels - 2))) // of an output
	release := func(side int) (cells []byte, listed float64) {
		b := cli.Must(alp.New(p))
		b.Add(5, value-float64(side))
		data := cli.Must(cli.Must(b.Release()).MarshalBinary())[6+2+4+16+16+88:]
		listed = math.NaN()
		if i := bytes.Index(data, []byte("dpsk")); i >= 0 {
			var list threshold.Vector[uint64]
			cli.OK(list.UnmarshalBinary(data[i:]))
			data, listed = data[:i], at(&list, 5)
		}
		// a bit for each cell, and the outputs of those that do not show 0, less one
		bit := func(at uint64) byte { return data[at/8] >> (at % 8) & 1 }
		cells = make([]byte, binary.LittleEndian.Uint64(data))
		data = data[8:]
		next := (uint64(len(cells)) + 63) / 64 * 64
		for i := range cells {
			if bit(uint64(i)) == 0 {
				continue
			}
			cells[i] = 1
			for j := range size {
				cells[i] += bit(next+j) << j
			}
			next += size
		}
		return cells, listed
	}
	return audited{name, p.Guarantee(), func() source {
		var seen [2]map[[2]int]float64
		for side := range seen {
			seen[side] = map[[2]int]float64{}
			for range pilot {
				cells, _ := release(side)
				for i, c := range cells {
					seen[side][[2]int{i, int(c)}]++
				}
			}
		}
		ratios := map[[2]int]float64{}
		for i := range seen {
			for c := range seen[i] {
				a, b := seen[0][c], seen[1][c]
				if d := a - b; d*d > 12*(a+b+1) { // else it is chance
					ratios[c] = math.Log((a + 1) / (b + 1))
				}
			}
		}
		return func(side int, emit func([]float64)) {
			cells, listed := release(side)
			sum := 0.0
			for i, c := range cells {
				sum += ratios[[2]int{i, int(c)}]
			}
			emit([]float64{sum, listed})
		}
	}, 20_000}
}

// projection is a vector of one entry, and the zero vector.
func projection(name string, p jl.Params) audited {
	p.Dim, p.Rows, p.Seed = 8, 4, hashing.Seed{1}
	return each(name, p.Guarantee(), 20_000, func(side int) []float64 {
		b := cli.Must(jl.New(p))
		b.Add(3, float64(1-side))
		s := cli.Must(b.Release())
		return []float64{s.Row(0), s.Row(1), s.Row(2), s.Row(3)}
	})
}

// bitsOf returns those of the end of an encoding.
func bitsOf(data []byte, bytes int) (x []float64) {
	for _, c := range data[len(data)-bytes:] {
		for j := range 8 {
			x = append(x, float64(c>>j&1))
		}
	}
	return x
}

var korParams = kor.Params{Epsilon: 1, Cells: 2, Levels: 2, Seed: hashing.Seed{1}}

func set() audited {
	p := korParams
	p.CountShare = 0.5
	return each("kor", p.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(kor.New(p))
		if side == 0 {
			b.Toggle(1)
		}
		s := cli.Must(b.Release())
		data := cli.Must(s.MarshalBinary())
		count := int64(binary.LittleEndian.Uint64(data[47:])) // with its noise
		return append(bitsOf(data, 16), math.Ldexp(float64(count), -20))
	})
}

func keys() audited {
	b := cli.Must(kor.NewStreamBuilder(korParams))
	return each("kor, stream", b.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(kor.NewStreamBuilder(korParams))
		if side == 0 {
			b.Add(1)
			b.Add(1)
		}
		return bitsOf(cli.Must(cli.Must(b.Release()).MarshalBinary()), 16)
	})
}

func shares() audited {
	return each("kor, XOR of two shares", korParams.Guarantee(), 20_000, func(side int) []float64 {
		var all [][]byte
		for i := range 2 {
			b := cli.Must(kor.New(korParams))
			if side == 0 && i == 0 {
				b.Toggle(1)
			}
			all = append(all, cli.Must(b.Share(2)).Bytes())
		}
		return bitsOf(cli.Must(cli.Must(kor.Aggregate(korParams, 2, all...)).MarshalBinary()), 16)
	})
}

func counted(withBits bool) audited {
	p := distinct.Params{Epsilon: 1, Cells: 16, Levels: 1, Seed: hashing.Seed{1}, CountShare: 1}
	name := "distinct, the count"
	if withBits {
		p.CountShare, name = 0.5, "distinct, count and bits"
	}
	return each(name, p.Guarantee(), 40_000, func(side int) []float64 {
		b := cli.Must(distinct.New(p))
		if side == 0 {
			b.Add(1)
		}
		data, size := cli.Must(cli.Must(b.Release()).MarshalBinary()), 0
		if withBits {
			size = 8
		}
		var n int64
		for i := range 8 {
			n |= int64(data[len(data)-size-8+i]) << (8 * i)
		}
		return append(bitsOf(data, size), float64(n))
	})
}

func running() audited {
	p := distinct.Params{Epsilon: 1, Cells: 16, Levels: 1, Seed: hashing.Seed{1}}
	b := cli.Must(distinct.NewRunningBuilder(p))
	return each("distinct, running total", b.Guarantee(), 40_000, func(side int) []float64 {
		b, x := cli.Must(distinct.NewRunningBuilder(p)), []float64{}
		for slot := range 2 {
			if slot == side {
				b.Add(1)
			}
			data := cli.Must(cli.Must(b.Step()).MarshalBinary())
			x = append(x, float64(int8(data[len(data)-8])))
		}
		return []float64{x[0], x[1] - x[0]}
	})
}

func number(name string, p arete.Params) audited {
	m := cli.Must(arete.New(p))
	return each(name, p.Guarantee(), 40_000, func(side int) []float64 {
		x := cli.Must(m.Release(float64(side))).Estimate()
		return []float64{x, x - math.Floor(x), math.Round(x)}
	})
}

// parties is a sum of shares of which some drop out with their noise.
func parties(name string, n, missing int, relation budget.Relation) audited {
	p := arete.Params{Epsilon: 1, Law: arete.DiscreteLaplace, Parties: n, Relation: relation}
	m := cli.Must(arete.New(p))
	share := cli.Must(m.Share(n, missing))
	return each(name, share.Guarantee(), 20_000, func(side int) []float64 {
		total := int64(0)
		for i := range n - missing {
			x := 0.0
			if i == 0 {
				x = 4 * float64(1-side) // is clamped to 1
				if relation == budget.Replace && side == 1 {
					x = -4 // is clamped to 0
				}
			}
			total += share.Mask(x)
		}
		return []float64{float64(total)}
	})
}

func sum(name string, p elliptical.Params) audited {
	p.Min, p.Max, p.Relation = elliptical.VectorOf(0, 0, 0), elliptical.VectorOf(1, 1, 1), budget.Replace
	n := 20_000
	if p.Shape == elliptical.Box {
		n = 8_000 // it takes long to calibrate
	}
	return each(name, p.Guarantee(), n, func(side int) []float64 {
		b := cli.Must(elliptical.NewBuilder(p))
		x := 9 * float64(1-side) // is clamped to 1
		b.Add([]float64{x, x, x})
		s := cli.Must(b.Release())
		v := s.Values()
		return []float64{v[0], v[1], v[2], v[0] - v[1], v[1] - v[2]}
	})
}

// statistics are those of one row, and of none.
func statistics(name string, p column.Params, row float64, n int) audited {
	return each(name, p.Guarantee(), n, func(side int) []float64 {
		b := cli.Must(column.New(p))
		if side == 0 {
			b.Add(row)
		}
		s := cli.Must(b.Release())
		count, sum := s.Value(column.Count), s.Value(column.Sum)
		x := []float64{count, sum, count + sum, count - sum}
		// its last 16 bytes for each coordinate, as FORMAT.md has them
		data := cli.Must(s.MarshalBinary())
		for at := 6 + 6*8 + 2 + 8; at < len(data); at += 16 {
			high, low := int64(binary.LittleEndian.Uint64(data[at:])), binary.LittleEndian.Uint64(data[at+8:])
			x = append(x, float64(high)*0x1p64+float64(low))
		}
		return x
	})
}

func middle() audited {
	p := column.Params{Epsilon: 1, Max: 2, Resolution: 1}
	return each("column, median", p.Guarantee(), 20_000, func(side int) []float64 {
		b := cli.Must(column.NewQuantiles(p, 0.5))
		b.Add(0)
		b.Add(float64(2 * side))
		return []float64{cli.Must(b.Release()).Quantile(0.5)}
	})
}

// estimate is that of a number that differs by 1, where the error is as large as it may be and
// points away from the neighbour.
func estimate(name string, p approx.Params) audited {
	p.Max = 100
	r := rand.New(rand.NewPCG(1, 2))
	return each(name, p.Guarantee(), 40_000, func(side int) []float64 {
		wrong := p.Error
		if p.Moment == 0 { // Pr[error ≥ t] = 2e^{−t/Error}
			wrong *= math.Ln2 + r.ExpFloat64()
		}
		x := float64(side) + float64(2*side-1)*wrong
		return []float64{cli.Must(cli.Must(approx.New(p)).Release(x)).Estimate()}
	})
}

// discrete is discrete Gaussian noise as it comes.
func discrete(sigma float64) audited {
	d, src := cli.Must(noise.NewDiscreteGaussian(sigma)), new(noise.Source)
	return each("noise DiscreteGaussian", budget.DiscreteGaussian(sigma, 1, budget.L2(1)), 100_000, func(side int) []float64 { return []float64{float64(d.SampleInt(src) + int64(side))} })
}

// mean is that of rows of zeros, except one that goes from one end to the other. The number that
// is worth most is the mean in units of its noise.
func mean(m *plan.Mechanism, rows int) audited {
	p := m.Params()
	low := -p.Max
	if p.NonNegative {
		low = 0
	}
	return means("plan "+p.Method.String(), m, func(side int) [][]float64 {
		x := make([][]float64, rows)
		for i := range x {
			x[i] = make([]float64, p.Dim)
		}
		for j := range x[0] {
			x[0][j] = [2]float64{p.Max, low}[side]
		}
		return x
	}, 20_000)
}

// turned is that of rows along two axes, of which one turns from one to the other: its norm stays.
func turned() audited {
	p := thesis.Params{Rho: 0.5, Dim: 2, NonNegative: true, Relation: budget.Replace, Steps: thesis.Steps{Unscaled: true, Clip: 0.5}, Shares: thesis.Shares{Clip: 0.02}}
	return means("plan Thesis, a row turns", cli.Must(thesis.New(p)), func(side int) [][]float64 {
		x := make([][]float64, 2000)
		for i := range x {
			x[i] = []float64{float64(i % 2), float64(1 - i%2)}
		}
		if side == 1 {
			x[0] = []float64{1, 0}
		}
		return x
	}, 40_000)
}

// centre is the median of two rows, of which one goes from one end to the other: the median, which
// takes nearly all of ρ, lies between it and the other row.
func centre() audited {
	p := thesis.Params{Rho: 0.5, Dim: 1, Max: 1, Relation: budget.Replace, Steps: thesis.Steps{Unscaled: true}, Shares: thesis.Shares{Centre: 0.98}}
	m := cli.Must(thesis.New(p))
	return each("plan Thesis, a median", p.Guarantee(), 40_000, func(side int) []float64 {
		x := cli.Must(m.Release(context.Background(), [][]float64{{0}, {float64(2*side - 1)}})).Centre(0)
		return []float64{x, math.Copysign(1, x)}
	})
}

// means are those of the rows of both sides.
func means(name string, m *plan.Mechanism, rows func(side int) [][]float64, n int) audited {
	p, sides := m.Params(), [2][][]float64{rows(0), rows(1)}
	release := func(side int) *plan.Mean { return cli.Must(m.Release(context.Background(), sides[side])) }
	if p.Method == plan.TwoPass {
		release = func(side int) *plan.Mean {
			return cli.Must(m.ReleaseSparse(context.Background(), stored(sides[side])))
		}
	}
	return each(name, m.Guarantee(), n, func(side int) []float64 {
		y, out := release(side), []float64(nil)
		for j := range p.Dim {
			out = append(out, y.Estimate(j), y.Estimate(j)/y.StdDev(j), y.Centre(j), (y.Estimate(j)-y.Centre(j))/y.StdDev(j))
			if s := y.Scale(j); s > 0 {
				out = append(out, math.Log(s))
			}
		}
		if c := y.Clip(); c > 0 && !math.IsInf(c, 0) {
			out = append(out, math.Log(c))
		}
		if p.Dim == 2 {
			out = append(out, y.Estimate(0)-y.Estimate(1))
		}
		return out
	})
}

// inStep returns what a Slice alone says of keys in its step.
func inStep(s *series.Slice[int], keys ...int) (x []float64) {
	t := cli.Must(series.NewTimeline[int](s.Params()))
	cli.OK(t.Append(s))
	w := cli.Must(t.Window(s.Step(), s.Step()+1))
	for _, key := range keys {
		x = append(x, w.Estimate(key))
	}
	return x
}

func steps() audited {
	p := series.Params{Epsilon: 1, Dim: 2, Spans: [8]int{1, 2}}
	return each("series, listed keys", p.Guarantee(), 20_000, func(side int) []float64 {
		b, x := cli.Must(series.New[int](p)), []float64{}
		for step := range 2 {
			if step == 0 && side == 0 {
				b.Add(1)
			}
			x = append(x, inStep(cli.Must(b.Step()), 0, 1)...)
		}
		return x
	})
}

// stored returns rows as sparse ones that store every entry.
func stored(x [][]float64) plan.Sparse {
	s := plan.Sparse{Offsets: []int{0}}
	for _, row := range x {
		for i, v := range row {
			s.Indices, s.Values = append(s.Indices, uint32(i)), append(s.Values, v)
		}
		s.Offsets = append(s.Offsets, len(s.Indices))
	}
	return s
}
