package budget

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// A copy of a Ledger is the same Ledger: together they spend no more than one.
func TestCopiesOfALedgerShare(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	copied := *l
	require.NoError(t, l.Spend(PureDP(0.75, one)))
	require.ErrorIs(t, copied.Spend(PureDP(0.75, one)), ErrBudget)
	require.NoError(t, copied.Spend(PureDP(0.25, one)))
	require.ErrorIs(t, l.Spend(PureDP(0.01, one)), ErrBudget)
	require.Equal(t, l.String(), fmt.Sprint(copied))
	a := dptest.OK(json.Marshal(l))(t)
	b := dptest.OK(json.Marshal(copied))(t)
	require.JSONEq(t, string(a), string(b))
	// One that reads another ledger is another from then on.
	data := dptest.OK(dptest.OK(NewLedger(5, 0, rowed))(t).MarshalBinary())(t)
	require.NoError(t, copied.UnmarshalBinary(data))
	require.NoError(t, copied.Spend(PureDP(5, rowed)))
	require.Equal(t, "ε = 1 of 1 at δ = 0, 2 releases, for "+one.String(), l.String())

	shared := dptest.OK(NewLedger(1, 0, one))(t)
	var all sync.WaitGroup
	var mutex sync.Mutex
	spent := 0
	for range 8 {
		own := *shared
		all.Go(func() {
			for range 50 {
				_, _ = own.Accepts(PureDP(0x1p-5, one)), own.Spent()
				if own.Spend(PureDP(0x1p-5, one)) == nil {
					mutex.Lock()
					spent++
					mutex.Unlock()
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, 32, spent)

	var zero Ledger
	require.ErrorIs(t, zero.Spend(PureDP(1, one)), ErrMismatch)
	require.ErrorIs(t, zero.SpendOnce("name", PureDP(1, one)), ErrMismatch)
	require.False(t, zero.Accepts(PureDP(0, one)) || zero.Accepts(Guarantee{}))
	require.Zero(t, zero.Records())
	require.NoError(t, zero.Err())
	require.False(t, zero.Spent().Promises() || zero.Remaining().Promises())
	require.ErrorIs(t, dptest.Err(zero.Split(3, PureDP(1, one))), ErrMismatch)
}

// The text of a Guarantee says where there is hardly any.
func TestHardlyAnyProtection(t *testing.T) {
	for g, hardly := range map[Guarantee]bool{
		PureDP(20, one): false, PureDP(20.1, one): true, ApproxDP(1, 0.01, one): false, ApproxDP(1, 0.011, one): true,
		ZCDP(4, one): false, ZCDP(5, one): true, GDP(3, one): false, GDP(5, one): true, PureDP(1, one): false, Laplace(1000, one): true,
	} {
		require.Equal(t, hardly, strings.Contains(g.String(), " (hardly any protection) for one "), g.String())
	}
	// So does that of a Ledger whose δ is so large, before anything is spent.
	for delta, hardly := range map[float64]bool{0.9: true, 0.011: true, 0.01: false, 1e-6: false, 0: false} {
		l := dptest.OK(NewLedger(1, delta, one))(t)
		require.Equal(t, hardly, strings.Contains(l.String(), "at δ = "+number(delta)+" (hardly any protection), 0 releases"), l.String())
		require.Equal(t, hardly, strings.Contains(string(dptest.OK(l.MarshalJSON())(t)), "hardly any protection"))
	}
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

// Two processes at one journal: the second that writes is refused, and nothing of it is spent.
func TestTwoProcessesAtOneJournal(t *testing.T) {
	d, a := newJournal(t)
	b := dptest.OK(OpenJournal(d, 0))(t)
	require.NoError(t, a.Spend(someGuarantee(0)))
	before := bytes.Clone(d.data)
	require.ErrorContains(t, b.Spend(someGuarantee(1)), "another process has written to it")
	require.Error(t, b.Err())
	require.Equal(t, before, d.data)
	require.False(t, b.Accepts(someGuarantee(1)))
	require.NoError(t, a.Spend(someGuarantee(2)), "the first one goes on")
	again := dptest.OK(OpenJournal(d, 2))(t)
	require.Equal(t, a.Spent(), again.Spent())
	d.data = d.data[:len(d.data)-3]
	require.ErrorContains(t, a.Spend(someGuarantee(1)), "has cut it off")
}

// What a crash inside CreateJournal leaves is the beginning of the first line: it is created again.
// What may be a journal is not.
func TestCrashInsideCreateJournal(t *testing.T) {
	whole, _ := newJournal(t)
	u := User(20, AddRemove)
	for n := range len(whole.data) + 1 {
		d := &disk{data: bytes.Clone(whole.data[:n])}
		_, open := OpenJournal(&disk{data: bytes.Clone(d.data)}, 0)
		l, err := CreateJournal(d, dptest.OK(NewLedger(10, 1e-6, u))(t))
		if n >= len(whole.data)-1 {
			require.ErrorIs(t, err, ErrFormat, "the whole line")
			require.NoError(t, open)
			continue
		}
		require.NoError(t, err, n)
		require.ErrorIs(t, open, ErrFormat)
		require.NoError(t, l.Spend(someGuarantee(0)))
		dptest.OK(OpenJournal(d, 1))(t)
		if n > 30 {
			require.ErrorIs(t, dptest.Err(CreateJournal(&disk{data: bytes.Clone(whole.data[:n])}, dptest.OK(NewLedger(9, 1e-6, u))(t))), ErrFormat, "the beginning of another journal")
		}
	}
}

// A last line whose newline is another byte was acknowledged: it is damage, and not a torn write.
func TestFlippedLastNewline(t *testing.T) {
	d, l := newJournal(t)
	for i := range 3 {
		require.NoError(t, l.Spend(someGuarantee(i)))
	}
	for bit := range 8 {
		flipped := &disk{data: bytes.Clone(d.data)}
		flipped.data[len(d.data)-1] ^= 1 << bit
		before := bytes.Clone(flipped.data)
		require.ErrorIs(t, dptest.Err(OpenJournal(flipped, 0)), ErrFormat, bit)
		require.Equal(t, before, flipped.data, "and stays")
	}
}

// A refusal says what remained when it was made, and computes that when it is read.
func TestRefusalSaysWhatRemained(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	require.NoError(t, l.Spend(PureDP(0.5, one)))
	err := l.Spend(PureDP(0.75, one))
	require.ErrorIs(t, err, ErrBudget)
	require.NoError(t, l.Spend(PureDP(0.5, one)))
	require.EqualError(t, err, "budget: ε = 0.75 for "+one.String()+" asked, ε = 0.5 for "+one.String()+" remains: privacy budget exceeded")
	// Where it takes long, an unread refusal allocates next to nothing.
	dear := dptest.OK(NewLedger(3, 1e-6, one))(t)
	for range 40 {
		require.NoError(t, dear.Spend(ApproxDP(0.1, 1e-9, one)))
	}
	g := ApproxDP(5, 1e-9, one)
	refused := func() { _ = dear.Spend(g) }
	refused()
	quick := testing.AllocsPerRun(10, refused)
	read := testing.AllocsPerRun(1, func() { _ = dear.Spend(g).Error() })
	require.Less(t, 20*quick, read)
}
