package tail

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// A distance is in the bin whose edges it lies between, the lower one included, and two values
// within the bound are in one.
func TestBins(t *testing.T) {
	for _, bound := range []float64{1, 0x1p60, 1000, 1.9, 0x1p-100, 0x1p200, 3e7} {
		g := NewBins(bound)
		require.GreaterOrEqual(t, g.Edge(Count), 2*bound)
		require.LessOrEqual(t, g.Edge(0), bound*0x1p-96)
		check := func(y float64) {
			for side, y := range []float64{-y, y} {
				at, b := g.Of(y)
				require.Equal(t, y != 0 && math.Signbit(y), at == 0)
				switch y = math.Abs(y); {
				case b == 0:
					require.Less(t, y, g.Edge(0))
				default:
					require.Equal(t, side, at)
					require.True(t, g.Edge(b-1) <= y && (y < g.Edge(b) || b == Count), "%v in bin %d", y, b-1)
				}
			}
		}
		for b := range Count + 1 {
			for _, y := range []float64{g.Edge(b), math.Nextafter(g.Edge(b), 0), math.Nextafter(g.Edge(b), math.Inf(1)), 1.2 * g.Edge(b)} {
				check(y)
			}
		}
		check(2 * bound)
		side, b := g.Of(0)
		require.True(t, side == 1 && b == 0)
		check(5e-324)
	}
}

// noisy returns a histogram with the numbers of rows above the centre, from a bin on, and noise.
func noisy(rng *rand.Rand, laplace bool, from int, rows ...int64) Histogram {
	h := NewHistogram(NewBins(0x1p60), Noise{laplace, 4}, 1)
	add := func(x *int64) {
		z := h.Scale * rng.NormFloat64()
		if laplace {
			z = h.Scale * (rng.ExpFloat64() - rng.ExpFloat64())
		}
		*x += int64(math.Round(z))
	}
	for i, n := range rows {
		h.Rows[1][from+i] += n
	}
	add(&h.Middle)
	for side := range h.Rows {
		for b := range h.Rows[side] {
			add(&h.Rows[side][b])
		}
	}
	return h
}

// Noise makes bins behind the last with rows visible in a few percent of releases, beside it in 1
// %: none of them by the company of a bin that is. And it moves an anchor in 4 %, which only widens
// an interval.
func TestEmptyBinsStayInvisible(t *testing.T) {
	const alarm = 1e-9
	runs := dptest.Full(3000, 700)
	rng := rand.New(rand.NewPCG(7, 7))
	for _, laplace := range []bool{false, true} {
		near, far, moved := int64(0), int64(0), int64(0)
		for range runs {
			h := noisy(rng, laplace, 70, 400, 900, 300, 160)
			switch top := h.visible()[1]; {
			case top > 74 && top <= 77:
				near++
			case top > 77:
				far++
			}
			r := h.Choose(0)
			if top := h.Anchors(r, 40, 0, 1.5, 0, -1); top[0] > h.bulk()+1 || top[1] > r.Top[1] {
				moved++
			}
		}
		t.Logf("Laplace %v: %d, %d and %d of %d", laplace, near, far, moved, runs)
		for i, n := range []int64{near, far, moved} {
			lower, _ := dptest.ClopperPearson(n, int64(runs), 1-alarm)
			dptest.Alarm(t, alarm)
			require.LessOrEqual(t, lower, []float64{.02, .02, .04}[i])
		}
	}
}

// Whatever the rows, the range and what is believed, and noise within the bound on it: clamping
// took no less than Least and no more than Most of any rows, nor of rows that thin out. With the
// lower edge of a bin in the place of the upper one it took more.
func TestWhatClampingTakes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1)) // test data
	in, short := 0, 0
	for range 4000 {
		const most = 6
		g := NewBins(0x1p20)
		h, index := NewHistogram(g, Noise{true, 1}, 1), []float64{1.1, 1.5, 3}[rng.IntN(3)]
		var r Range
		for side := range 2 {
			r.End[side], r.Top[side] = 150+rng.IntN(40), 150+rng.IntN(40)
		}
		var rows []float64
		scale, tail := g.Edge(145+rng.IntN(30)), .7+2*rng.Float64()
		for range rng.IntN(60) {
			rows = append(rows, min(scale*math.Pow(rng.Float64(), -1/tail), 0x1p20))
		}
		for _, y := range rows {
			if _, b := g.Of(y); b > 0 {
				h.Rows[1][b-1]++
			}
		}
		exact := append([]int64(nil), h.Rows[1]...)
		for b := range h.Rows[1] {
			h.Rows[1][b] += rng.Int64N(2*most+1) - most
		}
		took := 0.0
		for _, y := range rows {
			took += max(y-g.Edge(r.End[1]), 0)
		}
		slack := 1e-9 * math.Abs(took)
		require.LessOrEqual(t, h.Least(1, r, most), took+slack)
		require.GreaterOrEqual(t, h.Most(1, r, r.Top[1], most, 0), took-slack)
		ratio, left, thins := math.Exp2(-index/2), 0.0, true
		allowed := (h.positive(1, r.Top[1]) + most) / (1 - ratio)
		for b := Count - 1; b >= r.Top[1]; b-- {
			left += float64(exact[b])
			thins = thins && left <= allowed*math.Pow(ratio, float64(b-r.Top[1]))
		}
		if thins {
			in++
			require.GreaterOrEqual(t, h.Most(1, r, r.Top[1], most, index), took-slack)
		}
		lower := 0.0 // of exact numbers, times lower edges
		for b, n := range exact {
			lower += float64(n) * max(g.Edge(b)-g.Edge(r.End[1]), 0)
		}
		if lower < took-slack {
			short++
		}
	}
	require.Greater(t, in, 1000)
	require.Greater(t, short, 1000)
	// It is attained: rows at the upper edges, in geometric numbers.
	h := NewHistogram(NewBins(0x1p20), Noise{true, 1}, 1)
	r := Range{[2]int{160, 160}, [2]int{170, 170}}
	m, ratio, took := 5.0, math.Exp2(-.75), 0.0
	for b := 170; b < Count; b++ {
		n := m * math.Pow(ratio, float64(b-170))
		if b == Count-1 {
			n /= 1 - math.Sqrt2*ratio
		}
		took += n * (math.Sqrt2*h.Edge(b) - h.Edge(160))
	}
	for b := 160; b < 170; b++ {
		took += m * (math.Sqrt2*h.Edge(b) - h.Edge(160))
	}
	require.InEpsilon(t, took, h.Most(0, r, 170, m, 1.5), 1e-12)
}

// What is added back has the mean that clamping took, where rows are a power tail, and the variance
// that it says: noise counts with its sign. Without negative numbers it would be biased by almost a
// standard deviation.
func TestBack(t *testing.T) {
	const runs = 400
	rng := rand.New(rand.NewPCG(5, 5))
	r := Range{[2]int{80, 80}, [2]int{80, 96}}
	sum, squares, positive, want, told := 0.0, 0.0, 0.0, 0.0, 0.0
	for range runs {
		h, lost := noisy(rng, true, 0), 0.0
		for range 600 {
			y := h.Edge(80) * math.Pow(rng.Float64(), -1/1.5)
			if _, b := h.Of(y); b <= 96 {
				h.Rows[1][b-1]++
				lost += y - h.Edge(80)
			}
		}
		back, variance, _ := h.Back(r)
		told, want = variance, lost
		sum += back - lost
		squares += (back - lost) * (back - lost)
		clipped := -lost
		for b := 80; b < 96; b++ {
			clipped += h.positive(1, b) * h.gain(b, 80)
		}
		positive += clipped
	}
	require.InDelta(t, 0, sum/runs/want, .05)
	// of so many squares, of sums of Laplace noise: within a third
	require.InEpsilon(t, told, squares/runs, .45)
	require.Greater(t, positive/runs, .6*math.Sqrt(squares/runs), "the flaw of positive parts")
}

// The probability that noise of some bins is above a number is the one that it is: against closed
// forms for up to three Laplace variables, 16 drawn ones, and the normal tail. And a quick look
// does not overlook any.
func TestSurprise(t *testing.T) {
	h := Histogram{Noise: Noise{true, 4}}
	normal := Histogram{Noise: Noise{false, 4}}
	for _, x := range []float64{.1, 1, 5, 20, 60} {
		want := []float64{1: .5, 2: (2 + x) / 4, 3: (8 + 5*x + x*x) / 16}
		for m := 1; m <= 3; m++ {
			require.InEpsilon(t, x-math.Log(want[m]), h.surprise(m, 4*x), 1e-12)
		}
		for m := 1; m <= 2*widest; m++ {
			rare := h.surprise(m, 4*x)
			require.True(t, h.beats(m, 4*x, rare*(1-1e-12)) && !h.beats(m, 4*x, rare*(1+1e-12)))
			if x <= 20 {
				require.InEpsilon(t, -math.Log(math.Erfc(x/math.Sqrt2)/2), normal.surprise(m, 4*x*math.Sqrt(float64(m))), 1e-9)
			}
		}
	}
	require.InEpsilon(t, 1, normal.surprise(1, 4*30.001)/normal.surprise(1, 4*29.999), .001)
	const runs, alarm = 100_000, 1e-9
	rng, above := rand.New(rand.NewPCG(8, 1)), int64(0)
	for range runs {
		x := 0.0
		for range widest {
			x += rng.ExpFloat64() - rng.ExpFloat64()
		}
		if x > 8 {
			above++
		}
	}
	lower, upper := dptest.ClopperPearson(above, runs, 1-alarm)
	dptest.Alarm(t, alarm)
	p := math.Exp(-h.surprise(widest, 4*8))
	require.True(t, lower <= p && p <= upper, "%v in [%v, %v]", p, lower, upper)
	require.False(t, h.beats(1, -3, 0) || h.surprise(2, 0) != 0)
}

// Rows thin out where a tail of index 1.5 does, or a sharp end, and not where each bin has as many.
func TestThins(t *testing.T) {
	for _, c := range []struct {
		thins  bool
		middle int64
		rows   []int64
	}{
		{true, 0, []int64{400, 240, 143, 85, 51, 30, 18, 11}}, {true, 0, []int64{100, 200, 300, 400, 0, 0, 0, 0}},
		{false, 0, []int64{100, 95, 90, 86, 82, 78, 74, 70}}, {false, 0, []int64{5, 5, 5, 5, 0, 0, 0, 0}},
		{true, 0, []int64{600, 550, 450, 400, 300, 250, 200, 150}}, {false, 100_000, []int64{600, 550, 450, 400, 300, 250, 200, 150}},
	} {
		for side := range 2 {
			h := NewHistogram(NewBins(1), Noise{true, 4}, 1)
			h.Middle = c.middle
			copy(h.Rows[side][60:], c.rows)
			r := Range{}
			r.Top[side] = 64
			require.Equal(t, c.thins, h.Thins(side, r), "%v", c.rows)
			require.True(t, h.Thins(1-side, r))
		}
	}
}

// Rows that are about as far as each other get a range of about that size; none is below the
// spacing of numbers near the centre.
func TestChoose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for _, laplace := range []bool{false, true} {
		h := noisy(rng, laplace, 70, 400, 900, 1600, 2100, 2000, 1200, 300)
		r := h.Choose(0)
		require.True(t, r.Top[1] == 77 && r.Top[0] == 0, "%v", r)
		require.True(t, r.End[1] >= 73 && r.End[1] <= 78, "%v", r)
		r = h.Choose(h.Edge(90))
		require.True(t, r.End[0] >= 90 && r.End[1] >= 90)
		require.Equal(t, [2]int{}, func() [2]int { h := noisy(rng, laplace, 0); h.Middle = 9000; return h.Choose(0).Top }())
	}
	// a few rows of noise behind those that are seen, in each bin that has a say, are no tail
	h := NewHistogram(NewBins(1), Noise{true, 4}, 2)
	h.Middle = 9500
	copy(h.Rows[1][70:], []int64{41, 42, 43, 41, 24, 15, 11, 8, 4, 2})
	r := h.Choose(0)
	require.Equal(t, 75, r.Top[1])
	require.LessOrEqual(t, r.End[1], 82, "86 were an octave and a half further")
}

// A bin of few rows, which may be noise, does not say where the others are, if noise exceeds them
// with the probability asked for: the anchors are as far out as if nothing were visible.
func TestBinsOfNoise(t *testing.T) {
	h := NewHistogram(NewBins(1), Noise{true, 4}, 2)
	h.Middle, h.Rows[1][58] = 19_990, 54
	r := h.Choose(0)
	require.Equal(t, [2]int{0, 59}, r.Top)
	require.Equal(t, [2]int{59, 59}, h.Anchors(r, 37, 37, 1.5, 44, 76))
	require.Equal(t, [2]int{77, 77}, h.Anchors(r, 37, 117, 1.5, 44, 76))
	h.Rows[1][58] = 200
	require.Equal(t, [2]int{59, 59}, h.Anchors(r, 37, 117, 1.5, 44, 76))
}

// Rows too spread to be visible move the anchors if they are more than the tail has room for: on
// one side, or fewer on both. Of rows up to a given bin clamping takes no more than Aside says,
// which here is more than Most.
func TestHiddenGroups(t *testing.T) {
	for _, laplace := range []bool{false, true} {
		build := func(below, above int64) (*Histogram, Range) {
			h := NewHistogram(NewBins(0x1p60), Noise{laplace, 4}, 1)
			h.Middle, h.Rows[1][79] = 9000, 900
			for b := 90; b < 98; b++ {
				h.Rows[0][b], h.Rows[1][b] = below, above
			}
			return &h, Range{[2]int{78, 78}, [2]int{0, 80}}
		}
		anchors := func(below, above int64) [2]int {
			h, r := build(below, above)
			return h.Anchors(r, 20, 0, 1.5, 0, -1)
		}
		one, both := int64(8), int64(5)
		if laplace {
			one, both = 15, 8
		}
		require.Equal(t, [2]int{80, 80}, anchors(0, 0))
		require.Equal(t, 80, anchors(0, one)[0])
		require.Greater(t, anchors(0, one)[1], 95)
		require.Greater(t, anchors(one, 0)[0], 95)
		require.Equal(t, [2]int{80, 80}, anchors(0, both))
		x := anchors(both, both)
		require.True(t, x[0] > 95 && x[1] == x[0], "%v", x)
		h, r := build(both, 0)
		took := 0.0
		for b := r.End[0]; b < 98; b++ {
			took += h.at(0, b) * max(math.Sqrt2*h.Edge(b)-h.Edge(r.End[0]), 0)
		}
		require.Less(t, h.Most(0, r, 80, 20, 1.5), took)
		require.Less(t, h.Aside(0, r, 80, 90, 20, 1.5, 0), took)
		tail := h.Aside(0, r, 80, 98, 20, 1.5, 0) - took
		require.True(t, tail > 0 && tail < h.Most(0, r, 80, 20, 1.5))
		w := math.Sqrt2*h.Edge(97) - h.Edge(78)
		require.Greater(t, h.Aside(0, r, 80, 98, 20, 1.5, 3)-took-tail, 2.4*h.Scale*w)
		// Pr[X > x] = e^−x/2, and of two Laplace variables e^−x·(2 + x)/4; or a normal tail
		for _, x := range []float64{1, 3, 10, 30} {
			one, two := h.reach(x, 1, 1)/h.Scale, h.reach(x, 2, 1)/h.Scale
			if laplace {
				require.True(t, one > x-math.Ln2 && two-math.Log((2+two)/4) > x)
			} else {
				require.True(t, math.Erfc(one/math.Sqrt2)/2 < math.Exp(-x) && math.Abs(two-math.Sqrt2*one) < 1e-9)
			}
		}
	}
}

// Gaussian noise is in proportion to the farther end alone: on a side where no rows are seen the
// end is as far as on the other one. Laplace noise grows with both, and there it is nearer.
func TestNearerEndIsFree(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1)) // test data
	nearer := 0
	for range 100 {
		from, rows := 40+rng.IntN(60), []int64{rng.Int64N(900), 900, rng.Int64N(500), rng.Int64N(200)}
		h := noisy(rng, false, from, rows...)
		r := h.Choose(0)
		require.GreaterOrEqual(t, r.End[0], r.End[1])
		h = noisy(rng, true, from, rows...)
		if r = h.Choose(0); r.End[0] < r.End[1] {
			nearer++
		}
	}
	require.Greater(t, nearer, 90)
}
