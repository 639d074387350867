// Command mutation breaks the privacy of the library on purpose, one edit at a time, and reports which tests notice.
//
//	go run ./internal/mutation            all edits; half an hour on two cores
//	go run ./internal/mutation -run kor   those whose package or name matches
//	go run ./internal/mutation -list      prints them
//
// It works on a copy of the module, runs the short tests of the edited package and, if they pass, all of them. An edit that no test notices makes
// the command fail: either a test is missing, or the edit breaks nothing and does not belong here. The edits are in the files list_*.go.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// mutation is one edit: in the file, the only occurrence of old becomes new.
type mutation struct {
	name     string // what it breaks
	file     string
	old, new string
}

// dir returns the package of the file, relative to the root.
func (m mutation) dir() string { return filepath.Dir(m.file) }

// apply returns the source after the edit.
func (m mutation) apply(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s: %q occurs %d times in %s, want once", m.name, m.old, n, m.file)
	}
	return bytes.Replace(source, []byte(m.old), []byte(m.new), 1), nil
}

func main() {
	pattern := flag.String("run", "", "only edits whose file or name matches this regular expression")
	list := flag.Bool("list", false, "print the edits and stop")
	flag.Parse()
	if err := run(*pattern, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(pattern string, list bool) error {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	var chosen []mutation
	for _, m := range mutations() {
		if wanted.MatchString(m.file) || wanted.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if list {
		for _, m := range chosen {
			fmt.Printf("%-32s %s\n", m.file, m.name)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyModule(dir); err != nil {
		return err
	}
	survivors := 0
	for i, m := range chosen {
		start := time.Now()
		killers, err := judge(dir, m)
		verdict := "killed by " + strings.Join(killers, ", ")
		switch {
		case errors.Is(err, errCompile):
			verdict = "DOES NOT COMPILE"
			survivors++
		case err != nil:
			return err
		case len(killers) == 0:
			verdict = "SURVIVES"
			survivors++
		}
		fmt.Printf("%3d/%d  %-32s %-52s %s (%.0f s)\n", i+1, len(chosen), m.file, m.name, verdict, time.Since(start).Seconds())
	}
	fmt.Printf("%d edits, %d killed, %d survive\n", len(chosen), len(chosen)-survivors, survivors)
	if survivors > 0 {
		return errors.New("some edits are not killed")
	}
	return nil
}

// copyModule copies what the library's packages need to build and test.
func copyModule(dir string) error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	root := strings.TrimSpace(string(out))
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch from, to := filepath.Join(root, e.Name()), filepath.Join(dir, e.Name()); {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				return err
			}
		default:
			text, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			if err := os.WriteFile(to, text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge applies the edit in the copy, returns the tests that fail, none if all pass, and takes the edit back.
func judge(dir string, m mutation) (killers []string, err error) {
	path := filepath.Join(dir, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	edited, err := m.apply(source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, source, 0o600)) }()
	if err := os.WriteFile(path, edited, 0o600); err != nil {
		return nil, err
	}
	for _, flags := range [][]string{{"-short"}, {}} {
		if killers, err = failures(dir, m, flags); err != nil || len(killers) > 0 {
			return killers, err
		}
	}
	return nil, nil
}

// errCompile says that an edit does not compile, which shows nothing about the tests.
var errCompile = errors.New("the edit does not compile")

// failures runs the tests of the edited package and returns the names of the top-level tests that fail.
func failures(dir string, m mutation, flags []string) (failed []string, err error) {
	args := append([]string{"test", "-json", "-count=1", "-failfast", "-timeout=5m"}, flags...)
	cmd := exec.Command("go", append(args, "./"+filepath.ToSlash(m.dir()))...)
	cmd.Dir = dir
	out, runErr := cmd.Output()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var event struct{ Action, Test, Output, FailedBuild string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		if event.Action == "build-fail" || event.FailedBuild != "" {
			return nil, errCompile
		}
		if test, _, _ := strings.Cut(event.Test, "/"); event.Action == "fail" && test != "" && !seen[test] {
			seen[test] = true
			failed = append(failed, test)
		}
	}
	if runErr != nil && len(failed) == 0 {
		return []string{"a crash of the test binary"}, nil
	}
	return failed, nil
}
