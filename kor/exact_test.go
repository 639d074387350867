package kor

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// domain is a small key space with weights.
var domain = []struct {
	key    uint64
	weight float64
}{{1, 1}, {2, 0.5}, {3, 1}, {1 << 40, 0.3}, {5, 1e-3}, {math.MaxUint64, 0.75}}

// table sketches the keys whose bits are set, without noise.
func sketched(t *testing.T, p Params, set uint) []uint64 {
	b := dptest.OK(New(p))(t)
	for i, k := range domain {
		if set>>i&1 != 0 {
			b.ToggleWeighted(k.key, k.weight)
		}
	}
	return held(b.secret).table
}

// outputs returns the law of the released table: every flip pattern of its cells, with probability
// q of a flip.
func outputs(p Params, table []uint64, q float64) map[string]float64 {
	cells := p.Cells * p.Levels
	law := map[string]float64{}
	for flips := range 1 << cells {
		out := make([]byte, p.Levels) // of at most 8 cells a level
		for i := range out {
			out[i] = byte(table[i]) ^ byte(flips>>(i*p.Cells)&(1<<p.Cells-1))
		}
		ones := bits.OnesCount(uint(flips))
		law[string(out)] += math.Pow(q, float64(ones)) * math.Pow(1-q, float64(cells-ones))
	}
	return law
}

// Every output, every pair of sets that differ in one key: within e^ε. With p lowered by 1e-3 some
// pair is not.
//
// The masses have a relative error of 1e-15 or so, and there are at most 2⁸ of them.
func TestExactPrivacy(t *testing.T) {
	for _, shape := range []struct{ cells, levels int }{{1, 1}, {2, 3}, {4, 2}, {3, 2}, {1, 6}} {
		for _, epsilon := range []float64{0.1, 1, 3} {
			moved := 0
			for seed := range 2 {
				p := Params{Epsilon: epsilon, Cells: shape.cells, Levels: shape.levels, Seed: hashing.Seed{byte(seed + 1)}}
				for set := range uint(1 << len(domain)) {
					for i := range domain {
						if set>>i&1 != 0 {
							continue
						}
						a, b := sketched(t, p, set), sketched(t, p, set|1<<i)
						if fmt.Sprint(a) == fmt.Sprint(b) {
							continue
						}
						moved++
						if set > 7 { // the laws of larger sets are shifts of these
							require.Equal(t, 1, distance(a, b))
							continue
						}
						q := planned(p).FlipProb
						dptest.ApproxDP(t, "release", outputs(p, a, q), outputs(p, b, q), epsilon, 0, 1e-13)
						low := dptest.HockeyStick(outputs(p, a, q-1e-3), outputs(p, b, q-1e-3), epsilon)
						require.Greater(t, low, 1e-4, "p lowered by 1e-3 must not be private: %+v", p)
					}
				}
			}
			require.Positive(t, moved)
		}
	}
}

func distance(a, b []uint64) (ones int) {
	for i := range a {
		ones += bits.OnesCount64(a[i] ^ b[i])
	}
	return ones
}

func mustFlips(t *testing.T, p Params) noise.Bernoulli {
	return dptest.OK(p.flips())(t)
}

// streamLawOf returns the law of a released table of a stream: every pattern of coins, then every
// flip.
func streamLawOf(t *testing.T, p Params, stream []uint64, q float64) map[string]float64 {
	cells := held(streamBuilder(t, p, stream...).secret).table
	patterns := 1 << (p.Cells * p.Levels)
	total := map[string]float64{}
	for pattern := range patterns {
		table, coins := append([]uint64(nil), cells...), uint64(pattern)
		tossCoins(table, func() uint64 {
			word := coins
			coins >>= p.Cells
			return word
		})
		for out, mass := range outputs(p, table, q) {
			total[out] += mass / float64(patterns)
		}
	}
	return total
}

// The sketch of a stream protects a key with all its occurrences, exactly at ε; an occurrence of a
// key that has others is not visible at all. With p lowered by 1e-3 the first fails.
func TestExactStreamPrivacy(t *testing.T) {
	for _, epsilon := range []float64{0.2, 1, 3} {
		exposed := false
		for seed := range 2 {
			p := Params{Epsilon: epsilon, Cells: 2, Levels: 3, Seed: hashing.Seed{byte(seed + 1)}}
			law := dptest.OK(p.streamFlips())(t)
			q := law.Prob()
			for _, base := range [][]uint64{nil, {1}, {1, 2}, {2, 2, 3}} {
				for times := 1; times <= 3; times += 2 {
					with := append([]uint64(nil), base...)
					for range times {
						with = append(with, 9)
					}
					dptest.ApproxDP(t, "a key", streamLawOf(t, p, base, q), streamLawOf(t, p, with, q), epsilon, 0, 1e-13)
					lowered := dptest.HockeyStick(streamLawOf(t, p, with, q-1e-3), streamLawOf(t, p, base, q-1e-3), epsilon)
					exposed = exposed || lowered > 1e-4
					once := append(append([]uint64(nil), base...), 9)
					dptest.ApproxDP(t, "an occurrence", streamLawOf(t, p, once, q), streamLawOf(t, p, with, q), 0, 0, 1e-13)
				}
			}
		}
		require.True(t, exposed, "p lowered by 1e-3 must not be private")
	}
}

// One private state that is released twice costs exactly 2ε: the state is a function of the stream,
// and coins and flips are those of each release. So the joint law of two releases is the product of
// their laws, and its largest loss is 2ε, of two ones in the cell of the key. If the releases had
// their coins in common, as they had them when the state held coins, it would be
// ln(½(1+(2e^ε−1)²)).
func TestStreamStateReleasedTwiceCostsTwice(t *testing.T) {
	state := func(b *StreamBuilder) []byte {
		return dptest.OK(b.AppendPrivateState(nil))(t)
	}
	a := streamBuilder(t, small, 1, 2, 2, 3)
	b := streamBuilder(t, small, 3, 2, 1, 1, 1)
	held(b.secret).origin = held(a.secret).origin
	require.Equal(t, state(a), state(b), "the set of the keys is all there is")

	for _, epsilon := range []float64{0.2, 1, 3} {
		p := Params{Epsilon: epsilon, Cells: 1, Levels: 1, Seed: seedOfLevelZero(t)}
		law := dptest.OK(p.streamFlips())(t)
		twice := func(single map[string]float64) map[string]float64 {
			joint := map[string]float64{}
			for x, px := range single {
				for y, py := range single {
					joint[x+y] += px * py
				}
			}
			return joint
		}
		without, with := twice(streamLawOf(t, p, nil, law.Prob())), twice(streamLawOf(t, p, []uint64{1}, law.Prob()))
		dptest.ApproxDP(t, "two releases", without, with, 2*epsilon, 0, 1e-13)
		require.Greater(t, dptest.HockeyStick(with, without, 2*epsilon-1e-3), 0.0, "2ε is attained")
		common := map[string]float64{} // the coin of the key tossed once, for both
		for _, table := range [][]uint64{{0}, {1}} {
			for out, mass := range twice(outputs(p, table, law.Prob())) {
				common[out] += mass / 2
			}
		}
		loss := math.Log((1 + math.Pow(2*math.Exp(epsilon)-1, 2)) / 2)
		require.Greater(t, loss, 2*epsilon)
		require.Greater(t, dptest.HockeyStick(common, without, loss-1e-9), 0.0)
		dptest.ApproxDP(t, "with common coins", without, common, loss, 0, 1e-12)
	}
}

// The released count is private with the ε that is left to it, and both parts sum to no more than
// ε.
func TestCountBudget(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 3, 40} {
		for _, share := range []float64{1e-6, 0.01, 0.3, 0.999} {
			p := Params{Epsilon: epsilon, Cells: 10, Levels: 2, Seed: hashing.Seed{1}, CountShare: share}
			require.NoError(t, p.validate())
			left, count := p.split()
			require.LessOrEqual(t, left+count, epsilon)
			require.InEpsilon(t, epsilon, left+count, 1e-14)
			law := dptest.OK(p.countLaw())(t)
			require.GreaterOrEqual(t, law.Scale()*count, float64(1<<countBits)*(1-1e-15))
		}
	}
}

// The count that is released has Laplace noise of scale 1/ε₂ about the size of the set, fresh each
// time: Kolmogorov–Smirnov on releases, which refutes half the scale (a distance of ⅛ in 3000
// samples has a p-value of e⁻⁹⁰).
func TestCountNoise(t *testing.T) {
	p := Params{Epsilon: 2, Cells: 1, Levels: 1, Seed: hashing.Seed{1}, CountShare: 0.25}
	samples := make([]float64, 3000)
	for i := range samples {
		s := released(t, p, 1, 2, 3)
		samples[i] = math.Ldexp(float64(s.count), -countBits) - 3
	}
	laplace := func(scale float64) func(float64) float64 {
		return func(x float64) float64 {
			if x < 0 {
				return math.Exp(x/scale) / 2
			}
			return 1 - math.Exp(-x/scale)/2
		}
	}
	dptest.KS(t, "count", samples, laplace(2), 1e-10)
	require.Less(t, dptest.KSPValue(samples, laplace(1)), 1e-12)
}

// The library's own coins and flips: in a release of the empty set each bit is 1 with probability
// p, and beside a key that is there or not the output differs as randomized response does. The
// audit refutes half of the flips.
func TestAudit(t *testing.T) {
	const runs = 10_000
	p := Params{Epsilon: 1, Cells: 1, Levels: 1, Seed: seedOfLevelZero(t)}
	hits := func(q float64, with bool) (ones int64) {
		law := dptest.OK(noise.BernoulliAtLeast(q))(t)
		for range runs {
			b := dptest.OK(New(p))(t)
			if with {
				b.Toggle(1)
			}
			held(b.secret).law = law
			s := dptest.OK(b.Release())(t)
			ones += int64(s.bits[0])
		}
		return ones
	}
	q := planned(p).FlipProb
	dptest.Audit(t, "release", hits(q, true), runs, hits(q, false), runs, p.Epsilon, 0, 1e-10)
	dptest.Alarm(t, 1e-10) // the control: it is off by 20 of its standard errors
	refuted := dptest.EpsilonLowerBound(hits(q/2, true), runs, hits(q/2, false), runs, 0, 1-1e-10)
	require.Greater(t, refuted, p.Epsilon+0.3, "half the flips") // ln((1−q/2)/(q/2)) = 1.86
}

// seedOfLevelZero returns a seed under which key 1 is at level 0.
func seedOfLevelZero(t *testing.T) hashing.Seed {
	for i := range 200 {
		p := Params{Epsilon: 1, Cells: 1, Levels: 1, Seed: hashing.Seed{byte(i), 1}}
		place := newPlacement(p)
		if u, _ := place.words(1); u&1 != 0 {
			return p.Seed
		}
	}
	t.Fatal("no seed")
	return hashing.Seed{}
}

// The exact law of the levels, at every boundary: Pr[level ≥ i] = ⌊w·2^{64−i}⌋/2⁶⁴, so the u below
// that number are there and no other.
func TestLevelLaw(t *testing.T) {
	for _, w := range []float64{1, 0.5, 0.75, 0.3, 1e-3, 1 - 0x1p-53, 0x1p-40, 0.1, 0x1.8p-30} {
		for i := range 24 {
			scaled := math.Floor(math.Ldexp(w, 64-i)) // exact: w has 53 digits
			if scaled < 1 {
				continue
			}
			if scaled >= 0x1p64 {
				require.GreaterOrEqual(t, weightedLevel(math.MaxUint64, w), i)
				continue
			}
			boundary := uint64(scaled)
			require.GreaterOrEqual(t, weightedLevel(boundary-1, w), i, "w = %v", w)
			require.Less(t, weightedLevel(boundary, w), i, "w = %v", w)
		}
	}
	for _, u := range []uint64{0, 1, 2, 3, 1 << 40, 1<<40 - 1, 1 << 63, 1<<63 - 1, math.MaxUint64, 12345678901234567} {
		require.Equal(t, bits.LeadingZeros64(u), weightedLevel(u, 1))
	}
	require.Negative(t, weightedLevel(12345, math.SmallestNonzeroFloat64))
}
