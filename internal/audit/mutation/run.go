package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// bench builds and runs the tests of the module at root, with edits. It writes to tmp, cache and
// the build cache only.
type bench struct {
	root, module string
	tmp          string
	cache        string        // holds what tests cover, from run to run; "" if nothing is kept
	timeout      time.Duration // at most, of one run of a test binary
	slots        chan struct{} // one for each process that runs
	all          bool          // every test that notices an edit is wanted
	killers      matrix        // they go here
	files        atomic.Int64
	cpu          atomic.Int64 // nanoseconds of all processes so far
}

// command runs a command in a directory of the module when there is a slot, and returns its output
// and CPU time. A command that fails is no error: see ok. One that takes longer than limit is
// stopped, and the error is context.DeadlineExceeded.
func (b *bench) command(
	ctx context.Context, dir string, env []string, limit time.Duration, name string, args ...string,
) (stdout, stderr string, cpu time.Duration, ok bool, err error) {
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return "", "", 0, false, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(limited, name, args...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(dir))
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	// Interrupted, the go command removes its files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	runErr := cmd.Run()
	if ctx.Err() != nil {
		return "", "", 0, false, ctx.Err()
	}
	if cmd.ProcessState != nil {
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		b.cpu.Add(int64(cpu))
	}
	switch {
	case runErr != nil && limited.Err() != nil:
		return "", "", 0, false, fmt.Errorf("%s: %w", name, limited.Err())
	case runErr != nil && !errors.As(runErr, new(*exec.ExitError)):
		return "", "", 0, false, runErr
	}
	return out.String(), errs.String(), cpu, runErr == nil, nil
}

// fault is an error of the compiler: in a file, from the root, at a line.
type fault struct {
	file, text string
	line       int
}

func (f fault) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.text) }

var faultLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

// compile builds the test binary of a package from the module with other texts in place of some
// files. It returns "" for a package without tests, and what the compiler says if it does not
// compile.
func (b *bench) compile(
	ctx context.Context, dir string, sources map[string]string, flags ...string,
) (binary string, faults []fault, err error) {
	work := filepath.Join(b.tmp, strconv.FormatInt(b.files.Add(1), 10))
	if err := os.Mkdir(work, 0o700); err != nil {
		return "", nil, err
	}
	replace := map[string]string{}
	for file, text := range sources {
		copied := filepath.Join(work, path.Base(file))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", nil, err
		}
		replace[filepath.Join(b.root, filepath.FromSlash(file))] = copied
	}
	if err := writeOverlay(work, replace); err != nil {
		return "", nil, err
	}
	binary = filepath.Join(work, "p.test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w -buildid=", "-o", binary}
	args = append(append(args, "-overlay="+filepath.Join(work, "overlay.json")), flags...)
	_, stderr, _, ok, err := b.command(ctx, ".", nil, 10*time.Minute, "go", append(args, "./"+dir)...)
	if err != nil {
		return "", nil, err
	}
	if ok {
		if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
			return "", nil, nil
		}
		return binary, nil, nil
	}
	for _, m := range faultLine.FindAllStringSubmatch(stderr, -1) {
		line, _ := strconv.Atoi(m[2])
		file := filepath.ToSlash(filepath.Clean(m[1]))
		faults = append(faults, fault{file, m[3], line})
	}
	if len(faults) == 0 {
		return "", nil, fmt.Errorf("go test -c ./%s: %s", dir, stderr)
	}
	return "", faults, nil
}

// digest returns a hash of files.
func digest(files ...string) (string, error) {
	h := sha256.New()
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// verdict is what tests say about an edit.
type verdict struct {
	failed    []string // top-level tests
	in        string   // their package, if it is not the edited one
	broken    string   // why it does not compile
	late      bool     // they take too long
	crashed   bool     // the test binary died without saying in which test
	died      bool     // it ended before all tests were run
	unreached bool     // no test runs the function
}

func (v verdict) killed() bool {
	return v.broken == "" && (v.crashed || len(v.failed) > 0)
}

func (v verdict) String() string {
	where := ""
	if v.in != "" {
		where = " of " + v.in
	}
	switch {
	case v.broken != "":
		return "DOES NOT COMPILE: " + v.broken
	case len(v.failed) > 0:
		return "killed by " + strings.Join(v.failed, ", ") + where
	case v.crashed:
		return "killed by a crash of the tests" + where
	case v.late:
		return "TAKES TOO LONG, which shows nothing"
	case v.unreached:
		return "SURVIVES: no test runs it"
	}
	return "SURVIVES"
}

// run runs tests of a package up to the first failure.
func (b *bench) run(
	ctx context.Context, binary, dir string, env, tests []string, limit time.Duration,
) (v verdict, err error) {
	limit = min(limit, b.timeout)
	out, errs, _, ok, err := b.command(ctx, dir, env, limit+time.Minute, binary,
		"-test.run=^("+strings.Join(tests, "|")+")$", "-test.v=test2json", "-test.failfast="+strconv.FormatBool(!b.all),
		"-test.paniconexit0", "-test.count=1", "-test.timeout="+limit.String())
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // stopped from outside
		return verdict{late: true}, nil
	case err != nil || ok:
		return verdict{}, err
	}
	v = read(out + "\n" + errs)
	v.crashed = !v.late && len(v.failed) == 0
	v.died = !strings.Contains(out, "\nFAIL\n") || strings.Contains(errs, "panic: ") || strings.Contains(out, "\npanic: ")
	return v, nil
}

// read reads what a test binary prints that fails. The sign \x16 tells the lines of package testing
// from those of the tests.
func read(out string) (v verdict) {
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		v.late = v.late || strings.HasPrefix(line, "panic: test timed out after ")
		if rest, ok := strings.CutPrefix(line, "\x16--- FAIL: "); ok {
			if test, _, _ := strings.Cut(rest, " "); !seen[test] && !strings.Contains(test, "/") {
				seen[test] = true
				v.failed = append(v.failed, test)
			}
		}
	}
	if v.late {
		v.failed = nil // the one that took too long
	}
	return v
}
