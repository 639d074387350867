package noise

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// density encloses stripDensity·e^{−x²/2} for x = n/64, in units of 2^−prec.
func density(n int64, prec uint) (least, most *big.Int) {
	e := exact.ExpNeg(big.NewRat(n*n, 2*64*64), prec)
	c := new(big.Int).SetUint64(stripDensity)
	return new(big.Int).Mul(e.Lo, c), new(big.Int).Mul(e.Hi, c)
}

// The inequalities on which the sampler rests, in rational arithmetic: each strip and the tail
// cover the density; together they are no more than 2⁶⁴, for no larger C; and what is accepted
// without a look at the density lies below it.
func TestStripsCoverTheDensity(t *testing.T) {
	const prec = 200
	scaled := func(x uint64) *big.Int { return new(big.Int).Lsh(new(big.Int).SetUint64(x), prec) }
	sum := new(big.Int).SetUint64(tailHeight)
	for i, h := range stripHeights {
		least, most := density(int64(i), prec)
		require.GreaterOrEqual(t, scaled(h).Cmp(most), 0, "strip %d is too low", i)
		require.LessOrEqual(t, scaled(h).Cmp(least.Add(least, scaled(1))), 0, "strip %d is too high", i)
		sum.Add(sum, new(big.Int).SetUint64(h))
		// All (v, i) that drawNormal accepts at once: V < (v + 1)/2¹¹.
		next, _ := density(int64(i)+1, prec)
		accepted := uint64(0) // V < accepted/2¹¹
		for accepted < 1<<quickV && atOnce(uint64(i), accepted) {
			accepted++
		}
		require.False(t, atOnce(uint64(i), accepted))
		left := new(big.Int).Mul(scaled(h), new(big.Int).SetUint64(accepted))
		require.LessOrEqual(t, left.Cmp(new(big.Int).Lsh(next, quickV)), 0, "strip %d accepts too much", i)
	}
	least, most := density(8*64, prec)
	require.GreaterOrEqual(t, scaled(tailHeight).Cmp(most.Lsh(most, 7)), 0, "the tail is too low")
	require.LessOrEqual(t, scaled(tailHeight).Cmp(least.Add(least.Lsh(least, 7), scaled(1))), 0, "the tail is too high")
	whole := new(big.Int).Lsh(big.NewInt(1), 64)
	require.LessOrEqual(t, sum.Cmp(whole), 0)
	require.Greater(t, sum.Add(sum, big.NewInt(82)).Cmp(whole), 0, "C + 1 would raise the sum by Σf ≈ 81, so C is the largest")
}

// The columns of the alias table give each outcome its height.
func TestStripColumns(t *testing.T) {
	var placed [columns]uint64
	for c, entry := range stripColumns {
		bound, other := entry>>10, entry&(columns-1)
		placed[c] += bound
		placed[other] += fullColumn - bound
	}
	sum := uint64(tailHeight)
	for i, h := range stripHeights {
		require.Equal(t, h, placed[i], i)
		sum += h
	}
	require.EqualValues(t, tailHeight, placed[strips])
	require.Equal(t, -sum, placed[restart])
	for _, none := range placed[restart+1:] {
		require.Zero(t, none)
	}
}

// script returns a Source whose next words are given.
func script(words ...uint64) *Source {
	var src Source
	src.refill()
	load(&src, words...)
	return &src
}

// load makes the words the next ones of a Source in use.
func load(src *Source, words ...uint64) {
	st := *src.state
	st.left = 8 * len(words)
	for i, w := range words {
		binary.NativeEndian.PutUint64(st.buf[bufferBytes-st.left+8*i:], w)
	}
}

// pick returns a word that picks an outcome.
func pick(t *testing.T, outcome uint64) uint64 {
	for c, entry := range stripColumns {
		bound, other := entry>>10, entry&(columns-1)
		if uint64(c) == outcome && bound > 0 {
			return uint64(c)<<inColumn | (bound - 1)
		}
		if other == outcome && bound < fullColumn {
			return uint64(c)<<inColumn | (fullColumn - 1)
		}
	}
	t.Fatalf("no word picks %d", outcome)
	return 0
}

// Words that reach each branch of drawNormal.
func TestDrawNormalBranches(t *testing.T) {
	const u = 0xabcdef0123456
	strip := func(i, v uint64, negative bool) []uint64 {
		word := uint64(u)<<12 | v<<1
		if negative {
			word |= 1
		}
		return []uint64{pick(t, i), word}
	}
	join := func(lists ...[]uint64) (all []uint64) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	const full = 1<<quickV - 1
	for name, c := range map[string]struct {
		words    []uint64
		m        uint64
		negative bool
	}{
		"accepted at once":                  {strip(100, 0, true), 100<<inStrip | u, true},
		"the last strip":                    {strip(511, 0, false), 511<<inStrip | u, false},
		"the rest starts again":             {join(strip(restart, 0, true), strip(7, 3, false)), 7<<inStrip | u, false},
		"accepted by float64":               {join(strip(30, 2037, true), []uint64{0}), 30<<inStrip | u, true},
		"rejected by float64":               {join(strip(30, full, true), []uint64{math.MaxUint64}, strip(2, 0, true)), 2<<inStrip | u, true},
		"accepted by rational arithmetic":   {join(strip(511, 1883, true), []uint64{0}), 511<<inStrip | u, true},
		"rejected by rational arithmetic":   {join(strip(511, 1883, true), []uint64{math.MaxUint64 / 5}, strip(2, 0, true)), 2<<inStrip | u, true},
		"a tail rejected":                   {join(strip(strips, 0, true), []uint64{1 << 63, 0, math.MaxUint64}, strip(2, 0, true)), 2<<inStrip | u, true},
		"a tail accepted":                   {join(strip(strips, 0, true), []uint64{1 << 63, 5, 0}), math.MaxUint64, true},
		"a tail beyond 9, with a zero word": {join(strip(strips, 0, false), []uint64{0, 1 << 63, 7, 1 << 63}, strip(2, 0, true)), 2<<inStrip | u, true},
	} {
		src := script(c.words...)
		z := drawNormal(src)
		require.Equal(t, c.m, z.m, name)
		require.Equal(t, c.negative, z.negative, name)
		require.Zero(t, (*src.state).left, "%s: words are left", name)
		if z.m == math.MaxUint64 {
			require.Equal(t, uint64(8), new(big.Int).Rsh(z.digits.n, z.digits.bits).Uint64())
			require.EqualValues(t, 5, z.digits.n.Uint64())
		}
	}
}

// What float64 decides of a strip, rational arithmetic decides for all digits that may follow.
func TestAcceptQuicklyIsRight(t *testing.T) {
	var src Source
	decisions, undecided := [2]int{}, 0
	for n := range max(dptest.Full(20_000, 1500), 750) {
		i, u, v, more := src.Uint64N(strips), src.Uint64()>>12, src.Uint64()>>(64-quickV), src.Uint64()
		if n%2 == 0 { // V within 2⁻⁴⁵ to 2⁻²² of the boundary
			x, d := float64(i)/64, float64(u)*0x1p-58
			width := uint64(1) << (9 + n/2%24)
			near := uint64(math.Exp(-d*(2*x+d)/2)*0x1p53) + src.Uint64N(width) - width/2
			v, more = near>>42, near<<22|more>>42
		}
		if v >= 1<<quickV {
			continue
		}
		below, decided := acceptQuickly(i, u, v, more)
		if !decided {
			undecided++
			continue
		}
		height := newLazy(v, quickV)
		height.extend(more)
		for _, end := range []uint64{0, math.MaxUint64} { // V least where X is least, and most
			x, y := newLazy(i<<inStrip|u, fractions), &lazy{new(big.Int).Set(height.n), height.bits}
			for range 3 {
				x.extend(end)
				y.extend(end)
			}
			require.Equal(t, below, belowDensity(&src, y, stripHeights[i], 0, x), "i = %d, u = %#x, v = %#x, more = %#x", i, u, v, more)
		}
		if below {
			decisions[0]++
		} else {
			decisions[1]++
		}
	}
	// At least 750 runs, half of them near; of these 4 in 10 are decided either way, 1 in 10 are
	// not.
	dptest.Alarm(t, 1e-9)
	require.Greater(t, min(decisions[0], decisions[1]), 50)
	require.Greater(t, undecided, 3, "the boundary was not tried")
}

// belowDensity alone accepts X of a strip with the probability that the density asks for, also
// where V starts with no digit known.
func TestBelowDensity(t *testing.T) {
	var src Source
	const n = 2000
	for _, i := range []uint64{0, 60, 511} {
		accepted := int64(0)
		for range n {
			if belowDensity(&src, newLazy(0, 0), stripHeights[i], 0, newLazy(i, 6)) {
				accepted++
			}
		}
		p := 0.0
		for k := range 1000 {
			x := (float64(i) + (float64(k)+0.5)/1000) / 64
			p += stripDensity * math.Exp(-x*x/2) / float64(stripHeights[i]) / 1000
		}
		dptest.Tail(t, "strip", accepted, n, p, 1e-10)
	}
}

// The tail by itself: the share that is accepted is 64·C·∫f/T, and what is accepted has the
// distribution of |Z| beyond 8.
func TestDrawTail(t *testing.T) {
	var src Source
	n := int64(dptest.Full(100_000, 8000))
	g := gaussian(1)
	cells := []float64{8.05, 8.1, 8.2, 8.3, 8.5}
	observed, expected := make([]int64, len(cells)+1), make([]float64, len(cells)+1)
	accepted := int64(0)
	for range n {
		digits, ok := drawTail(&src)
		if !ok {
			continue
		}
		accepted++
		x, _ := digits.lower().Float64()
		k := 0
		for k < len(cells) && x > cells[k] {
			k++
		}
		observed[k]++
	}
	last := g.Survival(8)
	for k, edge := range append(cells, math.Inf(1)) {
		expected[k] = (last - g.Survival(edge)) / g.Survival(8)
		last = g.Survival(edge)
	}
	dptest.ChiSquare(t, "beyond 8", observed, expected, 1e-10)
	dptest.Tail(t, "accepted", accepted, n, 64*stripDensity*g.Survival(8)*sqrt2Pi/tailHeight, 1e-10)
}

// Draws by strip: the histogram of |Z| has the mass of each.
func TestNormalByStrip(t *testing.T) {
	var src Source
	// the last takes what is beyond
	observed, expected := make([]int64, 4*64), make([]float64, 4*64)
	places := make([]int64, 64)
	for range dptest.Full(10_000_000, 1_000_000) {
		z := drawNormal(&src)
		observed[min(z.m>>inStrip, 4*64-1)]++
		places[z.m>>(inStrip-6)&63]++
	}
	g := gaussian(1)
	for i := range expected {
		expected[i] = 2 * (g.Survival(float64(i)/64) - g.Survival(float64(i+1)/64))
	}
	expected[4*64-1] = 2 * g.Survival(4-1.0/64)
	dptest.ChiSquare(t, "strips", observed, expected, 1e-10)
	within := make([]float64, 64)
	for i := range expected {
		for k := range within {
			left := (float64(i) + float64(k)/64) / 64
			within[k] += 2 * (g.Survival(left) - g.Survival(left+1.0/4096))
		}
	}
	for k := range within {
		within[k] += 2 * g.Survival(4) / 64 // nearly even; 6e-5 in all
	}
	dptest.ChiSquare(t, "places within the strips", places, within, 1e-10)
}
