package main

import (
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return &options{verb: "demo"} }, [][]string{{"-dsn", "x"}, {"-driver", "oracle"}, {"status"}, {"-keys", "-1"}})
	for _, c := range []struct {
		verb string
		args []string
	}{
		{"spend", []string{"-dsn", "x"}}, {"status", nil}, {"lease", []string{"-share", "x"}}, {"return", []string{"-dsn", "x"}}, {"spent", nil},
	} {
		if code, out, errs := clitest.Run(&options{verb: c.verb}, c.args...); code != 2 || out != "" || errs == "" {
			t.Errorf("%s %q: exit code %d: %s%s", c.verb, c.args, code, out, errs)
		}
	}
}

// Seven servers return what is left, and the eighth loses its lease.
func TestDemo(t *testing.T) {
	clitest.Output(t, &options{verb: "demo"}, nil, []string{"8 servers made 14666 releases", "# spent", "server-7", "1.000 %"})
}

// A year of reports: what was spent, on what, and how long it lasts.
func TestSpent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	user := budget.User(20, budget.AddRemove)
	l := cli.Must(budget.OpenFile(path, 10, 1e-6, user))
	for day := range 250 {
		date := time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		err1 := l.SpendOnce(date+"/visits", budget.GDP(0.08, user))
		err2 := error(nil)
		if day%7 == 0 {
			err2 = l.SpendOnce(date+"/revenue", budget.PureDP(0.1, user))
		}
		cli.OK(errors.Join(err1, err2))
	}
	cli.OK(l.Spend(budget.PureDP(0.01, user)))
	before := cli.Must(os.ReadFile(path))
	clitest.Output(t, &options{verb: "spent"}, []string{"-journal", path}, []string{"287 releases, for one user", "2026-01", "2026-09", "no date", "visits", "revenue", "more releases like the last one", "a day until 20"})
	drawn := filepath.Join(t.TempDir(), "spent.svg")
	clitest.Output(t, &options{verb: "spent"}, []string{"-journal", path, "-picture", drawn}, []string{"visits"})
	if svg, err := os.ReadFile(drawn); err != nil || strings.Count(string(svg), "#2456c4") != 10 || xml.Unmarshal(svg, new(struct{})) != nil {
		t.Errorf("%v:\n%s", err, svg)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Error("the journal is not as it was")
	}
	cli.OK(l.Close())
	if code, _, _ := clitest.Run(&options{verb: "spent"}, "-journal", path+".none"); code != 1 {
		t.Errorf("exit code %d without a journal", code)
	}
}

// The words of the command, one after the other, on one budget by ρ.
func TestWords(t *testing.T) {
	where := []string{"-driver", "sqlite", "-dsn", filepath.Join(t.TempDir(), "budget.db")}
	run := func(verb string, args ...string) (int, string, string) {
		return clitest.Run(&options{verb: verb}, append(args, where...)...)
	}
	steps := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"status"}, 1, ""},
		{[]string{"create", "-epsilon", "-1"}, 2, ""},
		{[]string{"create", "-rule", "sums"}, 2, ""},
		{[]string{"create", "-rule", "rho 5e-7", "-keys", "10"}, 0, "ε = 1 at δ = 1e-06 for one user (at most 10 keys), added or removed, by rho 5e-7, version 1"},
		{[]string{"create"}, 1, ""},
		{[]string{"lease", "-share", "2"}, 2, ""},
		{[]string{"lease", "-share", "0.25", "-holder", "nightly"}, 0, "# spent 0.00 %   = leased 25.00 %   . free 75.00 %"},
		{[]string{"lease", "-share", "0.9"}, 0, "= leased 100.00 %"},
		{[]string{"lease", "-share", "0.1"}, 1, ""},
		{[]string{"return", "-lease", "x"}, 1, ""},
		{[]string{"return", "-lease", "#", "-spent", "1"}, 1, ""},
		{[]string{"return", "-lease", "#", "-spent", "0.001", "-spent-delta", "1e-8"}, 0, ". free 7"},
		{[]string{"return", "-lease", "#"}, 1, ""},
		{[]string{"status", "-at-least", "4"}, 0, "# spent"},
		{[]string{"status", "-at-least", "5"}, 1, ""},
	}
	id := ""
	for _, step := range steps {
		for i, arg := range step.args {
			if arg == "#" {
				step.args[i] = id
			}
		}
		code, out, errs := run(step.args[0], step.args[1:]...)
		clitest.Not(t, code != step.code || !strings.Contains(out, step.want) || (code == 0) != (errs == ""), "%q: exit code %d: %s\n%s", step.args, code, errs, out)
		if m := regexp.MustCompile(`^lease (\S+): `).FindStringSubmatch(out); m != nil {
			id = m[1]
		}
	}
}
