package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// suite is the tests of one package as judges of the edits of one: itself, or one that it imports.
type suite struct {
	*bench
	tested, edited string
	edits          []mutation
	places         []place
	built          once
	binary         string         // with those of the edits that a hybrid can hold
	single         map[int]bool   // the others
	broken         map[int]string // those that do not compile
	covered        once
	cover          coverage
	unedited       once
	plain          string // the test binary without any edit and without copies of functions
	lock           sync.Mutex
	sound          map[string]*soundness // by test
}

// once is a step that is taken at most once, and its error.
type once struct {
	sync.Once
	err error
}

func (o *once) do(step func() error) error {
	o.Do(func() { o.err = step() })
	return o.err
}

// soundness is whether a test passes without any edit.
type soundness struct {
	once
	hybrid bool    // it passes in the hybrid
	v      verdict // else: what it says of the plain package
}

// errHybrid says that a test fails in the hybrid but not in the plain package: copies of functions
// keep the compiler from putting them into their callers, and so they may allocate.
var errHybrid = errors.New("a test fails in the hybrid without any edit")

// build builds the hybrid of all edits, or one without those that do not compile.
func (s *suite) build(ctx context.Context) error {
	s.single, s.broken = map[int]bool{}, map[int]string{}
	for {
		skip := map[int]bool{}
		for i := range s.broken {
			skip[i] = true
		}
		for i := range s.single {
			skip[i] = true
		}
		h, others, err := newHybrid(s.edits, s.places, skip)
		if err != nil {
			return err
		}
		for _, i := range others {
			s.single[i] = true
		}
		binary, faults, err := s.compile(ctx, s.tested, h.sources)
		if err != nil {
			return err
		}
		if faults == nil {
			s.binary = binary
			return nil
		}
		before := len(s.broken)
		for _, f := range faults {
			for _, c := range h.clones {
				if f.file == c.file && c.from <= f.line && f.line <= c.to && s.broken[c.edit] == "" {
					s.broken[c.edit] = f.text
				}
			}
		}
		switch {
		case len(h.clones) == 0:
			return fmt.Errorf("without any edit: %v", faults[0])
		case len(s.broken) == before: // not the fault of an edit, but of putting them together
			for _, c := range h.clones {
				s.single[c.edit] = true
			}
		}
	}
}

// judge runs the tests that run the edited lines, then those that run the function. It fails if a
// test that is to notice the edit does not pass without it.
func (s *suite) judge(ctx context.Context, i int) (v verdict, err error) {
	if err := s.built.do(func() error { return s.build(ctx) }); err != nil {
		return v, err
	}
	if why := s.broken[i]; why != "" {
		return verdict{broken: why}, nil
	}
	if !s.single[i] {
		if v, err := s.try(ctx, i, s.binary, i+1); !errors.Is(err, errHybrid) {
			return v, err
		}
	}
	p := s.places[i]
	binary, faults, err := s.compile(ctx, s.tested, map[string]string{p.path: p.edited(s.edits[i])})
	if err != nil {
		return v, err
	}
	if faults != nil {
		return verdict{broken: faults[0].text}, nil
	}
	return s.try(ctx, i, binary, 0)
}

// try judges by a test binary that has the edit by its number, or at all at 0: up to the first test
// that notices it, or by all of them. Where the binary ends in the midst of these, each is run
// alone. The error is errHybrid if only a binary with the one edit can tell.
func (s *suite) try(ctx context.Context, i int, binary string, number int) (v verdict, err error) {
	if binary == "" { // no tests
		return verdict{unreached: true}, nil
	}
	err = s.covered.do(func() (err error) {
		s.cover, err = s.coverOf(ctx, s.tested, s.edited)
		return err
	})
	if err != nil {
		return v, err
	}
	tests := s.near(i)
	runs := batches(tests)
	if s.all && len(tests) > 0 {
		runs = [][]covered{tests}
	}
	v.unreached = len(runs) == 0
	if s.tested != s.edited {
		v.in = s.tested
	}
	for len(runs) > 0 {
		some := runs[0]
		runs = runs[1:]
		names, seconds := []string{}, 0.0
		for _, t := range some {
			names, seconds = append(names, t.Name), seconds+t.Seconds
		}
		w, err := s.run(ctx, binary, s.tested, selects(number), names, 30*time.Second+time.Duration(20*seconds*float64(time.Second)))
		if err != nil {
			return v, err
		}
		v.late = v.late || w.late
		if s.all && w.died && len(some) > 1 {
			runs = slices.AppendSeq(runs, slices.Chunk(some, 1))
			continue
		}
		if len(w.failed) > 0 {
			names = w.failed
		}
		if !w.killed() {
			continue
		}
		for _, name := range names {
			if err := s.checkSound(ctx, name, number > 0); err != nil {
				return v, err
			}
		}
		if !s.all {
			w.in = v.in
			return w, nil
		}
		v.failed = append(v.failed, names...)
	}
	return v, nil
}

// near returns the tests to run for an edit: those that run what differs, then those that run its
// function. Where it is in no function, all may notice it.
func (s *suite) near(i int) []covered {
	p := s.places[i]
	f, err := parseFile(p.path, p.source)
	if err != nil {
		return s.cover.Tests
	}
	for _, d := range f.file.Decls {
		from, to := f.start(d), f.offset(d.End())
		if from <= p.from && p.from < to && strings.HasPrefix(p.source[from:], "func") {
			tests := s.cover.reaching(p.path, p.source, p.from, p.to)
			for _, t := range s.cover.reaching(p.path, p.source, from, to) {
				if !slices.ContainsFunc(tests, func(have covered) bool { return have.Name == t.Name }) {
					tests = append(tests, t)
				}
			}
			return tests
		}
	}
	return s.cover.Tests
}

// batches cuts tests, the fast ones first, into runs: each takes about as long as all before.
func batches(tests []covered) (all [][]covered) {
	sum, before := 0.0, 0.5
	for i, from := 0, 0; i < len(tests); i++ {
		sum += tests[i].Seconds
		if i == len(tests)-1 || sum+tests[i+1].Seconds > before {
			all = append(all, tests[from:i+1])
			from, before, sum = i+1, max(before, 2*sum), 0
		}
	}
	return all
}

// checkSound runs a test without an edit, once: in the hybrid, and in the plain package where it
// fails there.
func (s *suite) checkSound(ctx context.Context, test string, hybrid bool) error {
	s.lock.Lock()
	if s.sound == nil {
		s.sound = map[string]*soundness{}
	}
	if s.sound[test] == nil {
		s.sound[test] = &soundness{}
	}
	t := s.sound[test]
	s.lock.Unlock()
	err := t.do(func() error {
		v, err := s.run(ctx, s.binary, s.tested, selects(0), []string{test}, s.timeout)
		if t.hybrid = !v.late && !v.killed(); err != nil || t.hybrid {
			return err
		}
		err = s.unedited.do(func() (err error) {
			var faults []fault
			s.plain, faults, err = s.compile(ctx, s.tested, nil)
			if err == nil && faults != nil {
				err = fmt.Errorf("without any edit: %v", faults[0])
			}
			return err
		})
		if err == nil {
			t.v, err = s.run(ctx, s.plain, s.tested, selects(0), []string{test}, s.timeout)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case t.hybrid:
		return nil
	case t.v.late || t.v.killed():
		return fmt.Errorf("the tests of %s without any edit: %v", s.tested, t.v)
	case hybrid:
		return errHybrid
	}
	return nil
}

// jury judges the edits of one package by its tests and, where they are internal and survive, by
// those of the packages that import it.
type jury struct {
	suites []*suite // the package's own first
}

func (b *bench) jury(dir string, edits []mutation, places []place, importers []string) *jury {
	j := &jury{}
	for _, tested := range append([]string{dir}, importers...) {
		s := &suite{bench: b, tested: tested, edited: dir, edits: edits, places: places}
		j.suites = append(j.suites, s)
	}
	return j
}

func (j *jury) judge(ctx context.Context, i int) (v verdict, err error) {
	v.unreached = true
	for _, s := range j.suites {
		w, err := s.judge(ctx, i)
		if err != nil || w.broken != "" || w.killed() {
			return w, err
		}
		v.late = v.late || w.late
		v.unreached = v.unreached && w.unreached
	}
	return v, nil
}

// importers returns the packages of the library that import an internal one, relative to the root.
func (b *bench) importers(ctx context.Context) (map[string][]string, error) {
	out, _, _, ok, err := b.command(ctx, ".", nil, time.Minute,
		"go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	if err != nil {
		return nil, err
	} else if !ok {
		return nil, fmt.Errorf("go list ./... fails in %s", b.root)
	}
	all := map[string][]string{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		from := strings.TrimPrefix(words[0], b.module+"/")
		if strings.HasPrefix(from, "examples/") {
			continue
		}
		for _, to := range words[1:] {
			if dir, ok := strings.CutPrefix(to, b.module+"/"); ok && slices.Contains(strings.Split(dir, "/"), "internal") {
				all[dir] = append(all[dir], from)
			}
		}
	}
	return all, nil
}

// byDir groups edits by package, in the order of the packages' first edits.
func byDir(all []mutation) (dirs []string, groups map[string][]int) {
	groups = map[string][]int{}
	for i, m := range all {
		if groups[m.dir()] == nil {
			dirs = append(dirs, m.dir())
		}
		groups[m.dir()] = append(groups[m.dir()], i)
	}
	return dirs, maps.Clone(groups)
}
