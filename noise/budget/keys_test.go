package budget

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// someKeys is a release of unknown keys by noise of σ = 5.4956, with thresholds that are (1, 1e-9)
// alone: as in package loss, TestKeysFigures, in round numbers above those.
func someKeys() loss.Keys {
	return loss.NewKeys(0.033111, 1.0714e-7, 5.078e-8, func(logKappa float64) float64 {
		return 6.5e-10 / -math.Expm1(-logKappa)
	})
}

// withKeys returns such a release.
func withKeys(u Unit) Guarantee { return ApproxDP(1, 1e-9, u).WithKeys(someKeys()) }

// What many releases of keys cost together, alone and beside others; each path of the accountant is
// no less than the theorem with the exact profile of the others.
func TestReleasesOfKeys(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	k := withKeys(one)
	require.Equal(t, "ε = 1, δ = 1e-9 for one element, added or removed", k.String())
	for n, most := range map[int]float64{2: 1.10, 7: 2.17, 30: 4.88, 365: 22.3} {
		got := k.Times(n).EpsilonAt(1e-6)
		require.LessOrEqual(t, got, most, "%d", n)
		require.Greater(t, got, GDP(math.Sqrt(0.0331*float64(n)), one).EpsilonAt(1e-6))
		require.LessOrEqual(t, k.Times(n).DeltaAt(got), 1e-6*(1+1e-9))
	}
	require.EqualValues(t, 1, k.EpsilonAt(1e-9), "as it was asked for")

	// Beside Gaussian noise its μ² is that of the noise. The μ of what stands beside, exactly.
	thirty := k.Times(30)
	for _, c := range []struct {
		name string
		g    Guarantee
		rest Guarantee // with the μ² of keys
		off  float64
	}{
		{"GDP", GDP(0.7, one), GDP(math.Sqrt(0.49+30*0.033111), one), 1e-9},
		{"escapes", GDP(0.7, one).WithEscape(1e-8), GDP(math.Sqrt(0.49+30*0.033111), one).WithEscape(1e-8), 1e-9},
		{"pure", PureDP(0.1, one).Times(50), dptest.OK(Compose(PureDP(0.1, one).Times(50), GDP(math.Sqrt(30*0.033111), one)))(t), 3e-3},
		{"samples", sampledGaussian(t), dptest.OK(Compose(sampledGaussian(t), GDP(math.Sqrt(30*0.033111), one)))(t), 6e-2},
		{"zCDP", ZCDP(0.2, one), dptest.OK(Compose(ZCDP(0.2, one), GDP(math.Sqrt(30*0.033111), one)))(t), 3e-3},
		{"zCDP and pure", dptest.OK(Compose(ZCDP(0.2, one), Laplace(0.3, one)))(t), dptest.OK(Compose(ZCDP(0.2, one), Laplace(0.3, one), GDP(math.Sqrt(30*0.033111), one)))(t), 5e-3},
	} {
		both := dptest.OK(Compose(thirty, c.g))(t)
		for _, epsilon := range []float64{4, 10} {
			of := someKeys().Times(30)
			want := of.Delta(epsilon, func(epsilon float64) float64 {
				if epsilon < 0 {
					return 1
				}
				return c.rest.DeltaAt(epsilon)
			})
			got := both.DeltaAt(epsilon)
			require.GreaterOrEqual(t, got, want*(1-c.off), "%s at %g", c.name, epsilon)
			require.LessOrEqual(t, got, want*(1+20*c.off), "%s at %g", c.name, epsilon)
			require.LessOrEqual(t, both.EpsilonAt(got), epsilon*(1+1e-5))
		}
		require.Less(t, both.EpsilonAt(1e-6), 12.0, c.name)
		require.InEpsilon(t, both.EpsilonAt(1e-6), dptest.OK(Compose(c.g, thirty))(t).EpsilonAt(1e-6), 1e-12)
	}
	// Where the accountant knows no law of what stands beside, there are the sums alone.
	unknown := dptest.OK(Compose(PureDP(2e6, one), k))(t)
	require.InEpsilon(t, 2e6+1, unknown.EpsilonAt(1e-6), 1e-9)
}

func sampledGaussian(t *testing.T) Guarantee {
	return dptest.OK(GDP(1, one).Subsampled(0.1))(t)
}

// No law is left out where the accountant does not know it, also beside ρ and μ.
func TestUnknownLawsAreNotForgotten(t *testing.T) {
	all := dptest.OK(Compose(PureDP(0x1p21, one), ZCDP(0.1, one), GDP(0.1, one)))(t)
	require.Greater(t, all.EpsilonAt(1e-6), 0x1p20)
	require.EqualValues(t, 1, all.DeltaAt(10))
	l := dptest.OK(NewLedger(10, 1e-6, one))(t)
	require.ErrorIs(t, l.Spend(all), ErrBudget)
}

// No other rule reads Σμ² of keys: filters, groups, samples and conversions of more than one step
// are those of (ε, δ).
func TestKeysAreApproximateElsewhere(t *testing.T) {
	k, asked := withKeys(one), ApproxDP(1, 1e-9, one)
	for _, r := range []Rule{SumRule(), RhoRule(1e-8), MuRule()} {
		for _, epsilon := range []float64{0.5, 5, 10} {
			a, b := dptest.OK(NewLedger(epsilon, 1e-6, one, r))(t), dptest.OK(NewLedger(epsilon, 1e-6, one, r))(t)
			require.Equal(t, spendAll(t, b, asked), spendAll(t, a, k), "%v", a)
			require.Equal(t, b.String(), a.String())
			require.Equal(t, b.Remaining(), a.Remaining())
		}
	}
	require.Equal(t, dptest.OK(asked.Group(3))(t).EpsilonAt(1e-6), dptest.OK(k.Group(3))(t).EpsilonAt(1e-6))
	require.Equal(t, dptest.OK(asked.Group(3))(t).DeltaAt(1), dptest.OK(k.Group(3))(t).DeltaAt(1))
	two := dptest.OK(k.For(Element(Replace)))(t)
	same := dptest.OK(asked.For(Element(Replace)))(t)
	require.Equal(t, same.EpsilonAt(1e-6), two.EpsilonAt(1e-6))
	sample := dptest.OK(k.Subsampled(0.1))(t)
	plain := dptest.OK(asked.Subsampled(0.1))(t)
	require.GreaterOrEqual(t, sample.EpsilonAt(1e-6), plain.EpsilonAt(1e-6))
	require.False(t, sample.pair.HasKeys())

	// A release for fewer of the unit is the same.
	user := dptest.OK(withKeys(User(0, AddRemove)).For(User(3, AddRemove)))(t)
	require.Equal(t, k.Times(30).EpsilonAt(1e-6), user.Times(30).EpsilonAt(1e-6))

	for _, g := range []Guarantee{asked.WithKeys(loss.Keys{1, -1}), Guarantee{}.WithKeys(someKeys())} {
		require.Equal(t, Guarantee{}, g)
	}
	require.Equal(t, asked, asked.WithKeys(loss.Keys{}).WithPair(asked))
}

// Releases that are calibrated together are all accepted, in any order with others, and in a
// journal that is opened again half-way; no more than these are.
func TestLedgersOfKeys(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	for _, n := range []int{1, 7, dptest.Full(365, 30)} {
		k := withKeys(one)
		epsilon := k.Times(n).EpsilonAt(1e-6)
		l := dptest.OK(NewLedger(epsilon, 1e-6, one))(t)
		for range n {
			require.NoError(t, l.Spend(k))
		}
		require.ErrorIs(t, l.Spend(k), ErrBudget)
	}

	d := new(disk)
	kept := dptest.OK(CreateJournal(d, dptest.OK(NewLedger(6, 1e-6, one))(t)))(t)
	days := 0
	for accepted := true; accepted && days < 40; days++ {
		if days == 10 {
			kept = dptest.OK(OpenJournal(d, kept.Records()))(t)
		}
		for _, g := range []Guarantee{withKeys(one), Laplace(0.05, one), PureDP(0.05, one), DiscreteGaussian(20, 1, one)} {
			before := kept.Records()
			err := kept.Spend(g)
			accepted = accepted && err == nil
			require.Equal(t, err == nil, kept.Records() > before)
		}
	}
	t.Logf("%d days: %v", days, kept)
	require.Greater(t, days, 30)
	require.Less(t, days, 40)
	again := dptest.OK(OpenJournal(d, kept.Records()))(t)
	data := dptest.OK(again.MarshalBinary())(t)
	var back Ledger
	require.NoError(t, back.UnmarshalBinary(data))
	require.True(t, equalLedgers(kept, &back))
	require.ErrorIs(t, back.Spend(withKeys(one)), ErrBudget)
	require.Greater(t, back.Remaining().Epsilon(), 0.0)
	require.True(t, back.Accepts(back.Remaining()))
}

// A month of reports on which pages were visited, each (1, 1e-9) for one user.
func ExampleGuarantee_WithKeys() {
	user := User(0, AddRemove)
	report := ApproxDP(1, 1e-9, user).WithKeys(someKeys()) // groupby.Params.Guarantee
	fmt.Printf("%.2f\n", report.Times(30).EpsilonAt(1e-6))
	fmt.Printf("%.2f, if no more is known\n", ApproxDP(1, 1e-9, user).Times(30).EpsilonAt(1e-6))
	// Output:
	// 4.87
	// 29.99, if no more is known
}
