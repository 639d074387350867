package main

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
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

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
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
	return []audited{
		stream("misragries KeptZeros, all counters", misragries.KeptZeros, []uint64{3}, nil),
		stream("misragries KeptZeros, one counter", misragries.KeptZeros, []uint64{1}, nil),
		rare(misragries.KeptZeros), rare(misragries.FreedZeros),
		stream("misragries FreedZeros, one counter", misragries.FreedZeros, []uint64{1}, nil),
		stream("misragries PureUniverse", misragries.PureUniverse, []uint64{1}, nil),
		stream("misragries ShiftedUniverse", misragries.ShiftedUniverse, []uint64{1}, nil),
		merged(), users(), summed(),
		vector("threshold ExponentialRounding", threshold.Params{Epsilon: 1, Delta: 0.02, Integers: true, Method: threshold.ExponentialRounding}, 1),
		vector("threshold LinearRounding", threshold.Params{Epsilon: 1, Delta: 0.02, Integers: true, Method: threshold.LinearRounding}, 1),
		vector("threshold Laplace", threshold.Params{Epsilon: 1, Delta: 0.02, MaxKeys: 1, Integers: true, Method: threshold.Laplace}, 1),
		vector("threshold Laplace, far above", threshold.Params{Epsilon: 1, Delta: 0.02, MaxKeys: 1, Integers: true, Method: threshold.Laplace}, 60),
		vector("threshold Gaussian", threshold.Params{Epsilon: 1, Delta: 0.02, MaxKeys: 1, Integers: true, Method: threshold.Gaussian}, 1),
		vector("threshold PureLaplace", threshold.Params{Epsilon: 1, Dim: 4, FalseKeys: 1, Integers: true, Method: threshold.PureLaplace}, 1),
		vector("threshold DenseLaplace", threshold.Params{Epsilon: 1, Dim: 2, Integers: true, Method: threshold.DenseLaplace}, 1),
		groups("groupby, far above", 400), groups("groupby, rare keys", 1),
		table(alp.Params{Epsilon: 1, Dim: 64, Sparsity: 1, Max: 8, Integers: true, Structure: alp.ColumnsOnly, Independent: true, Columns: 8, Bits: 64, Seed: hashing.Seed{1}}, "alp ColumnsOnly"),
		table(alp.Params{Epsilon: 1, Delta: 0.02, Dim: 64, Sparsity: 1, Integers: true, Structure: alp.SplitAxis, Bits: 64, Seed: hashing.Seed{1}}, "alp SplitAxis"),
		projection("jl SJLT, Laplace", jl.Params{Epsilon: 1, Sparsity: 2}), projection("jl SRHT, Gaussian", jl.Params{Transform: jl.SRHT, Rho: 0.5, Norm: jl.L2}),
		projection("jl SJLT, integers", jl.Params{Epsilon: 1, Integers: true}),
		set(), keys(), shares(), counted(false), counted(true), running(),
		number("arete Jump", arete.Params{Epsilon: 4, Law: arete.Jump}), number("arete Gaussian", arete.Params{Epsilon: 1, Delta: 0.02, Law: arete.Gaussian}),
		number("arete DiscreteArete", arete.Params{Epsilon: 4, Law: arete.DiscreteArete}),
		parties("arete, sum of two shares", 2, 0), parties("arete, one of two shares missing", 2, 1),
		sum("elliptical Laplace", elliptical.Params{Epsilon: 1, Shape: elliptical.Independent}), sum("elliptical Box", elliptical.Params{Epsilon: 1, Shape: elliptical.Box}),
		sum("elliptical Gaussian", elliptical.Params{Rho: 0.5}),
		statistics("column, two moments", column.Params{Epsilon: 1, Min: -1, Max: 1}, 9), statistics("column, a row between", column.Params{Epsilon: 1, Min: -1, Max: 1}, 0.3),
		statistics("column, one moment", column.Params{Epsilon: 1, Min: -1, Max: 1, Moments: 1}, 9),
		statistics("column, zCDP", column.Params{Rho: 0.5, Min: -1, Max: 1}, 9), median(),
		estimate("approx Laplace", approx.Params{Epsilon: 1}, 2), estimate("approx Student", approx.Params{Epsilon: 1, Error: 1, Moment: 4, Noise: approx.StudentNoise}, 3),
		mean(), steps(),
	}
}

// stream is two heavy keys and a last element, and that element left out.
func stream(name string, m misragries.Method, with, without []uint64) audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.02, Method: m}
	if m == misragries.PureUniverse {
		p.Delta, p.Dim = 0, 8
	}
	if m == misragries.ShiftedUniverse {
		p.Dim = 8
	}
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(misragries.New[uint64](p))
			for range 60 {
				b.Add(1)
			}
			for range 40 {
				b.Add(2)
			}
			for _, key := range [2][]uint64{with, without}[side] {
				b.Add(key)
			}
			h := must(b.Release())
			x := make([]float64, 3)
			for i := range x[:2] {
				key := uint64(i + 1)
				x[i] = math.NaN()
				if h.Estimate(key) > 0 {
					x[i] = h.EstimateAs(key, misragries.Lower)
					x[2] = h.Estimate(key) - x[i] // what was lost, as it is told
				}
			}
			emit(x)
		}
	}, 40_000}
}

// rare is a key with one element, beside one that has none of it.
func rare(m misragries.Method) audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.05, Method: m}
	return audited{"misragries " + m.String() + ", a rare key", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(misragries.New[uint64](p))
			for _, key := range []uint64{1, 1, 2}[:3-side] {
				b.Add(key)
			}
			h := must(b.Release())
			x := math.NaN()
			if h.Estimate(2) > 0 {
				x = 1
			}
			emit([]float64{x})
		}
	}, 40_000}
}

func merged() audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.02, Method: misragries.SparseVector, Sparse: threshold.Gaussian}
	return audited{"misragries merged, Gaussian", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			a, b := must(misragries.New[uint64](p)), must(misragries.New[uint64](p))
			for range 200 {
				a.Add(1)
				b.Add(2)
			}
			if side == 0 {
				a.Add(1)
			}
			if err := a.Merge(b); err != nil {
				panic(err)
			}
			h := must(a.Release())
			emit([]float64{h.Estimate(1), h.Estimate(2)})
		}
	}, 10_000}
}

func users() audited {
	p := misragries.Params{Counters: 4, Epsilon: 1, Delta: 0.02, MaxKeys: 2, Method: misragries.KeptZeros}
	b := must(misragries.NewUserBuilder[uint64](p))
	return audited{"misragries users", b.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(misragries.NewUserBuilder[uint64](p))
			for range 60 {
				b.AddUser(1, 2)
			}
			if side == 0 {
				b.AddUser(1, 2, 1, 2, 3, 4)
				b.AddUser()
			}
			h := must(b.Release())
			emit([]float64{h.Estimate(1), h.Estimate(2)})
		}
	}, 20_000}
}

func summed() audited {
	p := misragries.Params{Counters: 2, Epsilon: 1, Delta: 0.02, Method: misragries.ReducedSum}
	t := must(misragries.NewSum[uint64](p))
	return audited{"misragries Sum", t.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			t := must(misragries.NewSum[uint64](p))
			for i := range 2 {
				b := must(misragries.New[uint64](p))
				for range 60 {
					b.Add(1)
				}
				if side == 0 && i == 0 {
					b.Add(1)
				}
				if err := t.Add(b); err != nil {
					panic(err)
				}
			}
			h := must(t.Release())
			emit([]float64{h.EstimateAs(1, misragries.Lower), h.Estimate(1) - h.EstimateAs(1, misragries.Lower)})
		}
	}, 2_000}
}

// vector is one entry, and the entry smaller by 1.
func vector(name string, p threshold.Params, value float64) audited {
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			construct := threshold.New[uint64]
			if p.MaxKeys > 0 {
				construct = threshold.NewBounded[uint64]
			}
			b := must(construct(p))
			b.Add(1, value-float64(side))
			v := must(b.Release())
			emit([]float64{at(v, 1), float64(v.Len())})
		}
	}, 40_000}
}

// groups has many keys at once, as their noise is independent: each is a release of its own. One
// user's key is what differs.
func groups(name string, count int) audited {
	p := groupby.Params{Epsilon: 1, Delta: 0.009, MaxKeys: 1, Clip: 1}
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(groupby.New[int](p))
			const keys = 4000
			for key := range keys {
				for range count - side {
					b.AddUser(key)
				}
			}
			g := must(b.Release())
			for key := range keys {
				x := math.NaN()
				if g.Has(key) {
					x = g.Estimate(key)
				}
				emit([]float64{x})
			}
		}
	}, 40_000}
}

// table shows the bits of an ALP release of one entry.
func table(p alp.Params, name string) audited {
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(alp.New(p))
			b.Add(5, float64(4-side))
			data := must(must(b.Release()).MarshalBinary())
			x := []float64{}
			for _, c := range data[6+2+4+16+16+96:] {
				for j := range 8 {
					x = append(x, float64(c>>j&1))
				}
			}
			emit(x[:min(len(x), 256)])
		}
	}, 20_000}
}

// projection is a vector of one entry, and the zero vector.
func projection(name string, p jl.Params) audited {
	p.Dim, p.Rows, p.Seed = 8, 4, hashing.Seed{1}
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(jl.New(p))
			b.Add(3, float64(1-side))
			s := must(b.Release())
			emit([]float64{s.Row(0), s.Row(1), s.Row(2), s.Row(3)})
		}
	}, 20_000}
}

// bits returns those of the end of an encoding.
func bits(data []byte, bytes int) (x []float64) {
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
	return audited{"kor", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(kor.New(p))
			if side == 0 {
				b.Toggle(1)
			}
			s := must(b.Release())
			n, _ := s.Count()
			emit(append(bits(must(s.MarshalBinary()), 16), n))
		}
	}, 40_000}
}

func keys() audited {
	b := must(kor.NewStreamBuilder(korParams))
	return audited{"kor, stream", b.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(kor.NewStreamBuilder(korParams))
			if side == 0 {
				b.Add(1)
				b.Add(1)
			}
			emit(bits(must(must(b.Release()).MarshalBinary()), 16))
		}
	}, 40_000}
}

func shares() audited {
	return audited{"kor, XOR of two shares", korParams.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			var all [][]byte
			for i := range 2 {
				b := must(kor.New(korParams))
				if side == 0 && i == 0 {
					b.Toggle(1)
				}
				all = append(all, must(b.Share(2)).Bytes())
			}
			emit(bits(must(must(kor.Aggregate(korParams, 2, all...)).MarshalBinary()), 16))
		}
	}, 20_000}
}

func counted(withBits bool) audited {
	p := distinct.Params{Epsilon: 1, Cells: 16, Levels: 1, Seed: hashing.Seed{1}, CountShare: 1}
	name := "distinct, the count"
	if withBits {
		p.CountShare, name = 0.5, "distinct, count and bits"
	}
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(distinct.New(p))
			if side == 0 {
				b.Add(1)
			}
			data, size := must(must(b.Release()).MarshalBinary()), 0
			if withBits {
				size = 8
			}
			var n int64
			for i := range 8 {
				n |= int64(data[len(data)-size-8+i]) << (8 * i)
			}
			emit(append(bits(data, size), float64(n)))
		}
	}, 40_000}
}

func running() audited {
	p := distinct.Params{Epsilon: 1, Cells: 16, Levels: 1, Seed: hashing.Seed{1}}
	b := must(distinct.NewRunningBuilder(p))
	return audited{"distinct, running total", b.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b, x := must(distinct.NewRunningBuilder(p)), []float64{}
			for slot := range 2 {
				if slot == side {
					b.Add(1)
				}
				data := must(must(b.ReleaseSlot()).MarshalBinary())
				x = append(x, float64(int8(data[len(data)-8])))
			}
			emit([]float64{x[0], x[1] - x[0]})
		}
	}, 40_000}
}

func number(name string, p arete.Params) audited {
	return audited{name, p.Guarantee(), func() source {
		m := must(arete.New(p))
		return func(side int, emit func([]float64)) {
			x := must(m.Release(float64(side)))
			emit([]float64{x, x - math.Floor(x), math.Round(x)})
		}
	}, 40_000}
}

// parties is a sum of shares of which some drop out with their noise.
func parties(name string, n, missing int) audited {
	p := arete.Params{Epsilon: 1, Law: arete.DiscreteLaplace, Parties: n}
	m := must(arete.New(p))
	return audited{name, must(m.ShareWithDropouts(n, missing)).Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			total := int64(0)
			for i := range n - missing {
				x := 0.0
				if i == 0 {
					x = 4 * float64(1-side) // is clamped to 1
				}
				total += must(m.ShareWithDropouts(n, missing)).Mask(x)
			}
			emit([]float64{float64(total)})
		}
	}, 20_000}
}

func sum(name string, p elliptical.Params) audited {
	p.Min, p.Max = elliptical.VectorOf(0, 0, 0), elliptical.VectorOf(1, 1, 1)
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(elliptical.NewBuilder(p))
			x := 9 * float64(1-side) // is clamped to 1
			b.Add([]float64{x, x, x})
			s := must(b.Release())
			v := s.Values()
			emit([]float64{v[0], v[1], v[2], v[0] - v[1], v[1] - v[2]})
		}
	}, 20_000}
}

// statistics are those of one row, and of none.
func statistics(name string, p column.Params, row float64) audited {
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(column.New(p))
			if side == 0 {
				b.Add(row)
			}
			s := must(b.Release())
			x := []float64{s.Count(), s.Sum(), s.Count() + s.Sum(), s.Count() - s.Sum()}
			// its last 16 bytes for each coordinate, as FORMAT.md has them
			data := must(s.MarshalBinary())
			for at := 6 + 5*8 + 4 + 8; at < len(data); at += 16 {
				high, low := int64(binary.LittleEndian.Uint64(data[at:])), binary.LittleEndian.Uint64(data[at+8:])
				x = append(x, float64(high)*0x1p64+float64(low))
			}
			emit(x)
		}
	}, 20_000}
}

func median() audited {
	p := column.QuantileParams{Epsilon: 1, Max: 2, Unit: 1}
	return audited{"column, median", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b := must(column.NewQuantiles(p))
			b.Add(0)
			b.Add(float64(2 * side))
			emit([]float64{must(b.Release()).Quantile(0.5)})
		}
	}, 20_000}
}

// estimate is that of a number that differs by 1, where the error is as large as it may be.
func estimate(name string, p approx.Params, apart float64) audited {
	p.Max = 100
	return audited{name, p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			m := must(approx.New(p))
			emit([]float64{must(m.Release(float64(side) * min(apart, 1))).Estimate()})
		}
	}, 20_000}
}

func mean() audited {
	p := plan.Params{Rho: 0.5, Dim: 1, Max: 1, Method: plan.Plain}
	return audited{"plan Plain", p.Guarantee(), func() source {
		m := must(plan.New(p))
		return func(side int, emit func([]float64)) {
			emit(must(m.Release([][]float64{{0}, {float64(2 - 4*side)}})).Values())
		}
	}, 20_000}
}

func steps() audited {
	p := series.Params{Epsilon: 1, Dim: 2, Spans: [8]int{1, 2}}
	return audited{"series, listed keys", p.Guarantee(), func() source {
		return func(side int, emit func([]float64)) {
			b, x := must(series.New[int](p)), []float64{}
			for step := range 2 {
				if step == 0 && side == 0 {
					b.Add(1)
				}
				s := must(b.Step())
				x = append(x, s.Estimate(0), s.Estimate(1))
			}
			emit(x)
		}
	}, 20_000}
}
