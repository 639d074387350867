package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// touched returns how many blocks of some steps a window lies in, with its whole length in them or
// with a part, if it begins at a step.
func touched(from, window, length int) (whole, part int) {
	for block := from / length; block*length < from+window; block++ {
		if from <= block*length && (block+1)*length <= from+window {
			whole++
		} else {
			part++
		}
	}
	return whole, part
}

func TestReportsThatAWindowMeets(t *testing.T) {
	for window := 1; window < 60; window++ {
		for length := 1; length < 60; length++ {
			most := 0
			for from := range length {
				whole, part := touched(from, window, length)
				require.LessOrEqual(t, part, 2)
				most = max(most, whole+part)
			}
			require.Equal(t, most, met(window, length), "%d steps, reports of %d", window, length)
		}
	}
	require.Equal(t, 8, met(week, day))
}

// spentIn returns what the reports spend on what a user does in the week that begins at a step. The
// part of a day counts as a user who is replaced, or as two steps where the reports know no such
// user.
func spentIn(t *testing.T, p groupby.Params, from int, epsilon, delta float64) (total float64) {
	t.Helper()
	unit := budget.User(0, budget.AddRemove)
	one, err := p.Guarantee().Stable(unit, 1)
	require.NoError(t, err)
	whole, part := touched(from, week, day)
	if p.Relation == budget.Replace {
		return one.Times(whole + part).EpsilonAt(delta)
	}
	left := delta
	if part > 0 {
		two, err := p.Guarantee().Stable(unit, 2)
		require.NoError(t, err)
		total, left = float64(part)*two.Epsilon(), delta-float64(part)*two.Delta()
	}
	return total + one.Times(whole).EpsilonAt(left)
}

// In each week, wherever it begins, the reports keep within their share of the budget; and the
// ledger has three entries that add up to the promise. Two mistakes would be seen.
func TestReportsKeepTheirShare(t *testing.T) {
	for _, share := range []float64{0.25, 0.1, 0.5} {
		for _, most := range []float64{0, 100} {
			c := testConfig(t)
			c.reports, c.max = share, most
			s := mustOpen(t, c)
			epsilon, delta := c.epsilon*share, c.delta*share
			largest := 0.0
			for from := range day {
				largest = max(largest, spentIn(t, s.head.Reports, from, epsilon, delta))
			}
			require.LessOrEqual(t, largest, epsilon*(1+0x1p-50))
			require.Greater(t, largest, 0.95*epsilon, "wasted")

			names, sumEpsilon, sumDelta := "", 0.0, 0.0
			for r := range s.ledger.All() {
				names += r.Name + " "
				sumEpsilon, sumDelta = sumEpsilon+r.Guarantee.Epsilon(), sumDelta+r.Guarantee.Delta()
				require.Equal(t, s.head.Keys.Guarantee().Unit(), r.Guarantee.Unit())
			}
			require.Equal(t, "keys users reports ", names)
			require.InEpsilon(t, c.epsilon, sumEpsilon, 1e-12)
			require.InEpsilon(t, c.delta, sumDelta, 1e-12)
			require.InEpsilon(t, c.epsilon, s.ledger.Epsilon(), 1e-12)
			require.ErrorIs(t, s.ledger.Spend(budget.PureDP(1e-6, s.ledger.Unit())), budget.ErrBudget)
		}
	}
	// 7 reports in a week, and a part of a day as if all of it was added or removed
	seven := groupby.Params{Epsilon: 0.5, Delta: 1e-7, Relation: budget.Replace, Passes: 1, FullKeys: groupby.AutoFullKeys, Releases: 7}
	require.Greater(t, spentIn(t, seven, 1, 0.5, 1e-7), 0.51)
	whole := groupby.Params{Epsilon: 0.5, Delta: 1e-7, Passes: 1, FullKeys: 4, Max: 100, Levels: levels, Releases: 8}
	require.Greater(t, spentIn(t, whole, 1, 0.5, 1e-7), 0.6)
}

// getReport reads a report.
func getReport(t testing.TB, s *service, path string) (r report) {
	t.Helper()
	recorder := newRecorder(s, path)
	require.Equal(t, 200, recorder.Code, path)
	if recorder.Header().Get("Content-Type") == encoded {
		g := new(groupby.Groups[string])
		require.NoError(t, g.UnmarshalBinary(recorder.Body.Bytes()))
		return *s.published.describeReport(s.published.steps()/day*day, g)
	}
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &r))
	return r
}

// takeLines gives a service a request.
func takeLines(t testing.TB, s *service, body string) {
	t.Helper()
	record, _, malformed := appendEvents(nil, []byte(body), s.head.valued())
	require.Zero(t, malformed)
	require.NoError(t, s.take([]request{{record, make(chan error, 1)}}))
}

// A report has the distinct users of each key of its day, whatever the order, the steps, the
// restarts and the tokens, and the quantiles of their values.
func TestReports(t *testing.T) {
	c := exactConfig(t)
	c.max = 1000
	s := mustOpen(t, c)
	require.Equal(t, 404, newRecorder(s, "/reports").Code)
	const users = 2000
	for step := range day {
		var body strings.Builder
		for i := step; i < users; i += day {
			// value 0 to 100 of tea; everybody comes twice, and half a third time without a value,
			// which is no row of a report
			fmt.Fprintf(&body, "{\"user\":\"u%d\",\"key\":\"tea\",\"value\":%v}\n", i, float64(i)/20)
			fmt.Fprintf(&body, "{\"user\":\"u%d\",\"key\":\"tea\",\"value\":%v}\n", i, float64(i)/20)
			if i%2 == 0 {
				fmt.Fprintf(&body, "{\"user\":\"u%d\",\"key\":\"café\"}\n", i)
			}
		}
		takeLines(t, s, body.String())
		if step%5 == 0 {
			require.NoError(t, s.store.db.Close())
			s = mustOpen(t, c)
		}
		require.NoError(t, s.step())
	}
	for _, path := range []string{"/reports", "/reports/0"} {
		r := getReport(t, s, path)
		require.Equal(t, []int{0, 0, day}, []int{r.Day, r.From, r.To})
		require.Equal(t, "ε = 11, δ = 3.125e-11 for one user within any 168 steps (at most 2 elements), added or removed", r.Guarantee)
		require.Len(t, r.Keys, 1, path)
		for _, k := range r.Keys {
			require.Equal(t, "tea", k.Key)
			require.InDelta(t, users, k.Estimate, 150)
			require.LessOrEqual(t, k.Low, k.Estimate)
			require.GreaterOrEqual(t, *k.High, k.Estimate)
			require.Len(t, k.Quantiles, 3)
		}
		median, p90 := r.Keys[0].Quantiles[0], r.Keys[0].Quantiles[1]
		require.InDelta(t, 50, *median.Value, 10)
		require.LessOrEqual(t, p90.Low, 91.)
		require.GreaterOrEqual(t, p90.High, 89., "200 users are above p90, which may be too few")
		require.LessOrEqual(t, median.Low, *median.Value)
		require.GreaterOrEqual(t, median.High, *median.Value)
		require.Nil(t, r.Keys[0].Quantiles[2].Value, "20 users are above p99, which is too few")
	}
	for _, path := range []string{"/reports/1", "/reports/-1", "/reports/x", "/reports/99999999999999999999", "/reports/384307168202282325"} {
		require.Equal(t, 404, newRecorder(s, path).Code, path)
	}
	html, err := s.published.page(day)
	require.NoError(t, err)
	require.Contains(t, string(html), "<td class=\"key\" title=\"tea\">tea</td>")
	require.Contains(t, string(html), "<td>–</td>")

	// nobody comes on the next day
	for range day {
		require.NoError(t, s.step())
	}
	require.Empty(t, getReport(t, s, "/reports/1").Keys)
	require.Equal(t, 1, s.published.lastReport().Day)
}

// Without a share there are no reports, and nothing is spent on them.
func TestWithoutReports(t *testing.T) {
	c := exactConfig(t)
	c.reports = 0
	s := mustOpen(t, c)
	takeLines(t, s, lines(0, 500, "a"))
	for range day {
		require.NoError(t, s.step())
	}
	require.Equal(t, 404, newRecorder(s, "/reports").Code)
	require.Equal(t, 404, newRecorder(s, "/reports/0").Code)
	html, err := s.published.page(day)
	require.NoError(t, err)
	require.NotContains(t, string(html), "by key")
	require.NotContains(t, string(html), "/reports")
	require.Contains(t, s.ledger.String(), "2 releases")
	require.InDelta(t, 264, s.head.Keys.Epsilon, 1e-9)
}

// A crash at the end of a day leaves one report. Before the transaction nobody has seen the report,
// and the next run draws another one. After it the next run publishes the same bytes.
func TestCrashAtTheEndOfADay(t *testing.T) {
	for _, stored := range []bool{false, true} {
		c := exactConfig(t)
		s := mustOpen(t, c)
		for range day - 1 {
			require.NoError(t, s.step())
		}
		takeLines(t, s, lines(0, 300, "a"))

		// what step does until it publishes
		slice, err := s.keys.Step()
		require.NoError(t, err)
		users, err := s.visitors.Step()
		require.NoError(t, err)
		groups, err := s.reports.rows.Release()
		require.NoError(t, err)
		data, err := groups.MarshalBinary()
		require.NoError(t, err)
		s.reports, err = newReports(s.head.Reports)
		require.NoError(t, err)
		if stored {
			require.NoError(t, s.save(&ended{step: day - 1, slice: must(slice.MarshalBinary()), users: must(users.MarshalBinary()), report: data}))
		}
		require.Equal(t, 404, newRecorder(s, "/reports").Code)
		require.Equal(t, 404, newRecorder(s, "/reports/0").Code, "it is not known to be on the disk")
		require.NoError(t, s.store.db.Close())

		s = mustOpen(t, c)
		if !stored {
			require.Equal(t, 404, newRecorder(s, "/reports/0").Code)
			require.NoError(t, s.step())
		}
		require.Equal(t, day, s.published.steps())
		again := newRecorder(s, "/reports/0").Body.Bytes()
		require.Equal(t, stored, string(again) == string(data), "stored %v", stored)
		keys := getReport(t, s, "/reports/0").Keys
		require.Len(t, keys, 1)
		require.InDelta(t, 300, keys[0].Estimate, 60)

		// the next day has a report of its own, and the first stays
		takeLines(t, s, lines(0, 100, "b"))
		for range day {
			require.NoError(t, s.step())
		}
		require.Equal(t, again, newRecorder(s, "/reports/0").Body.Bytes())
		keys = getReport(t, s, "/reports/1").Keys
		require.Len(t, keys, 1)
		require.Equal(t, "b", keys[0].Key)
		require.Less(t, math.Abs(keys[0].Estimate-100), 60.)
	}
}
