package distinct

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func frequencyBuilder(t testing.TB, p Params, most int) *FrequencyBuilder {
	return dptest.OK(NewFrequencyBuilder(p, most))(t)
}

// neighbours returns for each of two cells three keys that belong to it.
func neighbours() (keys [2][]uint64) {
	b, _ := NewFrequencyBuilder(tiny, 2)
	for key := uint64(0); len(keys[0]) < 3 || len(keys[1]) < 3; key++ {
		if cell := held(b.secret).cellOf(key); cell < 2 && len(keys[cell]) < 3 {
			keys[cell] = append(keys[cell], key)
		}
	}
	return keys
}

// cellOf returns the cell of a key.
func (s *frequencyState) cellOf(key uint64) uint64 {
	for i := range s.cells {
		s.cells[i] = 0
	}
	s.visitAll([]uint64{key})
	for i, x := range s.cells {
		if x != 0 {
			s.cells[i] = 0
			return uint64(i)
		}
	}
	return math.MaxUint64
}

// All streams of up to five elements over three keys, in one cell or in two: what a builder holds
// does not depend on the order, nor on how the elements are split over two builders. One key with
// all its occurrences moves one cell from one class to another. Where the key that came first stays
// in a cell, the order is seen.
func TestFrequenciesOfAllStreams(t *testing.T) {
	pool := neighbours()
	for _, keys := range [][]uint64{pool[0], {pool[0][0], pool[0][1], pool[1][0]}} {
		byCounts, first := map[string]numbers{}, map[string]string{}
		ordered := 0
		for length := range 6 {
			streams := 1
			for range length {
				streams *= 3
			}
			for stream := range streams {
				var counts [3]int
				var elements []uint64
				for i, x := 0, stream; i < length; i, x = i+1, x/3 {
					counts[x%3]++
					elements = append(elements, keys[x%3])
				}
				id := fmt.Sprint(counts)
				for split := range 1 << min(length, 3) {
					a, b := frequencyBuilder(t, tiny, 3), frequencyBuilder(t, tiny, 3)
					for i, key := range elements {
						if split>>i&1 != 0 {
							b.Add(key)
						} else {
							a.Add(key)
						}
					}
					require.NoError(t, a.Merge(b))
					n := held(a.secret).classes()
					if byCounts[id] == nil {
						byCounts[id] = n
					}
					require.Equal(t, byCounts[id], n, "%v", elements)
				}
				var kept string // by a rule that keeps the first key of a cell
				if length > 0 {
					at, times := elements[0], 0
					for _, key := range elements {
						if key == at {
							times++
						}
					}
					kept = fmt.Sprint(min(times, 3))
				}
				if was, seen := first[id]; seen && was != kept {
					ordered++
				}
				first[id] = kept
			}
		}
		require.Positive(t, ordered, "where the first key stays, the order is seen")
		moves := map[string]numbers{}
		for id, with := range byCounts {
			var c [3]int
			dptest.OK(fmt.Sscanf(id, "[%d %d %d]", &c[0], &c[1], &c[2]))(t)
			for i := range c {
				without := c
				without[i] = 0
				before := byCounts[fmt.Sprint(without)]
				by := make(numbers, len(with))
				for j := range by {
					by[j] = with[j] - before[j]
				}
				moves[fmt.Sprint(by)] = by
			}
		}
		require.EqualValues(t, 2, norm(moves))
		require.Greater(t, len(moves), 5)
		for _, by := range moves {
			sum := int64(0)
			for _, x := range by {
				sum += x
			}
			require.Zero(t, sum)
		}
	}
}

// The counts are those of a map, with duplicates, shards, merges and the cap.
func TestFrequenciesAreThoseOfAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	p := Params{Epsilon: 1, Cells: 40, Levels: 5, Seed: hashing.NewSeed()}
	all, times := frequencyBuilder(t, p, 5), map[uint64]int{}
	for range 30 {
		shard := frequencyBuilder(t, p, 5)
		for range 60 {
			key := rng.Uint64N(150)
			key *= key * key
			shard.Add(key)
			times[key]++
		}
		require.NoError(t, all.Merge(shard))
	}
	s := held(all.secret)
	type kept struct {
		f     uint64
		count int
	}
	cells := map[uint64]kept{}
	whole := builder(t, p)
	for key, count := range times {
		whole.Add(key)
		cell, f := mul(uint64(len(s.cells)), s.place.word(key))
		if old, ok := cells[cell]; !ok || f>>8 > old.f {
			cells[cell] = kept{f >> 8, min(count, 5)}
		}
	}
	want := make(numbers, 6)
	want[0] = int64(len(s.cells) - len(cells))
	for _, k := range cells {
		want[k.count]++
	}
	require.Equal(t, want, s.classes())
	require.Equal(t, ones(held(whole.secret).table), ones(s.table))
}

// mul returns the product as ⌊a·b/2⁶⁴⌋ and the rest.
func mul(a, b uint64) (hi, lo uint64) {
	mid := (a>>32)*(b&(1<<32-1)) + (a & (1<<32 - 1) * (b & (1<<32 - 1)) >> 32)
	carry := (a & (1<<32 - 1)) * (b >> 32)
	hi = (a>>32)*(b>>32) + mid>>32 + carry>>32 + (mid&(1<<32-1)+carry&(1<<32-1))>>32
	return hi, a * b
}

// The numbers of cells have noise for half of ε, and so has the number of ones. False-reject
// probability 4e-10.
func TestFrequenciesHaveTheLaw(t *testing.T) {
	half, _, err := tiny.frequencies()
	require.NoError(t, err)
	var users []float64
	noisy(t, half, func() numbers {
		f := dptest.OK(frequencyBuilder(t, tiny, 9).Release())(t)
		f.numbers[0] -= 3 * 16
		users = append(users, float64(f.numbers[10]))
		return f.numbers[:10]
	})
	l := dptest.OK(half.laws())(t)
	v := l.count.Variance()
	dptest.Moments(t, "the number of ones", users, 0, v, 6*v*v, 1e-10)
	parts := dptest.OK(budget.Compose(budget.PureDP(0.5, unit), budget.PureDP(0.25, unit).Times(2)))(t)
	require.True(t, tiny.frequencyGuarantee().Equal(budget.PureDP(1, unit).WithPair(parts)))
	require.GreaterOrEqual(t, l.count.Scale(), 2.0)
}

// sharesOf returns a released object for users of whom the fractions .5, .2, .1, .05, .15 come 1,
// 2, 3, 4 and 5 to 9 times.
func sharesOf(t testing.TB, p Params, rng *rand.Rand, users int) *Frequencies {
	p.Seed = hashing.NewSeed()
	b := frequencyBuilder(t, p, 5)
	start := rng.Uint64()
	for i := range users {
		times := 5 + rng.IntN(5)
		switch at := float64(i) / float64(users); {
		case at < 0.5:
			times = 1
		case at < 0.7:
			times = 2
		case at < 0.8:
			times = 3
		case at < 0.85:
			times = 4
		}
		for range times {
			b.Add(start + uint64(i))
		}
	}
	return dptest.OK(b.Release())(t)
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

var trueShares = []float64{0.5, 0.2, 0.1, 0.05, 0.15}

// Shares are within their intervals, at few users too, and have the error of a sample. With 300
// runs a coverage of .94 is seen below .8 with a probability below 1e-15, and the mean square of
// near normal numbers above twice what it should be with one below 1e-20.
func TestSharesAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	const runs = 300
	for _, c := range []struct {
		epsilon float64
		users   int
	}{{2, 600}, {0.1, 40}} {
		p := Params{Epsilon: c.epsilon, Cells: 128, Levels: 8}
		var covered, atLeast, squares [5]float64
		for range runs {
			f := sharesOf(t, p, rng, c.users)
			r, ok := f.ratio(1, 1)
			require.True(t, ok)
			for i, truth := range trueShares {
				lo, hi := f.ShareInterval(i+1, 0.95)
				require.True(t, 0 <= lo && lo <= hi && hi <= 1)
				if lo <= truth && truth <= hi {
					covered[i]++
				}
				from, to := f.AtLeastInterval(i+1, 0.95)
				if all := trueShares[i:]; from <= sumOf(all)+1e-9 && sumOf(all)-1e-9 <= to {
					atLeast[i]++
				}
				if c.epsilon == 2 {
					e := f.Share(i+1) - truth
					sd := math.Sqrt((truth*(1-truth)*r.kept*(1-r.kept/600) + r.noise*(5*(1+truth*truth)-2*truth)/6)) / r.kept
					squares[i] += e * e / (sd * sd)
				}
			}
		}
		for i := range trueShares {
			dptest.Alarm(t, 1e-11)
			require.Greater(t, covered[i]/runs, 0.8, "%v, %d", c, i)
			require.Greater(t, atLeast[i]/runs, 0.8, "%v, %d", c, i)
			if c.epsilon == 2 {
				require.InDelta(t, 1, squares[i]/runs, 0.9, "%v, %d", c, i)
			}
		}
	}
}

// simulatedFrequencies is a release for users of whom the given fractions come 1, 2, … times.
func simulatedFrequencies(t testing.TB, p Params, rng *rand.Rand, users int, shares []float64) *Frequencies {
	half, law, err := p.frequencies()
	require.NoError(t, err)
	n, full := make(numbers, len(shares)+2), map[int]bool{}
	for range users {
		full[rng.IntN(cellsEach*p.Cells)] = true
	}
	n[0] = int64(cellsEach*p.Cells - len(full))
	for range full {
		times, u := 1, rng.Float64()
		for ; times < len(shares) && u >= shares[times-1]; times++ {
			u -= shares[times-1]
		}
		n[times]++
	}
	for i := range n[:len(shares)+1] {
		n[i] += int64(law.Quantile(rng.Float64()))
	}
	c := newCurve(half)
	ones, _, _, _ := c.at(float64(users))
	n[len(shares)+1] = int64(ones)
	return &Frequencies{release{p, n}, len(shares)}
}

// nearestShares is what was released before: the nearest numbers that are at least 0 and 1 in all,
// which lowers all by the same.
func nearestShares(x []float64) []float64 {
	return nearestOfSum(x, slices.Repeat([]float64{1}, len(x)), 1)
}

// Of 30 classes of which noise hides most, errors of the mean frequency, of AtLeast and of the
// shares are no larger than those of the nearest shares, up to .04, and .11 where shares rise and
// are near the noise; on average they are a sixth smaller, and so is the bias for loads of few
// times. Where classes are taken to be alike whatever the numbers say, errors are up to 1.5 times
// as large. Intervals cover. All random numbers are the same in every run.
func TestMeanFrequency(t *testing.T) {
	rng := rand.New(rand.NewPCG(67, 68))
	const most = 30
	runs := 20.0
	if dptest.Long() {
		runs = 300
	}
	loads := map[string]func(times float64) float64{
		"one to four": func(times float64) float64 { return max(0, min(1, 5-times)) },
		"once":        func(times float64) float64 { return max(0, 2-times) },
		"geometric":   func(times float64) float64 { return math.Pow(0.5, times) },
		"Zipf":        func(times float64) float64 { return math.Pow(times, -2) },
		"equal":       func(times float64) float64 { return 1 },
		"ends":        func(times float64) float64 { return max(2-times, times-most+1, 0) },
		"middle":      func(times float64) float64 { return max(0, 1-math.Abs(times-most/2)) },
		"bell":        func(times float64) float64 { return math.Exp(-(times - most/2) * (times - most/2) / 18) },
		"rising":      func(times float64) float64 { return times },
		"odd":         func(times float64) float64 { return math.Mod(times, 2) },
	}
	p := Params{Epsilon: 0.1, Cells: 1024, Levels: 8, Seed: hashing.Seed{1}}.normal()
	for _, users := range []int{300, 1000, 3000} {
		var average [3]float64
		asked, covered := 0.0, 0.0
		for _, name := range slices.Sorted(maps.Keys(loads)) {
			truth, mean := make([]float64, most), 0.0
			for i := range truth {
				truth[i] = loads[name](float64(i + 1))
			}
			scale(truth)
			for i, x := range truth {
				mean += float64(i+1) * x
			}
			var squares [2][3]float64
			var bias [2]float64
			for range int(runs) {
				f := simulatedFrequencies(t, p, rng, users, truth)
				now := f.shares()
				if now == nil {
					continue
				}
				r, _ := f.ratio(1, 1)
				raw := make([]float64, most)
				for i := range raw {
					raw[i] = (float64(f.numbers[i+1]-f.numbers[1]) + r.held) / r.kept
				}
				for which, shares := range [][]float64{nearestShares(raw), now} {
					tail, off := 0.0, -mean
					for i := most - 1; i >= 0; i-- {
						e := shares[i] - truth[i]
						tail, off = tail+e, off+float64(i+1)*shares[i]
						squares[which][1] += tail * tail
						squares[which][2] += e * e
					}
					bias[which] += off
					squares[which][0] += off * off
				}
				from := 1 + rng.IntN(most)
				for _, to := range []int{from, most} {
					lo, hi := f.interval(now, from, to, 0.95)
					share, all := f.share(now, from, to), sumOf(truth[from-1:to])
					require.True(t, lo <= share && share <= hi)
					if asked++; lo-1e-9 <= all && all <= hi+1e-9 {
						covered++
					}
				}
			}
			t.Logf("%d, %-11s mean frequency %.2f: bias %+.2f, was %+.2f", users, name, mean, bias[1]/runs, bias[0]/runs)
			for i := range average {
				ratio := math.Sqrt(squares[1][i] / squares[0][i])
				average[i] += ratio / float64(len(loads))
				t.Logf("    %.2f of the rms %.3f", ratio, math.Sqrt(squares[0][i]/runs))
				limit := 1.05 + 0.25/math.Sqrt(runs)
				if name == "rising" {
					limit += 0.06
				}
				require.Less(t, ratio, limit)
			}
			if mean < 3 && users >= 1000 {
				require.Less(t, bias[1], 0.85*bias[0])
			}
		}
		require.Greater(t, covered/asked, 0.93)
		t.Logf("%d: on average %.2f", users, average)
		require.Less(t, slices.Max(average[:]), map[int]float64{300: 1, 1000: 0.91, 3000: 0.91}[users])
	}
}

// The means are those over all sequences of states, with densities that are integrated in steps, at
// the tilt at which they sum to 1, and so is the density of x. Shares are a mean of these and of
// the nearest by the odds of the two priors, times e⁻⁶.
func TestPosteriorShares(t *testing.T) {
	const sigma, k, step, states = 0.4, 4, 4e-3, len(shareStates{})
	const rest, walk = 0.65 / 5, 0.15
	prior := shareStates{0.35, rest, rest, rest, rest, rest}
	for _, x := range [][]float64{{0.9, -0.2, 0.3, 0.1}, {0.1, 0.2, 0.7, -0.2}, {1.5, 0.3, -0.8, 0.3}, {-0.1, 1.6, 1.5, -2}} {
		odds := [2]float64{}
		var means []float64
		for which, change := range []float64{1, 0.1} {
			shares, density := meanShares(x, sigma, change)
			require.InDelta(t, 1, sumOf(shares), 1e-12)
			at := func(tilt float64) (got [k]float64, all float64) {
				var density, moment [k]shareStates
				for i, v := range x {
					density[i][0] = math.Exp(-v * v / (2 * sigma * sigma))
					for j := range states - 1 {
						mean := math.Pow(sigma/2, float64(j)/float64(states-2))
						for y := step / 2; y < 6; y += step {
							d := step / mean * math.Exp(tilt*y-y/mean-(v-y)*(v-y)/(2*sigma*sigma))
							density[i][j+1], moment[i][j+1] = density[i][j+1]+d, moment[i][j+1]+y*d
						}
					}
				}
				var path [k]int
				for code := range states * states * states * states {
					for i, x := 0, code; i < k; i, x = i+1, x/states {
						path[i] = x % states
					}
					stays := 0.0 // the probability of the third state without a change
					switch from, to := path[1], path[2]; {
					case from == to && (from == 0):
						stays = 1
					case from == to && (from == 1 || from == states-1):
						stays = 1 - walk
					case from == to:
						stays = 1 - 2*walk
					case from*to > 0 && (from-to == 1 || to-from == 1):
						stays = walk
					}
					p := prior[path[0]] * prior[path[1]] * prior[path[3]] * (change*prior[path[2]] + (1-change)*stays)
					for i, state := range path {
						p *= density[i][state]
					}
					all += p
					for i, state := range path {
						got[i] += p * moment[i][state] / density[i][state]
					}
				}
				for i := range got {
					got[i] /= all
				}
				return got, all * math.Exp(-tilt)
			}
			lo, hi := -20.0, 20.0
			for range 25 {
				mid := (lo + hi) / 2
				if got, _ := at(mid); sumOf(got[:]) > 1 {
					hi = mid
				} else {
					lo = mid
				}
			}
			want, all := at(hi)
			for i := range want {
				require.InDelta(t, want[i], shares[i], 1e-4, "%v", x)
			}
			odds[which], means = all, shares
			for _, v := range x { // relative to that of shares of 0
				all /= math.Exp(-v * v / (2 * sigma * sigma))
			}
			require.InEpsilon(t, all, math.Exp(density), 1e-3)
		}
		weight := odds[1] / (odds[1] + math.Exp(6)*odds[0])
		for i, share := range posteriorShares(x, sigma) {
			require.InDelta(t, weight*means[i]+(1-weight)*nearestShares(x)[i], share, 1e-4)
		}
	}
}

// Nothing is divided by a number of cells that is noise, and classes that are not there are NaN.
func TestSharesAtTheEnds(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 64, Levels: 3, Seed: hashing.Seed{1}}.normal()
	for _, n := range []numbers{{192, 0, 0, 0}, {300, -50, -30, 4}, {0, 100, 92, 160}, {-9e5, 8e5, 1e5, 100}, {192, 500, -500, 3}, {maxOnes, -maxOnes, 0, maxOnes}} {
		f := &Frequencies{release{p, n}, 2}
		for times := 1; times <= 2; times++ {
			for _, confidence := range []float64{0, 0.5, 0.95, 1 - 0x1p-53} {
				for _, c := range []struct {
					of    func(int, float64) (lo, hi float64)
					share float64
				}{{f.ShareInterval, f.Share(times)}, {f.AtLeastInterval, f.AtLeast(times)}} {
					lo, hi := c.of(times, confidence)
					require.True(t, 0 <= lo && lo <= hi && hi <= 1, "%v at %v: [%v, %v]", n, confidence, lo, hi)
					require.True(t, math.IsNaN(c.share) || lo-1e-9 <= c.share && c.share <= hi+1e-9, "%v: %v in [%v, %v]", n, c.share, lo, hi)
				}
			}
		}
		for _, times := range []int{-1, 0, 3} {
			lo, hi := f.ShareInterval(times, 0.9)
			require.True(t, math.IsNaN(f.Share(times)) && math.IsNaN(f.AtLeast(times)) && math.IsNaN(lo) && math.IsNaN(hi))
		}
	}
	empty := &Frequencies{release{p, numbers{186, 5, 1, 0}}, 2}
	lo, hi := empty.ShareInterval(1, 0.95)
	require.True(t, math.IsNaN(empty.Share(1)) && lo == 0 && hi == 1, "[%v, %v]", lo, hi)
	var zero Frequencies
	require.True(t, math.IsNaN(zero.Share(1)) && math.IsNaN(empty.AtLeast(2)) && math.IsNaN(zero.Users().Estimate()) && !zero.Guarantee().Promises())
}

func TestFrequencyBuilder(t *testing.T) {
	p := small
	p.CountShare = 0
	other := p
	other.Cells++
	fresh := func() *FrequencyBuilder {
		b := frequencyBuilder(t, p, 5)
		b.Add(1, 2, 2)
		return b
	}
	dptest.Builder(t, fresh, func(b *FrequencyBuilder) { b.Add(5); b.Add(6, 7); AddKey(b, "key") }, frequencyBuilder(t, other, 5))
	for _, most := range []int{-1, 0, 1, 256} {
		require.ErrorIs(t, dptest.Err(NewFrequencyBuilder(p, most)), ErrParams)
	}
	b := fresh()
	require.ErrorIs(t, b.Merge(frequencyBuilder(t, p, 4)), ErrParams)
	require.Equal(t, p.normal().frequencyGuarantee(), b.Guarantee())
	again := frequencyBuilder(t, p, 5)
	dptest.Restores(t, b, again, func() { again.Add(1, 2, 3) }, frequencyBuilder(t, p, 6), builder(t, p))
	require.Equal(t, held(b.secret).cells, held(again.secret).cells)
	held(b.secret).cells[0] = 9_876_543_210_987
	dptest.Redacted(t, b, "9876543210987")
	f := dptest.OK(fresh().Release())(t)
	require.Equal(t, 5, f.Most())
	dptest.Readers(t, f)
}
