package budget

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// All releases of a Split are accepted, wherever the process is started again between them, also
// where the lattice of fewer releases is so coarse that without the record of the Split the last
// ones would be refused.
func TestSplitSurvivesRestarts(t *testing.T) {
	defer func(most int) { mostSince = most }(mostSince)
	for _, compacted := range []int{10, 10_000} {
		mostSince = compacted
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
		require.False(t, l.Accepts(part))
		require.ErrorIs(t, l.Spend(part), ErrBudget)
		require.Zero(t, l.quota.left)
		require.NoError(t, l.Close())
	}
}

// A copy of a Ledger has what is left of a Split, and so has a journal that is made afterwards. A
// Split of a part is kept as such; whatever else is spent ends it.
func TestSplitIsEncoded(t *testing.T) {
	unit := Row(AddRemove)
	l := dptest.OK(NewLedger(1, 1e-9, unit))(t)
	part := dptest.OK(l.Part("a").Split(5, Laplace(1, unit)))(t)
	d := new(disk)
	l = dptest.OK(CreateJournal(d, l))(t)
	again := dptest.OK(OpenJournal(d, 1))(t)
	require.Equal(t, quota{"a", part, 5}, again.quota)
	require.NoError(t, again.Part("a").Spend(part))
	var copied Ledger
	require.NoError(t, copied.UnmarshalBinary(dptest.OK(again.MarshalBinary())(t)))
	require.Equal(t, quota{"a", part, 4}, copied.quota)
	require.True(t, equalLedgers(again, &copied))
	require.NoError(t, again.Spend(PureDP(0.01, unit)))
	require.Zero(t, again.quota.left)
	require.Zero(t, dptest.OK(OpenJournal(d, 3))(t).quota.left)

	// What no Split makes is refused: more than there is, of another unit, of none.
	for name, q := range map[string]quota{
		"more":          {"", PureDP(1, unit), 5},
		"a little more": {"", PureDP(0.205, unit), 5},
		"another unit":  {"", PureDP(0.1, rowed), 5},
		"of a part":     {"a b", PureDP(0.1, unit), 5},
		"of nothing":    {"", Guarantee{}, 5},
	} {
		l := dptest.OK(NewLedger(1, 1e-9, unit))(t)
		d := new(disk)
		dptest.OK(CreateJournal(d, l))(t)
		l.splitInto(q)
		if data := dptest.OK(l.MarshalBinary())(t); name != "a little more" {
			require.ErrorIs(t, new(Ledger).UnmarshalBinary(data), ErrFormat, name)
		}
		require.NoError(t, l.journal.appendQuota(q))
		require.ErrorIs(t, dptest.Err(OpenJournal(d, 0)), ErrFormat, name)
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
