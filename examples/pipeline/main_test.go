package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/dpsketch/dpsketch/noise/budget"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetupLogging("error", "text")
	beam.Init()
	os.Exit(m.Run())
}

// small are the flags of a short run.
var small = options{
	count: "both", elements: 20_000, users: 2000, shards: 8, counters: 64, relative: 0.1, largest: 1e6, epsilon: 2, delta: 1e-9, share: 0.5, top: 5, confidence: 0.95, total: 100, totalDelta: 1e-3,
}

// Both answers to lines of text come out, on the standard output or in a file, and the ledger says
// what they cost together.
func TestLines(t *testing.T) {
	o := small
	o.input, o.journal = filepath.Join(t.TempDir(), "lines.txt"), filepath.Join(t.TempDir(), "journal")
	cli.OK(os.WriteFile(o.input, []byte(strings.Repeat("tea\ntea\n\nwater\n", 2000)), 0o600))
	var out bytes.Buffer
	cli.OK(run(context.Background(), o, &out))
	check := func(text string) {
		t.Helper()
		clitest.Not(t, !strings.Contains(text, "tea") || strings.Index(text, " tea") > strings.Index(text, " water") || !strings.Contains(text, "Distinct keys"), "printed:\n%s", text)
	}
	check(out.String())
	ledger, _, _ := strings.Cut(out.String(), "\n")
	if want := "ε = 2 of 2 at δ = 1e-9, 2 releases, for one element, added or removed"; ledger != want {
		t.Errorf("ledger: %s", ledger)
	}

	out.Reset()
	o.output = filepath.Join(t.TempDir(), "answer.txt")
	cli.OK(run(context.Background(), o, &out))
	answer := cli.Must(os.ReadFile(o.output))
	check(string(answer))
	if text := out.String(); !strings.HasPrefix(text, ledger+"\nJournal: run ") || strings.Count(text, "\n") != 3 || strings.Contains(text, "tea") {
		t.Errorf("printed beside the file:\n%s", out.String())
	}
}

// How many keys of one day are back on the next: of lines, and of the generated stream.
func TestReturning(t *testing.T) {
	dir := t.TempDir()
	o := small
	o.journal = filepath.Join(dir, "journal")
	o.count, o.before, o.input = "returning", filepath.Join(dir, "monday.txt"), filepath.Join(dir, "tuesday.txt")
	for file, from := range map[string]int{o.before: 0, o.input: 2000} {
		var lines strings.Builder
		for key := from; key < from+3000; key++ {
			fmt.Fprintf(&lines, "key %d\nkey %d\n", key, key)
		}
		cli.OK(os.WriteFile(file, []byte(lines.String()), 0o600))
	}
	o.confidence = 1 - 1e-9
	var out bytes.Buffer
	cli.OK(run(context.Background(), o, &out))
	var estimate, lo, hi float64
	_, both, _ := strings.Cut(out.String(), "on both")
	if n, _ := fmt.Sscanf(both, "%g between %g and %g", &estimate, &lo, &hi); n != 3 || lo > 1000 || hi < 1000 || !strings.HasPrefix(out.String(), "ε = 2 of 2") {
		t.Errorf("printed:\n%s", out.String())
	}
	o = small
	o.count = "returning"
	out.Reset()
	if err := run(context.Background(), o, &out); err != nil || !strings.Contains(out.String(), "not back") {
		t.Errorf("%v, printed:\n%s", err, out.String())
	}
}

// Users by key, with sums and means, come out of lines of text, and lines that are no rows do not
// matter.
//
// At ε = 2, δ = 1e-6 a count of 3000 has a standard deviation below 20.
func TestUserLines(t *testing.T) {
	o := small
	o.journal = filepath.Join(t.TempDir(), "journal")
	o.count, o.delta, o.max, o.input = "users", 1e-6, 10, filepath.Join(t.TempDir(), "rows.txt")
	var rows strings.Builder
	for user := range 3000 {
		fmt.Fprintf(&rows, "u%d\ttea\t4\nu%d\ttea\t2\nu%d\twater\t0\nu%d\tnothing\nu%d\ttea\tNaN\n", user, user, user/2, user, user)
	}
	rows.WriteString("no row\nu\tx\tno number\na\tb\t1\tc\n\n")
	cli.OK(os.WriteFile(o.input, []byte(rows.String()), 0o600))
	var out bytes.Buffer
	cli.OK(run(context.Background(), o, &out))
	ledger, rest, _ := strings.Cut(out.String(), "\n")
	if want := "ε = 2 of 2 at δ = 1e-6, 1 release, for one user, added or removed"; ledger != want {
		t.Errorf("ledger: %s", ledger)
	}
	var rank, lo, hi [2]int
	var users, sum, mean [2]float64
	lines := strings.Split(rest, "\n")[1:] // behind that of the journal
	for i, key := range []string{"tea", "water"} {
		if n, err := fmt.Sscanf(lines[3+i], "%d "+key+" %g between %d and %d sum %g, mean %g", &rank[i], &users[i], &lo[i], &hi[i], &sum[i], &mean[i]); n != 6 {
			t.Fatalf("%v in %q:\n%s", err, lines[3+i], rest)
		}
	}
	clitest.Not(t, strings.Contains(rest, "nothing") || users[0] < 2800 || users[0] > 3200 || mean[0] < 5 || mean[0] > 7 || users[1] < 1300 || users[1] > 1700, "printed:\n%s", rest)
}

// With a list all of its keys come out, without δ, and no other.
func TestListedUsers(t *testing.T) {
	dir := t.TempDir()
	o := small
	o.journal = filepath.Join(dir, "journal")
	o.count, o.delta, o.input, o.list = "users", 0, filepath.Join(dir, "rows.txt"), filepath.Join(dir, "list.txt")
	var rows strings.Builder
	for user := range 1000 {
		fmt.Fprintf(&rows, "u%d\ttea\nu%d\twater\n", user, user)
	}
	for file, text := range map[string]string{o.input: rows.String(), o.list: "tea\nmilk\n"} {
		cli.OK(os.WriteFile(file, []byte(text), 0o600))
	}
	var out bytes.Buffer
	cli.OK(run(context.Background(), o, &out))
	text := out.String()
	if !strings.HasPrefix(text, "ε = 2 of 2 at δ = 0, 1 release, for one user") || !strings.Contains(text, "  1  tea ") || !strings.Contains(text, "  2  milk ") ||
		strings.Contains(text, "water") {
		t.Errorf("printed:\n%s", text)
	}
}

// The flags of this command come before those of Beam in what -h prints, and each of them once.
func TestUsage(t *testing.T) {
	all := flag.NewFlagSet("pipeline", flag.ContinueOnError)
	all.String("a_flag_of_beam", "", "what Beam says")
	var out bytes.Buffer
	all.SetOutput(&out)
	o := new(options)
	o.register(all)
	if err := all.Parse([]string{"-epsilon", "0.25", "-a_flag_of_beam", "x"}); err != nil || o.epsilon != 0.25 {
		t.Errorf("%v, %v", o, err)
	}
	all.Usage()
	text := out.String()
	own, beams := strings.Index(text, "-epsilon"), strings.Index(text, "-a_flag_of_beam")
	clitest.Not(t, own < 0 || beams < own || strings.Count(text, "-epsilon") != 1 || strings.Index(text, "Flags of Apache Beam") < strings.Index(text, "-total-delta"), "printed:\n%s", text)
}

// The parts of the budget are the whole of it, for every share, and one answer alone has all of it.
func TestBudget(t *testing.T) {
	for _, share := range []float64{0.01, 0.1, 0.3, 0.5, 0.77, 0.9} {
		o := small
		o.share, o.relative = share, 0.5
		r, err := o.releases()
		clitest.Not(t, err != nil, "share %v: %v", share, err)
		if got := r.frequent.Epsilon + r.distinct.Epsilon; got < 2*(1-1e-15) || got > 2*(1+1e-15) || r.distinct.Epsilon != 2*share || r.frequent.Delta != o.delta {
			t.Errorf("share %v: %v and %v", share, r.frequent, r.distinct)
		}
		clitest.Not(t, r.distinct.Seed.IsZero(), "no Seed")
	}
	o := small
	o.count, o.share = "frequent", -7 // not used
	if r, err := o.releases(); err != nil || r.distinct != nil || r.frequent.Epsilon != 2 {
		t.Errorf("frequent keys alone: %v, %v", r, err)
	}
	o.count = "distinct"
	r, err := o.releases()
	clitest.Not(t, err != nil || r.frequent != nil || r.distinct.Epsilon != 2, "distinct keys alone: %v, %v", r, err)
	if delta := r.ledger.Spent().DeltaAt(2); delta != 0 {
		t.Errorf("a count of distinct keys took δ = %v", delta)
	}
}

// A run that fails was paid for before it began. When it is tried again, under the same name, that
// is paid for too, and said; another run is the first of its name; and one that the budget does not
// allow draws nothing.
func TestFailedRun(t *testing.T) {
	dir := t.TempDir()
	o := small
	o.input, o.journal, o.run, o.total = filepath.Join(dir, "lines.txt"), filepath.Join(dir, "journal"), "monday", 5
	cli.OK(os.WriteFile(o.input, []byte(strings.Repeat("tea\n", 2000)), 0o600))
	for i, c := range []struct {
		output, run   string
		epsilon       float64
		want          string
		failed, again bool
	}{
		{filepath.Join(o.input, "nowhere"), "monday", 1, "Journal: run monday, attempt 1: ε = ", true, false},
		{filepath.Join(dir, "answers"), "monday", 1, "Journal: run monday, attempt 2: ε = ", false, true},
		{filepath.Join(dir, "answers"), "mon", 1, "Journal: run mon, attempt 1: ε = ", false, false},
		{filepath.Join(dir, "answers"), "monday", 4, "", true, false}, // no budget
	} {
		o.output, o.run, o.epsilon = c.output, c.run, c.epsilon
		var out bytes.Buffer
		err := run(context.Background(), o, &out)
		if text := out.String(); (err != nil) != c.failed || !strings.Contains(text, c.want) || strings.Contains(text, "An earlier attempt") != c.again || c.want == "" && text != "" {
			t.Errorf("run %d: %v, printed:\n%s", i, err, text)
		}
		clitest.Not(t, c.want != "" && c.failed && !strings.Contains(err.Error(), "counts as released"), "run %d: %v", i, err)
	}
	l := cli.Must(budget.OpenFile(o.journal, o.total, o.totalDelta, budget.Element(budget.AddRemove)))
	defer l.Close()
	var names []string
	for record := range l.All() {
		names = append(names, record.Name)
	}
	clitest.Not(t, !slices.Equal(names, []string{"monday/1", "monday/2", "mon/1"}), "paid for: %q", names)
}

// A wrong flag is an error before there is a pipeline: nothing is printed.
func TestWrongFlags(t *testing.T) {
	for name, change := range map[string]func(o *options){
		"count":      func(o *options) { o.count = "all" },
		"share 0":    func(o *options) { o.share = 0 },
		"share 1":    func(o *options) { o.share = 1 },
		"elements":   func(o *options) { o.elements = -1 },
		"shards":     func(o *options) { o.shards = 0 },
		"counters":   func(o *options) { o.counters = 0 },
		"epsilon":    func(o *options) { o.epsilon = -1 },
		"delta":      func(o *options) { o.delta = 0 },
		"error":      func(o *options) { o.relative = 0 },
		"largest":    func(o *options) { o.largest = 0 },
		"confidence": func(o *options) { o.confidence = 1 },
		"users":      func(o *options) { o.users = 0 },
		"min":        func(o *options) { o.count, o.min = "users", 5 },
		"before":     func(o *options) { o.before = "monday.txt" },
		"no before":  func(o *options) { o.count, o.input = "returning", "tuesday.txt" },
		"list":       func(o *options) { o.list = "list.txt" },
		"no list":    func(o *options) { o.count, o.list = "users", "nowhere.txt" },
		"empty list": func(o *options) { o.count, o.list = "users", os.DevNull },
		"no journal": func(o *options) { o.input = "lines.txt" },
		"run":        func(o *options) { o.run = "monday" },
		"a slash":    func(o *options) { o.journal, o.run = "journal", "mon/day" },
		"arguments":  func(o *options) { o.arguments = []string{"file", "-epsilon", "0.1"} },
	} {
		o := small
		change(&o)
		var out bytes.Buffer
		if err := run(context.Background(), o, &out); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, printed %q", name, err, out.String())
		}
	}
}
