package budget_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The Guarantee of a Builder says what each of n releases may have: parts of which there are two
// alike, or of different size, or many. At that ε the Builders are accepted n times, and at one
// that is larger by .2 % they would not be.
func TestSplitOfBuilders(t *testing.T) {
	p := func(epsilon, share float64) distinct.Params {
		return distinct.Params{Epsilon: epsilon, CountShare: share, Seed: hashing.Seed{1}}
	}
	for name, at := range map[string]func(epsilon float64) budget.Guarantee{
		"windows": func(e float64) budget.Guarantee {
			return dptest.OK(distinct.NewWindowBuilder(p(e, 0), 0))(t).Guarantee()
		},
		"bits and a count": func(e float64) budget.Guarantee { return p(e, 0.1).Guarantee() },
		"frequencies": func(e float64) budget.Guarantee {
			return dptest.OK(distinct.NewFrequencyBuilder(p(e, 0), 5))(t).Guarantee()
		},
	} {
		const n = 365
		like := at(1)
		l := dptest.OK(budget.NewLedger(4, 1e-6, like.Unit()))(t)
		part := dptest.OK(l.Split(n, like))(t)
		if name == "windows" {
			require.InEpsilon(t, 0.0622, part.Epsilon(), 2e-3)
		}
		require.Greater(t, at(part.Epsilon()*1.002).Times(n).EpsilonAt(1e-6), 4.0, name)
		g := at(part.Epsilon())
		for i := range n {
			require.NoError(t, l.Spend(g), "%s: %d of %d", name, i, n)
		}
		require.False(t, l.Accepts(g), name)
	}
}
