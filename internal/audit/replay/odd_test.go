package replay_test

import (
	"context"
	"fmt"
	"github.com/dpsketch/dpsketch/noise/budget"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/replay"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
	"github.com/dpsketch/dpsketch/threshold"
)

// odd is a release beside rows or users of odd shape. A row must change nothing of how another row
// is treated, so with frozen noise the numbers that belong to the others alone are the same, to
// the last bit, whichever odd row there is: -1 is none. Where all numbers belong to all rows, an
// odd row has a plain one that it stands for, and both give the same: plain + i is that of i.
type odd struct {
	name string
	rows int
	run  func(odd int) map[string]float64
	has  bool // plain rows
}

const plain = 10000 // less than any number of odd rows

// pick returns an odd row, or a plain one.
func pick[T any](i int, odd, plainly []T) T {
	if i >= plain {
		return plainly[i-plain]
	}
	return odd[i]
}

var nan = math.NaN()

// shapeless are release methods whose input has no rows of different shapes, with the reason.
var shapeless = map[string]string{
	"arete.Mechanism.Release":        "takes one number",
	"arete.Mechanism.Share":          "takes no data",
	"arete.Share.Mask":               "takes one number",
	"arete.Share.Noise":              "takes no data",
	"arete.Share.Sum":                "takes one number",
	"misragries.Builder.Release":     "an element is a key, and may move every counter by 1: see streamPairs",
	"misragries.Sum.Release":         "as misragries.Builder.Release",
	"noise/approx.Search":            "takes estimates, one for each run",
	"noise/approx.Mechanism.Release": "takes one number",
	"elliptical.Mechanism.Release":   "takes sums",

	// In TestProduct no number of a key that the unit does not have may differ, and units are odd:
	// empty, repeated, too many keys, values of no size.
	"threshold/groupby.Builder.Release":   "TestProduct",
	"threshold/groupby.Discovery.Release": "TestProduct",
	"threshold/groupby.Rows.Release":      "TestProduct",
	// In TestProduct a key that is repeated moves what is released as one key does.
	"kor.Builder.Release":                   "TestProduct",
	"kor.Builder.Share":                     "TestProduct",
	"kor.Share.Bytes":                       "TestProduct",
	"kor.StreamBuilder.Release":             "TestProduct",
	"kor/distinct.Builder.Release":          "TestProduct",
	"kor/distinct.RunningBuilder.Step":      "TestProduct",
	"kor/distinct.ReleasePair":              "TestProduct",
	"kor/distinct.FrequencyBuilder.Release": "TestProduct",
	"kor/distinct.CohortBuilder.Release":    "TestProduct",
	"kor/distinct.WindowBuilder.Release":    "TestProduct",
}

func odds() map[string][]odd {
	all := map[string][]odd{}
	add := func(method string, o odd) { all[method] = append(all[method], o) }

	sets, sorted := [][]uint64{{900, 900}, {903, 901, 902, 901}, {}, {900}}, [][]uint64{{900}, {901, 902, 903}, {}, {900}}
	for _, m := range []misragries.Method{misragries.SparseVector, misragries.KeptZeros} {
		of := func(keys []uint64) map[string]float64 {
			b := made(misragries.NewUserBuilder[uint64](misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6, MaxElements: 3, Method: m}))
			for i := range uint64(400) {
				b.AddUser([]uint64{1 + i%4, 1 + (i+1)%4})
			}
			b.AddUser(keys)
			return lower(made(b.Release()))
		}
		add("misragries.UserBuilder.Release", odd{name: m.String(), rows: len(sets), run: func(odd int) map[string]float64 { return of(pick(odd, sets, sorted)) }, has: true})
	}
	// A user's elements count as they come, the repeated ones too.
	ofSeries := func(keys []uint64) map[string]float64 {
		b, out := made(series.New[int](series.Params{Epsilon: 2, Delta: 1e-6, Spans: [8]int{1, 2}, Discovery: [8]int{2}, MaxElements: 4, Burst: 2})), map[string]float64{}
		for step := range 6 {
			for i := range 600 {
				b.AddFor(fmt.Sprint(i), []int{1 + i%3})
			}
			for _, key := range keys {
				b.AddFor("odd", []int{int(key)})
			}
			maps.Copy(out, inStep(step, made(b.Step())))
		}
		return out
	}
	orders, ordered := [][]uint64{{2, 1}, {1, 2}}, [][]uint64{{1, 2}, {1, 2}}
	add("misragries/series.Builder.Step", odd{name: "users", rows: 2, run: func(odd int) map[string]float64 { return ofSeries(pick(odd, orders, ordered)) }, has: true})

	// Entries of vectors with keys of their own.
	entries := []float64{nan, inf, -inf, math.Copysign(0, -1), 5e-324, -7, 1e300}
	for name, p := range map[string]threshold.Params{"users": {Epsilon: 1, Delta: 1e-6, MaxKeys: 3}, "one entry": {Epsilon: 1, Delta: 1e-6, Signed: true}} {
		add("threshold.Builder.Release", odd{name: name, rows: len(entries), run: func(odd int) map[string]float64 {
			construct := threshold.New[uint64]
			if p.MaxKeys > 0 {
				construct = threshold.NewBounded[uint64]
			}
			b := made(construct(p))
			for i := range 900 {
				b.Add(uint64(i%3), 1)
			}
			if odd >= 0 {
				b.Add(900, entries[odd])
				b.Add(901, entries[odd])
				b.Add(900, entries[odd])
			}
			out := listed(made(b.Release()).All())
			delete(out, "900")
			delete(out, "901")
			return out
		}})
	}
	add("alp.Builder.Release", odd{name: "entries that are none", rows: 4, run: func(odd int) map[string]float64 {
		b := made(alp.New(alp.Params{Epsilon: 1, Delta: 1e-6, Dim: 1000, Sparsity: 4, Max: 100, Seed: hashing.Seed{1}}))
		for i := range uint64(3) {
			b.Add(7*i, 10*float64(i+1))
		}
		switch odd {
		case 0:
			b.Add(100, nan)
		case 1:
			b.Add(5000, inf)
		case 2:
			b.Add(100, -5)
		case 3:
			b.Add(100, math.Copysign(0, -1))
		}
		r := made(b.Release())
		return numbers(r.Estimate(0), r.Estimate(7), r.Estimate(14))
	}})
	clean := slices.Clone(entries)
	clean[0] = 0
	add("jl.Builder.Release", odd{name: "entries", rows: len(entries), run: func(odd int) map[string]float64 { return sketch(pick(odd, entries, clean)) }, has: true})

	// Rows of numbers: what is out of range, or not there, stands for a plain value.
	box := elliptical.Params{Rho: 0.5, Min: elliptical.VectorOf(0, -1, 2), Max: elliptical.VectorOf(1, 1, 6)}
	dense := [][]float64{{nan, 5, -inf}, {1, 1, 6, 9, 9}, {inf, -inf, 3}, {1}}
	within := [][]float64{{0, 1, 2}, {1, 1, 6}, {1, -1, 3}, {1, 0, 2}}
	ofBox := func(row []float64) map[string]float64 {
		b := made(elliptical.NewBuilder(box))
		for range 20 {
			b.Add([]float64{.5, .25, 3})
		}
		b.Add(row)
		return listed(made(b.Release()).All())
	}
	add("elliptical.Builder.Release", odd{name: "rows", rows: len(dense), run: func(odd int) map[string]float64 { return ofBox(pick(odd, dense, within)) }, has: true})
	// NaN is the middle under Replace, and no row under AddRemove.
	ends, clamped := []float64{nan, inf, -inf, 1e300, math.Copysign(0, -1)}, []float64{1, 3, -1, 3, 0}
	ofColumn := func(x float64) map[string]float64 {
		b := made(column.New(column.Params{Epsilon: 1, Min: -1, Max: 3, Relation: budget.Replace}))
		for i := range 100 {
			b.Add(float64(i % 3))
		}
		b.Add(x)
		s := made(b.Release())
		return numbers(s.Value(column.Count), s.Value(column.Sum))
	}
	add("elliptical/column.Builder.Release", odd{name: "values", rows: len(ends), run: func(odd int) map[string]float64 { return ofColumn(pick(odd, ends, clamped)) }, has: true})
	ofQuantiles := func(x float64) map[string]float64 {
		b := made(column.NewQuantiles(column.Params{Epsilon: 1, Min: -1, Max: 3, Relation: budget.Replace}, 0.5))
		for i := range 1000 {
			b.Add(float64(i % 3))
		}
		b.Add(x)
		return numbers(made(b.Release()).Quantile(0.5))
	}
	add("elliptical/column.QuantileBuilder.Release", odd{name: "values", rows: len(ends), run: func(odd int) map[string]float64 { return ofQuantiles(pick(odd, ends, clamped)) }, has: true})

	// Rows of a mean in columns of their own, beside clipped ones: a quantile that follows them all
	// may be another, and then nothing is compared. What is published has no centre that is exactly
	// 0, from which an odd row is as far as any other.
	const d = 24
	mechanisms := []*plan.Mechanism{made(thesis.New(thesis.Params{Rho: 1, Dim: d, Max: 1, Relation: budget.Replace, Steps: thesis.Steps{Origin: true}}))}
	for _, method := range []plan.Method{plan.Plain, plan.Adaptive, plan.TwoPass} {
		mechanisms = append(mechanisms, made(plan.New(plan.Params{Rho: 1, Dim: d, Max: 1, Method: method, NonNegative: method == plan.TwoPass, Relation: budget.Replace})))
	}
	for _, m := range mechanisms {
		method := m.Params().Method
		read := func(y *plan.Mean) map[string]float64 {
			out := map[string]float64{"given C": y.Clip()}
			for i, v := range y.Values()[:20] {
				out[fmt.Sprint("given centre ", i)], out[fmt.Sprint(i)] = y.Centre(i), v
				switch {
				case method != plan.Adaptive:
					out[fmt.Sprint("given scale ", i)] = y.StdDev(i)
				case y.Spent().Scaled:
					out[fmt.Sprint("given scale ", i)] = y.Scale(i)
				}
				if method == plan.Adaptive { // the sum, but for the last digits: γ may be another
					out[fmt.Sprint(i)] = float64(float32((v - y.Centre(i)) * y.Spent().Gamma))
				}
			}
			return out
		}
		rows := []plan.Sparse{
			{Indices: []uint32{21, 21}}, {Indices: []uint32{23, 21, 23}}, {Indices: []uint32{22, 90000}}, {}, {Indices: []uint32{23, 22, 21}}, {Indices: slices.Repeat([]uint32{22}, 100)},
		}
		for _, stored := range []bool{false, true} {
			add("plan.Mechanism.ReleaseSparse", odd{name: fmt.Sprint(method, " ", stored), rows: len(rows), run: func(odd int) map[string]float64 {
				s := plan.Sparse{Offsets: []int{0}}
				give := func(indices []uint32) {
					s.Indices = append(s.Indices, indices...)
					s.Offsets = append(s.Offsets, len(s.Indices))
					for i := range indices {
						if stored {
							s.Values = append(s.Values, []float64{1, nan, inf}[i%3])
						}
					}
				}
				for i := range 3000 {
					give([]uint32{uint32(i % 5), uint32(5 + i%7), 12, 13, 14, 15, 16, 17, 18})
				}
				if odd >= 0 {
					give(rows[odd].Indices)
				} else {
					give(nil)
				}
				return read(made(m.ReleaseSparse(context.Background(), s)))
			}})
		}
		if method == plan.TwoPass {
			continue // which refuses dense rows
		}
		far := [][]float64{{}, nil, append(make([]float64, 20), nan, inf, -inf, 1), append(make([]float64, 21), 1, 5e-324, 1e300, 7, 7), make([]float64, 3)}
		add("plan.Mechanism.Release", odd{name: method.String(), rows: len(far), run: func(odd int) map[string]float64 {
			x := make([][]float64, 0, 801)
			for i := range 800 {
				row := make([]float64, d)
				row[i%20], row[(i*3)%20] = 1, 0.5
				x = append(x, row)
			}
			row := make([]float64, 1)
			if odd >= 0 {
				row = far[odd]
			}
			return read(made(m.Release(context.Background(), append(x, row))))
		}})
	}
	// Rows of ones, clipped at many C: at some of them, all were rounded in another way where one
	// row had a repeated index.
	const settings = 600
	add("plan.Mechanism.ReleaseSparse", odd{name: "scaled ones", rows: settings, run: func(odd int) map[string]float64 {
		repeated := []uint32{39, 39}
		if odd >= plain {
			odd, repeated = odd-plain, []uint32{39}
		}
		m := made(plan.New(plan.Params{Rho: 1, Dim: 40, Max: 1 + float64(odd)/997, NonNegative: true, Method: plan.Adaptive, Relation: budget.Replace}))
		m = made(m.WithScales(slices.Repeat([]float64{math.Exp(math.Sin(float64(odd)))}, 40)))
		s := plan.Sparse{Offsets: []int{0}}
		ones := []int{9, 16, 25, 36, 36}
		for i := range 100 {
			for k := range ones[(i+odd)%5] {
				s.Indices = append(s.Indices, uint32(k))
			}
			s.Offsets = append(s.Offsets, len(s.Indices))
		}
		s.Indices = append(s.Indices, repeated...)
		s.Offsets = append(s.Offsets, len(s.Indices))
		y := made(m.ReleaseSparse(context.Background(), s))
		out := map[string]float64{"given C": y.Clip()}
		for i, v := range y.Values()[:36] {
			out[fmt.Sprint(i)] = v
		}
		return out
	}, has: true})
	return all
}

// sketch returns the rows of a sketch of a vector, with an odd entry.
func sketch(x float64) map[string]float64 {
	b := made(jl.New(jl.Params{Epsilon: 1, Sparsity: 4, Dim: 64, Rows: 16, Seed: hashing.Seed{1}}))
	for i := range uint64(64) {
		b.Add(i, float64(i%7))
	}
	b.Add(5, x)
	b.Add(64, x) // no index
	s, out := made(b.Release()), map[string]float64{}
	for i := range 16 {
		out[fmt.Sprint(i)] = s.Row(i)
	}
	return out
}

// TestOddRows runs every release beside rows of odd shape.
func TestOddRows(t *testing.T) {
	if !frozen() {
		t.Skip("TestReplay runs this with frozen noise")
	}
	for method, list := range odds() {
		for _, o := range list {
			t.Run(method+"/"+o.name, func(t *testing.T) {
				// beside the odd rows, and beside none or the plain ones
				var out [2][]map[string]float64
				for i := range o.rows {
					for side, row := range [2]int{i, -1} {
						if side == 1 && o.has {
							row = plain + i
						}
						// one line for both: noise follows the place
						replay.Record(func() { out[side] = append(out[side], o.run(row)) })
					}
				}
				compared := 0
				for i, got := range out[0] {
					differs := false
					for name, x := range got {
						differs = differs || strings.HasPrefix(name, "given ") && x != out[1][i][name]
					}
					if !differs {
						compared++
						require.Equal(t, out[1][i], got, "odd row %d", i)
					}
				}
				require.NotEmpty(t, out[0][0])
				require.Positive(t, compared, "nothing is compared")
			})
		}
	}
}

// Every release method is run beside odd rows, or has none.
func TestEveryReleaseHasOddRows(t *testing.T) {
	text, err := os.ReadFile("../surface/testdata/releases.txt")
	require.NoError(t, err)
	have := odds()
	for _, method := range strings.Fields(string(text)) {
		require.True(t, (len(have[method]) > 0) != (shapeless[method] != ""), "%s: either odd rows or a reason", method)
	}
	for method := range have {
		require.Contains(t, strings.Fields(string(text)), method)
	}
	for method := range shapeless {
		require.Contains(t, strings.Fields(string(text)), method)
	}
}
