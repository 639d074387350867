package budget

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// Split returns what n times is accepted, and no more is left than a thousandth of one part.
func TestSplit(t *testing.T) {
	for _, like := range []Guarantee{PureDP(1, one), ApproxDP(1, 1e-9, one), ZCDP(1, one), GDP(1, one), ApproxDP(0, 1e-9, one)} {
		for _, n := range []int{1, 2, 12, 365} {
			l := dptest.OK(NewLedger(3, 1e-6, one))(t)
			require.NoError(t, l.Spend(ApproxDP(0.5, 1e-8, one)))
			part := dptest.OK(l.Split(n, like))(t)
			for i := range n {
				require.NoError(t, l.Spend(part), "%d of %d of %v", i, n, part)
			}
			if n > 1 {
				require.False(t, l.Accepts(part))
			}
			require.InEpsilon(t, 3, l.Spent().EpsilonAt(1e-6), 1e-3, "%v after %d of %v", l, n, part)
		}
	}
	l := dptest.OK(NewLedger(10, 1e-6, one))(t)
	part := dptest.OK(l.Split(365, PureDP(1, one)))(t)
	require.InEpsilon(t, 0.0974, part.Epsilon(), 1e-3)
	for _, c := range []struct {
		epsilon float64
		n       int
		like    Guarantee
		want    float64 // the most there is
	}{
		{10, 3650, PureDP(1, one), 0.03061}, {10, 365, Laplace(1, one), 0.0989}, {10, 365, ApproxDP(1, 1e-9, one), 0.09598},
		{1, 52, ApproxDP(1, 1e-9, one), 0.033684}, {3, 12, ApproxDP(1, 1e-8, one), 0.250074},
	} {
		part := dptest.OK(dptest.OK(NewLedger(c.epsilon, 1e-6, one))(t).Split(c.n, c.like))(t)
		require.InEpsilon(t, c.want, part.Epsilon(), 1e-3, "%d of %v", c.n, c.like)
	}
	// Gaussian releases add up exactly: n of μ/√n are one of μ.
	sigma := dptest.OK(noise.GaussianSigma(10, 1e-6, 1))(t)
	part = dptest.OK(l.Split(365, GDP(1, one)))(t)
	require.InEpsilon(t, 1/sigma/math.Sqrt(365), part.Mu(), 1e-6)

	for _, n := range []int{0, -1, math.MaxInt} {
		require.ErrorIs(t, dptest.Err(l.Split(n, PureDP(1, one))), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(l.Split(3, PureDP(1, rowed))), ErrMismatch)
	for _, like := range []Guarantee{{}, dptest.OK(Compose(PureDP(1, one), ZCDP(1, one)))(t)} {
		require.ErrorIs(t, dptest.Err(l.Split(3, like)), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(l.Split(3, ApproxDP(1, 1e-6, one))), ErrBudget)
	require.ErrorIs(t, dptest.Err(dptest.OK(NewLedger(1, 0, one))(t).Split(3, ZCDP(1, one))), ErrBudget, "zCDP needs a δ")
}

// What is left of a Split of one part is for that part alone: the whole is asked anew.
func TestSplitOfAPart(t *testing.T) {
	unit := Row(AddRemove)
	l := dptest.OK(NewLedger(1, 0, unit))(t)
	require.NoError(t, l.Part("b").Spend(PureDP(1, unit)))
	part := dptest.OK(l.Part("a").Split(1, PureDP(1, unit)))(t)
	require.ErrorIs(t, l.Spend(part), ErrBudget)
	require.NoError(t, l.Part("a").Spend(part))
}

// The accountant alone would refuse the last of these parts, for the lattice of what was spent:
// they are accepted as parts, unless something else is spent before, and no more often than n
// times.
func TestPartsOfASplit(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		before         Guarantee
		times, n       int
	}{{2, 1e-4, PureDP(1.01, one), 1, 3}, {4, 1e-4, Laplace(2.06, one), 1, 4}, {5, 1e-4, PureDP(1, one), 3, 3}} {
		fresh := func() (*Ledger, Guarantee) {
			l := dptest.OK(NewLedger(c.epsilon, c.delta, one))(t)
			for range c.times {
				require.NoError(t, l.Spend(c.before))
			}
			part := dptest.OK(l.Split(c.n, PureDP(1, one)))(t)
			return l, part
		}
		l, part := fresh()
		for range c.n {
			require.True(t, l.Accepts(part))
			require.NoError(t, l.Spend(part))
		}
		require.ErrorIs(t, l.Spend(part), ErrBudget, "once more than n")
		l, part = fresh()
		require.NoError(t, l.Spend(PureDP(part.Epsilon()/3, one)))
		spent := 0
		for spent < c.n && l.Spend(part) == nil {
			spent++
		}
		require.Less(t, spent, c.n, "something else was spent")
	}
}

// n of a Gaussian release are split as what they are, not by their ε.
func TestSplitKeepsThePair(t *testing.T) {
	l := dptest.OK(NewLedger(10, 1e-6, one))(t)
	for _, c := range []struct {
		like Guarantee
		want float64 // of its ε or ρ
	}{
		{Gaussian(1, 1e-10, one), 0.5552}, {ApproxDP(1, 1e-10, one), 0.0974},
		{gaussianZCDP(1, one), 1.58 / 365 * 1.0}, {ZCDP(1, one), 1.3 / 365},
	} {
		part := dptest.OK(l.Split(365, c.like))(t)
		t.Logf("%v: %v", c.like, part)
		require.True(t, l.Accepts(part.Times(365)))
		if part.Rho() == 0 {
			require.InEpsilon(t, c.want, part.Epsilon(), 2e-3)
		}
	}
	gaussian := dptest.OK(l.Split(365, gaussianZCDP(1, one)))(t)
	plain := dptest.OK(l.Split(365, ZCDP(1, one)))(t)
	require.Greater(t, gaussian.Rho(), 1.05*plain.Rho())
	sampled := dptest.OK(PureDP(1, one).Subsampled(0.1))(t)
	require.ErrorIs(t, dptest.Err(l.Split(3, sampled)), ErrParams, "of a sample")
}

// All releases of a Split are accepted, wherever the process is started again between them, also
// where the lattice of fewer releases is so coarse that without the record of the Split the last
// ones would be refused; and where the journal is compacted all the time.
func TestSplitSurvivesRestarts(t *testing.T) {
	defer func(most int) { mostSince = most }(mostSince)
	mostSince = 10
	path := filepath.Join(t.TempDir(), "journal")
	open := func() *Ledger { return dptest.OK(OpenFile(path, 1, 1e-9, one))(t) }
	l := open()
	const n = 360
	part := dptest.OK(l.Split(n, Laplace(1, one)))(t)
	require.EqualValues(t, 1, l.Records())
	require.Equal(t, part, dptest.OK(l.Split(n, Laplace(1, one)))(t))
	require.EqualValues(t, 1, l.Records(), "the same is not written again")
	for i := range n {
		if i < 5 || i%60 == 0 || i > n-12 {
			require.NoError(t, l.Close())
			l = open()
			require.Equal(t, n-i, l.quota.left)
		}
		require.NoError(t, l.Spend(part), "%d of %d", i, n)
	}
	require.EqualValues(t, n+1, l.Records())
	require.NoError(t, l.Close())
	l = open()
	require.ErrorIs(t, l.Spend(part), ErrBudget)
	require.Zero(t, l.quota.left)
	require.NoError(t, l.Close())
}

// A copy of a Ledger has what is left of a Split, and so has a journal that is made afterwards. A
// Split of a part stays one; whatever else is spent ends it.
func TestSplitIsEncoded(t *testing.T) {
	unit := Row(AddRemove)
	l := dptest.OK(NewLedger(1, 1e-9, unit))(t)
	part := dptest.OK(l.Part("a").Split(5, Laplace(1, unit)))(t)
	d := new(disk)
	dptest.OK(CreateJournal(d, l))(t)
	again := dptest.OK(OpenJournal(d, 1))(t)
	require.Equal(t, quota{"a", part, 5, true}, again.quota)
	require.NoError(t, again.Part("a").Spend(part))
	var copied Ledger
	require.NoError(t, copied.UnmarshalBinary(dptest.OK(again.MarshalBinary())(t)))
	require.Equal(t, quota{"a", part, 4, true}, copied.quota)
	require.True(t, equalLedgers(again, &copied))
	require.NoError(t, again.Spend(PureDP(0.01, unit)))
	require.Zero(t, again.quota.left)
	require.Zero(t, dptest.OK(OpenJournal(d, 3))(t).quota.left)

	// Of what no Split makes, what could be one is read and never exceeds the budget, and the rest
	// is refused: a Split of another unit, of no part, of nothing.
	for name, q := range map[string]quota{
		"another unit": {part: "", each: PureDP(0.1, rowed), left: 5},
		"of a part":    {part: "a b", each: PureDP(0.1, unit), left: 5},
		"of nothing":   {part: "", left: 5},
	} {
		l := dptest.OK(NewLedger(1, 1e-9, unit))(t)
		d := new(disk)
		dptest.OK(CreateJournal(d, l))(t)
		l.splitInto(q)
		require.ErrorIs(t, new(Ledger).UnmarshalBinary(dptest.OK(l.MarshalBinary())(t)), ErrFormat, name)
		require.NoError(t, l.appendQuota(q))
		require.ErrorIs(t, dptest.Err(OpenJournal(d, 0)), ErrFormat, name)
	}
	for _, rules := range [][]Rule{nil, {SumRule()}, {RhoRule(0)}, {MixedRule(0.5, 0)}} {
		for _, more := range []float64{1 + 0x1p-40, 1.005, 1.02, 3, 100} {
			l := dptest.OK(NewLedger(1, 1e-9, unit, rules...))(t)
			d := new(disk)
			dptest.OK(CreateJournal(d, l))(t)
			each := PureDP(dptest.OK(l.Split(3, PureDP(1, unit)))(t).Epsilon()*more, unit)
			q := quota{each: each, left: 3}
			l.splitInto(q)
			copied := new(Ledger)
			require.NoError(t, copied.UnmarshalBinary(dptest.OK(l.MarshalBinary())(t)))
			require.NoError(t, l.appendQuota(q))
			for _, l := range []*Ledger{copied, dptest.OK(OpenJournal(d, 0))(t)} {
				require.Equal(t, 3, l.quota.left)
				refused := 0
				for range 3 {
					if l.Spend(each) != nil {
						refused++
					}
				}
				require.Positive(t, refused, "%v, times %v", rules, more)
				require.LessOrEqual(t, l.Epsilon(), 1+0x1p-50, "%v, times %v", rules, more)
			}
		}
	}
}

// A journal and a copy can be read wherever a Split was broken off, under each rule and of each
// kind, and what is left is accepted: k releases that were spent, and the others n−k times one, are
// no more than n times one, which a sum that is rounded twice is.
func TestSplitIsReadAfterEachRelease(t *testing.T) {
	unit := Row(AddRemove)
	for _, rule := range []Rule{{}, SumRule(), RhoRule(1e-8), MuRule(), MixedRule(0.5, 1e-8)} {
		for _, epsilon := range []float64{0.5, 3, 10}[:dptest.Full(3, 1)] {
			for _, like := range []Guarantee{Laplace(1, unit), ZCDP(1, unit), GDP(1, unit), DiscreteLaplace(1, 30, unit), Gaussian(1, 1e-9, unit)} {
				for _, n := range []int{5, 7, 10, 13}[:dptest.Full(4, 1)] {
					l := dptest.OK(ledgerBy(epsilon, 1e-6, unit, rule))(t)
					part, err := l.Split(n, like)
					if err != nil { // not by this rule
						require.True(t, rule.by == bySums || rule.by == byMu)
						continue
					}
					d := new(disk)
					l = dptest.OK(CreateJournal(d, l))(t)
					for k := range n {
						read, err := OpenJournal(d, uint64(k))
						require.NoError(t, err, "%v: %d of %d of %v, ε = %v", rule, k, n, like, epsilon)
						require.NoError(t, read.Spend(part), "%v: %d of %d of %v, ε = %v", rule, k, n, like, epsilon)
						require.Equal(t, quota{each: part, left: n - k - 1}, read.quota)
						l = read
					}
					var copied Ledger
					require.NoError(t, copied.UnmarshalBinary(dptest.OK(l.MarshalBinary())(t)))
					require.False(t, copied.Accepts(part) && rule.by != 0)
				}
			}
		}
	}
}

// Where the journal fails, Split has no answer, and nothing more is spent.
func TestSplitOfABrokenJournal(t *testing.T) {
	d, l := newJournal(t)
	d.tears = 10
	g, err := l.Split(3, someGuarantee(0))
	require.ErrorContains(t, err, "full")
	require.False(t, g.Promises())
	require.Error(t, l.Spend(someGuarantee(0)))
	require.Error(t, dptest.Err(l.Split(3, someGuarantee(0))))
}
