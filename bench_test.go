// Package dpsketch_test holds the benchmarks of the library: go test -bench . -run '^$' .
// Comparisons with other libraries are in examples/evidence/peers.
package dpsketch_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

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
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// fatal ends a benchmark whose call fails.
func fatal(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

// must returns what a call returns that does not fail, without an allocation.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// BenchmarkSource measures the secret randomness, per word and in bulk.
func BenchmarkSource(b *testing.B) {
	b.Run("op=Uint64", func(b *testing.B) {
		var src noise.Source
		b.ReportAllocs()
		b.SetBytes(8)
		for b.Loop() {
			src.Uint64()
		}
	})
	for _, words := range []int{64, 4096, 1 << 17} {
		b.Run(fmt.Sprintf("op=Fill/words=%d", words), func(b *testing.B) {
			var src noise.Source
			dst := make([]uint64, words)
			b.SetBytes(int64(8 * words))
			for b.Loop() {
				src.Fill(dst)
			}
		})
	}
}

// BenchmarkFlip measures randomized response over a table of bits.
func BenchmarkFlip(b *testing.B) {
	for _, p := range []float64{0.05, 0.2, 0.25, 0.5} {
		b.Run(fmt.Sprintf("p=%v", p), func(b *testing.B) {
			law := must(noise.BernoulliAtLeast(p))
			var src noise.Source
			table := make([]uint64, 1<<14)
			for b.Loop() {
				law.Flip(&src, table)
			}
			bits := float64(b.N) * float64(64*len(table))
			b.ReportMetric(bits/b.Elapsed().Seconds()/1e9, "Gbit/s")
		})
	}
}

// BenchmarkSample measures one exact draw, on fine and coarse grids; the error is its mean absolute
// value.
func BenchmarkSample(b *testing.B) {
	type sampler interface {
		Sample(src *noise.Source, step float64) float64
		MeanAbs() float64
	}
	run := func(name string, step float64, d sampler, err error) {
		fatal(b, err)
		b.Run(fmt.Sprintf("noise=%s/step=%g", name, step), func(b *testing.B) {
			var src noise.Source
			b.ReportAllocs()
			for b.Loop() {
				d.Sample(&src, step)
			}
			b.ReportMetric(d.MeanAbs(), "error")
		})
	}
	for _, step := range []float64{1, 0x1p-20, 0x1p-40} {
		laplace, err := noise.NewLaplace(1)
		run("laplace", step, laplace, err)
		gaussian, err := noise.NewGaussian(1)
		run("gaussian", step, gaussian, err)
	}
	for _, scale := range []float64{1, 10, 1000} {
		laplace, err := noise.NewDiscreteLaplace(scale)
		run(fmt.Sprintf("discretelaplace/scale=%v", scale), 1, laplace, err)
		gaussian, err := noise.NewDiscreteGaussian(scale)
		run(fmt.Sprintf("discretegaussian/scale=%v", scale), 1, gaussian, err)
	}
}

// zipf returns n draws of Zipf(1.1) over 2⁴⁰ keys, spread over the 64-bit integers, and the same as
// 16-byte strings.
func zipf(n int) (numbers []uint64, words []string) {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 1<<40)
	numbers, words = make([]uint64, n), make([]string, n)
	for i := range numbers {
		numbers[i] = z.Uint64() * 0x9e3779b97f4a7c15
		words[i] = fmt.Sprintf("%016x", numbers[i])
	}
	return numbers, words
}

// BenchmarkAdd measures a stream of 1e6 elements; mech=map counts it in a Go map, the yardstick.
func BenchmarkAdd(b *testing.B) {
	numbers, words := zipf(1e6)
	benchmarkAdd(b, "uint64", numbers)
	benchmarkAdd(b, "string", words)
}

func benchmarkAdd[K hashing.Key](b *testing.B, keys string, stream []K) {
	perUpdate := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(stream)), "ns/update")
	}
	b.Run("mech=map/keys="+keys, func(b *testing.B) {
		for b.Loop() {
			counts := map[K]uint64{}
			for _, key := range stream {
				counts[key]++
			}
		}
		perUpdate(b)
	})
	for _, k := range []int{256, 1024, 4096} {
		b.Run(fmt.Sprintf("mech=misragries/keys=%s/k=%d", keys, k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				builder := must(misragries.New[K](misragries.Params{Counters: k, Epsilon: 1, Delta: 1e-9}))
				for _, key := range stream {
					builder.Add(key)
				}
			}
			perUpdate(b)
		})
	}
}

// BenchmarkRelease measures the release of a full sketch, its encoding and its decoding; the errors
// are those of released keys, largest and mean, of a stream of 1e5 elements.
func BenchmarkRelease(b *testing.B) {
	numbers, _ := zipf(1e5)
	truth := map[uint64]float64{}
	for _, key := range numbers {
		truth[key]++
	}
	for _, k := range []int{256, 1024, 4096} {
		p := misragries.Params{Counters: k, Epsilon: 1, Delta: 1e-9}
		sketch := func(keys []uint64) *misragries.Builder[uint64] {
			builder := must(misragries.New[uint64](p))
			builder.AddSlice(keys)
			return builder
		}
		release := func(builder *misragries.Builder[uint64]) *misragries.Histogram[uint64] {
			return must(builder.Release())
		}
		h := release(sketch(numbers))
		data := must(h.MarshalBinary())
		b.Run(fmt.Sprintf("mech=misragries/op=release/k=%d", k), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				builder := sketch(numbers)
				b.StartTimer()
				h = release(builder)
			}
			largest, mean := 0.0, 0.0
			for key, estimate := range h.All() {
				off := math.Abs(estimate - truth[key])
				largest, mean = max(largest, off), mean+off/float64(h.Len())
			}
			b.ReportMetric(float64(h.Len()), "released")
			b.ReportMetric(largest, "largest-error")
			b.ReportMetric(mean, "error")
		})
		b.Run(fmt.Sprintf("mech=misragries/op=decode/k=%d", k), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				fatal(b, new(misragries.Histogram[uint64]).UnmarshalBinary(data))
			}
		})
		b.Run(fmt.Sprintf("mech=misragries/op=merge/k=%d", k), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				one, other := sketch(numbers[:len(numbers)/2]), sketch(numbers[len(numbers)/2:])
				b.StartTimer()
				fatal(b, one.Merge(other))
			}
		})
		for _, m := range []misragries.Method{misragries.TrimmedSum, misragries.ReducedSum} {
			benchmarkSums(b, m, k, numbers)
		}
		b.Run(fmt.Sprintf("mech=misragries/op=estimate/k=%d", k), func(b *testing.B) {
			for b.Loop() {
				h.Estimate(numbers[0])
			}
		})
	}
}

// benchmarkSums adds the sketches of eight servers to sums, merges two and releases one.
func benchmarkSums(b *testing.B, m misragries.Method, k int, keys []uint64) {
	p := misragries.Params{Counters: k, Epsilon: 1, Delta: 1e-9, Method: m}
	const servers = 8
	builders := func() (list []*misragries.Builder[uint64]) {
		for part := range slices.Chunk(keys, len(keys)/servers) {
			builder := must(misragries.New[uint64](p))
			builder.AddSlice(part)
			list = append(list, builder)
		}
		return list
	}
	add := func(list []*misragries.Builder[uint64]) *misragries.Sum[uint64] {
		sum, err := misragries.NewSum[uint64](p)
		for _, builder := range list {
			if err == nil {
				err = sum.Add(builder)
			}
		}
		fatal(b, err)
		return sum
	}
	b.Run(fmt.Sprintf("mech=misragries/op=add/method=%v/k=%d", m, k), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			list := builders()
			b.StartTimer()
			add(list)
		}
	})
	b.Run(fmt.Sprintf("mech=misragries/op=merge/method=%v/k=%d", m, k), func(b *testing.B) {
		b.ReportAllocs()
		keys := 0 // 16 bytes each
		for b.Loop() {
			b.StopTimer()
			one, other := add(builders()), add(builders())
			state, err := other.AppendPrivateState(nil)
			keys += len(state) / 16
			b.StartTimer()
			fatal(b, cmp.Or(err, one.Merge(other)))
		}
		b.ReportMetric(float64(keys)/float64(b.N), "keys")
		b.ReportMetric(float64(b.Elapsed())/float64(keys), "ns/key")
	})
	b.Run(fmt.Sprintf("mech=misragries/op=release/method=%v/k=%d", m, k), func(b *testing.B) {
		b.ReportAllocs()
		released := 0
		for b.Loop() {
			b.StopTimer()
			sum := add(builders())
			b.StartTimer()
			h := must(sum.Release())
			released = h.Len()
		}
		b.ReportMetric(float64(released), "released")
	})
}

// BenchmarkHistogram measures the release of a sparse vector of n keys, the Builder being full:
// half of them far above the threshold, half hidden. With dim = 2⁴⁰ the mechanism is purely
// ε-private.
func BenchmarkHistogram(b *testing.B) {
	for _, p := range []threshold.Params{
		{Epsilon: 1, Delta: 1e-6, Integers: true},
		{Epsilon: 1, Delta: 1e-6},
		{Epsilon: 1, Delta: 1e-6, MaxKeys: 50},
		{Epsilon: 1, Dim: 1 << 40, Integers: true},
	} {
		for _, n := range []int{1e5, 1e6} {
			b.Run(fmt.Sprintf("mech=%v/integers=%v/keys=%d", mechanism(b, p), p.Integers, n), func(b *testing.B) {
				b.ReportAllocs()
				var v *threshold.Vector[uint64]
				for b.Loop() {
					b.StopTimer()
					construct := threshold.New[uint64]
					if p.MaxKeys > 0 {
						construct = threshold.NewBounded[uint64]
					}
					builder := must(construct(p))
					for i := range n {
						builder.Add(uint64(i)*0x9e3779b97f4a7c15>>24, float64(1+i%2*1000))
					}
					b.StartTimer()
					v = must(builder.Release())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
				b.ReportMetric(float64(v.Len()), "released")
				plan, _ := p.Plan() // New has accepted the Params
				b.ReportMetric(plan.Threshold, "threshold")
				b.ReportMetric(plan.StdDev, "sd")
			})
		}
	}
}

// mechanism returns the one that the Params choose.
func mechanism(b *testing.B, p threshold.Params) threshold.Method {
	plan := must(p.Plan())
	return plan.Params.Method
}

// BenchmarkCalibrate measures the choice of the mechanism, all candidates calibrated.
func BenchmarkCalibrate(b *testing.B) {
	for _, p := range []threshold.Params{
		{Epsilon: 1, Delta: 1e-6},
		{Epsilon: 1, Delta: 1e-6, MaxKeys: 10},
		{Epsilon: 1, Delta: 1e-6, MaxKeys: 1e5},
		{Epsilon: 1, Delta: 1e-6, MaxKeys: 1e3, Stored: 1e3},
		{Epsilon: 1, Delta: 1e-6, MaxKeys: 1e5, Stored: 1e5},
	} {
		b.Run(fmt.Sprintf("maxkeys=%d/stored=%d", p.MaxKeys, p.Stored), func(b *testing.B) {
			var plan threshold.Plan
			for b.Loop() {
				plan, _ = p.Plan()
			}
			b.ReportMetric(plan.Threshold, "threshold")
		})
	}
}

// constructor makes a mechanism from Params that are those of a name but for ε, ρ or the like times
// a factor next to 1: other factors are other Params, so that nothing is remembered.
type constructor struct {
	name string
	hard bool // Params that are possible and not usual
	make func(factor float64) error
}

// constructors are all mechanisms of the library at usual Params, and at the slowest ones known.
func constructors() (list []constructor) {
	usual := func(name string, f func(factor float64) error) { list = append(list, constructor{name, false, f}) }
	hard := func(name string, f func(factor float64) error) { list = append(list, constructor{name, true, f}) }
	seed := hashing.Seed{1}

	bounded := func(p threshold.Params) func(float64) error {
		return func(factor float64) error {
			p := p
			p.Epsilon *= factor
			if p.MaxKeys == 0 {
				return dptest.Err(threshold.New[uint64](p))
			}
			return dptest.Err(threshold.NewBounded[uint64](p))
		}
	}
	usual("threshold/Auto", bounded(threshold.Params{Epsilon: 1, Delta: 1e-6}))
	usual("threshold/Dim", bounded(threshold.Params{Epsilon: 1, Dim: 1 << 20}))
	usual("threshold/MaxKeys=100", bounded(threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 100}))
	usual("threshold/Stored=64", bounded(threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 64, Stored: 64}))
	usual("threshold/Stored=1024", bounded(threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1024, Stored: 1024}))
	usual("threshold/Stored=1e5", bounded(threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1e5, Stored: 1e5}))
	for _, epsilon := range []float64{0.01, 0.1, 4} {
		for _, delta := range []float64{1e-12, 1e-3, 0.05} {
			for _, keys := range []int{3, 100, 1 << 20} {
				for _, stored := range []int{keys, 1 << 20} {
					name := fmt.Sprintf("threshold/epsilon=%v/delta=%v/keys=%v/stored=%v", epsilon, delta, keys, stored)
					hard(name, bounded(threshold.Params{Epsilon: epsilon, Delta: delta, MaxKeys: keys, Stored: stored}))
				}
			}
		}
	}

	users := func(p groupby.Params) func(float64) error {
		return func(factor float64) error { p := p; p.Epsilon *= factor; return dptest.Err(groupby.New[uint64](p)) }
	}
	usual("groupby", users(groupby.Params{Epsilon: 1, Delta: 1e-6}))
	usual("groupby/Passes=2", users(groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2}))
	usual("groupby/Max", users(groupby.Params{Epsilon: 1, Delta: 1e-6, Max: 100}))
	for _, epsilon := range []float64{0.01, 8} {
		for _, delta := range []float64{1e-12, 1e-3, 0.01} {
			hard(fmt.Sprintf("groupby/epsilon=%v/delta=%v", epsilon, delta), users(groupby.Params{Epsilon: epsilon, Delta: delta}))
			hard(fmt.Sprintf("groupby/Passes=2/epsilon=%v/delta=%v", epsilon, delta), users(groupby.Params{Epsilon: epsilon, Delta: delta, Passes: 2}))
		}
	}

	sketches := map[string]func(p misragries.Params) error{
		"New":    func(p misragries.Params) error { return dptest.Err(misragries.New[uint64](p)) },
		"NewSum": func(p misragries.Params) error { return dptest.Err(misragries.NewSum[uint64](p)) },
		"NewUserBuilder": func(p misragries.Params) error {
			p.MaxElements = 10
			return dptest.Err(misragries.NewUserBuilder[uint64](p))
		},
		"Plan": func(p misragries.Params) error { return dptest.Err(p.Plan(16)) },
	}
	for _, name := range slices.Sorted(maps.Keys(sketches)) {
		at := func(p misragries.Params) func(float64) error {
			return func(factor float64) error { p := p; p.Epsilon *= factor; return sketches[name](p) }
		}
		usual("misragries/"+name, at(misragries.Params{Counters: 256, Epsilon: 1, Delta: 1e-6}))
		for _, k := range []int{16, 1 << 16} {
			hard(fmt.Sprintf("misragries/%s/k=%d", name, k), at(misragries.Params{Counters: k, Epsilon: 1, Delta: 1e-6}))
			hard(fmt.Sprintf("misragries/%s/k=%d/delta=.01", name, k), at(misragries.Params{Counters: k, Epsilon: 0.1, Delta: 0.01}))
		}
	}

	usual("series", func(f float64) error { return dptest.Err(series.New[uint64](series.Params{Epsilon: f, Delta: 1e-6})) })
	hard("series/delta=1e-3", func(f float64) error {
		return dptest.Err(series.New[uint64](series.Params{Epsilon: 0.1 * f, Delta: 1e-3}))
	})

	project := func(p alp.Params) func(float64) error {
		return func(f float64) error { p := p; p.Epsilon *= f; return dptest.Err(alp.New(p)) }
	}
	usual("alp", project(alp.Params{Epsilon: 1, Delta: 1e-6, Dim: 1 << 40, Sparsity: 1e5}))
	usual("alp/pure", project(alp.Params{Epsilon: 1, Dim: 1 << 40, Sparsity: 1e5}))
	hard("alp/epsilon=.01", project(alp.Params{Epsilon: 0.01, Delta: 1e-6, Dim: 1 << 40, Sparsity: 1e5}))
	hard("alp/epsilon=20", project(alp.Params{Epsilon: 20, Delta: 1e-6, Dim: 1 << 40, Sparsity: 1e7}))

	usual("kor", func(f float64) error {
		return dptest.Err(kor.New(kor.Params{Epsilon: f, Cells: 4096, Levels: 32, Seed: seed}))
	})
	usual("distinct", func(f float64) error {
		return dptest.Err(distinct.New(distinct.Params{Epsilon: f, Cells: 4096, Levels: 32, Seed: seed}))
	})

	sketch := func(p jl.Params) func(float64) error {
		return func(f float64) error { // matrices are remembered by their Seed
			p := p
			p.Seed = seed.Derive(math.Float64bits(f))
			return dptest.Err(jl.New(p))
		}
	}
	usual("jl/SJLT", sketch(jl.Params{Dim: 1 << 16, Rows: 256, Epsilon: 1}))
	usual("jl/SRHT", sketch(jl.Params{Transform: jl.SRHT, Dim: 1 << 16, Rows: 256, Epsilon: 1, Delta: 1e-6, Change: jl.L2(1)}))
	usual("jl/L2", sketch(jl.Params{Dim: 1 << 14, Rows: 128, Sparsity: 8, Epsilon: 1, Delta: 1e-6, Change: jl.L2(1), Noise: jl.Gaussian}))
	usual("jl/Rademacher", sketch(jl.Params{Transform: jl.Rademacher, Dim: 1 << 16, Rows: 256, Epsilon: 1}))
	hard("jl/SJLT/dim=2^22", sketch(jl.Params{Dim: 1 << 22, Rows: 256, Epsilon: 1}))
	for _, bits := range []int{20, 22} {
		l2 := func(name string, p jl.Params) {
			p.Dim, p.Rows, p.Epsilon, p.Delta, p.Change, p.Noise = 1<<bits, 512, 1, 1e-6, jl.L2(1), jl.Gaussian
			hard(fmt.Sprintf("jl/L2/%s/dim=2^%d", name, bits), sketch(p))
		}
		l2("s=8", jl.Params{Sparsity: 8})
		l2("s=1", jl.Params{})
		l2("SRHT", jl.Params{Transform: jl.SRHT})
	}
	hard("jl/Rademacher/L2", sketch(jl.Params{Transform: jl.Rademacher, Dim: 1 << 14, Rows: 512, Epsilon: 1, Delta: 1e-6, Change: jl.L2(1)}))
	hard("jl/FJLT/L2", sketch(jl.Params{Transform: jl.FJLT, Dim: 1 << 14, Rows: 256, Epsilon: 1, Delta: 1e-6, Change: jl.L2(1)}))
	hard("jl/Normal/L2", sketch(jl.Params{Transform: jl.Normal, Dim: 1 << 12, Rows: 256, Epsilon: 1, Delta: 1e-6, Change: jl.L2(1)}))
	hard("jl/FJLT", sketch(jl.Params{Transform: jl.FJLT, Dim: 1 << 14, Rows: 256, Epsilon: 1, Delta: 1e-6}))
	hard("jl/Normal", sketch(jl.Params{Transform: jl.Normal, Dim: 1 << 12, Rows: 256, Epsilon: 1, Delta: 1e-6}))

	number := func(p arete.Params) func(float64) error {
		return func(f float64) error { p := p; p.Epsilon *= f; return dptest.Err(arete.New(p)) }
	}
	for _, epsilon := range []float64{1, 2, 4, 8, 20} {
		usual(fmt.Sprintf("arete/epsilon=%v", epsilon), number(arete.Params{Epsilon: epsilon}))
		usual(fmt.Sprintf("arete/parties/epsilon=%v", epsilon), number(arete.Params{Epsilon: epsilon, Parties: 1000}))
		for _, delta := range []float64{10, 30, 64, 1000} {
			usual(fmt.Sprintf("arete/integers=%v/epsilon=%v", delta, epsilon), number(arete.Params{Epsilon: epsilon, Integers: true, Sensitivity: delta}))
		}
		hard(fmt.Sprintf("arete/parties=2^20/epsilon=%v", epsilon), number(arete.Params{Epsilon: epsilon, Parties: 1 << 20}))
		if epsilon >= 4 {
			hard(fmt.Sprintf("arete/DiscreteArete/epsilon=%v", epsilon), number(arete.Params{Epsilon: epsilon, Law: arete.DiscreteArete}))
		}
	}
	usual("arete/Gaussian", number(arete.Params{Epsilon: 1, Delta: 1e-6, Law: arete.Gaussian}))

	ends := func(d, different int) (low, high elliptical.Vector) {
		a, b := make([]float64, d), make([]float64, d)
		for i := range a {
			b[i] = float64(i%different + 1)
		}
		return elliptical.VectorOf(a...), elliptical.VectorOf(b...)
	}
	among := func(p elliptical.Params, d, different int) func(float64) error {
		var once sync.Once
		return func(f float64) error {
			once.Do(func() { p.Min, p.Max = ends(d, different) })
			p := p
			p.Rho, p.Epsilon = p.Rho*f, p.Epsilon*f
			return dptest.Err(elliptical.New(p))
		}
	}
	sums := func(p elliptical.Params, d int) func(float64) error { return among(p, d, 17) }
	usual("elliptical/rho/d=1000", sums(elliptical.Params{Rho: 1}, 1000))
	usual("elliptical/epsilon/d=1000", sums(elliptical.Params{Epsilon: 1}, 1000))
	hard("elliptical/rho/d=65536", sums(elliptical.Params{Rho: 1}, 65536))
	hard("elliptical/epsilon/d=65536", sums(elliptical.Params{Epsilon: 1}, 65536))
	hard("elliptical/delta/d=65536", sums(elliptical.Params{Epsilon: 1, Delta: 1e-6}, 65536))
	const million = 1 << 20
	hard("elliptical/rho/d=2^20", sums(elliptical.Params{Rho: 1}, million))
	hard("elliptical/epsilon/d=2^20", sums(elliptical.Params{Epsilon: 1}, million))
	hard("elliptical/Count/d=2^20", sums(elliptical.Params{Rho: 1, Relation: budget.AddRemove, Count: true}, million))
	hard("elliptical/rho/different/d=2^20", among(elliptical.Params{Rho: 1}, million, million))
	hard("elliptical/epsilon/different/d=2^20", among(elliptical.Params{Epsilon: 1}, million, million))
	usual("column", func(f float64) error { return dptest.Err(column.New(column.Params{Epsilon: f, Min: 0, Max: 100})) })
	usual("quantiles", func(f float64) error {
		return dptest.Err(column.NewQuantiles(column.Params{Epsilon: f, Min: 0, Max: 100}, 0.5))
	})
	means := plan.Params{Rho: 1, Dim: 1000, Rows: 1 << 20, Max: 1000, Relation: budget.Replace}
	usual("plan", func(f float64) error { p := means; p.Rho *= f; return dptest.Err(plan.New(p)) })
	usual("plan/Plan", func(f float64) error { p := means; p.Rho *= f; return dptest.Err(p.Plan()) })
	hard("plan/Plan/d=2^20", func(f float64) error {
		p := means
		p.Rho, p.Dim = p.Rho*f, 1<<20
		return dptest.Err(p.Plan())
	})
	usual("approx", func(f float64) error {
		return dptest.Err(approx.New(approx.Params{Epsilon: f, Error: 0.01, Protects: budget.Row(budget.AddRemove)}))
	})
	return list
}

// BenchmarkNew measures what each mechanism takes to be made: at Params that were not seen before,
// where 20 ms are wanted at usual ones and 100 ms at any, and again at the same ones. The metric
// limit is the share of that time.
func BenchmarkNew(b *testing.B) {
	for _, c := range constructors() {
		limit := 20e6
		if c.hard {
			limit = 100e6
		}
		for _, again := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/again=%v", c.name, again), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					factor := 1.0
					if !again {
						factor += float64(i) * 0x1p-40
					}
					fatal(b, c.make(factor))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/limit, "limit")
			})
		}
	}
}

// BenchmarkProjection measures package alp: 1e6 entries added, released, and looked up at random;
// the mean absolute errors of zeros, of entries below 30 and of the large ones are reported.
func BenchmarkProjection(b *testing.B) {
	const n = 1_000_000
	rng := rand.New(rand.NewPCG(3, 4))
	indices, values := make([]uint64, n), make([]float64, n)
	for i := range indices {
		indices[i], values[i] = rng.Uint64(), 30*rng.Float64()
		if i%2 == 0 {
			values[i] = 1000
		}
	}
	p := alp.Params{Epsilon: 1, Delta: 1e-9, Sparsity: n}
	full := func() *alp.Builder {
		builder := must(alp.New(p))
		for i := range indices {
			builder.Add(indices[i], values[i])
		}
		return builder
	}
	perEntry := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
	}
	b.Run("op=add", func(b *testing.B) {
		for b.Loop() {
			full()
		}
		perEntry(b)
	})
	release := func(builder *alp.Builder) *alp.Projection {
		return must(builder.Release())
	}
	b.Run("op=release", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			builder := full()
			b.StartTimer()
			release(builder)
		}
		perEntry(b)
	})
	b.Run("op=estimate", func(b *testing.B) {
		b.ReportAllocs()
		projection := release(full())
		i, zero, small, large := 0, 0.0, 0.0, 0.0
		for b.Loop() {
			projection.Estimate(indices[i])
			i = (i + 1) % n
		}
		for i, index := range indices[:100_000] {
			off := math.Abs(projection.Estimate(index) - values[i])
			if i%2 == 0 {
				large += off / 50_000
			} else {
				small += off / 50_000
			}
			zero += math.Abs(projection.Estimate(rng.Uint64())) / 100_000
		}
		b.ReportMetric(zero, "error-zero")
		b.ReportMetric(small, "error-small")
		b.ReportMetric(large, "error-large")
	})
}

// BenchmarkColumn measures package elliptical/column.
func BenchmarkColumn(b *testing.B) {
	p := column.Params{Epsilon: 1, Max: 100}
	builder := must(column.New(p))
	b.Run("op=add", func(b *testing.B) {
		i := 0
		for b.Loop() {
			builder.Add(float64(i & 127))
			i++
		}
	})
	b.Run("op=release", func(b *testing.B) {
		for b.Loop() {
			one := must(column.New(p))
			one.Add(5)
			fatal(b, dptest.Err(one.Release()))
		}
	})
	for name, p := range map[string]column.Params{"given": p, "learned": {Epsilon: 1}} {
		b.Run("op=million/range="+name, func(b *testing.B) {
			for b.Loop() {
				one := must(column.New(p))
				for i := range uint64(1_000_000) {
					one.Add(float64(i * 0x9e3779b97f4a7c15 >> 58))
				}
				fatal(b, dptest.Err(one.Release()))
			}
		})
	}
	s := must(builder.Release())
	b.Run("op=quantiles", func(b *testing.B) {
		for b.Loop() {
			q := must(column.NewQuantiles(column.Params{Epsilon: 1, Max: 100}, 0.5))
			for i := range 1000 {
				q.Add(float64(i & 127))
			}
			fatal(b, dptest.Err(q.Release()))
		}
	})
	for _, of := range []column.Statistic{column.Mean, column.Variance} {
		b.Run("op=interval/of="+of.String(), func(b *testing.B) {
			for b.Loop() {
				s.Interval(of, 0.95)
			}
		})
	}
}

// BenchmarkDistinctCount measures package kor/distinct at 5.6 KiB.
func BenchmarkDistinctCount(b *testing.B) {
	p := distinct.Params{Epsilon: 1, Cells: 2048, Levels: 22, Seed: hashing.Seed{1}}
	builder := must(distinct.New(p))
	keys := make([]uint64, 4096)
	for i := range keys {
		keys[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	b.Run("op=add", func(b *testing.B) {
		i := uint64(0)
		for b.Loop() {
			builder.Add(i * 0x9e3779b97f4a7c15)
			i++
		}
	})
	b.Run("op=addkey", func(b *testing.B) {
		for b.Loop() {
			distinct.AddKey(builder, "user 0123456789")
		}
	})
	for name, to := range map[string]distinct.Adder{
		"": builder, "/of=running": must(distinct.NewRunningBuilder(p)), "/of=windows": must(distinct.NewWindowBuilder(p, 0)),
		"/of=cohorts": must(distinct.NewCohortBuilder(p, 14)), "/of=frequencies": must(distinct.NewFrequencyBuilder(p, 5)),
	} {
		b.Run("op=addslice"+name, func(b *testing.B) {
			for b.Loop() {
				to.Add(keys...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
		})
	}
	sketch := must(builder.Release())
	b.Run("op=estimate", func(b *testing.B) {
		for b.Loop() {
			sketch.Estimate()
		}
		plan := must(p.Plan())
		b.ReportMetric(plan.RelativeError, "rse")
	})
	b.Run("op=interval", func(b *testing.B) {
		for b.Loop() {
			sketch.Interval(0.95)
		}
	})
}

// BenchmarkDistinct measures package kor at 8 KiB.
func BenchmarkDistinct(b *testing.B) {
	p := kor.Params{Epsilon: 1, Cells: 2731, Levels: 24, Seed: hashing.Seed{1}}
	plan := must(p.Plan())
	full := func(n int) *kor.Builder {
		builder := must(kor.New(p))
		for i := range n {
			builder.Toggle(uint64(i) * 0x9e3779b97f4a7c15)
		}
		return builder
	}
	release := func() *kor.Sketch {
		return must(full(100_000).Release())
	}
	b.Run("op=toggle", func(b *testing.B) {
		builder, i := full(0), uint64(0)
		b.ReportAllocs()
		for b.Loop() {
			builder.Toggle(i * 0x9e3779b97f4a7c15)
			i++
		}
	})
	b.Run("op=addslice", func(b *testing.B) {
		builder, keys := full(0), make([]uint64, 4096)
		for i := range keys {
			keys[i] = uint64(i) * 0x9e3779b97f4a7c15
		}
		for b.Loop() {
			builder.ToggleSlice(keys)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
	})
	b.Run("op=addstream", func(b *testing.B) {
		builder := must(kor.NewStreamBuilder(p))
		i := uint64(0)
		for b.Loop() {
			builder.Add(i * 0x9e3779b97f4a7c15)
			i++
		}
		b.ReportMetric(plan.StreamStdErr(1e6, 1)/1e6, "rse")
	})
	b.Run("op=release", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			builder := full(10)
			b.StartTimer()
			fatal(b, dptest.Err(builder.Release()))
		}
		b.ReportMetric(float64(b.N)*float64(p.Cells*p.Levels)/b.Elapsed().Seconds()/1e9, "Gbit/s")
	})
	one, other := release(), release()
	b.Run("op=xor", func(b *testing.B) {
		for b.Loop() {
			fatal(b, dptest.Err(one.SymmetricDifference(other)))
		}
		b.ReportMetric(plan.StdErr(1e6, 2)/1e6, "rse")
	})
	b.Run("op=estimate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one.Estimate()
		}
		plan := must(p.Plan())
		b.ReportMetric(plan.RelativeError, "rse")
		const runs = 50
		sum := 0.0
		for range runs {
			off := release().Estimate()/100_000 - 1
			sum += off * off / runs
		}
		b.ReportMetric(math.Sqrt(sum), "rse-measured")
	})
}

// BenchmarkDistance measures package jl: the private sketch, of 256 rows, of a dense vector of 4096
// coordinates, and of one of 100 non-zeros, which transforms that are not sparse do not tell apart;
// the sum alone, without the release, where it is not put off until then. The error is the relative
// one of a squared distance of 1e4.
func BenchmarkDistance(b *testing.B) {
	dense := make([]float64, 4096)
	for i := range dense {
		dense[i] = float64(i % 17)
	}
	for _, p := range []jl.Params{
		{Rows: 256, Sparsity: 1}, {Rows: 256, Sparsity: 8}, {Transform: jl.SRHT, Rows: 256}, {Transform: jl.FJLT, Rows: 256},
	} {
		p.Dim, p.Epsilon, p.Seed = 4096, 1, hashing.Seed{2}
		first := must(jl.New(p))
		name := fmt.Sprintf("transform=%v/s=%d/", p.Transform, p.Sparsity)
		sketch := func(b *testing.B, add func(*jl.Builder)) {
			for b.Loop() {
				next := must(first.Sibling())
				add(next)
				fatal(b, dptest.Err(next.Release()))
			}
			plan := must(p.Plan(1e4))
			b.ReportMetric(plan.RelativeError, "rse")
		}
		indices, values := make([]uint64, 100), make([]float64, 100)
		for i := range indices {
			indices[i], values[i] = uint64(i)*40, 3
		}
		sparse := func(builder *jl.Builder) { builder.AddSparse(indices, values) }
		b.Run(name+"op=sketch/dense", func(b *testing.B) { sketch(b, func(builder *jl.Builder) { builder.AddDense(dense) }) })
		if p.Transform != jl.SJLT {
			continue
		}
		b.Run(name+"op=sketch/sparse", func(b *testing.B) { sketch(b, sparse) })
		b.Run(name+"op=add/dense", func(b *testing.B) {
			for b.Loop() {
				first.AddDense(dense)
			}
		})
		b.Run(name+"op=add/sparse", func(b *testing.B) {
			for b.Loop() {
				sparse(first)
			}
		})
	}
}

// BenchmarkDistanceEstimate measures an estimate of package jl from two sketches; the relative
// error is that of many pairs, root mean square.
func BenchmarkDistanceEstimate(b *testing.B) {
	const pairs, squared = 100, 4096 * 4
	p := jl.Params{Dim: 4096, Rows: 256, Epsilon: 1}
	one, other := make([]*jl.Sketch, pairs), make([]*jl.Sketch, pairs)
	for i := range pairs {
		p.Seed = hashing.Seed{byte(i), 1}
		builder := must(jl.New(p))
		empty := must(builder.Sibling())
		for j := range uint64(4096) {
			builder.Add(j, 2)
		}
		one[i], other[i] = must(builder.Release()), must(empty.Release())
	}
	i := 0
	for b.Loop() {
		fatal(b, dptest.Err(one[i].SquaredDistance(other[i])))
		i = (i + 1) % pairs
	}
	sum := 0.0
	for i := range pairs {
		z := must(one[i].SquaredDistance(other[i]))
		sum += (z/squared - 1) * (z/squared - 1) / pairs
	}
	b.ReportMetric(math.Sqrt(sum), "rse")
}

// BenchmarkSum measures package elliptical: a row of 1000 coordinates of unequal range added, and
// the release of a sum; the error is the mean squared one, all coordinates together.
func BenchmarkSum(b *testing.B) {
	low, high, sum := make([]float64, 1000), make([]float64, 1000), make([]float64, 1000)
	for i := range high {
		low[i], high[i] = -0.5/float64(i+1), 0.5/float64(i+1)
	}
	for _, p := range []elliptical.Params{{Rho: 1, Relation: budget.Replace}, {Epsilon: 1, Relation: budget.Replace}} {
		p.Min, p.Max = elliptical.VectorOf(low...), elliptical.VectorOf(high...)
		m := must(elliptical.New(p))
		name := map[bool]string{true: "gaussian", false: "box"}[p.Rho > 0]
		b.Run("noise="+name+"/op=release", func(b *testing.B) {
			for b.Loop() {
				fatal(b, dptest.Err(m.Release(sum)))
			}
			plan := must(p.Plan())
			b.ReportMetric(plan.Error(2), "error")
		})
	}
	b.Run("op=add", func(b *testing.B) {
		builder := must(elliptical.NewBuilder(elliptical.Params{Rho: 1, Min: elliptical.VectorOf(low...), Max: elliptical.VectorOf(high...)}))
		b.ReportAllocs()
		for b.Loop() {
			builder.Add(sum)
		}
	})
}

// BenchmarkMean measures package plan on 31,102 sparse binary rows over 12,824 columns, as many as
// the text of the examples has; the error is the sum of the absolute errors of all columns.
func BenchmarkMean(b *testing.B) {
	const rows, columns, ones = 31_102, 12_824, 20
	rng := rand.New(rand.NewPCG(5, 6))
	zipf := rand.NewZipf(rng, 1.05, 4, columns-1)
	data, mean := plan.Sparse{Offsets: []int{0}}, make([]float64, columns)
	for range rows {
		row := map[uint32]bool{}
		for len(row) < ones {
			row[uint32(zipf.Uint64())] = true
		}
		for i := range row {
			mean[i] += 1.0 / rows
		}
		data.Indices = append(data.Indices, slices.Sorted(maps.Keys(row))...)
		data.Offsets = append(data.Offsets, len(data.Indices))
	}
	m := must(plan.New(plan.Params{Rho: 1, Dim: columns, Rows: rows, NonNegative: true, Relation: budget.Replace}))
	b.ReportAllocs()
	total, runs := 0.0, 0.0
	for b.Loop() {
		release := must(m.ReleaseSparse(b.Context(), data))
		for i, value := range release.Values() {
			total += math.Abs(value - mean[i])
		}
		runs++
	}
	b.ReportMetric(total/runs, "error")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(data.Indices)), "ns/entry")
}

// BenchmarkDenseMean measures package plan on 4000 dense rows of 256 columns with unequal scales;
// the error is the distance to their mean.
func BenchmarkDenseMean(b *testing.B) {
	const rows, columns = 4000, 256
	rng := rand.New(rand.NewPCG(7, 8))
	x, mean := make([][]float64, rows), make([]float64, columns)
	for j := range x {
		x[j] = make([]float64, columns)
		for i := range x[j] {
			x[j][i] = 10 + rng.NormFloat64()/float64(1+i)
			mean[i] += x[j][i] / rows
		}
	}
	m := must(plan.New(plan.Params{Rho: 1, Dim: columns, Rows: rows, Max: 1000, Relation: budget.Replace}))
	total, runs := 0.0, 0.0
	for b.Loop() {
		release := must(m.Release(b.Context(), x))
		squared := 0.0
		for i, value := range release.Values() {
			squared += (value - mean[i]) * (value - mean[i])
		}
		total += math.Sqrt(squared)
		runs++
	}
	b.ReportMetric(total/runs, "error")
}

// BenchmarkHash measures the fingerprint of a key.
func BenchmarkHash(b *testing.B) {
	seed := hashing.Seed{1}
	b.Run("key=uint64", func(b *testing.B) {
		i := uint64(0)
		for b.Loop() {
			hashing.Fingerprint(seed, i)
			i++
		}
	})
	b.Run("key=string16", func(b *testing.B) {
		for b.Loop() {
			hashing.Fingerprint(seed, "0123456789abcdef")
		}
	})
}

// BenchmarkNoise measures an exact draw of the other laws, and a share of one of a thousand
// parties; the error is the mean absolute value of the noise.
func BenchmarkNoise(b *testing.B) {
	var src noise.Source
	run := func(name string, meanAbs float64, draw func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				draw()
			}
			b.ReportMetric(meanAbs, "error")
		})
	}
	staircase, err1 := noise.NewStaircase(8, 1, 0.02)
	pareto, err2 := noise.NewPareto(3, 1)
	student, err3 := noise.NewStudent(4, 1)
	continuous, err4 := arete.Calibrate(8, 1)
	fatal(b, errors.Join(err1, err2, err3, err4))
	run("noise=staircase/step=2^-40", staircase.MeanAbs(), func() { staircase.Sample(&src, 0x1p-40) })
	run("noise=pareto/step=2^-40", pareto.MeanAbs(), func() { pareto.Sample(&src, 0x1p-40) })
	run("noise=student/step=2^-40", student.MeanAbs(), func() { student.Sample(&src, 0x1p-40) })
	run("noise=Arete/step=2^-40", continuous.MeanAbs(), func() { continuous.Sample(&src, 0x1p-40) })
	for _, law := range []arete.Law{arete.Jump, arete.DiscreteArete} {
		m := must(arete.New(arete.Params{Epsilon: 8, Law: law}))
		share := must(m.Share(1000, 0))
		lattice := m.Lattice()
		run(fmt.Sprintf("noise=%v", law), lattice.MeanAbs()*lattice.Step(), func() { m.Release(0) })
		run(fmt.Sprintf("noise=%v/share=1000", law), lattice.MeanAbs()*lattice.Step(), func() { share.Noise() })
	}
}

// BenchmarkSeries measures package misragries/series with a thousand known keys: an element of one
// of them, one that is not known, a step, and a window of 720 steps.
func BenchmarkSeries(b *testing.B) {
	const known = 1000
	p := series.Params{Epsilon: 1, Delta: 1e-6}
	begin := func(b *testing.B) (*series.Builder[uint64], *series.Timeline[uint64]) {
		builder := must(series.New[uint64](p))
		timeline := must(series.NewTimeline[uint64](p))
		for t := range 720 {
			for key := range uint64(known) {
				for range 1 + 120/(1+t) {
					builder.Add(key)
				}
			}
			slice, err := builder.Step()
			if err == nil {
				err = timeline.Append(slice)
			}
			fatal(b, err)
		}
		return builder, timeline
	}
	b.Run("op=add/key=known", func(b *testing.B) {
		builder, _ := begin(b)
		for i := uint64(0); b.Loop(); i++ {
			builder.Add(i * 0x9e3779b97f4a7c15 >> 32 % known)
		}
	})
	b.Run("op=add/key=unknown", func(b *testing.B) {
		builder, _ := begin(b)
		for i := uint64(0); b.Loop(); i++ {
			builder.Add(known + i*0x9e3779b97f4a7c15>>48)
		}
	})
	b.Run("op=step/known=1000", func(b *testing.B) {
		builder, _ := begin(b)
		for b.Loop() {
			fatal(b, dptest.Err(builder.Step()))
		}
	})
	b.Run("op=window/known=1000/steps=720", func(b *testing.B) {
		_, timeline := begin(b)
		for b.Loop() {
			fatal(b, dptest.Err(timeline.Window(0, 720)))
		}
	})
}

// BenchmarkGroupBy measures package threshold/groupby: users of ten keys each, per key, and the
// whole way of a million new keys.
func BenchmarkGroupBy(b *testing.B) {
	p := groupby.Params{Epsilon: 1, Delta: 1e-6}
	b.Run("op=adduser/keys=10", func(b *testing.B) {
		builder := must(groupby.New[uint64](p))
		keys := make([]uint64, 10)
		i := uint64(0)
		for b.Loop() {
			for j := range keys {
				i++
				keys[j] = i * 0x9e3779b97f4a7c15 >> 48
			}
			builder.AddUser(keys)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(10*b.N), "ns/key")
	})
	// Rows of integers, ten keys a user, beside what a map takes for them: of keys, or of pairs.
	const n = 2_000_000
	type pair struct{ user, key uint64 }
	rows := make([]pair, n)
	for i := range rows {
		rows[i] = pair{uint64(i/10) * 7919, uint64(i) * 0x9e3779b97f4a7c15 >> 48}
	}
	shuffled := slices.Clone(rows)
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	valued := p
	valued.Max = 10
	builder := func(p groupby.Params) *groupby.Builder[uint64] {
		return must(groupby.New[uint64](p))
	}
	byUser := func(add func(keys []uint64)) {
		keys := make([]uint64, 10)
		for i := 0; i < n; i += 10 {
			for j := range keys {
				keys[j] = rows[i+j].key
			}
			add(keys)
		}
	}
	for name, run := range map[string]func(){
		"map=keys": func() {
			m := map[uint64]int64{}
			byUser(func(keys []uint64) {
				for _, key := range keys {
					m[key]++
				}
			})
		},
		"op=adduser": func() { byUser(builder(p).AddUser) },
		"op=adduservalues": func() {
			values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
			b := builder(valued)
			byUser(func(keys []uint64) { b.AddUserValues(keys, values) })
		},
		"map=pairs": func() {
			m := map[pair]struct{}{}
			for _, r := range shuffled {
				m[r] = struct{}{}
			}
		},
		"op=rows": func() {
			r := must(groupby.NewRows[uint64, uint64](p))
			for _, x := range shuffled {
				r.Add(x.user, x.key)
			}
		},
	} {
		b.Run("rows=2e6/"+name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/row")
		})
	}
	// Three percentiles of 3000 keys, from ten rows of each of a million users.
	b.Run("op=percentiles/users=1e6", func(b *testing.B) {
		rng := rand.New(rand.NewPCG(3, 7))
		const users = 1_000_000
		keys, values := make([]uint64, 10*users), make([]float64, 10*users)
		for i := range keys {
			keys[i], values[i] = uint64(3000*rng.Float64()*rng.Float64()), 100*rng.ExpFloat64()
		}
		q := p
		q.Levels = [8]float64{.5, .9, .99}
		var before, after runtime.MemStats
		var release time.Duration
		for b.Loop() {
			runtime.GC()
			runtime.ReadMemStats(&before)
			builder := builder(q)
			for i := 0; i < len(keys); i += 10 {
				builder.AddUserValues(keys[i:i+10], values[i:i+10])
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			start := time.Now()
			fatal(b, dptest.Err(builder.Release()))
			release += time.Since(start)
		}
		b.ReportMetric(release.Seconds()/float64(b.N), "s/release")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-held")
	})
	// The whole way of a million new keys, sized and not; one key a user, and ten.
	for _, c := range []struct {
		sized bool
		each  int
	}{{true, 1}, {true, 10}, {false, 10}} {
		b.Run(fmt.Sprintf("op=release/keys=1e6/sized=%v/each=%d", c.sized, c.each), func(b *testing.B) {
			const n = 1_000_000
			keys := make([]uint64, c.each)
			for b.Loop() {
				b.StopTimer()
				builder := must(groupby.New[uint64](p))
				b.StartTimer()
				if c.sized {
					builder.Grow(n)
				}
				for i := 0; i < n; i += c.each {
					for j := range keys {
						keys[j] = uint64(i+j) * 0x9e3779b97f4a7c15
					}
					builder.AddUser(keys)
				}
				fatal(b, dptest.Err(builder.Release()))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/key")
		})
	}
	for _, sized := range []bool{true, false} {
		b.Run(fmt.Sprintf("op=vector/keys=1e6/sized=%v", sized), func(b *testing.B) {
			const n = 1_000_000
			for b.Loop() {
				builder := must(threshold.New[uint64](threshold.Params{Epsilon: 1, Delta: 1e-6, Integers: true}))
				if sized {
					builder.Grow(n)
				}
				for i := range uint64(n) {
					builder.Add(i*0x9e3779b97f4a7c15, 1)
				}
				fatal(b, dptest.Err(builder.Release()))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/key")
		})
	}
}
