package groupby

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// A ledger of what all releases together may spend accepts all of them and no more; thresholds are
// those of the theorem, by another program, for 100 keys a user, in the noise of one.
func TestReleasesFillALedger(t *testing.T) {
	thresholds := map[int]float64{1: 21.435, 7: 61.83, 30: 128.75, 365: 456.3}
	for n, want := range thresholds {
		if n == 365 && !dptest.Long() {
			continue
		}
		for name, p := range map[string]Params{
			"keys": {KeysOnly: true, most: 100}, "counts": {}, "two passes": {Passes: 2, FullKeys: AutoFullKeys, Others: true}, "replace": {Relation: budget.Replace, KeysOnly: true},
			"listed": {most: 50, listed: true, FullKeys: AutoFullKeys}, "listed without δ": {most: 50, listed: true},
		} {
			if name != "keys" && n != 30 && !dptest.Long() {
				continue
			}
			p.Epsilon, p.Delta, p.Releases = 1, 1e-6, n
			if name == "listed without δ" {
				p.Delta = 0
			}
			plan := dptest.OK(p.Plan())(t)
			if name == "keys" {
				require.InEpsilon(t, want, plan.Threshold, 3e-3)
			}
			g := p.Guarantee()
			require.True(t, g.Promises())
			require.LessOrEqual(t, g.Delta(), p.Delta/float64(n))
			l := dptest.OK(budget.NewLedger(p.Epsilon, p.Delta, g.Unit()))(t)
			for i := range n {
				require.NoError(t, l.Spend(g), "%s, %d of %d", name, i+1, n)
			}
			require.ErrorIs(t, l.Spend(g), budget.ErrBudget, "%s, %d", name, n)
			// The part of ε that one takes at its part of δ, and of the whole at the whole δ.
			require.LessOrEqual(t, g.EpsilonAt(g.Delta()), g.Epsilon())
			require.LessOrEqual(t, g.Times(n).EpsilonAt(p.Delta), 1+1e-9)
			if n > 1 {
				require.Greater(t, g.Times(n).EpsilonAt(p.Delta), 1-1e-3, name)
			}
		}
	}
}

// All noise over a list is n times that of one release without δ, and √n times with it.
func TestListedReleasesHaveTheNoise(t *testing.T) {
	const n = 9
	for delta, want := range map[float64]float64{0: n, 1e-6: 3} {
		scales := func(releases int) []float64 {
			c := dptest.OK(Params{Epsilon: 1, Delta: delta, Max: 1, Others: true, listed: true, most: 50, Releases: releases, Levels: [8]float64{0.5}}.normal().sizes())(t)
			return []float64{c.rest(choice{}), c.shortfall, c.value(choice{}), c.others, c.spread.weigh, 1 / c.spread.loss}
		}
		one, many := scales(1), scales(n)
		for i := range one {
			require.InEpsilon(t, want, many[i]/one[i], 1e-9+[]float64{0, 0, 0, 0, 0, 0.02}[i])
		}
	}
}

// A month of daily counts has a quarter of the noise, and of the threshold, that a thirtieth of the
// budget each would have had by the sums of ε and δ.
func TestAMonth(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, Releases: 30}
	require.InEpsilon(t, 148, planned(p).StdDev, 0.01)
	keys := p
	keys.KeysOnly = true
	require.InEpsilon(t, 129, planned(keys).Threshold, 0.015) // for 1000 keys a user
	alone := Params{Epsilon: 1. / 30, Delta: 1e-6 / 30}
	require.Greater(t, planned(alone).StdDev, 4*planned(p).StdDev)
	alone.KeysOnly = true
	require.Greater(t, planned(alone).Threshold, 3.9*planned(keys).Threshold)
}

// Thirty that were calibrated each for itself, ε = 1 and δ = 1e-9, cost 4.87 together at 1e-6,
// where sums say 30; and 365 cost 22.2 for 365.
func TestReleasesCompose(t *testing.T) {
	g := Params{Epsilon: 1, Delta: 1e-9, KeysOnly: true}.Guarantee()
	require.LessOrEqual(t, g.Times(30).EpsilonAt(1e-6), 4.90)
	require.Greater(t, g.Times(30).EpsilonAt(1e-6), 4.8)
	require.LessOrEqual(t, g.Times(365).EpsilonAt(1e-6), 22.4)
	require.EqualValues(t, 1, g.EpsilonAt(1e-9), "a single one keeps its own theorem")
}
