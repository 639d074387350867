package figures

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise"
)

// windows are the lengths of the windows that are asked for, in steps.
var windows = []int{1, 24, 168, 720}

const (
	seriesEpsilon = 1
	seriesDelta   = 1e-6
)

// traffic is a stream: the counts of each key in each step.
type traffic []map[int]int

// trafficOf makes a stream of Zipf keys, the same in every run. If it drifts, 3 of the first 300
// ranks get other keys in every step; if it is diurnal, there is up to nine times as much at noon
// as at midnight.
func trafficOf(e effort, drifts, diurnal bool) traffic {
	rng := generator(0)
	const keys = 50_000
	rank := rng.Perm(keys)
	zipf := rand.NewZipf(rng, 1.05, 1, keys-1)
	steps, each := 2048, 600
	if e.scale > 1 {
		steps, each = 760, 40
	}
	stream := make(traffic, steps)
	for t := range stream {
		if drifts {
			for range 3 {
				i, j := rng.IntN(300), rng.IntN(keys)
				rank[i], rank[j] = rank[j], rank[i]
			}
		}
		rate := float64(each)
		if diurnal {
			rate *= 1 + 0.8*math.Sin(2*math.Pi*float64(t)/24)
		}
		stream[t] = map[int]int{}
		for range int(rate) {
			stream[t][rank[zipf.Uint64()]]++
		}
	}
	return stream
}

// window returns the counts in steps from ≤ t < to.
func (s traffic) window(from, to int) map[int]int {
	sum := map[int]int{}
	for _, counts := range s[from:to] {
		for key, n := range counts {
			sum[key] += n
		}
	}
	return sum
}

// reader answers for a window that ends at some step; wanted are the true counts.
type reader func(from, to int, wanted map[int]int) (estimate func(key int) float64)

// bySeries reads the Slices of a Builder.
func bySeries(s traffic) reader {
	p := series.Params{Epsilon: seriesEpsilon, Delta: seriesDelta}
	builder := cli.Must(series.New[int](p))
	slicesOf := make([]*series.Slice[int], len(s))
	for t, counts := range s {
		for key, n := range counts {
			for range n {
				builder.Add(key)
			}
		}
		slicesOf[t] = cli.Must(builder.Step())
	}
	var timeline *series.Timeline[int]
	return func(from, to int, _ map[int]int) func(int) float64 {
		if timeline == nil || timeline.Len() > to { // a window is read when it ends
			timeline = cli.Must(series.NewTimeline[int](p))
		}
		for timeline.Len() < to {
			cli.OK(timeline.Append(slicesOf[timeline.Len()]))
		}
		return cli.Must(timeline.Window(from, to)).Estimate
	}
}

// byIndependent releases every window at every step, with Gaussian noise for all of them together:
// an element is in 913 releases, so its sensitivity is √913. Half of δ is for thresholds.
func byIndependent(traffic) reader {
	releases := 0
	for _, n := range windows {
		releases += n
	}
	sigma := cli.Must(noise.GaussianSigma(seriesEpsilon, seriesDelta/2, math.Sqrt(float64(releases))))
	law := cli.Must(noise.NewGaussian(sigma))
	threshold := 1 + law.Quantile(1-seriesDelta/2/float64(releases))
	var src noise.Source
	return func(_, _ int, wanted map[int]int) func(int) float64 {
		shown := map[int]float64{}
		for key, n := range wanted {
			if x := float64(n) + law.Sample(&src, 1); x >= threshold {
				shown[key] = x
			}
		}
		return func(key int) float64 { return shown[key] }
	}
}

// bySums adds up releases of steps, each at the whole ε and δ, as an element is in one of them:
// exact counts with discrete Laplace noise and the least threshold.
func bySums(s traffic) reader {
	law := cli.Must(noise.NewDiscreteLaplace(1. / seriesEpsilon))
	threshold := int64(1)
	for law.LogSurvival(float64(threshold)-2) > math.Log(seriesDelta) {
		threshold++
	}
	var src noise.Source
	released := make(traffic, len(s))
	for t, counts := range s {
		released[t] = map[int]int{}
		for key, n := range counts {
			if x, shown := law.SampleTail(&src, threshold-int64(n)); shown {
				released[t][key] = n + int(x)
			}
		}
	}
	return func(from, to int, _ map[int]int) func(int) float64 {
		sum := released.window(from, to)
		return func(key int) float64 { return float64(sum[key]) }
	}
}

// topErrors draws the error of the ten most frequent keys of a window against its length, and makes
// a table of it and of that of the hundred most frequent ones.
func topErrors(name string, drifts, diurnal bool) func(effort) *picture {
	return func(e effort) *picture {
		p := newPicture(name+": frequent keys of the last steps, ε = 1, δ = 1e-6", "steps of the window", "mean error of the top 10").log(true, true)
		p.table = []string{fmt.Sprintf("| %s, top 10 / 100 | 1 | 24 | 168 | 720 |", name), "|---|---|---|---|---|"}
		stream := trafficOf(e, drifts, diurnal)
		for _, way := range []struct {
			name string
			kind kind
			of   func(traffic) reader
		}{{"each window released at each step", theirs, byIndependent}, {"sums of the releases of steps", theirs, bySums}, {"series", ours, bySeries}} {
			read := way.of(stream)
			var points plotter.XYs
			row := "| " + way.name
			for _, length := range windows {
				ten, hundred := meanErrors(stream, read, length, e)
				points = append(points, plotter.XY{X: float64(length), Y: ten})
				row += fmt.Sprintf(" | %.3g / %.3g", ten, hundred)
			}
			p.table = append(p.table, row+" |")
			p.add(way.name, way.kind, points)
		}
		p.Legend.Left = true
		p.Y.Max *= 5 // room for the names
		return p
	}
}

// meanErrors returns the mean |estimate − truth| of the 10 and of the 100 most frequent keys, over
// windows that end at some twenty places.
func meanErrors(s traffic, read reader, length int, e effort) (ten, hundred float64) {
	places := 0
	begin := max(length, len(s)*3/5)
	for to := begin; to <= len(s); to += max((len(s)-begin)/20, 1)*min(e.scale, 8) | 1 {
		wanted := s.window(to-length, to)
		estimate := read(to-length, to, wanted)
		top := slices.SortedFunc(maps.Keys(wanted), func(a, b int) int { return cmp.Or(wanted[b]-wanted[a], a-b) })
		for i, key := range top[:min(100, len(top))] {
			miss := math.Abs(estimate(key) - float64(wanted[key]))
			hundred += miss / 100
			if i < 10 {
				ten += miss / 10
			}
		}
		places++
	}
	return ten / float64(places), hundred / float64(places)
}
