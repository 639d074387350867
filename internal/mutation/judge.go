package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bench judges edits in a copy of the module.
type bench struct {
	dir     string
	timeout time.Duration   // of the tests of one package
	sound   map[string]bool // by flags and package: its tests pass without any edit
}

func newBench(dir string) *bench {
	return &bench{dir: dir, timeout: 5 * time.Minute, sound: map[string]bool{}}
}

// verdict is what the tests of one package say.
type verdict struct {
	failed  []string // top-level tests
	broken  bool     // it does not compile
	late    bool     // they take too long
	crashed bool     // the test binary died without saying in which test
}

func (v verdict) killed() bool { return !v.broken && !v.late && (v.crashed || len(v.failed) > 0) }

func (v verdict) String() string {
	switch {
	case v.broken:
		return "DOES NOT COMPILE"
	case v.late:
		return "TAKES TOO LONG, which shows nothing"
	case len(v.failed) > 0:
		return "killed by " + strings.Join(v.failed, ", ")
	case v.crashed:
		return "killed by a crash of the tests"
	}
	return "SURVIVES"
}

// judge applies the edit in the copy, runs the short tests and, if they pass, all of them, and takes the edit back. It fails if the tests that are
// to notice the edit do not pass without it.
func (b *bench) judge(ctx context.Context, m mutation) (v verdict, err error) {
	path := filepath.Join(b.dir, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return verdict{}, err
	}
	edited, err := m.apply(source)
	if err != nil {
		return verdict{}, err
	}
	for _, flag := range []string{"-short", "-short=false"} {
		if err := b.checkSound(ctx, m.dir(), flag); err != nil {
			return verdict{}, err
		}
		if err := os.WriteFile(path, edited, 0o600); err != nil {
			return verdict{}, err
		}
		v, err = b.test(ctx, m.dir(), flag)
		if err := errors.Join(err, os.WriteFile(path, source, 0o600)); err != nil {
			return verdict{}, err
		}
		if v.broken || v.late || v.killed() {
			return v, nil
		}
	}
	return v, nil
}

// checkSound runs the tests of the package without an edit, once.
func (b *bench) checkSound(ctx context.Context, dir, flag string) error {
	if b.sound[flag+dir] {
		return nil
	}
	v, err := b.test(ctx, dir, flag)
	if err != nil {
		return err
	}
	if v.broken || v.late || v.killed() {
		return fmt.Errorf("the tests of %s without any edit: %v", dir, v)
	}
	b.sound[flag+dir] = true
	return nil
}

// test runs the tests of a package up to the first failure.
func (b *bench) test(ctx context.Context, dir, flag string) (v verdict, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-failfast", "-timeout="+b.timeout.String(), flag, "./"+filepath.ToSlash(dir))
	cmd.Dir = b.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that the go command removes its temporary files
	cmd.WaitDelay = 10 * time.Second
	out, runErr := cmd.Output()
	if err := ctx.Err(); err != nil {
		return verdict{}, err
	}
	var exit *exec.ExitError
	switch {
	case runErr == nil:
		return verdict{}, nil
	case !errors.As(runErr, &exit):
		return verdict{}, runErr
	}
	if v = read(string(out)); !v.broken && !v.late && !v.killed() {
		return verdict{}, fmt.Errorf("go test %s: %w\n%s", dir, runErr, exit.Stderr)
	}
	return v, nil
}

// read reads what `go test -json` prints where tests fail.
func read(out string) (v verdict) {
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		var event struct{ Action, Test, Output, FailedBuild string }
		if json.Unmarshal([]byte(line), &event) != nil {
			continue
		}
		v.broken = v.broken || event.Action == "build-fail" || event.FailedBuild != ""
		v.late = v.late || strings.HasPrefix(event.Output, "panic: test timed out after ")
		for _, sign := range []string{"panic: ", "fatal error: ", "exit status ", "signal: "} {
			v.crashed = v.crashed || strings.HasPrefix(event.Output, sign)
		}
		if test, _, _ := strings.Cut(event.Test, "/"); event.Action == "fail" && test != "" && !seen[test] {
			seen[test] = true
			v.failed = append(v.failed, test)
		}
	}
	return v
}
