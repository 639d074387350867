package budget

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

func sampleGuarantees(t testing.TB) map[string]*Guarantee {
	composed := dptest.OK(Compose(ApproxDP(1, 1e-6, User(20, AddRemove)), ZCDP(0.5, User(20, AddRemove)), GDP(0.25, User(20, AddRemove)), PureDP(1, User(20, AddRemove))))(t)
	group := dptest.OK(PureDP(0.5, Row(Replace)).Group(3))(t)
	vectors := ZCDP(0.5, L2(2.5))
	none := Guarantee{}
	keys := dptest.OK(Compose(withKeys(User(0, AddRemove)).Times(2), PureDP(0.5, User(0, AddRemove))))(t)
	stable := dptest.OK(PureDP(0.5, Element(AddRemove)).Stable(User(0, AddRemove), 3))(t)
	return map[string]*Guarantee{"stable.hex": &stable, "keys.hex": &keys, "composed.hex": &composed, "group.hex": &group, "vectors.hex": &vectors, "none.hex": &none}
}

func TestGuaranteeCodec(t *testing.T) {
	samples := sampleGuarantees(t)
	dptest.GoldenDumps(t, samples)
	for _, g := range samples {
		dptest.Codec(t, g, func(a, b *Guarantee) bool { return a.Equal(*b) })
	}
	for _, u := range append(allUnits, Unit{}) {
		data := dptest.OK(u.MarshalBinary())(t)
		require.Len(t, data, UnitSize)
		var again Unit
		require.NoError(t, again.UnmarshalBinary(data))
		require.Equal(t, u, again)
		text := dptest.OK(json.Marshal(PureDP(1, u)))(t)
		require.Contains(t, string(text), `{"text":"`+PureDP(1, u).String()+`"`)
		var g Guarantee
		require.NoError(t, json.Unmarshal(text, &g))
		require.True(t, g.Equal(PureDP(1, u)))
	}
}

func TestGuaranteeDecodeRejects(t *testing.T) {
	for name, g := range map[string]Guarantee{
		"ε without its square": {unit: rowed, promised: true, asked: account.Sums{Epsilon: 1}},
		"a square without ε":   {unit: rowed, promised: true, asked: account.Sums{ResponseRho: 1}},
		"a square above ε's":   {unit: rowed, promised: true, asked: account.Sums{Epsilon: 1, ResponseRho: 0.6}},
		"δ of 1":               {unit: rowed, promised: true, asked: account.Sums{Delta: 1}},
		"δ below 0":            {unit: rowed, promised: true, asked: account.Sums{Delta: -1}},
		"−0":                   {unit: rowed, promised: true, asked: account.Sums{Rho: math.Copysign(0, -1)}},
		"NaN":                  {unit: rowed, promised: true, asked: account.Sums{Rho: math.NaN()}},
		"infinite μ":           {unit: rowed, promised: true, asked: account.Sums{MuSquares: math.Inf(1)}},
		"sums of no promise":   {asked: account.Sums{Rho: 1}},
		"an unknown unit":      {unit: Unit{kind: 8, relation: AddRemove, many: 1}, promised: true},
		"an unknown relation":  {unit: Unit{kind: row, relation: 3, many: 1}, promised: true},
		"no row":               {unit: Unit{kind: row, relation: Replace}, promised: true},
		"a max of rows":        {unit: Unit{kind: row, relation: Replace, max: 2, many: 1}, promised: true},
		"vectors of a number":  {unit: Unit{kind: l1, distance: 1, many: 1}, promised: true},
		"vectors at −0":        {unit: Unit{kind: l1, distance: math.Copysign(0, -1)}, promised: true},
		"a period of rows":     {unit: Unit{kind: row, relation: Replace, distance: 5e-324, many: 1}, promised: true},
		"a period too long":    {unit: Unit{kind: user, relation: AddRemove, period: 1<<30 + 1, many: 1}, promised: true},
		"keys of no release":   {unit: rowed, promised: true, asked: PureDP(1, rowed).asked, pair: account.PairSums{Keys: loss.Keys{0, 1}}},
		"keys below 0":         {unit: rowed, promised: true, asked: PureDP(1, rowed).asked, pair: account.PairSums{Keys: loss.Keys{1, -1}}},
		"an unknown condition": {unit: rowed, promised: true, on: conditions("").and(condition{user, own + 1, 1})},
		"no distance":          {unit: rowed, promised: true, on: conditions("").and(condition{user, row, 0})},
		"a condition twice":    {unit: rowed, promised: true, on: conditions(append(condition{user, row, 1}.key(), condition{user, row, 2}.key()...))},
		"conditions unsorted":  {unit: rowed, promised: true, on: conditions(append(condition{user, row, 1}.key(), condition{user, key, 2}.key()...))},
		"a group of elements":  {unit: Unit{kind: element, relation: AddRemove, many: 2}, promised: true},
	} {
		data := dptest.OK(g.MarshalBinary())(t)
		kept := PureDP(3, rowed)
		require.ErrorIs(t, kept.UnmarshalBinary(data), ErrFormat, name)
		require.Equal(t, PureDP(3, rowed), kept)
	}
}

func FuzzUnmarshalGuarantee(f *testing.F) {
	for _, g := range sampleGuarantees(f) {
		data := dptest.OK(g.MarshalBinary())(f)
		f.Add(data)
	}
	f.Fuzz(useGuarantee)
}

func TestGuaranteeEdges(t *testing.T) { dptest.Edges(t, sampleGuarantees(t), useGuarantee) }

// cheap reports whether the accountant answers at once.
func cheap(g Guarantee) bool {
	k := kindsOf(g)
	return len(k) < 2 && !g.pair.HasKeys() && !hasFamily(g, account.SampledGaussian, account.DiscreteGaussianNoise) && (g.pair.Rho == 0 || g.pair.MuSquares == 0)
}

func hasFamily(g Guarantee, families ...account.Family) bool {
	return slices.ContainsFunc(kindsOf(g), func(x account.Kind) bool { return slices.Contains(families, x.Family) })
}

// useGuarantee calls what there is on a Guarantee from any bytes: no panic, no NaN.
func useGuarantee(t *testing.T, data []byte) {
	g := dptest.Decoded[Guarantee](t, data)
	if g == nil {
		return
	}
	cheap := cheap(*g)
	for _, x := range []float64{1e-6, 0.5, 0, 1e-300, 1, 100, math.Inf(1)} {
		require.GreaterOrEqual(t, g.EpsilonAt(x), 0.0)
		delta := g.DeltaAt(x)
		require.True(t, delta >= 0 && delta <= 1)
		if !cheap && (x == 0.5 || !dptest.Long()) {
			break
		}
	}
	_ = g.String()
	for _, u := range allUnits {
		_, _ = g.For(u)
		_, _ = g.Stable(u, 2)
	}
	for _, m := range []int{1, 2, 1 << 30} {
		_, _ = g.Group(m)
		g.Times(m)
	}
	_, _ = g.Subsampled(0.5)
	require.True(t, g.Equal(*g))
	require.False(t, math.IsNaN(g.Mu()+g.Rho()+g.Epsilon()+g.Delta()))
}
