package alp

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// allocated returns how many bytes f allocates in total, whether they are freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// decodeLimit is what a decoder of n bytes may allocate.
func decodeLimit(n int) uint64 { return max(64<<20, 8*uint64(n)) }

// encodingOf returns an encoding of resolved Params of columns without a list, with a table of
// zeros, whether a decoder takes it or not.
func encodingOf(t *testing.T, p Params) []byte {
	t.Helper()
	g := geometry{columns: p.Columns, width: p.columnWidth()}
	if p.Signed {
		g.columns *= 2
	}
	require.NoError(t, g.arrange(p))
	v := &Projection{table: g.layOut(make([]uint64, g.bitWords()), nil), decoder: new(decoder)}
	v.shape.params = p
	return dptest.OK(v.MarshalBinary())(t)
}

// hostile are resolved Params whose encodings are small, and of which a decoder would compute a
// lot.
func hostile() map[string]Params {
	base := Params{Epsilon: 512, Sensitivity: 0x1p19, Integers: true, Structure: ColumnsOnly, Max: 0x1p54, Sparsity: 1, Bits: 1, Seed: hashing.Seed{1}, Variant: Variant{Levels: 2}}
	of := func(change func(p *Params)) Params {
		p := base
		change(&p)
		return p
	}
	share := func(steps float64) float64 { return steps * base.kappa() } // Alpha of a width
	return map[string]Params{
		// Columns of 2²³ steps on a logarithmic axis: a table of 2³³ words, from 4,236
		// bytes.
		"wide logarithmic columns": of(func(p *Params) { p.Base, p.Columns, p.Alpha = 1+0x1p-20, 1023, share(0x1p23-2) }),
		"one more":                 of(func(p *Params) { p.Base, p.Columns, p.Alpha = 1+0x1p-20, 3, share(maxWidth) }),
		"most logarithmic":         of(func(p *Params) { p.Base, p.Columns, p.Alpha = 1+0x1p-20, 2, share(maxWidth) }),
		"many logarithmic":         of(func(p *Params) { p.Base, p.Columns, p.Alpha = 1+0x1p-20, maxColumns, share(maxAxis/maxColumns) }),
		"widest":                   of(func(p *Params) { p.Columns, p.Alpha = 3, share(maxWidth) }),
		"widest of 8":              of(func(p *Params) { p.Levels, p.Columns, p.Alpha = 8, 2, share(maxWidth) }),
		"many columns":             of(func(p *Params) { p.Columns, p.Alpha, p.Signed = maxColumns, share(1000), true }),
		"many independent columns": of(func(p *Params) { p.Columns, p.Alpha, p.Signed, p.Independent = maxColumns, share(1000), true, true }),
		"many outputs":             of(func(p *Params) { p.Levels, p.Columns, p.Alpha, p.Signed = 256, 128, share(0x1p15), true }),
		"pairs": of(func(p *Params) {
			p.Levels, p.Columns, p.Alpha, p.Signed, p.TwoVectors = 256, 128, share(0x1p15), true, true
		}),
	}
}

// slow are those that take most of the time to decode, without being nearer to the limit than the
// others.
var slow = []string{"many independent columns", "many columns", "widest of 8"}

// What a decoder allocates is bounded by 64 MiB or 8 times the input, whatever the bytes say, and
// New refuses the same Params.
func TestDecodeAllocatesLittle(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	decoded := 0
	for name, p := range hostile() {
		if slices.Contains(slow, name) && !dptest.Long() {
			continue
		}
		data := encodingOf(t, p)
		var v Projection
		var err error
		start := time.Now()
		bytes := allocated(func() { err = v.UnmarshalBinary(data) })
		took := time.Since(start)
		require.LessOrEqual(t, bytes, decodeLimit(len(data)), "%s: %d bytes", name, len(data))
		_, newErr := p.resolved() // the check of New
		require.Equal(t, err == nil, newErr == nil, "%s: %v, %v", name, err, newErr)
		if err == nil {
			decoded++
		} else {
			_, newErr = New(p)
			require.ErrorIs(t, newErr, ErrParams, name)
			require.ErrorIs(t, err, ErrFormat, name)
			require.Less(t, bytes, uint64(1<<20), name)
		}
		t.Logf("%s: %d bytes allocate %d in %v, %v", name, len(data), bytes, took, newErr)
	}
	require.Greater(t, decoded, 4)
	require.Len(t, encodingOf(t, hostile()["wide logarithmic columns"]), 4236)
}
