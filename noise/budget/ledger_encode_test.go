package budget

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// sampleLedgers returns a ledger of each rule, with spends of all kinds and with names.
func sampleLedgers(t testing.TB) map[string]*Ledger {
	unit := User(20, AddRemove)
	spent := func(epsilon, delta float64, u Unit, r Rule, gs ...Guarantee) *Ledger {
		l := dptest.OK(ledgerBy(epsilon, delta, u, r))(t)
		for i, g := range gs {
			if i%2 == 1 {
				require.NoError(t, l.SpendOnce(fmt.Sprintf("day-%d", i), g))
			} else {
				require.NoError(t, l.Spend(g))
			}
		}
		return l
	}
	once := spent(3, 1e-6, unit, Rule{})
	for i, name := range []string{"2026-11-22/a", "2026-11-22/b"} {
		dptest.OK(ReleaseOnce(once.PartOfUsers("de"), name, lots{cost: PureDP(0.1, unit), draws: &i}))(t)
		require.NoError(t, once.Spend(PureDP(0.1, unit)))
	}
	dptest.OK(once.Split(3, Laplace(1, unit)))(t)
	return map[string]*Ledger{
		"ledger.hex": spent(20, 1e-5, unit, Rule{}, PureDP(0.1, unit), Laplace(0.3, unit), ZCDP(0.25, unit), GDP(0.5, unit).WithEscape(1e-9), ApproxDP(1, 1e-8, unit),
			PureDP(0.1, unit), PureDP(5e-324, unit)),
		"ledger-keys.hex":  spent(3, 1e-6, unit, Rule{}, withKeys(unit), PureDP(0.1, unit), withKeys(unit)),
		"ledger-once.hex":  once,
		"ledger-fresh.hex": spent(0, 0, Row(Replace), Rule{}),
		"ledger-sums.hex":  spent(3, 1e-6, unit, SumRule(), PureDP(0.1, unit), ApproxDP(1, 1e-8, unit)),
		"ledger-rho.hex":   spent(8, 1e-6, unit, RhoRule(1e-7), PureDP(0.1, unit), ApproxDP(1, 1e-8, unit), ZCDP(1e-3, unit)),
		"ledger-mu.hex":    spent(3, 1e-6, unit, MuRule(), GDP(0.1, unit), Gaussian(0.1, 1e-8, unit)),
	}
}

func equalLedgers(a, b *Ledger) bool {
	x, err := a.MarshalBinary()
	y, err2 := b.MarshalBinary()
	return err == nil && err2 == nil && string(x) == string(y) && a.String() == b.String()
}

func TestLedgerCodec(t *testing.T) {
	samples := sampleLedgers(t)
	dptest.GoldenDumps(t, samples)
	for name, l := range samples {
		if r := l.rule(); r.by == 0 || r.by == bySums {
			// of the others a decoder calibrates the filter, which takes its time
			dptest.Codec(t, l, func(a, b *Ledger) bool { return a.unit == b.unit && len(a.names) == len(b.names) })
		}
		text := dptest.OK(json.Marshal(l))(t)
		var back Ledger
		require.NoError(t, json.Unmarshal(text, &back), "%s", text)
		require.True(t, equalLedgers(l, &back), "%s: %s", name, text)
		var shown struct {
			Text, Unit                      string
			Rule                            string
			Budget, Delta, Spent, Remaining float64
			Releases                        int
			Records                         []struct {
				Name, Part, Guarantee string
				Releases              int
				Share                 float64
			}
		}
		require.NoError(t, json.Unmarshal(text, &shown))
		require.Equal(t, l.String(), shown.Text)
		require.Equal(t, []float64{l.epsilon, l.delta, l.Epsilon(), max(l.epsilon-l.Epsilon(), 0)}, []float64{shown.Budget, shown.Delta, shown.Spent, shown.Remaining})
		require.Equal(t, l.rule().String(), shown.Rule)
		require.Equal(t, l.releases(), shown.Releases)
		require.Len(t, shown.Records, len(l.entries))
		for i, e := range l.entries {
			require.Equal(t, e.name, shown.Records[i].Name)
			require.Equal(t, l.known[e.guarantee].String(), shown.Records[i].Guarantee)
		}

		// Both go on as one would have.
		g := GDP(0.05, l.unit)
		require.Equal(t, l.Accepts(g), back.Accepts(g))
		require.Equal(t, l.Remaining(), back.Remaining())
		if l.Accepts(g) {
			require.NoError(t, l.Spend(g))
			require.NoError(t, back.Spend(g))
			require.True(t, equalLedgers(l, &back), name)
		}
	}

	// Names stay spent.
	l := &Ledger{}
	data := dptest.OK(sampleLedgers(t)["ledger.hex"].MarshalBinary())(t)
	require.NoError(t, l.UnmarshalBinary(data))
	require.ErrorIs(t, l.SpendOnce("day-1", Laplace(0.3, l.unit)), ErrSpent)
	require.ErrorIs(t, l.SpendOnce("day-1", Laplace(0.2, l.unit)), ErrMismatch)

	// A ledger with a journal shows what it has, and forgets nothing.
	d, kept := newJournal(t)
	require.NoError(t, kept.Spend(someGuarantee(1)))
	before := dptest.OK(json.Marshal(kept))(t)
	require.ErrorIs(t, kept.UnmarshalBinary(data), ErrMismatch)
	require.ErrorIs(t, json.Unmarshal(before, kept), ErrMismatch)
	again := dptest.OK(OpenJournal(d, 1))(t)
	require.True(t, equalLedgers(kept, again))
	var inMemory Ledger
	require.NoError(t, json.Unmarshal(before, &inMemory))
	require.True(t, equalLedgers(kept, &inMemory))

	require.Error(t, dptest.Err(json.Marshal(new(Ledger))), "no ledger")
}

// Sums are kept to the last of their 200 digits: a copy that is made after each spend is the same
// as none.
func TestLedgerCopiesAreExact(t *testing.T) {
	l := dptest.OK(NewLedger(50, 1e-6, one))(t)
	copied := dptest.OK(NewLedger(50, 1e-6, one))(t)
	for i := range 60 {
		g := ApproxDP(math.Exp(-float64(i)/3), 1e-9*math.Exp(-float64(i)), one)
		require.NoError(t, l.Spend(g))
		require.NoError(t, copied.Spend(g))
		data := dptest.OK(copied.MarshalBinary())(t)
		copied = new(Ledger)
		require.NoError(t, copied.UnmarshalBinary(data))
	}
	require.True(t, equalLedgers(l, copied))
	require.Equal(t, l.spent, copied.spent)
}

func FuzzUnmarshalLedger(f *testing.F) {
	for _, l := range sampleLedgers(f) {
		data := dptest.OK(l.MarshalBinary())(f)
		f.Add(data)
	}
	f.Fuzz(useLedger)
}

func TestLedgerEdges(t *testing.T) { dptest.Edges(t, sampleLedgers(t), useLedger) }

// useLedger calls what is cheap on a Ledger from any bytes: no panic, no NaN.
func useLedger(t *testing.T, data []byte) {
	l := dptest.Decoded[Ledger](t, data)
	if l == nil {
		return
	}
	epsilon, delta := l.Budget()
	require.True(t, epsilon >= 0 && delta >= 0 && delta < 1)
	require.True(t, l.Spent().Promises())
	require.True(t, l.Unit().Valid())
	for name, i := range l.names {
		of := l
		if part := l.entries[i].part; part != "" {
			if of = l.Part(part); of.refuses != nil {
				of = l.PartOfUsers(part)
			}
		}
		require.ErrorIs(t, of.SpendOnce(name, l.known[l.entries[i].guarantee]), ErrSpent)
	}
	if s := l.Spent(); !s.pair.HasKeys() && len(kindsOf(s)) < 2 && !hasFamily(s, account.SampledGaussian, account.DiscreteGaussianNoise) && len(l.spent) < 3 {
		require.NotContains(t, l.String(), "NaN")
		if err := l.Spend(PureDP(1e-3, l.unit)); err == nil {
			require.GreaterOrEqual(t, l.Spent().Epsilon(), 1e-3)
		}
	}
}

// Releases alike that follow each other have one record, which counts as all of them where it is
// read.
func TestReleasesAlike(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	for range 3 {
		require.NoError(t, l.Spend(PureDP(0.25, one)))
	}
	data := dptest.OK(l.MarshalBinary())(t)
	back := dptest.Decoded[Ledger](t, data)
	require.Len(t, back.entries, 1)
	require.InDelta(t, 0.75, back.Epsilon(), 1e-12)
	require.ErrorIs(t, back.Spend(PureDP(0.26, one)), ErrBudget)
}
