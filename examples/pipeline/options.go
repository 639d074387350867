package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// options are the flags.
type options struct {
	count          string // frequent, distinct, both, returning or users
	before         string // of returning
	elements       int
	users          int
	shards         int
	counters       int
	list           string  // file of public keys
	min, max       float64 // of a user's value in a key
	relative       float64 // standard error of the distinct count
	largest        float64 // distinct count
	epsilon, delta float64 // of all releases together
	share          float64 // of ε, for the distinct count if it is not alone
	input, output  string
	top            int
	confidence     float64
	journal, run   string  // of all runs on these data, and the name of this one
	total          float64 // ε of all runs
	totalDelta     float64
	arguments      []string // that are no flags: a mistake, as flags after them are not read
}

// flags are the flags of this command.
func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("pipeline", flag.ContinueOnError)
	f.StringVar(&o.count, "count", "both", "what to release: frequent, distinct, both, returning, which keys of -before are back, or users, which is a GROUP BY for users")
	f.StringVar(&o.before, "before", "", "`files` of lines of the day before -input, for returning")
	f.StringVar(&o.input, "input", "", "`files` of lines instead of the generated stream, a pattern; for users \"user TAB key\" or \"user TAB key TAB value\"")
	f.StringVar(&o.output, "output", "", "`file` for the answers instead of the standard output, which on a cluster is that of a worker")
	f.Float64Var(&o.epsilon, "epsilon", 1, "`ε` of all that is released")
	f.Float64Var(&o.delta, "delta", 1e-9, "`δ` of all that is released; the distinct count needs none")
	f.Float64Var(&o.share, "share", 0.5, "`part` of ε for the distinct count, if both are released")
	f.IntVar(&o.counters, "counters", 1024, "`counters` of each sketch of frequent keys")
	f.Float64Var(&o.relative, "error", 0.01, "relative standard `error` of the distinct count")
	f.Float64Var(&o.largest, "largest", 1e9, "largest distinct `count` that has this error")
	f.StringVar(&o.list, "list", "", "`file` of public keys for users, one a line: these are released, all of them, and no other")
	f.Float64Var(&o.min, "min", 0, "least `value` of a user in a key; with -max also sums and means")
	f.Float64Var(&o.max, "max", 0, "largest `value` of a user in a key")
	f.IntVar(&o.top, "top", 10, "how `many` keys to print")
	f.Float64Var(&o.confidence, "confidence", 0.95, "`confidence` of the printed bounds")
	f.IntVar(&o.elements, "elements", 10_000_000, "`length` of the generated stream")
	f.IntVar(&o.users, "users", 1_000_000, "`users` of the generated stream")
	f.IntVar(&o.shards, "shards", 64, "`shards` of the generated stream")
	f.StringVar(&o.journal, "journal", "", "`file` of the budget of all runs on these data, made if there is none; needed with -input")
	f.StringVar(&o.run, "run", "", "`name` of this run in the journal, the same when it is tried again; the time without one")
	f.Float64Var(&o.total, "total", 10, "`ε` of all runs in the journal, the same each time")
	f.Float64Var(&o.totalDelta, "total-delta", 1e-6, "`δ` of all runs in the journal, the same each time")
	return f
}

// register puts the flags beside those of Beam, and before them in what -h prints.
func (o *options) register(all *flag.FlagSet) {
	own, beams := o.flags(), flag.NewFlagSet("beam", flag.ContinueOnError)
	all.VisitAll(func(f *flag.Flag) { beams.Var(f.Value, f.Name, f.Usage) })
	own.VisitAll(func(f *flag.Flag) { all.Var(f.Value, f.Name, f.Usage) })
	all.Usage = func() { usage(all.Output(), own, beams) }
}

func usage(out io.Writer, own, beams *flag.FlagSet) {
	fmt.Fprintln(out, "pipeline counts keys privately, as a pipeline of Apache Beam. Its flags:")
	own.SetOutput(out)
	own.PrintDefaults()
	fmt.Fprintln(out, "\nFlags of Apache Beam:")
	beams.SetOutput(out)
	beams.PrintDefaults()
}

// check returns an error for flags that no release depends on.
func (o options) check() error {
	switch {
	case len(o.arguments) > 0:
		return fmt.Errorf("unexpected arguments %q", o.arguments)
	case o.input != "" && o.journal == "":
		return errors.New("-journal is missing: every run costs privacy, and the journal adds it up")
	case o.run != "" && o.journal == "":
		return errors.New("-run is a name in the -journal")
	case strings.Contains(o.run, "/"):
		return fmt.Errorf("-run %q: want a name without a slash", o.run)
	case o.list != "" && o.count != "users":
		return errors.New("-list is for -count users")
	case (o.before == "") != (o.input == "" || o.count != "returning"):
		return errors.New("-before is the day before -input, for -count returning")
	case o.shards < 1 || o.elements < 0 || o.users < 1:
		return fmt.Errorf("%d elements of %d users over %d shards: want at least 0 of 1 over 1", o.elements, o.users, o.shards)
	case o.counters < 1:
		return fmt.Errorf("-counters %d: want at least 1", o.counters)
	case !(o.confidence >= 0 && o.confidence < 1):
		return fmt.Errorf("-confidence %v: want a number in [0, 1)", o.confidence)
	}
	return nil
}

// releases are what a run releases, each with its part of the budget. Nil is no release.
type releases struct {
	frequent *misragries.Params
	distinct *distinct.Params // also of two days, for returning
	users    *groupby.Params
	keys     []string       // of users, if they are a public list
	ledger   *budget.Ledger // all are spent
}

// releases divides the budget. The distinct count takes its share of ε and no δ, the frequent keys
// the rest and all of δ. The GROUP BY for users is alone, as it protects a user, not an element.
//
// The guarantees add up for what both protect, one element of the input. One key with all its
// elements is protected by the distinct count alone.
func (o options) releases() (r releases, err error) {
	share := o.share * o.epsilon
	switch o.count {
	case "frequent":
		share = 0
	case "distinct", "returning":
		share = o.epsilon
	case "both":
		if !(o.share > 0 && o.share < 1) {
			return r, fmt.Errorf("-share %v: want a number between 0 and 1", o.share)
		}
	case "users":
		return o.userReleases()
	default:
		return r, fmt.Errorf("-count %q: want frequent, distinct, both, returning or users", o.count)
	}
	unit := budget.Element(budget.AddRemove)
	if r.ledger, err = budget.NewLedger(o.epsilon, o.delta, unit); err != nil {
		return r, err
	}
	if o.count != "frequent" {
		p, err := distinct.Params{Epsilon: share, Seed: hashing.NewSeed()}.Fit(o.relative, o.largest, 1)
		if err != nil {
			return r, err
		}
		r.distinct = &p
		promised := p.Guarantee()
		if o.count == "returning" {
			plan, err := p.Plan()
			if err != nil {
				return r, err
			}
			promised = plan.Pair
		}
		cost, err := promised.Stable(unit, 1) // an element adds or removes one key at most
		if err != nil {
			return r, err
		}
		if err := r.ledger.Spend(cost); err != nil {
			return r, err
		}
	}
	if o.count != "distinct" && o.count != "returning" {
		r.frequent = &misragries.Params{Counters: o.counters, Epsilon: o.epsilon - share, Delta: o.delta}
		if err := r.ledger.Spend(r.frequent.Guarantee()); err != nil {
			return r, err
		}
	}
	return r, nil
}

// userReleases gives all of the budget to the GROUP BY.
func (o options) userReleases() (r releases, err error) {
	r.users = &groupby.Params{Epsilon: o.epsilon, Delta: o.delta, Min: o.min, Max: o.max}
	var b *groupby.Builder[string]
	if o.list == "" {
		b, err = groupby.New[string](*r.users)
	} else {
		text, unread := os.ReadFile(o.list)
		if unread != nil {
			return r, unread
		}
		r.keys = strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' || c == '\r' })
		b, err = groupby.NewListed(*r.users, r.keys...)
	}
	if err != nil {
		return r, err
	}
	cost := b.Guarantee()
	if r.ledger, err = budget.NewLedger(o.epsilon, o.delta, cost.Unit()); err != nil {
		return r, err
	}
	return r, r.ledger.Spend(cost)
}
