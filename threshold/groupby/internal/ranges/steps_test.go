package ranges

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// awkward are users with values that float64 arithmetic does not like.
func awkward(r *rand.Rand) (values []float64) {
	l := 1 << r.IntN(13)
	values = make([]float64, l)
	for i := range values {
		switch r.IntN(8) {
		case 0:
			values[i] = 0
		case 1:
			values[i] = math.Copysign(bound*0x1p24, r.NormFloat64())
		case 2:
			values[i] = least * float64(r.IntN(3))
		default:
			values[i] = math.Exp(float64(r.IntN(40))) * r.NormFloat64()
		}
	}
	if r.IntN(3) == 0 { // all alike
		for i := range values {
			values[i] = values[0]
		}
	}
	return values
}

// squared returns Σ v² as a float, for sums beyond 2⁶³.
func squared(v []int64) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// What one user adds is as short as the noise of the step takes it to be, whatever was released
// before. Rounding to nearest in the places of the floors is not.
func TestStepsAreShort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	longer := 0
	for range dptest.Full(4000, 1600) {
		values := awkward(r)
		keys := make([]uint32, len(values))
		scales := make([]float64, len(values))
		for i := range keys {
			keys[i] = uint32(i)
			scales[i] = edge(r.IntN(bins-1)) * (1 + r.Float64())
		}
		one := Users(func(yield func([]uint32, []float64) bool) { yield(keys, values) })
		require.LessOrEqual(t, length(magnitudes(one)), uint64(Unit*Unit))
		reach := 1 + r.IntN(widest)
		require.LessOrEqual(t, squared(moves(one, len(values), r.IntN(bins), reach)), float64(4*Unit*Unit)*float64(reach*reach))
		require.EqualValues(t, int64(Unit*Unit), length(lengths(one, scales)))
		radius := edge(r.IntN(bins))
		q, z := make([]int64, len(values)), make([]float64, len(values))
		for i, v := range values {
			z[i] = v/scales[i] - 1
		}
		top := level(q, z, radius)
		sum, up, nearest := uint64(0), uint64(0), uint64(0)
		for i, x := range clipped(one, scales, radius) {
			require.EqualValues(t, min(q[i], top), max(x, -x))
			sum += uint64(x * x)
			n := min(q[i], top+1)
			up += uint64(n * n)
			n = int64(min(math.Round(math.Abs(z[i])/radius*Unit), float64(top)))
			nearest += uint64(n * n)
		}
		require.LessOrEqual(t, sum, uint64(Unit*Unit))
		if top < Unit {
			require.Greater(t, up, uint64(Unit*Unit), "the level is the highest")
		}
		if nearest > Unit*Unit {
			longer++
		}
	}
	require.Greater(t, longer, 2, "rounding to nearest is seen to be too long")
}

// The ratios of the four steps sum to no more than what the whole may have.
func TestSharesAreWithinTheBudget(t *testing.T) {
	for _, u := range []float64{0.01, 0.3, 1, 7.5584, 3000} {
		sum := 0.0
		for _, s := range []struct{ share, delta float64 }{
			{shareMagnitudes, 1}, {shareScales, 2 * widest}, {shareRadius, 1}, {shareSums, 1},
		} {
			ratio := s.delta * Unit / step(u, s.share, s.delta)
			sum += ratio * ratio
		}
		require.LessOrEqual(t, sum, 1/(u*u))
		require.Greater(t, sum, (1-1e-9)/(u*u))
		require.GreaterOrEqual(t, Largest(u), step(u, shareMagnitudes, 1))
	}
}

// Half octaves partition the numbers, and a bin's edge is in it.
func TestBins(t *testing.T) {
	require.Equal(t, 0, bin(0))
	require.Equal(t, 0, bin(0x1p-300))
	require.Equal(t, bins-1, bin(0x1p300))
	require.Equal(t, bins-1, bin(math.MaxFloat64))
	for b := 1; b < bins-1; b++ {
		require.Equal(t, b, bin(edge(b)*(1+0x1p-50)))
		require.Equal(t, b-1, bin(edge(b)*(1-0x1p-50)))
	}
}

// A user's bin does not depend on the order in which his keys are numbered, which is by what others
// have. That of a plain float64 sum does.
func TestOrderDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	moved := 0
	for range 2000 {
		values, scales, keys := make([]float64, 9), make([]float64, 9), make([]uint32, 9)
		for i := range values {
			keys[i], values[i], scales[i] = uint32(i), 1+math.Exp(r.NormFloat64()), 1
		}
		norm := func(values []float64) float64 {
			sum := 0.0
			for _, v := range values {
				sum += (v - 1) * (v - 1)
			}
			return math.Sqrt(sum)
		}
		n := norm(values)
		for i, v := range values { // so that ‖z‖ is about 4, an edge
			values[i] = 1 + (v-1)*4/n
		}
		bins, plain := map[int]bool{}, map[int]bool{}
		for range 20 {
			r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			one := Users(func(yield func([]uint32, []float64) bool) { yield(keys, values) })
			bins[slices.IndexFunc(lengths(one, scales), func(n int64) bool { return n > 0 })] = true
			plain[bin(norm(values))] = true
		}
		require.Len(t, bins, 1)
		if len(plain) > 1 {
			moved++
		}
	}
	require.Positive(t, moved)
}

// Halves of values are exact, sum in any order, and are 0 of NaN.
func TestSplit(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 0.1, 1e9 + 0.125, -12345.678, bound, -bound, bound - 8, least, -3 * least} {
		high, low := Split(v)
		require.InDelta(t, v, Join(high, low), least/2)
		back, under := Split(-v)
		require.Equal(t, [2]int64{-high, -low}, [2]int64{back, under})
		require.LessOrEqual(t, max(high, -high, low, -low), int64(1<<43))
	}
	for v, want := range map[float64]float64{math.Inf(1): bound, math.Inf(-1): -bound, 1e300: bound, 5e-324: 0, math.NaN(): 0, math.Copysign(0, -1): 0} {
		require.Equal(t, want, Join(Split(v)))
	}
	high, low := int64(0), int64(0)
	for range 1 << 16 {
		h, l := Split(0.1)
		high, low = high+h, low+l
	}
	require.InDelta(t, 0.1*(1<<16), Join(high, low), least*(1<<16))
}

// A release draws the noise of its steps, and adds it: with users of whom nobody has a value, the
// steps say what their noise says.
func TestReleaseIsItsSteps(t *testing.T) {
	const u, keys = 7.5, 3
	var drawn []float64
	counts := []float64{100, 200, 300}
	number := 0
	draw := func(sd float64) func() int64 {
		drawn, number = append(drawn, sd), 0
		return func() int64 {
			number++
			at := number - 1
			switch len(drawn) {
			case 1: // half of all magnitudes in bin 60, and half four above
				return Unit * map[int]int64{60: 5001, 64: 5000}[at]
			case 2:
				return int64(at) * Unit * 2e6
			case 3:
				return Unit * map[int]int64{70: 2000}[at]
			}
			return int64(at) + 7
		}
	}
	nobody := Users(func(yield func([]uint32, []float64) bool) { yield(nil, nil) })
	s := Release(nobody, counts, u, 1.5, draw)
	require.Equal(t, []float64{step(u, shareMagnitudes, 1), step(u, shareScales, 8), step(u, shareRadius, 1), step(u, shareSums, 1)}, drawn)
	for k := range keys {
		require.EqualValues(t, 7+k, s.Values[k])
		require.InEpsilon(t, scale(float64(k)*2e6, counts[k], 60, 4, drawn[1]/Unit), s.Scales[k], 1e-12)
	}
	require.InEpsilon(t, 5*drawn[0]/Unit, Blind(u), 1e-9)
	norms := make([]float64, bins)
	norms[70] = 2000
	at, lost, ok := radius(norms, drawn[2]/Unit, balance(counts), StdDev(u))
	require.True(t, ok)
	require.Equal(t, edge(at), s.Radius)
	require.Equal(t, lost, s.Lost)
	require.True(t, Radius(s.Radius) && !Radius(1.1*s.Radius) && !Radius(0x1p90))
	// Where nothing is seen, nothing more is asked.
	drawn = nil
	quiet := func(sd float64) func() int64 {
		drawn = append(drawn, sd)
		return func() int64 { return 0 }
	}
	s = Release(nobody, counts, u, 1.5, quiet)
	require.Len(t, drawn, 1)
	require.Equal(t, Sums{Scales: make([]float64, keys), Values: make([]int64, keys)}, s)
}

// The bound on what clipping took holds for a Pareto tail of its index, of which the far part is
// not seen, and is at most twice as much. For a tail that is seen to lose without end there is
// none.
func TestMostLost(t *testing.T) {
	const sd, users = 20, 1e6
	pareto := func(index float64) (norms []float64) {
		for b := range bins {
			n := 0.0
			if x := edge(b); x >= 1 {
				n = users * (math.Pow(x, -index) - math.Pow(x*math.Sqrt2, -index))
			}
			norms = append(norms, n)
		}
		return norms
	}
	for _, index := range []float64{1.5, 2, 3} {
		norms := pareto(index)
		for _, radius := range []float64{4, 32, 1024, 1 << 20} {
			got := mostLost(norms, sd, bin(radius), index)
			truth := users / (index - 1) * math.Pow(radius, 1-index)
			require.GreaterOrEqual(t, got.Mean, truth)
			require.Less(t, got.Mean, 2*truth)
			require.Positive(t, got.StdDev)
			require.Greater(t, mostLost(norms, sd, bin(radius), index-0.3).Mean, got.Mean)
		}
	}
	require.Zero(t, mostLost(pareto(1.1), sd, bin(32), 1.5))
	require.NotZero(t, mostLost(pareto(1.3), sd, bin(32), 1.5))
}
