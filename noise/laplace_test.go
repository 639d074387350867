package noise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// The draws in one piece are those of the exact samplers from the same words, and take as many of
// them: for random words, for words next to where the integer changes, which the quick logarithm
// does not decide, and for words that lead to the rare branches.
func TestQuickDrawsAreTheExactOnes(t *testing.T) {
	var random Source
	quick, exact := script(), script()
	scales := []float64{0x1p19 - 1, 0x1p19, 0x1p19 * 1.5, 0x1p39, 0x1p40 * 1.3, 0x1p46 - 1, 0x1p46}
	near := 0
	for i := range dptest.Full(40_000, 4000) {
		scale := scales[i%len(scales)]
		w, next := random.Uint64(), random.Uint64()
		switch i % 4 {
		case 1: // t within 2⁻¹⁵ of an integer, twice the margin
			c, _ := math.Frexp(scale)
			c *= 0x1p20
			t := math.Floor(c*float64(random.Uint64()%(15<<20))*0x1p-20) + 0x1p-15*(2*float64(random.Uint64())*0x1p-64-1)
			next = uint64(math.Exp(-t/c)*0x1p64)&^3 | next&3
			near++
		case 2:
			w |= (1<<19 - 1) << 26 // for some scales the digits behind u
			if i%8 == 2 {
				w = math.MaxUint64
			}
			next >>= random.Uint64N(64)
		case 3: // at the end of a cell, where the logarithm is worst, and t next to an integer
			next = (128+random.Uint64N(128))<<56>>random.Uint64N(10) - 4*random.Uint64N(2)
			c, exponent := math.Frexp(scale)
			log := 64*math.Ln2 - math.Log(float64(next&^3))
			c = (math.Round(c*0x1p20*log) + 0x1p-17*(2*float64(random.Uint64())*0x1p-64-1)) / log
			if c < 0x1p20 {
				scale = min(math.Ldexp(c*0x1p-20, exponent), 0x1p46)
			}
		}
		words := []uint64{w, next, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}
		step := []float64{1, 0x1p-40, 0x1p100}[i%3]
		d := laplace(scale * step)
		load(quick, words...)
		load(exact, words...)
		k, unit := d.draw(quick, step)
		want, _ := d.exactSteps(exact, step)
		require.Equal(t, want, k, "scale = %v, words %#x", scale, words)
		require.Equal(t, step, unit)
		require.Equal(t, (*exact.state).left, (*quick.state).left, "words that are left")
		if at := bufferBytes - (*quick.state).left; (*quick.state).left == 8*(len(words)-2) {
			require.Equal(t, make([]byte, 16), (*quick.state).buf[at-16:at], "not wiped")
		}
	}
	require.GreaterOrEqual(t, near, 250)
}

// A step that is refused is so whatever the next words are, also where the exponents alone would
// make a scale that is drawn quickly.
func TestQuickDrawRefusesSteps(t *testing.T) {
	src := script()
	for _, scale := range []float64{0, 0x1p-900, 1, 1.5, 0x1p40, 0x1p900} {
		for exponent := -1080; exponent < 1024; exponent++ {
			for _, step := range []float64{math.Ldexp(1, exponent), math.Ldexp(-1, exponent), math.Ldexp(1.25, exponent)} {
				load(src, 1<<60, 1<<61, 3, 4)
				_, want := laplace(scale).exactSteps(src, step)
				load(src, 1<<60, 1<<61, 3, 4)
				_, got := laplace(scale).draw(src, step)
				if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Fatalf("scale = %v, step = %v: %v", scale, step, got)
				}
			}
		}
		for _, step := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			load(src, 1<<60, 1<<61, 3, 4)
			require.True(t, math.IsNaN(laplace(scale).Sample(src, step)))
		}
	}
}
