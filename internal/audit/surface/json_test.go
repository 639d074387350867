package surface

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
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

// Keys that JSON cannot hold as they are, such as raw hashes, stay apart in it and can be read back
// from it, also beside keys that look like what is written for them; and so does the whole object.
func TestKeysInJSONAreApart(t *testing.T) {
	keys := []string{"text", "é", "\ufffd", `\x`, `\xff`, `\x5c7866`, "\xff", "\xfe", "\xc3", "e\xc3", "\xed\xa0\x80", `\` + "\xff", `"` + "\xff<&>\u2028"}
	for i := range 100 {
		hash := sha256.Sum256([]byte{byte(i)})
		keys = append(keys, string(hash[:]))
	}
	slices.Sort(keys)
	const each = 200
	released := map[string]func() (object any, back json.Unmarshaler, err error){
		"threshold": func() (any, json.Unmarshaler, error) {
			b := dptest.OK(threshold.New[string](threshold.Params{Epsilon: 60, Delta: 1e-6}))(t)
			for _, key := range keys {
				b.Add(key, each)
			}
			v, err := b.Release()
			return v, new(threshold.Vector[string]), err
		},
		"threshold/groupby": func() (any, json.Unmarshaler, error) {
			b := dptest.OK(groupby.New[string](groupby.Params{Epsilon: 60, Delta: 1e-6}))(t)
			for range each {
				b.AddUser(keys)
			}
			g, err := b.Release()
			return g, new(groupby.Groups[string]), err
		},
		"misragries": func() (any, json.Unmarshaler, error) {
			h, err := histogramOf(t, keys, each).Release()
			return h, new(misragries.Histogram[string]), err
		},
		"misragries, combined": func() (any, json.Unmarshaler, error) {
			h := dptest.OK(histogramOf(t, keys, each).Release())(t)
			c, err := misragries.Combine(h)
			return c, nil, err
		},
		"misragries/series, known": func() (any, json.Unmarshaler, error) { return sliceOf(t, keys, each, 2) },
		"misragries/series, found": func() (any, json.Unmarshaler, error) { return sliceOf(t, keys, each, 1) },
	}
	for name, release := range released {
		object, back, err := release()
		require.NoError(t, err, name)
		text := dptest.OK(json.Marshal(object))(t)
		type shown struct{ Key string }
		var view struct{ Keys, Found []shown }
		require.NoError(t, json.Unmarshal(text, &view))
		list := view.Keys
		if strings.HasSuffix(name, "found") {
			list = view.Found
		}
		var got []string
		for _, s := range list {
			key := s.Key
			if digits, raw := strings.CutPrefix(key, `\x`); raw {
				key = string(dptest.OK(hex.DecodeString(digits))(t))
			}
			got = append(got, key)
		}
		slices.Sort(got)
		require.Equal(t, keys, got, name)
		if back != nil {
			require.NoError(t, json.Unmarshal(text, back))
			require.Equal(t, text, dptest.OK(json.Marshal(back))(t), name)
		}
	}
}

func histogramOf(t *testing.T, keys []string, each int) *misragries.Builder[string] {
	b := dptest.OK(misragries.New[string](misragries.Params{Counters: 1024, Epsilon: 60, Delta: 1e-6}))(t)
	for range each {
		for _, key := range keys {
			b.Add(key)
		}
	}
	return b
}

// sliceOf returns the slice of a step in which all keys are counted.
func sliceOf(t *testing.T, keys []string, each, step int) (any, json.Unmarshaler, error) {
	b := dptest.OK(series.New[string](series.Params{Epsilon: 60, Delta: 1e-6}))(t)
	for i := 1; ; i++ {
		for _, key := range keys {
			b.AddN(key, each)
		}
		s, err := b.Step()
		if i == step || err != nil {
			return s, new(series.Slice[string]), err
		}
	}
}
