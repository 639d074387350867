package noise

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// tailPValue tests n draws of SampleTail against the exact mass function of law.
func tailPValue(t *testing.T, d, law DiscreteLaplace, least int64, n int) float64 {
	var src Source
	width := int64(3 + 6*law.Scale()) // cells: not reached, least, least + 1, ..., and the rest
	if least <= 0 {
		width -= 2 * least
	}
	observed, expected := make([]int64, width+2), make([]float64, width+2)
	for range n {
		x, ok := d.SampleTail(&src, least)
		switch {
		case !ok && x == 0:
			observed[0]++
		case ok && x >= least:
			observed[1+min(x-least, width)]++
		default:
			t.Fatalf("%d, %v of a tail from %d on", x, ok, least)
		}
	}
	expected[0] = law.CDF(float64(least - 1))
	for i := range width {
		expected[1+i] = law.Prob(float64(least + i))
	}
	expected[1+width] = law.Survival(float64(least + width - 1))
	return dptest.ChiSquarePValue(observed, expected)
}

func TestSampleTailFollowsItsLaw(t *testing.T) {
	dptest.NotShort(t, "half a second")
	// of which the claim takes a tenth where the tests are to be short, and the control, in fewer
	// cases, all
	const n = 100_000
	for _, c := range []struct {
		scale float64
		least int64
	}{{0.2, 1}, {0.5, 1}, {0.5, 2}, {1, 1}, {1, 2}, {1, 5}, {3.7, 1}, {3.7, 4}, {3.7, 9}, {20, 30}, {20, 100}, {2, 0}, {2, -3}} {
		d := dptest.OK(NewDiscreteLaplace(c.scale))(t)
		draws := dptest.Fewer(n, n/10)
		if dptest.Long() {
			draws = 100 * n
		}
		dptest.Alarm(t, 1e-10)
		require.Greater(t, tailPValue(t, d, d, c.least, draws), 1e-10, "scale %v, least %v", c.scale, c.least)
		if c.scale >= 1 && c.least <= 9 && (c.least == 1 || dptest.Long()) {
			wrong := discreteLaplace(1.1 * c.scale)
			dptest.Alarm(t, 1e-10)
			require.Less(t, tailPValue(t, wrong, d, c.least, n), 1e-10, "10 %% more scale must be noticed: %v, %v", c.scale, c.least)
		}
	}
}

// SampleInt followed by the comparison has the same law.
func TestSampleTailIsSampleIntCompared(t *testing.T) {
	n := dptest.Fewer(100_000, 40_000)
	var src Source
	for _, c := range []struct {
		scale float64
		least int64
	}{{0.4, 1}, {2, -2}, {2, 0}, {2, 1}, {2, 3}, {50, 60}, {0x1p30, 0x1p31}} {
		d, _ := NewDiscreteLaplace(c.scale)
		cell := func(x int64) int {
			if x < c.least {
				return 0
			}
			return 1 + int(min(float64(x-c.least)/max(1, c.scale/4), 20))
		}
		plain, tail := make([]int64, 22), make([]int64, 22)
		for range n {
			plain[cell(d.SampleInt(&src))]++
			if x, ok := d.SampleTail(&src, c.least); ok {
				tail[cell(x)]++
			} else {
				tail[0]++
			}
		}
		dptest.Homogeneity(t, fmt.Sprint(c), plain, tail, 1e-10)
	}
}

func TestSampleTailFar(t *testing.T) {
	dptest.NotShort(t, "four million draws")
	const n = 4_000_000
	var src Source
	d, _ := NewDiscreteLaplace(8)
	hits := int64(0)
	for range n {
		if _, ok := d.SampleTail(&src, 107); ok {
			hits++
		}
	}
	dptest.Tail(t, "Pr 8e-7", hits, n, d.Survival(106), 1e-10)
}

// What the leading zeros decide is what exact arithmetic decides, also at the ends and near the
// line.
func TestBeyondExp(t *testing.T) {
	var src Source
	yes := 0
	for i := range 20_000 {
		w := src.Uint64() >> (src.Uint64() % 64)
		if i%4 == 0 {
			w = 1 << (w % 64)
		}
		b := math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%100)-50)
		n := max(1, src.Uint64()>>(1+src.Uint64()%63))
		if i%2 == 0 { // on either side of the line: n ≈ (z+1)·ln 2·b
			b = math.Ldexp(b, 50)
			n = uint64(min(b*0.6932*float64(bits.LeadingZeros64(w)+1)*(1+float64(i%3)*1e-16), 0x1p62))
		}
		if !beyondExp(w, float64(n), b) {
			continue
		}
		yes++
		x := ratio(int64(n), b)
		below, sure := newLazy(w, 64).compareExp(x, x)
		require.True(t, sure && !below, "w = %#x, n = %d, b = %v", w, n, b)
	}
	require.Greater(t, yes, 5000)
	require.False(t, beyondExp(0, math.MaxFloat64, 1), "U may be arbitrarily small")
}

// The exact path: behind a first word of 0, U < e^{−45} has probability 2⁶⁴·e^{−45}.
func TestReachesExactly(t *testing.T) {
	n := int64(dptest.Fewer(4000, 800))
	var src Source
	for _, b := range []float64{1, 3} {
		d, _ := NewDiscreteLaplace(b)
		hits := int64(0)
		for range n {
			if d.reaches(&src, 0, int64(45*b)) {
				hits++
			}
		}
		dptest.Tail(t, fmt.Sprint("b = ", b), hits, n, 0x1p64*math.Exp(-45)/(1+math.Exp(-1/b)), 1e-10)
	}
	wide, _ := NewDiscreteLaplace(0x1p50)
	narrow, _ := NewDiscreteLaplace(0x1p-900)
	require.False(t, wide.reaches(&src, 0, math.MaxInt64))
	require.False(t, narrow.reaches(&src, 0, 1))
}

func TestBernoulliHalf(t *testing.T) {
	const n = 40_000
	var src Source
	for _, b := range []float64{0x1p-900, 0.1, 0.7, 1, 5, 0x1p50} {
		hits := int64(0)
		for range n {
			if bernoulliHalf(&src, b) {
				hits++
			}
		}
		dptest.Tail(t, fmt.Sprint("b = ", b), hits, n, 1/(1+math.Exp(-1/b)), 1e-10)
	}
}

func TestSampleTailEdges(t *testing.T) {
	var src Source
	for _, scale := range []float64{0x1p-900, 1, 0x1p50} {
		d, _ := NewDiscreteLaplace(scale)
		for range 200 {
			_, ok := d.SampleTail(&src, math.MaxInt64)
			require.False(t, ok)
			_, ok = d.SampleTail(&src, math.MinInt64)
			require.True(t, ok)
		}
	}
}
