package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// result is a release; where the database was made, with the truth beside it.
type result struct {
	query     query
	groups    *groupby.Groups[string]
	unread    *groupby.Groups[string] // of the one key unreadKey, or nil
	guarantee budget.Guarantee
	ledger    *budget.Ledger
	journal   string
	truth     map[string]total
}

// text prints the release.
func (r result) text(opts options) string {
	var b strings.Builder
	g := r.groups
	plan, err := g.Params().Plan()
	if err != nil {
		return err.Error() // not for Params of a release
	}
	fmt.Fprintf(&b, "\nHow many users has each %s in %s?\n\n", r.query.key, r.query.table)
	fmt.Fprintf(&b, "Guarantee: %v\n", r.guarantee)
	fmt.Fprintf(&b, "Spent:     %v\n", r.ledger)
	fmt.Fprintf(&b, "Journal:   %s, record %d\n", filepath.Base(r.journal), r.ledger.Records())
	fmt.Fprintf(&b, "Threshold: %.1f users, times √l for keys of users of l keys that are not found at first\n", plan.Threshold)
	lo, hi := g.Shortfall(opts.confidence)
	fmt.Fprintf(&b, "Users of more than %d keys count less than 1 in each: %.0f to %.0f in all are missing\n\n", g.FullKeys(), lo, hi)
	shown := min(opts.top, g.Len())
	fmt.Fprintf(&b, "Released: %d keys.", g.Len())
	if shown > 0 {
		interval := fmt.Sprintf("%.10g %% interval", 100*opts.confidence)
		fmt.Fprintf(&b, " The %d most frequent:\n\n  %-24s %9s   %-19s", shown, "key", "users", interval)
		if r.truth != nil {
			fmt.Fprintf(&b, " %9s", "truth")
		}
		if opts.levels != "" {
			for _, level := range levels(g) {
				fmt.Fprintf(&b, " %9s   %-19s", fmt.Sprintf("p%.6g", 100*level), interval)
			}
		} else if r.query.value != "" {
			fmt.Fprintf(&b, " %12s   %-25s", "sum", interval)
			if r.truth != nil {
				fmt.Fprintf(&b, " %12s", "truth")
			}
		}
	}
	b.WriteByte('\n')
	for key, users := range g.Top(shown) {
		lo, hi := g.Interval(key, opts.confidence)
		fmt.Fprintf(&b, "  %-24s %9.1f   %8.1f – %8.1f", printable(key), users, lo, hi)
		if r.truth != nil {
			fmt.Fprintf(&b, " %9d", r.truth[key].users)
		}
		if opts.levels != "" {
			for _, level := range levels(g) {
				lo, hi := g.QuantileInterval(key, level, opts.confidence)
				fmt.Fprintf(&b, " %9.4g   %8.4g – %8.4g", g.Quantile(key, level), lo, hi)
			}
		} else if r.query.value != "" {
			lo, hi := g.SumInterval(key, opts.confidence)
			sum := fmt.Sprintf("%.1f", g.Sum(key))
			if math.IsNaN(g.Sum(key)) {
				sum = "unknown"
			}
			fmt.Fprintf(&b, " %12s   %11.1f – %11.1f", sum, lo, hi)
			if r.truth != nil {
				fmt.Fprintf(&b, " %12.1f", r.truth[key].sum)
			}
		}
		b.WriteByte('\n')
	}
	if r.unread != nil {
		lo, hi := r.unread.Interval(unreadKey, opts.confidence)
		fmt.Fprintf(&b, "\nRows whose %s is no number are left out: %.0f users have some, between %.0f and %.0f.\n", r.query.value, max(r.unread.Estimate(unreadKey), 0), lo, hi)
	}
	switch {
	case !g.Params().Values:
	case g.Radius() == 0:
		fmt.Fprintf(&b, "\nNothing was learned of the range of %s: that takes about %.0f users.\n", r.query.value, plan.Blind)
	default:
		fmt.Fprintf(&b, "\nThe range of %s was learned. Sums and their intervals are of values as clipped.\n", r.query.value)
	}
	if r.truth != nil {
		r.covered(&b, opts.confidence)
	}
	return b.String()
}

// levels returns those of a release.
func levels(g *groupby.Groups[string]) []float64 {
	all := g.Params().Levels
	if n := slices.Index(all[:], 0); n >= 0 {
		return all[:n]
	}
	return all[:]
}

// printable returns a key for a table on a terminal.
func printable(key string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '·'
		}
		return c
	}, key)
}

// covered says how many intervals hold the truth, and what stays hidden.
func (r result) covered(b *strings.Builder, confidence float64) {
	inside, hidden, most := 0, 0, ""
	for key, t := range r.truth {
		if r.groups.Has(key) {
			if lo, hi := r.groups.Interval(key, confidence); lo <= float64(t.users) && float64(t.users) <= hi {
				inside++
			}
			continue
		}
		hidden++
		if t.users > r.truth[most].users || t.users == r.truth[most].users && key < most {
			most = key
		}
	}
	fmt.Fprintf(b, "\nOf the %d intervals %d hold the truth.\n", r.groups.Len(), inside)
	if hidden > 0 {
		fmt.Fprintf(b, "Hidden: %d keys, the most frequent of them %s, of %d users.\n", hidden, printable(most), r.truth[most].users)
	}
}
