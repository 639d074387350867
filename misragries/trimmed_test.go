package misragries

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// servers are the sketches of streams on several servers.
type servers struct {
	params      Params
	calibration calibration
	sketches    []*sketch.Sketch[int]
	truth       map[int]float64
	decrements  float64
}

// serve counts n elements of each server, Zipf keys or those of the function.
func serve(t *testing.T, p Params, sizes []int, key func(i int) int) servers {
	t.Helper()
	p, c, err := p.check(summed)
	require.NoError(t, err)
	s := servers{params: p, calibration: c, truth: map[int]float64{}}
	i := 0
	for _, n := range sizes {
		one := sketch.New[int](p.Counters)
		for range n {
			one.Add(key(i))
			s.truth[key(i)]++
			i++
		}
		s.sketches = append(s.sketches, one)
		s.decrements += float64(one.Decrements())
	}
	return s
}

// release returns a release of the sum, and the units and W before the noise of the keys.
func (s servers) release(src *noise.Source) (h *Histogram[int], units map[int]int64, w int64) {
	units = map[int]int64{}
	for _, one := range s.sketches {
		held := prepare(src, s.calibration, s.params.Counters, one)
		for _, c := range held.counters {
			units[c.Key] += c.Count
		}
		w += held.lost
	}
	var all []counter[int]
	for key, count := range units {
		all = append(all, counter[int]{Key: key, Count: count})
	}
	sketch.Sort(all)
	return release(src, s.params, s.calibration, len(s.sketches), contents[int]{counters: all, lost: w}), units, w
}

// top returns the n most frequent keys.
func (s servers) top(n int) []int {
	keys := make([]int, 0, len(s.truth))
	for key := range s.truth {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b int) int {
		if s.truth[a] != s.truth[b] {
			return int(s.truth[b] - s.truth[a])
		}
		return a - b
	})
	return keys[:min(n, len(keys))]
}

// zipfOf returns Zipf keys of exponent 1.1 by their places in a stream.
func zipfOf(n int) func(i int) int {
	keys := dptest.ZipfKeys(n, 1<<20)
	return func(i int) int { return int(keys[i%n]) }
}

// In v + W the private shifts cancel: what it is off by, of a key that all 32 sketches store, is
// the own noise of one.
func TestUpperEndOfASumHasOneNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	p := Params{Counters: 64, Epsilon: 1, Delta: 1e-6}
	s := serve(t, p, slices.Repeat([]int{2000}, 32), func(i int) int {
		if i%3 == 0 {
			return 0
		}
		return 1 + rng.IntN(5000)*(i&1+1)
	})
	held := 0.0
	for _, one := range s.sketches {
		for _, c := range one.Positive() {
			if c.Key == 0 {
				held += float64(c.Count)
			}
		}
	}
	d := s.calibration.noise()
	fourth := 0.0
	for x := 1.0; x < 60*d.Scale(); x++ {
		fourth += 2 * x * x * x * x * d.Prob(x)
	}
	var src noise.Source
	var off []float64
	for range dptest.Full(8000, 1200) {
		h, _, w := s.release(&src)
		off = append(off, h.Lower(0)*s.calibration.per+float64(w)-(held+s.decrements)*s.calibration.per)
	}
	dptest.Moments(t, "v + W", off, 0, d.Variance(), fourth, 1e-10)
}

// awkward are streams of n elements, by the places of the elements, which servers share out in
// pieces: what is hard for sketches, for intervals, or for what is added up.
func awkward(n, k int) map[string]func(i int) int {
	rng := rand.New(rand.NewPCG(81, 82))
	shuffled, zipf := rng.Perm(n), zipfOf(n)
	return map[string]func(i int) int{
		"Zipf":                zipf,
		"Zipf, sorted":        func(i int) int { return min(n/(i+1), 500) },
		"as many as counters": func(i int) int { return shuffled[i] % k },
		"k + 1 in turn":       func(i int) int { return i % (k + 1) },
		"blocks":              func(i int) int { return i / 50 }, // most on one server each
		"few":                 func(i int) int { return shuffled[i] % 3 },
		"heavy, then rare": func(i int) int {
			if i < n/4 {
				return i % (k / 2)
			}
			return i
		},
		"rare, then heavy": func(i int) int {
			if i < n*3/4 {
				return i + k
			}
			return i % (k / 2)
		},
	}
}

// Intervals at 95 % hold on eight awkward streams: for each of the ten most frequent keys and for
// one of all that are there, drawn anew for each release. Servers have as many elements each, or
// sizes as 1, ½, ⅓, …. And r ≤ j·c, r + W ≥ j·(c + D) in every draw, also where δ is so large that
// shifts are cut off at 0 now and then.
func TestCoverageOfTrimmedSums(t *testing.T) {
	const length, k = 16_000, 64
	n := dptest.Full(500, 40)
	if dptest.Deep() {
		n = 20_000
	}
	for name, key := range awkward(length, k) {
		for _, m := range []int{1, 2, 8, 64} {
			if !dptest.Long() && m != 8 {
				continue
			}
			delta, sizes := 1e-6, slices.Repeat([]int{length / m}, m)
			if name == "Zipf" && m == 8 {
				delta = 0.1
			}
			if name == "heavy, then rare" {
				total := 0.0
				for i := range sizes {
					total += 1 / float64(i+1)
				}
				for i := range sizes {
					sizes[i] = int(length / total / float64(i+1))
				}
			}
			p := Params{Counters: k, Epsilon: 1, Delta: delta, Method: TrimmedSum}
			s := serve(t, p, sizes, key)
			held := map[int]float64{}
			for _, one := range s.sketches {
				for _, c := range one.Positive() {
					held[c.Key] += float64(c.Count)
				}
			}
			all := s.top(length)
			counts := make([]float64, len(all)) // falling
			for i, key := range all {
				counts[i] = s.truth[key]
			}
			var src noise.Source
			rng := rand.New(rand.NewPCG(83, uint64(m)))
			ps, off, covered := promises{}, 0.0, 0.0
			name := fmt.Sprintf("%s, M = %d", name, m)
			for range n {
				h, units, w := s.release(&src)
				holds := func(key int) bool {
					lo, hi := h.Interval(key, 0.95)
					return lo <= s.truth[key] && s.truth[key] <= hi
				}
				for _, key := range all[:min(10, len(all))] {
					ps.note(fmt.Sprintf("%s, key %d", name, key), holds(key))
					off += math.Abs(h.Estimate(key) - s.truth[key])
					if r := float64(units[key]); r+float64(w) < s.calibration.per*(held[key]+s.decrements) || r > s.calibration.per*held[key] {
						t.Fatalf("%s, key %d: %v units, W = %d", name, key, r, w)
					}
				}
				ps.note(name+", any key", holds(all[rng.IntN(len(all))]))
				_, most := h.Interval(-1, 0.95) // of all that are hidden
				above, _ := slices.BinarySearchFunc(counts, most, func(f, most float64) int { return cmp.Compare(most, f) })
				hold := len(all) - above
				for key := range h.All() {
					if s.truth[key] <= most {
						hold--
					}
					if holds(key) {
						hold++
					}
				}
				covered += float64(hold) / float64(len(all))
			}
			t.Logf("%s: %d keys, %.4f covered; the error of the top ten is %.1f, D = %v", name, len(all), covered/float64(n), off/float64(n*min(10, len(all))), s.decrements)
			ps.kept(t, 0.95)
		}
	}
}

// Hidden95 has the noise of the private shifts of all servers: at 95 % Laplace noise reaches 1.63
// standard deviations, a sum of many 1.65. Where the j smallest counters are unused nothing else is
// lost, so a key of that count is shown.
func TestHidden95HasAllShifts(t *testing.T) {
	const m = 128
	p, c, err := Params{Counters: 64, Epsilon: 1, Delta: 1e-6}.check(summed)
	require.NoError(t, err)
	row := p.row(c, m)
	deviation := math.Sqrt(c.noise().Variance()+m*discreteLaplace(c.Shift).Variance()) / c.per
	require.InEpsilon(t, 1.64, (row.Hidden95-row.Threshold-row.Bias)/deviation, 0.03)

	var sizes []int
	for i := range m {
		sizes = append(sizes, (int(math.Ceil(row.Hidden95))+i)/m)
	}
	s := serve(t, p, sizes, func(int) int { return 7 })
	var src noise.Source
	const n, least = 4000, 0.92
	shown := 0
	for range n {
		h, _, _ := s.release(&src)
		shown += h.Len()
	}
	// Chernoff, as in TestCoverage.
	dptest.Alarm(t, math.Exp(-n*(least*math.Log(least/0.95)+(1-least)*math.Log((1-least)/0.05))))
	require.GreaterOrEqual(t, float64(shown), least*n)
}

// A sum of servers of very different sizes is read by the mean of what the sketches lost: that is
// no worse than the upper end, where the key is in the same share on each.
func TestEvenSpreadOfUnequalServers(t *testing.T) {
	var sizes []int
	for i := range 20 {
		sizes = append(sizes, 100_000/(i+1))
	}
	p := Params{Counters: 256, Epsilon: 1, Delta: 1e-6}
	s := serve(t, p, sizes, zipfOf(360_000))
	var src noise.Source
	even, upper := 0.0, 0.0
	for range 5 {
		h, _, _ := s.release(&src)
		for _, key := range s.top(60) {
			if v, found := h.find(key); found {
				even += math.Abs(h.Estimate(key) - s.truth[key])
				upper += math.Abs(v + h.calibration.counts(h.lost) - s.truth[key])
			}
		}
	}
	t.Logf("even spread %.0f, upper end %.0f", even, upper)
	require.LessOrEqual(t, even, upper)
}

// Units below R count as R with the probability of the kernel, else as nothing; others stay. Then
// they have noise, and those at the threshold are shown: the law of each value among many.
func TestUnitsFollowTheKernel(t *testing.T) {
	for _, m := range []Method{TrimmedSum, ReducedSum} {
		_, c, err := Params{Counters: 3, Epsilon: 1, Delta: 0.1, Method: m}.check(summed)
		require.NoError(t, err)
		require.Greater(t, c.From, int64(8))
		const each, cells = 4000, 30
		values := []int64{1, c.From / 2, c.From - 1, c.From, c.From + 3, c.Threshold + 2}
		var units []counter[int]
		for i := range each * len(values) {
			units = append(units, counter[int]{Key: i, Count: values[i%len(values)]})
		}
		counts := make([][]int64, len(values))
		for i := range counts {
			counts[i] = slices.Repeat([]int64{0}, cells+1)
			counts[i][0] = each
		}
		released := releaseRounded(new(noise.Source), c, units)
		require.True(t, slices.IsSortedFunc(released, func(a, b counter[int]) int { return a.Key - b.Key }))
		for _, one := range released {
			row := counts[one.Key%len(values)]
			row[0]--
			row[min(one.Count-c.Threshold+1, cells)]++
		}
		d := c.noise()
		for i, v := range values {
			base, weight := c.base(v)
			masses := []float64{1 - weight*d.Survival(float64(c.Threshold-base)-0.5)}
			for x := range int64(cells) - 1 {
				masses = append(masses, weight*d.Prob(float64(c.Threshold+x-base)))
			}
			dptest.ChiSquare(t, fmt.Sprintf("%v, %d units", m, v), counts[i], masses, 1e-10)
		}
	}
}

// W of a sketch without decrements is max(0, A + N + o), A = 0 of unused counters, and j·T where
// all are far above the cap: both have the noise that the proof needs.
func TestShiftsHaveNoise(t *testing.T) {
	p := Params{Counters: 1, Epsilon: 0.7, Delta: 0.01, Method: TrimmedSum}
	_, c, err := p.check(summed)
	require.NoError(t, err)
	shift, most := discreteLaplace(c.Shift), discreteLaplace(c.CapScale)
	full := sketch.Given(1, map[int]int64{7: 1 << 40}, 0)
	const reach = 80
	for name, s := range map[string]*sketch.Sketch[int]{"N": sketch.New[int](1), "N + T": full} {
		counts, masses := make([]int64, reach+1), make([]float64, reach)
		var src noise.Source
		for range 5000 {
			counts[min(prepare(&src, c, 1, s).lost, reach)]++
		}
		for x := -20 * float64(reach); x <= 20*reach; x++ { // of T
			p, at := most.Prob(x), x+float64(c.Cap+c.Offset)
			if s != full {
				p, at = 1, float64(c.Offset)
			}
			masses[0] += p * shift.CDF(-at)
			for w := 1.0; w < reach; w++ {
				masses[int(w)] += p * shift.Prob(w-at)
			}
			if s != full {
				break
			}
		}
		dptest.ChiSquare(t, name, counts, masses, 1e-10)
	}
}
