package budget_test

import (
	"encoding"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// again releases what fresh makes twice under one name and once under another: the second is the
// first, byte for byte, and the third is not.
func again[T interface {
	*H
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}, H any, B interface {
	budget.Releaser[T]
	Released() bool
}](t *testing.T, name string, fresh func() B) {
	t.Helper()
	l := dptest.OK(budget.NewLedger(100, 1e-5, fresh().Guarantee().Unit()))(t)
	first, second := fresh(), fresh()
	bytes := func(name string, b B) string {
		return string(dptest.OK(dptest.OK(budget.ReleaseOnce(l, name, b))(t).AppendBinary(nil))(t))
	}
	one := bytes("a", first)
	require.True(t, first.Released(), name)
	require.Equal(t, one, bytes("a", second), name)
	require.Equal(t, one, bytes("a", first), "also for a Builder that was released")
	require.False(t, second.Released(), "%s: it keeps its data", name)
	require.NotEqual(t, one, bytes("b", second), "%s: another draw", name)
	require.ErrorIs(t, dptest.Err(budget.ReleaseOnce(l, "c", second)), budget.ErrReleased)
	records := 0
	for range l.All() {
		records++
	}
	require.Equal(t, 2, records, name)
}

// The Builders of the library, released under a name.
func TestReleaseOnceOfBuilders(t *testing.T) {
	sketch := distinct.Params{Epsilon: 0.5, Seed: hashing.Seed{1}}
	again(t, "distinct", func() *distinct.Builder {
		b := dptest.OK(distinct.New(sketch))(t)
		b.Add(uint64(1))
		return b
	})
	again(t, "windows", func() *distinct.WindowBuilder { return dptest.OK(distinct.NewWindowBuilder(sketch, 0))(t) })
	again(t, "column", func() *column.Builder {
		return dptest.OK(column.New(column.Params{Epsilon: 1, Delta: 1e-8, Max: 120, Want: column.Mean}))(t)
	})
	again(t, "misragries", func() *misragries.Builder[string] {
		b := dptest.OK(misragries.New[string](misragries.Params{Counters: 64, Epsilon: 0.01, Delta: 1e-8}))(t)
		for range 10_000 {
			b.Add("a")
		}
		return b
	})
	few := groupby.Params{Epsilon: 1, Delta: 1e-8, Passes: 1, FullKeys: 3}
	rows := func(p groupby.Params) func() *groupby.Rows[string, string] {
		return func() *groupby.Rows[string, string] {
			b := dptest.OK(groupby.NewRows[string, string](p))(t)
			for user := range 2000 {
				for key := range user%3 + 1 {
					b.Add(fmt.Sprint(user), fmt.Sprint("key-", key))
				}
			}
			return b
		}
	}
	again(t, "rows", rows(few))
	again(t, "rows by default", rows(groupby.Params{Epsilon: 1, Delta: 1e-8}))
	again(t, "users", func() *groupby.Builder[string] {
		b := dptest.OK(groupby.New[string](few))(t)
		for range 2000 {
			b.AddUser([]string{"a", "b"})
		}
		return b
	})

	// The same guarantee with other Params is refused by a Builder that tells them, and another
	// kind of object by all.
	l := dptest.OK(budget.NewLedger(100, 1e-5, rows(few)().Guarantee().Unit()))(t)
	require.NoError(t, dptest.Err(budget.ReleaseOnce(l, "a", rows(few)())))
	other := few
	other.FullKeys = 2
	require.Equal(t, few.Guarantee(), other.Guarantee())
	require.ErrorIs(t, dptest.Err(budget.ReleaseOnce(l, "a", rows(other)())), budget.ErrMismatch)
	b := dptest.OK(distinct.New(sketch))(t)
	l = dptest.OK(budget.NewLedger(100, 1e-5, b.Guarantee().Unit()))(t)
	require.NoError(t, dptest.Err(budget.ReleaseOnce(l, "a", b)))
	windows := dptest.OK(distinct.NewWindowBuilder(sketch, 0))(t)
	if windows.Guarantee().Equal(b.Guarantee()) {
		require.ErrorIs(t, dptest.Err(budget.ReleaseOnce(l, "a", windows)), budget.ErrFormat)
	} else {
		require.ErrorIs(t, dptest.Err(budget.ReleaseOnce(l, "a", windows)), budget.ErrMismatch)
	}
	require.False(t, windows.Released())
}

// A service that counts each day's visitors crashed before it published. It asks again, and
// publishes what was drawn the first time.
func ExampleReleaseOnce() {
	folder, err := os.MkdirTemp("", "budget")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	p := distinct.Params{Epsilon: 0.5, Seed: hashing.NewSeed()}
	var counts [2]float64
	for start := range counts { // of the service
		ledger, err := budget.OpenFile(filepath.Join(folder, "journal"), 10, 1e-6, p.Guarantee().Unit())
		if err != nil {
			panic(err)
		}
		b, err := distinct.New(p)
		if err != nil {
			panic(err)
		}
		for visit := range uint64(100_000) {
			b.Add(visit % 5000) // private data
		}
		visitors, err := budget.ReleaseOnce(ledger, "2026-11-22/visitors", b)
		if err != nil {
			panic(err)
		}
		counts[start] = visitors.Estimate()
		fmt.Println(ledger)
		if err := ledger.Close(); err != nil {
			panic(err)
		}
	}
	fmt.Println("the same:", counts[0] == counts[1])
	// Output:
	// ε = 0.5 of 10 at δ = 1e-6, 1 release, for one key with all its occurrences, added or removed
	// ε = 0.5 of 10 at δ = 1e-6, 1 release, for one key with all its occurrences, added or removed
	// the same: true
}
