package main

import (
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// back asks how many users have one value of the key, how many another one, and how many both: with
// days for keys, who came back.
type back struct {
	values    [2]string
	params    distinct.Params
	guarantee budget.Guarantee // of a user, who is one key
}

// newBack returns what -back asks for.
func newBack(values string, epsilon float64, user budget.Unit) (b back, err error) {
	var ok bool
	if b.values[0], b.values[1], ok = strings.Cut(values, ","); !ok || b.values[0] == b.values[1] || strings.Contains(b.values[1], ",") {
		return b, fmt.Errorf("-back = %q: want two values of -key with a comma between", values)
	}
	b.params = distinct.Params{Epsilon: epsilon, Seed: hashing.NewSeed()}
	plan, err := b.params.Plan()
	if err != nil {
		return b, err
	}
	b.guarantee, err = plan.Pair.Stable(user, 1)
	return b, err
}

// users returns the SQL for all rows that count. A user is known by a text that depends on this
// user's rows alone: a number in the order of all users would change with any other one.
func (q query) users(key string) string {
	return fmt.Sprintf("SELECT MIN(CAST(%s AS TEXT)) OVER (PARTITION BY %[1]s), %s %s", column(q.user), key, q.from())
}

// release answers, and spends before it draws. truth is what came of the rows, for a database that
// was made: nothing else is counted exactly.
func (b back) release(db *sql.DB, q query, ledger *budget.Ledger, made bool) (pair *distinct.Pair, truth [4]int, err error) {
	var sets [2]*distinct.Builder
	for i := range sets {
		if sets[i], err = distinct.New(b.params); err != nil {
			return nil, truth, err
		}
	}
	text, err := q.schema(db)
	if err != nil {
		return nil, truth, err
	}
	seen := map[string]int{}
	var user, key string
	err = each(db, q.users(text), func() error {
		for i, value := range b.values {
			if key == value {
				distinct.AddKey(sets[i], user)
				if made {
					seen[user] |= 1 << i
				}
			}
		}
		return nil
	}, &user, &key)
	if err != nil {
		return nil, truth, err
	}
	for _, in := range seen {
		truth[in]++
	}
	pair, err = budget.ReleaseFunc(ledger, b.guarantee, func() (*distinct.Pair, error) { return distinct.ReleasePair(sets[0], sets[1]) })
	return pair, truth, err
}

// answer prints the release.
func (b back) answer(opts *options, out io.Writer, db *sql.DB, ledger *budget.Ledger, made bool) error {
	pair, truth, err := b.release(db, opts.query, ledger, made)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nGuarantee: %v\nSpent:     %v\nJournal:   %s, record %d\n\n", b.guarantee, ledger, filepath.Base(opts.journal), ledger.Records())
	for _, line := range []struct {
		name  string
		size  kor.Cardinality
		truth int
	}{
		{"users with " + printable(b.values[0]), pair.A(), truth[1] + truth[3]}, {"users with " + printable(b.values[1]), pair.B(), truth[2] + truth[3]},
		{"with both", pair.Both(), truth[3]}, {"with the second alone", pair.OnlyB(), truth[2]},
	} {
		lo, hi := line.size.Interval(opts.confidence)
		fmt.Fprintf(out, "  %-32s %9.0f   %8.0f – %8.0f", line.name, line.size.Estimate()+0, lo, hi)
		if made {
			fmt.Fprintf(out, " %9d", line.truth)
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	return nil
}
