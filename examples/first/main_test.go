package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// printed runs the program and returns what it prints.
func printed(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out")
	file := cli.Must(os.Create(name))
	stdout := os.Stdout
	os.Stdout = file
	main()
	os.Stdout = stdout
	cli.OK(file.Close())
	return string(cli.Must(os.ReadFile(name)))
}

// The program prints the pages of many users, and no diary, with estimates near the numbers of
// users, in each of 8 runs, whose noise is always the same.
func TestOutput(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	covered := map[string]int{}
	for range 8 {
		out := printed(t)
		lines := strings.SplitAfter(out, "\n")
		clitest.Not(t, len(lines) != 4 || lines[3] != "", "printed %q", out)
		for i, want := range []struct {
			page  string
			users float64
		}{{"home", 3000}, {"page 0", 1500}, {"page 1", 1500}} {
			page, rest, _ := strings.Cut(lines[i], ": ")
			var estimate, lo, hi float64
			if _, err := fmt.Sscanf(rest, "%g users, between %g and %g\n", &estimate, &lo, &hi); err != nil || page != want.page {
				t.Fatalf("printed %q: %v", lines[i], err)
			}
			if !(math.Abs(estimate-want.users) <= 600 && lo <= hi && math.Abs(lo-want.users) <= 700 && math.Abs(hi-want.users) <= 900) {
				t.Errorf("%s has %g users: printed %q", page, want.users, lines[i])
			}
			if lo <= want.users && want.users <= hi {
				covered[page]++
			}
		}
	}
	for page, n := range covered {
		clitest.Not(t, n < 6, "%d of 8 intervals hold the users of %s", n, page)
	}
	clitest.Not(t, len(covered) != 3, "covered: %v", covered)
}

// The front page shows this program as it is, in at most 20 lines that are not blank, and
// the two commands as the continuous integration runs them.
func TestFrontPage(t *testing.T) {
	readme := cli.Must(os.ReadFile("../../README.md"))
	program := cli.Must(os.ReadFile("main.go"))
	for _, command := range []string{"\ngo run ./examples/heavyhitters\n", "\ngo test ./...\n"} {
		if !strings.Contains(string(readme), command) {
			t.Errorf("README.md lacks the line %q", strings.TrimSpace(command))
		}
	}
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(readme), "\r\n", "\n"), "```go\n")
	shown, _, found := strings.Cut(rest, "```\n")
	clitest.Not(t, !found || shown != strings.ReplaceAll(string(program), "\r\n", "\n"), "the Go code in README.md is not examples/first/main.go")
	lines := 0
	for line := range strings.Lines(shown) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	clitest.Not(t, lines > 20, "the front page shows %d lines of code", lines)
}
