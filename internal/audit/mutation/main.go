// Command mutation breaks the privacy of the library on purpose, one edit at a time, and reports
// which tests notice.
//
//	go run ./internal/audit/mutation            all edits
//	go run ./internal/audit/mutation -run kor   those whose file or name matches
//	go run ./internal/audit/mutation -run name -overlay dir
//	                                      writes the edited files and overlay.json, for
//	                                      go build -overlay, and stops
//	go run ./internal/audit/mutation -kills file
//	                                      every test that notices each edit, into the file, which
//	                                      keeps what it has of other edits: see matrix
//	go run ./internal/audit/mutation -kills file -spare dir
//	                                      the tests of a package, or of all, that are no
//	                                      edit's only killer, by that file, no line's only
//	                                      cover, and in no claim
//
// It works on the module as it stands on disk and never writes to it. The edits of a package are
// compiled into one test binary, which applies one of them (hybrid). Each test is run once without
// edits to see what it covers; what it covers is kept in the user's cache directory until the
// package, what it imports or its test data change. For each edit the tests that run the edited
// expression come first, then those that run its function, the fast ones first, up to the first
// failure. The tests of the packages that import an internal one are
// asked last.
//
// Killed is an edit that makes a test fail which passes without it; one that does not compile, or
// only makes the tests take too long, is not. An edit that is not killed makes the command fail:
// either a test is missing, or the edit breaks nothing and does not belong here. The report tells
// the edits that no test runs. The edits are in internal/audit/edits.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	pattern := flag.String("run", "", "only edits whose file, name or \"file: name\" matches this regular expression")
	dir := flag.String("overlay", "", "write the edited files to this directory and stop")
	kills := flag.String("kills", "", "do not stop at the first test that notices an edit, and write all to this file")
	spare := flag.String("spare", "", "print the tests of this directory, or of all, that could go, by the file of -kills, and stop")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *pattern, *kills, *spare, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, pattern, kills, spare, dir string) error {
	edits, err := choose(mutations(), pattern)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}\n{{.Path}}").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	root, module, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if dir != "" {
		return overlay(root, dir, edits)
	}
	tmp, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	b := newBench(root, module, tmp)
	b.all = kills != ""
	if dir, err := os.UserCacheDir(); err == nil {
		b.cache = filepath.Join(dir, "dpsketch-mutation")
	}
	if !b.all {
		return b.report(ctx, edits)
	}
	kept, err := readMatrix(kills)
	if err != nil {
		return err
	}
	if spare != "" {
		dirs, _ := byDir(mutations())
		if spare != "all" {
			dirs = []string{spare}
		}
		for _, dir := range dirs {
			if err := b.spare(ctx, dir, kept); err != nil {
				return err
			}
		}
		return nil
	}
	b.killers = matrix{}
	for _, m := range mutations() { // what is not an edit any more goes
		if tests := kept[m.file+": "+m.name]; tests != nil {
			b.killers[m.file+": "+m.name] = tests
		}
	}
	return errors.Join(b.report(ctx, edits), os.WriteFile(kills, []byte(b.killers.String()), 0o644))
}

// overlay writes all edits at once, one for a file at most, for go build -overlay.
func overlay(root, dir string, edits []mutation) error {
	replace := map[string]string{}
	for i, m := range edits {
		p, err := m.locate(root)
		if err != nil {
			return err
		}
		file := filepath.Join(root, filepath.FromSlash(p.path))
		if replace[file] != "" {
			return fmt.Errorf("%s: another edit is in %s", m.name, p.path)
		}
		replace[file] = filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(p.path)))
		if err := os.WriteFile(replace[file], []byte(p.edited(m)), 0o600); err != nil {
			return err
		}
	}
	return writeOverlay(dir, replace)
}

// writeOverlay writes what go build -overlay reads.
func writeOverlay(dir string, replace map[string]string) error {
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600)
}

// newBench returns a bench that runs as many processes as there are cores.
func newBench(root, module, tmp string) *bench {
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	return &bench{root: root, module: module, tmp: tmp, timeout: 5 * time.Minute, slots: slots}
}

// choose returns the edits whose file or name matches; at least one.
func choose(all []mutation, pattern string) (chosen []mutation, err error) {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if wanted.MatchString(m.file) || wanted.MatchString(m.name) || wanted.MatchString(m.file+": "+m.name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no edit matches %q", pattern)
	}
	return chosen, nil
}

// report judges the edits and prints a line for each. It fails unless all are killed, and before
// the first if one does not apply.
func (b *bench) report(ctx context.Context, edits []mutation) error {
	places := make([]place, len(edits))
	for i, m := range edits {
		var err error
		if places[i], err = m.locate(b.root); err != nil {
			return err
		}
	}
	importers, err := b.importers(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx) // the first error stops all
	defer cancel(nil)
	start := time.Now()
	var lock sync.Mutex
	done, killed := 0, 0
	dirs, groups := byDir(edits)
	err = each(dirs, func(_ int, dir string) error {
		var some []mutation
		var at []place
		for _, i := range groups[dir] {
			some, at = append(some, edits[i]), append(at, places[i])
		}
		j := b.jury(dir, some, at, importers[dir])
		return each(some, func(i int, m mutation) error {
			v, err := j.judge(ctx, i)
			if err != nil {
				cancel(err)
				return err
			}
			lock.Lock()
			defer lock.Unlock()
			done++
			if v.killed() {
				killed++
			}
			if b.all {
				var tests []string
				for _, test := range v.failed {
					tests = append(tests, cmp.Or(v.in, dir)+"."+test)
				}
				slices.Sort(tests)
				b.killers[m.file+": "+m.name] = tests
			}
			fmt.Printf("%3d/%d  %-32s %-52s %v\n",
				done, len(edits), m.file, m.name, v)
			return nil
		})
	})
	if err != nil {
		return context.Cause(ctx)
	}
	fmt.Printf("%d edits, %d killed, %d not; %.0f s, %.0f s of CPU\n", len(edits), killed,
		len(edits)-killed, time.Since(start).Seconds(), time.Duration(b.cpu.Load()).Seconds())
	if killed < len(edits) {
		return errors.New("some edits are not killed")
	}
	return nil
}
