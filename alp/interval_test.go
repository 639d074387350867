package alp

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// cover is how often intervals held the truth.
type cover struct{ n, hits float64 }

func (c *cover) add(lo, hi, truth float64) {
	c.n++
	if lo <= truth && truth <= hi {
		c.hits++
	}
}

// share returns the share of hits and nine standard errors of a share p.
func (c *cover) share(p float64) (share, margin float64) {
	return c.hits / c.n, 9 * math.Sqrt(p*(1-p)/c.n)
}

// setting is a kind of release whose error, coverage and bias are measured: top bounds the values
// that are drawn, others is what all others are.
type setting struct {
	name        string
	params      Params
	top, others float64
	meanError   float64 // the most, of the median under the default prior
}

func settings(k int) []setting {
	only := Params{Epsilon: 1, Sparsity: k, Structure: ColumnsOnly, Max: 40, Bits: 100}
	unary, crowded := only, only
	unary.Levels = 2
	crowded.Bits, crowded.Levels = 30, 4
	integers := Params{Epsilon: 2, Sparsity: k, Structure: ColumnsOnly, Max: 20, Bits: 300, Integers: true}
	signed := Params{Epsilon: 1, Sparsity: k, Structure: ColumnsOnly, Max: 40, Bits: 200, Signed: true}
	list := Params{Epsilon: 1, Delta: 1e-6, Sparsity: k, Bits: 100}
	return []setting{
		{"columns", only, 40, 40, 2.1}, {"unary", unary, 40, 40, 3.1}, {"crowded", crowded, 40, 40, 4.2}, {"integers", integers, 20, 20, 0.6},
		{"signed", signed, 40, 40, 3}, {"list", list, 45, 30, 3.5}, {"list, others large", list, 45, 1000, 2.0},
	}
}

// testHonest checks each setting on n entries of k: the mean absolute error, that the mean under
// the true prior has no bias over all entries, and that intervals cover in every tenth of the axis
// and at zero. All other entries are as bad for the estimates as they can be.
func testHonest(t *testing.T, k, n int) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range settings(k) {
		t.Run(s.name, func(t *testing.T) {
			values := among(k, n, s.others, func() float64 {
				v := s.top * r.Float64()
				if s.params.Integers {
					v = math.Ceil(v)
				}
				if s.params.Signed && r.Uint64()&1 == 1 {
					v = -v
				}
				return v
			})
			p := released(t, s.params, values)
			entries, zeros := measure(values, n, p.Estimate)
			t.Logf("%v: mean absolute error %.2f, bias %+.2f, zeros %.2f", p, entries.mean(), entries.bias(), zeros.mean())
			dptest.Alarm(t, 1e-9)
			require.Less(t, entries.mean(), s.meanError)
			for _, confidence := range []float64{0.8, 0.95} {
				tenths := make([]cover, 10)
				var zero cover
				width := 0.0
				for i := range n {
					lo, hi := p.Interval(scatter(i), confidence)
					tenths[min(int(math.Abs(values[i])/s.top*10), 9)].add(lo, hi, values[i])
					width += (hi - lo) / float64(n)
					lo, hi = p.Interval(scatter(k+i), confidence)
					zero.add(lo, hi, 0)
				}
				worst, margin := zero.share(confidence)
				for i := range tenths {
					if share, m := tenths[i].share(confidence); share+m < worst+margin {
						worst, margin = share, m
					}
				}
				t.Logf("  %g: worst tenth %.3f, width %.2f", confidence, worst, width)
				require.GreaterOrEqual(t, worst+margin, confidence-0.01)
			}
		})
	}
}

func TestHonest(t *testing.T) { testHonest(t, 6_000, 1500) }

func TestLongHonest(t *testing.T) {
	dptest.NeedsLong(t)
	if !dptest.Deep() {
		testHonest(t, 160_000, 40_000)
		return
	}
	testHonest(t, 400_000, 100_000)
}

// The probability, over all 64 outputs of a small shape under the load that was read off the table,
// that the interval holds the value is at least the confidence, for each value and for 0. The
// control: intervals that may fail three times as often do.
func TestIntervalsExactly(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	for _, entries := range []int{0, 50, 300, 1000} {
		b := dptest.OK(New(Params{Epsilon: 1, Sparsity: 100, Structure: ColumnsOnly, Max: 12, Integers: true, Seed: hashing.Seed{1}, Variant: Variant{Levels: 4, Columns: 3, Alpha: 4}}))(t)
		for i := range entries {
			b.Add(uint64(i), float64(i%12+1))
		}
		p := dptest.OK(b.Release())(t)
		d := p.decoder
		side := d.flat[0]
		laws := side.distributions(d.loads[0])
		require.True(t, d.bins.exact() && side.columns == 3 && side.count == 4 && side.levels == 4)
		covered := func(x int, miss float64) (probability float64) {
			for number := range 64 {
				outputs, q := []uint8{uint8(number % 4), uint8(number / 4 % 4), uint8(number / 16)}, 1.0
				for j, o := range outputs {
					q *= laws[j][int(o)*(side.count+2)+min(max(x-j*side.count, 0), side.count+1)]
				}
				if lo, hi := d.interval(outputs, nil, miss); lo <= float64(x) && float64(x) <= hi {
					probability += q
				}
			}
			return probability
		}
		for _, confidence := range []float64{0.5, 0.8, 0.9, 0.95, 0.99} {
			control := 1.0
			for x := range side.used + 1 {
				require.GreaterOrEqual(t, covered(x, (1-confidence)/2), confidence, "%d entries: value %d", entries, x)
				control = min(control, covered(x, 3*(1-confidence)/2))
			}
			if confidence >= 0.8 {
				require.Less(t, control, confidence, "%d entries", entries)
			}
		}
	}
}

// An interval is about where the estimate is, and grows with the confidence.
func TestIntervalsGrow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := among(2000, 1000, 500, func() float64 { return 60 * r.Float64() })
	p := released(t, Params{Epsilon: 1, Delta: 1e-6, Sparsity: 2000}, values)
	for i := range values {
		lo, hi := p.Interval(scatter(i), 0.5)
		for _, confidence := range []float64{0.8, 0.95, 0.99, 0.9999} {
			wideLo, wideHi := p.Interval(scatter(i), confidence)
			require.LessOrEqual(t, wideLo, wideHi)
			require.True(t, wideLo <= lo && wideHi >= hi || hi == lo, "%v: [%v, %v] and [%v, %v]", confidence, lo, hi, wideLo, wideHi)
			lo, hi = wideLo, wideHi
		}
	}
	for _, confidence := range []float64{-1, 1, 2, math.NaN(), math.Inf(1)} {
		lo, hi := p.Interval(1, confidence)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	}
}

// Every interval holds its estimate: of listed keys, of those whose list value and columns are
// fused, of others and of zeros, under any prior. Those of listed keys cover, and are as wide as
// Laplace noise is, 2·ln(1/(1 − confidence))·Δ/ε, but for those near the list's threshold.
func TestIntervalsHoldTheirEstimates(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	cryptotest.SetGlobalRandom(t, 3)
	const k = 3000
	for _, p := range []Params{
		{Delta: 1e-6}, {Delta: 1e-6, Signed: true}, {Delta: 1e-6, Signed: true, Variant: Variant{TwoVectors: true}}, {Delta: 1e-6, Variant: Variant{Base: 1.5}}, {Delta: 1e-6, Structure: Composition},
		{Delta: 1e-6, Bits: 30, Variant: Variant{Levels: 2}}, {Max: 40, Structure: ColumnsOnly}, {Delta: 1e-6, Integers: true, Sensitivity: 3},
	} {
		p.Epsilon, p.Sparsity = 1, k
		values := make([]float64, k)
		for i := range values {
			values[i] = []float64{1000 + float64(i), 5, 45, 60}[i%4] * max(p.Sensitivity, 1)
			if p.Signed && i%3 == 0 {
				values[i] = -values[i]
			}
		}
		released := released(t, p, values)
		strong := dptest.OK(released.WithPrior(Prior{Zero: 0.99, Learned: 1}))(t)
		var large cover
		for i := range 2 * k {
			for _, r := range []*Projection{released, strong} {
				if i%k > k/8 && !dptest.Long() {
					break
				}
				x := r.Estimate(scatter(i))
				for _, confidence := range []float64{0, 0.5, 0.9} {
					lo, hi := r.Interval(scatter(i), confidence)
					require.True(t, lo <= x && x <= hi, "%+v: %v not in [%v, %v]", p, x, lo, hi)
				}
			}
			if i < k && i%4 == 0 && p.Delta > 0 {
				lo, hi := released.Interval(scatter(i), 0.9)
				large.add(lo, hi, values[i])
				share := 1.0
				if p.Structure == Composition {
					share = released.Params().Split
				}
				width := 2 * math.Log(10) * max(p.Sensitivity, 1) / share
				require.InDelta(t, width, hi-lo, 2, "%+v: [%v, %v] for %v", p, lo, hi, values[i])
			}
		}
		if large.n > 0 {
			share, margin := large.share(0.9)
			dptest.Alarm(t, 1e-12)
			require.GreaterOrEqual(t, share+margin, 0.9, "%+v", p)
		}
	}
}

// The test can fail: intervals at a lower confidence do not pass for a higher one.
func TestHonestControl(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const k, n = 20_000, 4000
	values := among(k, n, 40, func() float64 { return 40 * r.Float64() })
	p := released(t, settings(k)[0].params, values)
	var c cover
	for i := range n {
		lo, hi := p.Interval(scatter(i), 0.5)
		c.add(lo, hi, values[i])
	}
	share, margin := c.share(0.95)
	dptest.Alarm(t, 1e-12)
	require.Less(t, share+margin, 0.94)
}
