package alp

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// samples are Params of small releases of each kind.
var samples = map[string]Params{
	"split":       {Epsilon: 1, Delta: 1e-6, Sparsity: 2, Integers: true, Bits: 60, Variant: Variant{Split: 0.5, Levels: 8, Columns: 2}},
	"pure":        {Epsilon: 2, Dim: 1 << 30, Sparsity: 3, Integers: true, Signed: true, Bits: 60, Variant: Variant{Levels: 2, FalseKeys: 1, Columns: 3}},
	"composition": {Epsilon: 3, Delta: 1e-9, Dim: 1000, Sparsity: 2, Integers: true, Structure: Composition, Bits: 60, Variant: Variant{Linear: true}},
	"columns":     {Epsilon: 1, Max: 30, Sparsity: 4, Integers: true, Variant: Variant{Independent: true, Base: 1.5, Levels: 4, Columns: 2}},
}

// releaseOf releases four entries, the same at each call.
func releaseOf(t *testing.T, p Params) *Projection {
	t.Helper()
	cryptotest.SetGlobalRandom(t, 7)
	b := dptest.OK(New(p))(t)
	for i, v := range []float64{3, 1e6, 12, 500} {
		b.Add(uint64(i)*100, v)
	}
	return dptest.OK(b.Release())(t)
}

// same reports whether two Projections answer alike.
func same(a, b *Projection) bool {
	if (a.decoder == nil) != (b.decoder == nil) {
		return false
	}
	for index := uint64(0); index < 500; index += 10 { // the four entries, and zeros
		x, y := a.Estimate(index), b.Estimate(index)
		if math.Float64bits(x) != math.Float64bits(y) {
			return false
		}
	}
	return a.Params() == b.Params() && reflect.DeepEqual(a.table, b.table) && reflect.DeepEqual(a.list, b.list) && a.String() == b.String()
}

func TestCodec(t *testing.T) {
	for name, p := range samples {
		t.Run(name, func(t *testing.T) {
			v := releaseOf(t, p)
			data := dptest.OK(v.MarshalBinary())(t)
			listed := 0
			if v.list != nil {
				listed = v.list.Len()
			}
			_, values := v.table.unpack()
			require.Len(t, data, v.shape.encoded(uint64(len(values)), listed))
			if name == "columns" || name == "pure" || dptest.Long() {
				dptest.Codec[Projection](t, v, same)
			}
		})
	}
}

// What a release gives decodes to the same Projection, for default Params too.
func TestCodecOfReleases(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Delta: 1e-9, Sparsity: 100}, {Epsilon: 0.1, Dim: math.MaxUint64, Sparsity: 10}, {Epsilon: 1, Delta: 1e-9, Sparsity: 100, Signed: true, Variant: Variant{TwoVectors: true}},
		{Epsilon: 0.01, Delta: 0.1, Sparsity: 10, Variant: Variant{Levels: 256, Columns: 3}}, {Epsilon: 20, Max: 5, Sparsity: 10}, {Epsilon: 1, Delta: 1e-9, share: 0.1},
		{Epsilon: 1, Delta: 1e-9, Sensitivity: 3, Max: math.Copysign(0, -1)}, {Epsilon: 1, Delta: 1e-9, Sparsity: 100, Signed: true, Variant: Variant{Base: 1.2}},
	} {
		v := releaseOf(t, p)
		w, _ := dptest.RoundTrip(t, v, "%+v", p)
		require.True(t, same(v, w))
	}
	require.ErrorIs(t, dptest.Err(new(Projection).MarshalBinary()), ErrFormat)
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	for name, p := range samples {
		now := dptest.OK(releaseOf(t, p).MarshalBinary())(t)
		dptest.Store(t, name+".hex", hex.EncodeToString(now)+"\n")
		data := golden(t, name)
		v := dptest.Decoded[Projection](t, data)
		require.NotNil(t, v, name)
		require.Equal(t, p.Epsilon, v.Params().Epsilon)
		data[5]++ // a later version
		require.ErrorIs(t, v.UnmarshalBinary(data), ErrFormat)
	}
}

// What the files hold is fixed too, in every bit: the Params, what the cells of the four entries
// and of two zeros show, and the list.
func TestGoldenReadings(t *testing.T) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		v := new(Projection)
		require.NoError(t, v.UnmarshalBinary(golden(t, name)))
		fmt.Fprintf(&b, "%s\n%+v\n", name, v.Params())
		for _, index := range []uint64{0, 100, 200, 300, 7, 999} {
			fmt.Fprintf(&b, "%d %v", index, v.outputs(index, nil))
			if v.list != nil {
				fmt.Fprintf(&b, " %v", v.list.Estimate(index))
			}
			b.WriteString("\n")
		}
	}
	dptest.Golden(t, "readings.txt", b.String())
}

func golden(t testing.TB, name string) []byte {
	return dptest.OK(hex.DecodeString(strings.TrimSpace(dptest.Stored(t, name+".hex"))))(t)
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	valid := func() *Projection { return releaseOf(t, samples["split"]) }
	dptest.Spoiled(t, valid, func() *Projection { return new(Projection) }, map[string]func(*Projection){
		"no structure":      func(v *Projection) { v.shape.params.Structure = AutoStructure },
		"another structure": func(v *Projection) { v.shape.params.Structure = ColumnsOnly },
		"unknown structure": func(v *Projection) { v.shape.params.Structure = lastStructure + 1 },
		"no levels":         func(v *Projection) { v.shape.params.Levels = 0 },
		"odd levels":        func(v *Projection) { v.shape.params.Levels = 6 },
		"no columns":        func(v *Projection) { v.shape.params.Columns = 0 },
		"many columns":      func(v *Projection) { v.shape.params.Columns = 300 },
		"no seed":           func(v *Projection) { v.shape.params.Seed = [16]byte{} },
		"no sparsity":       func(v *Projection) { v.shape.params.Sparsity = 0 },
		"negative sparsity": func(v *Projection) { v.shape.params.Sparsity = -1 },
		"another sparsity":  func(v *Projection) { v.shape.params.Sparsity = 1 << 20 },
		"bad epsilon":       func(v *Projection) { v.shape.params.Epsilon = math.NaN() },
		"another epsilon":   func(v *Projection) { v.shape.params.Epsilon *= 1.01 },
		"another delta":     func(v *Projection) { v.shape.params.Delta *= 1.01 },
		"another dim":       func(v *Projection) { v.shape.params.Dim = 77 },
		"negative zero":     func(v *Projection) { v.shape.params.Max = math.Copysign(0, -1) },
		"two vectors":       func(v *Projection) { v.shape.params.TwoVectors = true },
		"turn too low":      func(v *Projection) { v.shape.params.Turn = 2 },
		"no turn":           func(v *Projection) { v.shape.params.Turn = 0 },
		"a cell too many":   func(v *Projection) { v.table.cells++ },
		"no such output": func(v *Projection) {
			shown, values := v.table.unpack()
			values[0] = 1<<v.table.valueBits - 1
			v.table = v.shape.layOut(shown, values)
		},
		"no list": func(v *Projection) { v.list = nil },
	})
	v := releaseOf(t, samples["pure"]) // 6 columns of 85 bits in a block of 512
	refused := func(data []byte, why string) {
		t.Helper()
		require.ErrorIs(t, new(Projection).UnmarshalBinary(data), ErrFormat, why)
	}
	shown, values := v.table.unpack()
	shown[7] |= 1 << 63
	v.table = v.shape.layOut(shown, append(values, 0))
	data := dptest.OK(v.MarshalBinary())(t)
	refused(data, "bits behind the cells")
	data = dptest.OK(releaseOf(t, samples["columns"]).MarshalBinary())(t)
	refused(append(slices.Clone(data), make([]byte, 8)...), "a word of values too many")
	data[len(data)-1] |= 1 << 7
	refused(data, "a bit behind the values")
}

func FuzzUnmarshal(f *testing.F) {
	for name := range samples {
		f.Add(golden(f, name))
	}
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) {
	releases := map[string]*Projection{}
	for _, name := range []string{"split", "columns"} {
		releases[name] = releaseOf(t, samples[name])
	}
	dptest.Edges(t, releases, useDecoded)
}

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	bytes := allocated(func() { _ = new(Projection).UnmarshalBinary(data) })
	require.LessOrEqual(t, bytes, decodeLimit(len(data)), "%d bytes", len(data))
	v := dptest.Decoded[Projection](t, data)
	if v == nil {
		return
	}
	indices := []uint64{0, 100, 200, 300, 7, 999} // the four entries, and zeros
	for _, index := range indices {
		x := v.Estimate(index)
		lo, hi := v.Interval(index, 0.9)
		require.True(t, !math.IsNaN(x) && lo <= hi, "%v, [%v, %v]", x, lo, hi)
		v.Argmax(index)
	}
	for _, x := range v.EstimateAll(indices, nil) {
		require.False(t, math.IsNaN(x))
	}
	for _, confidence := range []float64{0, 1 - 0x1p-53} {
		lo, hi := v.Interval(0, confidence)
		require.True(t, lo <= hi, "[%v, %v]", lo, hi)
	}
	other := dptest.OK(v.WithPrior(Prior{Zero: 0.9}))(t)
	require.False(t, math.IsNaN(other.Estimate(3)))
	require.NotEqual(t, v.Prior(), other.Prior())
	require.NotContains(t, v.String(), "NaN")
	require.NotZero(t, v.Guarantee())
	require.NotZero(t, v.Params().Epsilon)
}
