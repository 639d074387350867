package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dpsketch/dpsketch/internal/audit/profile"
)

// before reports whether one point stands before another.
func before(a, b profile.Point) bool { return slices.Compare(a[:], b[:]) < 0 }

// at returns the point of a byte.
func at(source string, offset int) profile.Point {
	head := source[:offset]
	return profile.Point{strings.Count(head, "\n") + 1, offset - strings.LastIndex(head, "\n")}
}

// covered is what a test runs.
type covered struct {
	Name    string
	Seconds float64 // of CPU
	Runs    []int   // indices of blocks
	Unknown bool    // it left no profile: it may run anything
}

// coverage is what each test of a package covers of the edited package.
type coverage struct {
	Key    string // of the binary and its test data
	Blocks []profile.Block
	Tests  []covered
}

// reaching returns the tests that run a part of the bytes [from, to) of a file, the fast ones
// first.
func (c coverage) reaching(file, source string, from, to int) (tests []covered) {
	first, last := at(source, from), at(source, to)
	wanted := map[int]bool{}
	for i, k := range c.Blocks {
		wanted[i] = k.File == file && before(k.From, last) && before(first, k.To)
	}
	for _, t := range c.Tests {
		if t.Unknown || slices.ContainsFunc(t.Runs, func(i int) bool { return wanted[i] }) {
			tests = append(tests, t)
		}
	}
	return tests
}

// coverOf runs each test of a package on its own and records what it runs of the edited package, as
// long as the binary and the test data are not those of the last time.
func (b *bench) coverOf(ctx context.Context, tested, edited string) (c coverage, err error) {
	binary, faults, err := b.compile(ctx, tested, nil, "-cover", "-coverpkg=./"+edited)
	switch {
	case err != nil:
		return c, err
	case faults != nil:
		return c, fmt.Errorf("without any edit: %v", faults[0])
	case binary == "":
		return c, nil
	}
	defer os.Remove(binary)
	files := []string{binary}
	data := filepath.Join(b.root, filepath.FromSlash(tested), "testdata")
	err = filepath.WalkDir(data, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	key, err := digest(files...)
	if err != nil {
		return c, err
	}
	kept := ""
	if b.cache != "" {
		name := sha256.Sum256(fmt.Appendf(nil, "%s %s %s", b.root, tested, edited))
		kept = filepath.Join(b.cache, hex.EncodeToString(name[:16])+".json")
		if text, err := os.ReadFile(kept); err == nil && json.Unmarshal(text, &c) == nil && c.Key == key {
			return c, nil
		}
	}
	c = coverage{Key: key}
	list, _, _, ok, err := b.command(ctx, tested, nil, time.Minute, binary, "-test.list=.")
	if err != nil {
		return c, err
	} else if !ok {
		return c, fmt.Errorf("%s lists no tests", tested)
	}
	index := map[profile.Block]int{}
	var lock sync.Mutex
	err = each(strings.Fields(list), func(_ int, test string) error {
		if strings.HasPrefix(test, "Benchmark") {
			return nil
		}
		file := filepath.Join(b.tmp, "profile"+strconv.FormatInt(b.files.Add(1), 10))
		_, _, cpu, _, err := b.command(ctx, tested, nil, b.timeout+time.Minute, binary,
			"-test.run=^"+test+"$", "-test.count=1", "-test.timeout="+b.timeout.String(),
			"-test.coverprofile="+file)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		text, err := os.ReadFile(file)
		lock.Lock()
		defer lock.Unlock()
		t := covered{Name: test, Seconds: cpu.Seconds(), Unknown: err != nil}
		for _, k := range profile.Ran(string(text), b.module) {
			if _, ok := index[k]; !ok {
				index[k] = len(c.Blocks)
				c.Blocks = append(c.Blocks, k)
			}
			t.Runs = append(t.Runs, index[k])
		}
		c.Tests = append(c.Tests, t)
		return os.RemoveAll(file)
	})
	if err != nil {
		return c, err
	}
	slices.SortFunc(c.Tests, func(x, y covered) int {
		return cmp.Or(cmp.Compare(x.Seconds, y.Seconds), strings.Compare(x.Name, y.Name))
	})
	if kept != "" {
		if text, err := json.Marshal(c); err == nil && os.MkdirAll(b.cache, 0o700) == nil {
			_ = os.WriteFile(kept, text, 0o600) // else it is measured again
		}
	}
	return c, nil
}

// each calls f for all at once, with their numbers, and returns the first error.
func each[T any](all []T, f func(i int, x T) error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, x := range all {
		group.Go(func() { errs[i] = f(i, x) })
	}
	group.Wait()
	return errors.Join(errs...)
}
