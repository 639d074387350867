package noise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func TestQuickIntIsTheExactOne(t *testing.T) {
	var random Source
	quick, exact := script(), script()
	for i := range dptest.Full(40_000, 4000) {
		b := math.Ldexp(1+float64(random.Uint64())*0x1p-64, i%36-13) // up to 2²³
		d := discreteLaplace(b)
		w := random.Uint64()
		switch i % 4 {
		case 1: // within twice the margin of an integer
			n := float64(1+random.Uint64()%20) + b*0x1p-35*(2*float64(random.Uint64())*0x1p-64-1)
			w = uint64(min(math.Exp(d.law.shift-n/b), 1-0x1p-53)*0x1p64)&^3 | w&3
		case 2:
			w >>= random.Uint64N(64)
		}
		words := []uint64{w, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}
		load(quick, words...)
		load(exact, words...)
		require.Equal(t, d.exactInt(exact), d.SampleInt(quick), "b = %v, words %#x", b, words)
		require.Equal(t, (*exact.state).left, (*quick.state).left, "words that are left")
		if (*quick.state).left == 8*(len(words)-1) {
			at := bufferBytes - (*quick.state).left
			require.Equal(t, make([]byte, 8), (*quick.state).buf[at-8:at], "not wiped")
		}
	}
}
