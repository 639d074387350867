// Command mutation breaks the privacy of the library on purpose, one edit at a time, and reports which tests notice.
//
//	go run ./internal/mutation            all edits; half an hour on two cores
//	go run ./internal/mutation -run kor   those whose file or name matches
//	go run ./internal/mutation -list      prints them
//
// It works on a copy of the module, as it stands on disk, and never writes to the module itself. For each edit it runs the short tests of the edited
// package and, if they pass, all of them. Killed is an edit that makes a test fail which passes without it; one that compiles no more, or only
// makes the tests take too long, is not. An edit that is not killed makes the command fail: either a test is missing, or the edit breaks
// nothing and does not belong here. The edits are in the files list_*.go.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *pattern, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, pattern string, list bool) error {
	chosen, err := choose(mutations(), pattern)
	if err != nil {
		return err
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
	return newBench(dir).report(ctx, chosen)
}

// choose returns the edits whose file or name matches; at least one.
func choose(all []mutation, pattern string) (chosen []mutation, err error) {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if wanted.MatchString(m.file) || wanted.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no edit matches %q", pattern)
	}
	return chosen, nil
}

// report judges the edits one after the other and prints a line for each. It fails unless all are killed, and before the first if one does
// not apply.
func (b *bench) report(ctx context.Context, chosen []mutation) error {
	for _, m := range chosen {
		if source, err := os.ReadFile(filepath.Join(b.dir, m.file)); err != nil {
			return err
		} else if _, err := m.apply(source); err != nil {
			return err
		}
	}
	killed := 0
	for i, m := range chosen {
		start := time.Now()
		v, err := b.judge(ctx, m)
		if err != nil {
			return err
		}
		if v.killed() {
			killed++
		}
		fmt.Printf("%3d/%d  %-32s %-52s %v (%.0f s)\n", i+1, len(chosen), m.file, m.name, v, time.Since(start).Seconds())
	}
	fmt.Printf("%d edits, %d killed, %d not\n", len(chosen), killed, len(chosen)-killed)
	if killed < len(chosen) {
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
