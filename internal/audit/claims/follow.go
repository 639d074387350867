package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/audit/profile"
)

// To follow a link is to run the test that it names, alone, and to look whether that runs the code
// that it is named for: a link that is alive may still lead to a test of something else.

// elsewhere are tests that run no code themselves: another program does, or they read it.
var elsewhere = []string{"internal/audit/vectors.TestDecoder", "internal/audit/surface.TestEveryTypeHasWhatItsRoleDemands"}

// astray returns a line for each test that runs nothing of what its claim is about or rests on, and
// for each function that a claim rests on and no test of it runs. ran tells whether a test runs a
// function.
func astray(claims []claim, ran func(test, function string) bool) (lines []string) {
	for _, c := range claims {
		tests, code := c.names("exact", "audit"), c.names("about", "code")
		for _, test := range tests {
			if !slices.Contains(elsewhere, test) && !slices.ContainsFunc(code, func(f string) bool { return ran(test, f) }) {
				lines = append(lines, fmt.Sprintf("%q: %s runs nothing of it", c["claim"], test))
			}
		}
		for _, f := range c.names("code") {
			if !slices.ContainsFunc(tests, func(test string) bool { return ran(test, f) }) {
				lines = append(lines, fmt.Sprintf("%q: no test of it runs %s", c["claim"], f))
			}
		}
	}
	return lines
}

// follow runs all tests of the claims and returns the links that lead astray.
func (x *index) follow(claims []claim) (lines []string, err error) {
	work, err := os.MkdirTemp("", "claims")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	names := map[string][]string{} // of tests, by directory
	for _, c := range claims {
		for _, test := range c.names("exact", "audit") {
			if dir, name := cutLast(test); !slices.Contains(names[dir], name) {
				names[dir] = append(names[dir], name)
			}
		}
	}
	runs := map[string][]profile.Block{} // by test
	for dir, list := range names {
		binary := filepath.Join(work, path.Base(dir)+".test")
		c := exec.Command("go", "test", "-c", "-vet=off", "-cover", "-covermode=set", "-coverpkg=./...", "-o", binary, "./"+dir)
		c.Dir = x.root
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", dir, err, out)
		}
		for _, name := range list {
			if runs[dir+"."+name], err = x.cover(binary, dir, name, filepath.Join(work, "cover")); err != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "%s.%s\n", dir, name)
		}
	}
	return astray(claims, func(test, function string) bool {
		f, ok := x.functions[function]
		return ok && slices.ContainsFunc(runs[test], func(b profile.Block) bool { return b.File == f.file && f.from <= b.From[0] && b.To[0] <= f.to })
	}), nil
}

// cover runs one test, with -long if it is skipped without, and returns what it runs.
func (x *index) cover(binary, dir, name, file string) ([]profile.Block, error) {
	args := []string{"-test.v", "-test.run=^" + name + "$", "-test.coverprofile=" + file}
	for _, more := range [][]string{nil, {"-long"}} {
		c := exec.Command(binary, append(args, more...)...)
		c.Dir = filepath.Join(x.root, filepath.FromSlash(dir))
		out, err := c.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w\n%s", dir, name, err, out)
		}
		if !strings.Contains(string(out), "--- SKIP: "+name+" ") {
			text, err := os.ReadFile(file)
			return profile.Ran(string(text), "github.com/dpsketch/dpsketch"), err
		}
	}
	return nil, fmt.Errorf("%s.%s is skipped", dir, name)
}

// cutLast returns what stands before and behind the last dot.
func cutLast(name string) (before, after string) {
	dot := strings.LastIndex(name, ".")
	return name[:dot], name[dot+1:]
}
