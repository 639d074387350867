package main

import (
	"os"
	"strings"
	"testing"
)

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
