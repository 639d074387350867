package distinct

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// The mean of Π φ_j over all flips is 1 for a cell that is empty in all sets and 0 for every other
// one, and its second moment the product of V₁ + 1 and V₁; by the code that averages a level.
func TestTupleIsUnbiased(t *testing.T) {
	var params []Params
	for _, epsilon := range []float64{0.5, 1, 3} {
		params = append(params, Params{Epsilon: epsilon, Cells: 16, Levels: 1, CountShare: 0.1, Seed: hashing.Seed{1}})
	}
	for truth := range 8 { // which of the three sets have a key in the cell
		mean, square, moment := 0.0, 0.0, 1.0
		for flips := range 8 {
			mass := 1.0
			var sketches []*Sketch
			for j, p := range params {
				s := sketchOf(p, hashing.Seed{byte(j + 1)}, 0, uint64(truth^flips)>>j&1*0xffff)
				q := s.flipProb()
				if flips>>j&1 != 0 {
					mass *= q
				} else {
					mass *= 1 - q
				}
				sketches = append(sketches, s)
			}
			x := average(sketches, 0, make([]float64, 16))
			mean += mass * x
			square += mass * x * x
		}
		for j, p := range params {
			s := sketchOf(p, hashing.Seed{}, 0)
			q := s.flipProb()
			v := q * (1 - q) / ((1 - 2*q) * (1 - 2*q))
			if truth>>j&1 == 0 {
				v++
			}
			moment *= v
		}
		want := 0.0
		if truth == 0 {
			want = 1
		}
		require.InDelta(t, want, mean, 1e-12)
		require.InEpsilon(t, moment, square, 1e-12)
	}
}

// The second moment for sets that hold each key by chance is a sum over all subsets of the
// sketches, and for sets that hold all keys that of equal sets.
func TestMomentByChance(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 100, Levels: 3, CountShare: 0.5, Seed: hashing.Seed{1}}
	q := p
	q.Epsilon = 2.5
	sketches := []*Sketch{released(t, p, run(0, 90)...), released(t, q, run(0, 90)...), released(t, p, run(0, 90)...)}
	u := newTuple(sketches)
	clear(u.apart)
	for _, x := range []float64{u.size / 2, u.size, 3 * u.size} {
		rho := min(u.size/x, 1)
		u.variances(x, func(i int, empty, v float64) {
			want := 0.0
			for set := range 8 { // which of them are asked to be empty
				term, left := 1.0, 1.0
				for j, s := range sketches {
					if set>>j&1 != 0 {
						left *= 1 - rho
					} else {
						r := s.flipProb()
						term *= r * (1 - r) / ((1 - 2*r) * (1 - 2*r))
					}
				}
				want += term * math.Exp(x*(1-left)*u.log[i])
			}
			want = max(want, empty*u.empty+(1-empty)*u.set)
			require.InEpsilon(t, (want-empty*empty)/u.cells, v, 1e-9)
			if rho == 1 {
				require.InEpsilon(t, empty*u.empty+(1-empty)*u.set, want, 1e-12)
			}
		})
	}
}

// shown is a release of one level of 64 cells that shows these bits, with as many ones as count.
func shown(epsilon float64, id int, bits uint64, count int64) *Sketch {
	p := Params{Epsilon: epsilon, Cells: 64, Levels: 1, CountShare: 0.1, Seed: hashing.Seed{1}}
	return sketchOf(p, hashing.Seed{byte(id), byte(id >> 8), 1}, count, bits)
}

// Where every û is what is expected of N keys, the estimate is N, and the interval ends where the
// score is off by z standard deviations. An error of û_i moves ln N by c_i times as much, with
// Σ c_i·du_i/d ln N = 1, as a larger union moves the estimate as much; of all such c those of the
// estimate have the least Σ c_i²·v_i, 1/Σ (du_i/d ln N)²/v_i, and this is the stated variance.
func TestUnionWeights(t *testing.T) {
	p := Params{Epsilon: 2, Cells: 2048, Levels: 9, CountShare: 0.05, Seed: hashing.Seed{1}}
	q := p
	q.Epsilon = 3
	u := newTuple([]*Sketch{released(t, p, run(0, 9000)...), released(t, q, run(4000, 9000)...), released(t, p, run(9000, 9000)...)})
	const keys = 17_123
	y := math.Log(keys)
	var slopes, variances []float64
	info := 0.0
	u.variances(keys, func(i int, empty, v float64) {
		u.seen[i] = empty
		slopes = append(slopes, keys*u.log[i]*empty)
		variances = append(variances, v)
		info += slopes[i] * slopes[i] / v
	})
	best := func() float64 { return math.Log(nearest(9000, 27_000, u.deviation)) }
	require.InDelta(t, y, best(), 1e-12)
	_, stated := u.score(keys)
	require.InEpsilon(t, info, stated, 1e-12)
	lo, hi := accepted(9000, keys, 27_000, 1.6, u.deviation)
	require.InDelta(t, 1.6, u.deviation(lo), 1e-9)
	require.InDelta(t, -1.6, u.deviation(hi), 1e-9)
	moved, variance := 0.0, 0.0
	for i := range u.seen {
		at, h := u.seen[i], 1e-4*math.Sqrt(variances[i])
		u.seen[i] = at + h
		up := best()
		u.seen[i] = at - h
		c := (up - best()) / (2 * h)
		u.seen[i] = at
		moved += c * slopes[i]
		variance += c * c * variances[i]
	}
	require.InEpsilon(t, 1, moved, 1e-6)
	require.InEpsilon(t, 1/info, variance, 1e-6)
}

// Unions are between the largest size and the sum of all, also where noise makes û negative, where
// bits say that there is nothing and counts that there is, and the other way round. A thousand
// sets, equal and half full, are told from larger ones that would leave no cell empty.
func TestUnionsStayWithin(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 3)
	union := func(sketches []*Sketch) *unionOf {
		c := dptest.OK(Union(sketches...))(t)
		least, most := 0.0, 0.0
		for _, s := range sketches {
			least, most = max(least, s.Estimate()), most+max(s.Estimate(), 0)
		}
		e := c.Estimate()
		require.True(t, math.IsNaN(e) && math.IsInf(c.StdErr(), 1) || least-1e-9 <= e && e <= most*(1+1e-12) && c.StdErr() >= 0, "%v in [%v, %v]", c, least, most)
		for _, confidence := range []float64{0, 0.5, 0.95, 1 - 1e-9, 1 - 0x1p-53} {
			lo, hi := c.Interval(confidence)
			require.True(t, 0 <= lo && lo <= hi && (math.IsNaN(e) || lo <= e && e <= hi), "%v: [%v, %v]", c, lo, hi)
		}
		return c.Source.(*unionOf)
	}
	for _, c := range []struct {
		epsilon float64
		bits    uint64
		count   int64
	}{{4, math.MaxUint64, 50}, {20, 0, 60}, {20, math.MaxUint64, 2}, {1, 0, -9}, {1, 0, 0}} {
		var all []*Sketch
		for id := range 3 {
			all = append(all, shown(c.epsilon, id, c.bits, c.count))
		}
		union(all)
	}
	var equal []*Sketch
	for id := range 1000 {
		equal = append(equal, shown(30, id, math.MaxUint32, 32))
	}
	u := union(equal)
	require.Less(t, u.deviation(1e5), -100.0)
	require.InEpsilon(t, 44, u.Estimate(), 0.2)
	rng := rand.New(rand.NewPCG(29, 30))
	p := Params{Epsilon: 4, Cells: 64, Levels: 8, CountShare: 0.05, Seed: hashing.Seed{1}}
	answers := 0
	for range 100 {
		p.Seed = hashing.NewSeed()
		union([]*Sketch{released(t, p), released(t, p), released(t, p), released(t, p), released(t, p)})
		sketches, _ := parties(t, rng, p, 3, 1<<(4+rng.IntN(8)))
		if !math.IsNaN(union(sketches).estimate) {
			answers++
		}
	}
	require.Greater(t, answers, 50)
}

// What Union reaches at n = 2048, by the default the short form of it: one large set beside small
// ones that are disjoint from all or inside of it, the root of the mean square error and the mean
// width of the interval at .95, relative to the union. Without an estimate the width is all.
func TestUnionTable(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 4)
	runs := deep(60, dptest.Full(20, 6))
	rng := rand.New(rand.NewPCG(31, 32))
	for i, c := range []struct {
		large, sets, small int
		inside             bool
		epsilon            float64
		rmse, wide         float64 // in percent
	}{
		{20_000, 2, 2000, false, 1, 6.5, 22.4}, {300_000, 11, 1000, false, 1, 2.6, 18}, {30_000, 11, 30_000, false, 1, 0, 103}, {300_000, 11, 1000, false, 0.5, 2.9, 27}, {300_000, 11, 1000, false, 2, 2.3, 14.5},
		{300_000, 11, 1000, true, 1, 2.6, 18.4}, {30_000, 11, 30_000, false, 2, 6.8, 20.5}, {20_000, 4, 5000, false, 1, 12.6, 33},
		{20_000, 2, 2000, false, 0.5, 8.9, 35}, {20_000, 2, 2000, false, 4, 2.2, 8},
	} {
		if i == 3 && !dptest.Long() {
			break
		}
		p := Params{Epsilon: c.epsilon, Cells: 2048, Levels: 22, CountShare: 0.05}
		var f figures
		wide := 0.0
		for range runs {
			p.Seed = hashing.NewSeed()
			start, truth := rng.Uint64()>>1, uint64(c.large)
			sketches := []*Sketch{released(t, p, run(start, start+truth)...)}
			for set := range uint64(c.sets) {
				from := start + truth
				if c.inside {
					from = start + set*uint64(c.small)
				} else {
					truth += uint64(c.small)
				}
				sketches = append(sketches, released(t, p, run(from, from+uint64(c.small))...))
			}
			union := dptest.OK(Union(sketches...))(t)
			require.Equal(t, c.rmse == 0, math.IsNaN(union.Estimate()))
			lo, hi := union.Interval(0.95)
			f.add(union.Estimate()/float64(truth), 1, lo/float64(truth), hi/float64(truth))
			wide += 100 * (hi - lo) / float64(truth) / float64(runs)
		}
		n := float64(runs)
		t.Logf("%v: %.3g %%, width %.3g %%, coverage %.3f", c, 100*f.rmse(), wide, f.coverage())
		require.GreaterOrEqual(t, f.coverage(), 0.94-4*math.Sqrt(0.06/n), "%v", c)
		require.LessOrEqual(t, wide, c.wide*(1.05+0.6/math.Sqrt(n)), "%v", c)
		if c.rmse > 0 {
			require.LessOrEqual(t, 100*f.rmse(), c.rmse*(1.08+3/math.Sqrt(2*n)), "%v", c)
		}
	}
}

// parties returns releases of k parties, each of which has each of the keys with probability 0.3,
// as users who are active in a month, and the number of keys that one has at least.
func parties(t testing.TB, rng *rand.Rand, p Params, k, keys int) (sketches []*Sketch, size float64) {
	p.Seed = hashing.NewSeed()
	builders := make([]*Builder, k)
	for j := range builders {
		builders[j] = builder(t, p)
	}
	for range keys {
		key, there := rng.Uint64(), false
		for _, b := range builders {
			if rng.Float64() < 0.3 {
				b.Add(key)
				there = true
			}
		}
		if there {
			size++
		}
	}
	for _, b := range builders {
		s := dptest.OK(b.Release())(t)
		sketches = append(sketches, s)
	}
	return sketches, size
}

// The union of one release is that release.
func TestUnionOfOne(t *testing.T) {
	s := released(t, small.normal(), run(0, 500)...)
	require.Same(t, s, dptest.OK(Union(s))(t).Source)
}
