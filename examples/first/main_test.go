package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// printed runs the program and returns what it prints.
func printed(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = file
	main()
	os.Stdout = stdout
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The program prints both keys with estimates near their counts, in each of 100 runs. The noise is
// the sum of two discrete Laplace variables of scale 1, beyond 60 with a probability below 1e-20.
// Each interval is right in 95 runs or more on average: in less than 75 with a probability of
// 3e-12.
func TestOutput(t *testing.T) {
	covered := map[string]int{}
	for range 100 {
		out := printed(t)
		lines := strings.SplitAfter(out, "\n")
		if len(lines) != 3 || lines[2] != "" {
			t.Fatalf("printed %q", out)
		}
		for i, want := range []struct {
			key   string
			count float64
		}{{"tea", 6000}, {"water", 3000}} {
			var key string
			var estimate, lo, hi float64
			if _, err := fmt.Sscanf(lines[i], "%s %g true count between %g and %g\n", &key, &estimate, &lo, &hi); err != nil || key != want.key {
				t.Fatalf("printed %q: %v", lines[i], err)
			}
			// Both ends of the interval are within 10 of the estimate, which may lie outside of it:
			// the interval does without the noise that all keys share.
			if !(math.Abs(estimate-want.count) <= 60 && math.Abs(lo-want.count) <= 70 && math.Abs(hi-want.count) <= 70) {
				t.Errorf("%s occurs %g times: printed %q", key, want.count, lines[i])
			}
			if lo <= want.count && want.count <= hi {
				covered[key]++
			}
		}
	}
	for _, key := range []string{"tea", "water"} {
		if covered[key] < 75 {
			t.Errorf("%d of 100 intervals hold the count of %s", covered[key], key)
		}
	}
}

// The front page shows this program as it is, in at most 20 lines that are not blank.
func TestFrontPage(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(readme), "\r\n", "\n"), "```go\n")
	shown, _, found := strings.Cut(rest, "```\n")
	if !found || shown != strings.ReplaceAll(string(program), "\r\n", "\n") {
		t.Error("the Go code in README.md is not examples/first/main.go")
	}
	lines := 0
	for line := range strings.Lines(shown) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 20 {
		t.Errorf("the front page shows %d lines of code", lines)
	}
}

// The two commands of the front page are there as the continuous integration runs them.
func TestCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"\ngo run ./examples/heavyhitters\n", "\ngo test ./...\n"} {
		if !strings.Contains(string(readme), command) {
			t.Errorf("README.md lacks the line %q", strings.TrimSpace(command))
		}
	}
}
