package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// spent answers "what have I spent, on what, until when does it last" for a journal, which it reads
// and leaves as it is, also while a process spends from it.
func spent(path, drawn string, out io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	l, err := budget.OpenJournal(&copied{data}, 0)
	if err != nil {
		return err
	}
	text, months := page(l)
	if drawn != "" {
		if err := os.WriteFile(drawn, []byte(picture(l.String(), months)), 0o644); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, text)
	return err
}

// line is what the releases of a month, or on one question, took together.
type line struct {
	name     string
	releases int
	share    float64
}

// page is the table, with bars, and what is drawn of it.
func page(l *budget.Ledger) (text string, months []line) {
	var questions []line
	add := func(list *[]line, name string, r budget.Record) {
		i := slices.IndexFunc(*list, func(x line) bool { return x.name == name })
		if i < 0 {
			i = len(*list)
			*list = append(*list, line{name: name})
		}
		(*list)[i].releases += r.Releases
		(*list)[i].share += r.Share
	}
	var last budget.Record
	var first, latest time.Time
	releases := 0
	for r := range l.All() {
		month, question := "no date", r.Name
		if day, err := time.Parse(time.DateOnly, r.Name[:min(len(r.Name), len(time.DateOnly))]); err == nil {
			if first.IsZero() || day.Before(first) {
				first = day
			}
			if day.After(latest) {
				latest = day
			}
			month, question = day.Format("2006-01"), strings.Trim(r.Name[len(time.DateOnly):], "/-_")
		}
		if question == "" {
			question = "no name"
		}
		if r.Part != "" {
			question += " in " + r.Part
		}
		add(&months, month, r)
		add(&questions, question, r)
		last, releases = r, releases+r.Releases
	}
	epsilon, delta := l.Budget()
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", l)
	if epsilon > 0 {
		fmt.Fprintf(&b, "  [%s] %.1f %%, δ = %g\n", bar(0, l.Epsilon()/epsilon, 50), 100*l.Epsilon()/epsilon, delta)
	}
	slices.SortFunc(months, func(x, y line) int { return strings.Compare(x.name, y.name) })
	fmt.Fprintf(&b, "\n  %-10s %8s %8s  %s\n", "when", "releases", "share", "all until then")
	sum := 0.0
	for _, m := range months {
		fmt.Fprintf(&b, "  %-10s %8d %7.2f %%  |%s|\n", m.name, m.releases, 100*m.share, bar(sum, sum+m.share, 50))
		sum += m.share
	}
	slices.SortStableFunc(questions, func(x, y line) int { return cmp.Compare(y.share, x.share) })
	fmt.Fprintf(&b, "\n  %-32s %8s %8s\n", "on what", "releases", "share")
	for i, q := range questions {
		if i == 20 {
			fmt.Fprintf(&b, "  … and %d more\n", len(questions)-i)
			break
		}
		fmt.Fprintf(&b, "  %-32s %8d %7.2f %%\n", q.name, q.releases, 100*q.share)
	}
	if releases > 0 {
		of := l
		if last.Part != "" {
			if of = l.Part(last.Part); of.Unit() != last.Guarantee.Unit() || !of.Unit().Valid() {
				of = l.PartOfUsers(last.Part)
			}
		}
		n := more(of, last.Guarantee)
		fmt.Fprintf(&b, "\n  It lasts for %d more releases like the last one", n)
		if days := latest.Sub(first).Hours() / 24; days >= 1 {
			rate := float64(releases-1) / days
			fmt.Fprintf(&b, ", at %.2g a day until %s", rate, latest.Add(time.Duration(float64(n)/rate*24*float64(time.Hour))).Format(time.DateOnly))
		}
		b.WriteString(".\n")
	}
	return b.String(), months
}

// bar is a line of so many characters: what was there before, and what came.
func bar(from, to float64, width int) string {
	at := func(x float64) int { return max(0, min(width, int(float64(width)*x+0.5))) }
	return strings.Repeat("-", at(from)) + strings.Repeat("#", at(to)-at(from)) + strings.Repeat(" ", width-at(to))
}

// more returns how many more releases like g the ledger accepts, at most 2²⁰.
func more(l *budget.Ledger, g budget.Guarantee) int {
	lo, hi := 0, 1
	for hi < 1<<20 && l.Accepts(g.Times(hi)) {
		lo, hi = hi, 2*hi
	}
	for lo+1 < hi {
		if mid := (lo + hi) / 2; l.Accepts(g.Times(mid)) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// copied is a journal in memory.
type copied struct{ data []byte }

func (c *copied) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(c.data).ReadAt(p, at)
}

func (c *copied) WriteAt(p []byte, at int64) (int, error) {
	c.data = append(c.data[:at], p...)
	return len(p), nil
}

func (c *copied) Truncate(size int64) error { c.data = c.data[:size]; return nil }
func (c *copied) Sync() error               { return nil }
