package misragries

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// A guarantee names whom it protects: an element, or a user where there is MaxElements. The Builder
// tells it before and after the release, the histogram does, and so does what is decoded from it.
func TestGuaranteeNamesTheUnit(t *testing.T) {
	eachPath(func(name string, in input, m Method, p Params) {
		t.Run(name, func(t *testing.T) {
			for _, keys := range []int{0, 1, 2} {
				if in == users && keys == 0 {
					continue
				}
				p = p.of(in, keys)
				want := budget.Element(budget.AddRemove)
				if keys > 0 {
					want = budget.UserElements(keys, budget.AddRemove) // which may be of one key
				}
				if in == users {
					want = budget.User(keys, budget.AddRemove)
				}
				b := fill(t, in, p, repeat(900, 1000)).(interface {
					releaser
					Guarantee() budget.Guarantee
				})
				promised := b.Guarantee()
				require.Equal(t, want, promised.Unit(), "m = %d", keys)
				require.Equal(t, 1.0, promised.Epsilon())
				require.Equal(t, p.Delta, promised.Delta())
				h := dptest.OK(b.Release())(t)
				require.True(t, promised.Equal(b.Guarantee()), "after the release")
				require.True(t, promised.Equal(h.Guarantee()))
				back, _ := dptest.RoundTrip(t, h, name)
				require.True(t, promised.Equal(back.Guarantee()), "decoded")
				if in == oneStream {
					require.True(t, promised.Equal(p.Guarantee()))
				}
			}
		})
	})
	require.Zero(t, new(Builder[int]).Guarantee())
	require.Zero(t, new(Sum[int]).Guarantee())
	require.Zero(t, new(UserBuilder[int]).Guarantee())
	require.Zero(t, new(Histogram[int]).Guarantee(), "it was 0-DP")
	require.Zero(t, new(Combined[int]).Guarantee())
	lo, hi := new(Combined[int]).Interval(1, 0.9)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
}

// Who has one key 500 times has 500 elements: what MaxElements protects is no user of as many keys,
// and no ledger of such users takes it.
func TestElementsAreNoKeys(t *testing.T) {
	p := Params{Counters: 4, Epsilon: 1, Delta: 1e-6, MaxElements: 10}
	g := p.Guarantee()
	require.Equal(t, "ε = 1, δ = 1e-6 for one user (at most 10 elements), added or removed", g.String())
	require.Contains(t, string(dptest.OK(g.MarshalJSON())(t)), "at most 10 elements")
	require.Contains(t, draw(t, oneStream, p, repeat(900)).String(), "at most 10 elements")
	l := dptest.OK(budget.NewLedger(10, 0.1, budget.User(10, budget.AddRemove)))(t)
	require.ErrorIs(t, dptest.Err(budget.Release(l, build(t, p, repeat(900)))), ErrMismatch)
	require.ErrorIs(t, dptest.Err(g.For(budget.User(10, budget.AddRemove))), ErrMismatch)
	p.Counters = 20
	sets := dptest.OK(NewUserBuilder[int](p))(t)
	require.Contains(t, sets.Guarantee().String(), "at most 10 keys")
	of := dptest.OK(sets.Guarantee().For(g.Unit()))(t)
	require.Equal(t, g.Unit(), of.Unit(), "10 elements have at most 10 keys")
	require.Equal(t, 1.0, of.Epsilon())
}

// A sum of histograms that protect different units promises nothing.
func TestCombinedUnits(t *testing.T) {
	p := Params{Counters: 4, Epsilon: 1, Delta: 1e-3, MaxElements: 2}
	two := draw(t, oneStream, p, repeat(900))
	p.Method = KeptZeros
	sets := draw(t, users, p, repeat(900)) // users of at most two keys
	more := draw(t, users, p, repeat(900))
	p.Method, p.MaxElements = Auto, 3
	three := draw(t, oneStream, p, repeat(900))
	p.MaxElements = 1
	one := draw(t, oneStream, p, repeat(900))
	for _, c := range []struct {
		parts []*Histogram[int]
		unit  budget.Unit
	}{
		{[]*Histogram[int]{sets, more}, budget.User(2, budget.AddRemove)},
		{[]*Histogram[int]{one, draw(t, oneStream, p, repeat(900))}, budget.UserElements(1, budget.AddRemove)},
		{[]*Histogram[int]{two, sets}, budget.Unit{}},
		{[]*Histogram[int]{two, three}, budget.Unit{}},
		{[]*Histogram[int]{one, two}, budget.Unit{}},
	} {
		sum := dptest.OK(Combine(c.parts...))(t)
		require.Equal(t, c.unit, sum.Guarantee().Unit())
		if c.unit.Valid() {
			require.Equal(t, 1.0, sum.Guarantee().Epsilon())
		}
	}
}

// No field of the Params is forgotten: each changes the head of both encodings.
func TestEveryParamIsInTheHeads(t *testing.T) {
	class := wire.SignedKey
	heads := func(p Params) [2]string {
		h := Histogram[int]{params: p}
		state := byte(privateBuilder)
		return [2]string{string(wire.AppendFields(nil, h.head(&class))), string(wire.AppendFields(nil, p.privateHead(&state, &class)))}
	}
	plain := heads(Params{})
	of := reflect.TypeFor[Params]()
	for i := range of.NumField() {
		var p Params
		switch f := reflect.ValueOf(&p).Elem().Field(i); f.Kind() {
		case reflect.Float64:
			f.SetFloat(1)
		case reflect.Int:
			f.SetInt(1)
		default:
			f.SetUint(1)
		}
		for j, head := range heads(p) {
			require.NotEqual(t, plain[j], head, "%s is not in the head %d", of.Field(i).Name, j)
		}
	}
	p := Params{Counters: 1, Epsilon: 2, Delta: math.Pi, Dim: 3, MaxElements: 4, MaxLength: 5, Method: ReducedSum}
	var back Params
	state := byte(privateSum)
	r := wire.NewReader("test", []byte(heads(p)[1]))
	r.Fields(back.privateHead(&state, &class))
	require.NoError(t, r.Done())
	require.Equal(t, p, back)
}

// What hardly protects says so wherever it is printed: before a release, after it, in sums and in
// JSON.
func TestHardlyAnyProtection(t *testing.T) {
	const warning = "(hardly any protection)"
	for _, p := range []Params{
		{Counters: 4, Epsilon: 1000, Delta: 1e-6}, {Counters: 4, Epsilon: 1, Delta: 0.5}, {Counters: 4, Epsilon: 100, Dim: 9}, {Counters: 4, Epsilon: 1000, Delta: 1e-6, MaxElements: 2},
		{Counters: 4, Epsilon: 20, Delta: 0.01},
	} {
		says := p.Epsilon > 20 || p.Delta > 0.01
		b := build(t, p, repeat(900))
		h := dptest.OK(b.Release())(t)
		all := dptest.OK(Combine(h, draw(t, oneStream, p, repeat(9))))(t)
		for _, text := range []string{
			p.Guarantee().String(), b.Guarantee().String(), h.Guarantee().String(), h.String(), all.String(), dptest.OK(p.Plan(1))(t).String(),
			string(dptest.OK(h.MarshalJSON())(t)), string(dptest.OK(all.MarshalJSON())(t)),
		} {
			require.Equal(t, says, strings.Contains(text, warning), "%s", text)
		}
	}
}
