package surface

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Params go through JSON, also those that no constructor takes, but for numbers and constants that
// JSON cannot hold: these are an error.
func TestParamsInJSON(t *testing.T) {
	for _, m := range makers {
		require.Equal(t, m.good, throughJSON(t, m.good), m.name)
		for _, p := range spoiled(m.good) {
			text, err := json.Marshal(p)
			if err != nil {
				continue
			}
			back := reflect.New(reflect.TypeOf(p))
			require.NoError(t, json.Unmarshal(text, back.Interface()), "%s", text)
			require.Equal(t, p, back.Elem().Interface(), "%s: %s", m.name, text)
		}
	}
}

// Units, guarantees and seeds go through JSON.
func TestPublicValuesInJSON(t *testing.T) {
	user := budget.User(5, budget.Replace)
	sum := dptest.OK(budget.Compose(budget.ApproxDP(1, 1e-9, user), budget.ZCDP(0.5, user), budget.GDP(1, user)))(t)
	require.Equal(t, user, throughJSON(t, user))
	require.Equal(t, hashing.Seed{1, 255}, throughJSON(t, hashing.Seed{1, 255}))
	for _, g := range []budget.Guarantee{sum, {}, budget.PureDP(0.25, budget.L2(3))} {
		require.True(t, g.Equal(throughJSON(t, g)), "%v", g)
	}
}

// A ledger goes through JSON, to the last digit of what was spent.
func TestLedgerInJSON(t *testing.T) {
	l := dptest.OK(budget.NewLedger(10, 1e-6, budget.User(5, budget.Replace)))(t)
	for range 3 {
		require.NoError(t, l.Spend(budget.ApproxDP(0.1, 1e-9, l.Unit())))
	}
	text := dptest.OK(json.Marshal(map[string]any{"ledger": l}))(t)
	var back struct{ Ledger *budget.Ledger }
	require.NoError(t, json.Unmarshal(text, &back))
	want := dptest.OK(l.MarshalBinary())(t)
	got := dptest.OK(back.Ledger.MarshalBinary())(t)
	require.Equal(t, want, got)
	require.Equal(t, l.String(), back.Ledger.String())
}

// throughJSON writes a value as JSON and reads it back.
func throughJSON[T any](t *testing.T, value T) T {
	t.Helper()
	text := dptest.OK(json.Marshal(value))(t)
	back := reflect.New(reflect.TypeOf(value))
	require.NoError(t, json.Unmarshal(text, back.Interface()), "%s", text)
	return back.Elem().Interface().(T)
}
