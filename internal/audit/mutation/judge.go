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
	once           sync.Once
	onceErr        error
	binary         string         // with those of the edits that a hybrid can hold
	single         map[int]bool   // the others
	broken         map[int]string // those that do not compile
	modes          [2]mode        // short, all
	plain          plain
}

// plain is the test binary without any edit and without copies of functions, made where needed.
type plain struct {
	once   sync.Once
	err    error
	binary string
}

// mode is the tests of a suite under -short, or not.
type mode struct {
	once  sync.Once
	err   error
	cover coverage
	lock  sync.Mutex
	sound map[string]*soundness // by test
}

// soundness is whether a test passes without any edit.
type soundness struct {
	once   sync.Once
	err    error
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

// judge runs the tests that run the edited lines, then those that run the function, first the short
// tests and then all. It fails if a test that is to notice the edit does not pass without it.
func (s *suite) judge(ctx context.Context, i int) (v verdict, err error) {
	s.once.Do(func() { s.onceErr = s.build(ctx) })
	if s.onceErr != nil {
		return v, s.onceErr
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

// try judges by a test binary that has the edit by its number, or at all at 0. The error is
// errHybrid if only a binary with the one edit can tell.
func (s *suite) try(ctx context.Context, i int, binary string, number int) (v verdict, err error) {
	if binary == "" { // no tests
		return verdict{unreached: true}, nil
	}
	if s.all {
		return s.kills(ctx, i, binary, number)
	}
	v.unreached = true
	for k := range s.modes {
		c, err := s.coverage(ctx, k)
		if err != nil {
			return v, err
		}
		done := map[string]bool{}
		for _, tests := range s.near(c, i) {
			tests = slices.DeleteFunc(slices.Clone(tests), func(t covered) bool { return done[t.Name] })
			for _, some := range batches(tests) {
				names, seconds := []string{}, 0.0
				for _, t := range some {
					names = append(names, t.Name)
					done[t.Name] = true
					seconds += t.Seconds
				}
				v.unreached = false
				limit := 30*time.Second + time.Duration(20*seconds*float64(time.Second))
				w, err := s.run(ctx, binary, s.tested, selects(number), names, k == 0, limit)
				if err != nil {
					return v, err
				}
				v.late = v.late || w.late
				if !w.killed() {
					continue
				}
				if len(w.failed) > 0 {
					names = w.failed
				}
				for _, name := range names {
					if err := s.checkSound(ctx, k, name, number > 0); err != nil {
						return v, err
					}
				}
				if s.tested != s.edited {
					w.in = s.tested
				}
				return w, nil
			}
		}
	}
	return v, nil
}

// kills runs every test that runs the function of an edit, and returns all that fail. Where the
// binary ends in the midst of them, each is run alone.
func (s *suite) kills(ctx context.Context, i int, binary string, number int) (v verdict, err error) {
	const all = 1 // not only the short tests
	c, err := s.coverage(ctx, all)
	if err != nil {
		return v, err
	}
	names, seconds := []string{}, 0.0
	for _, tests := range s.near(c, i) {
		for _, t := range tests {
			if !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
				seconds += t.Seconds
			}
		}
	}
	if len(names) == 0 {
		return verdict{unreached: true}, nil
	}
	if s.tested != s.edited {
		v.in = s.tested
	}
	runs := [][]string{names}
	for len(runs) > 0 {
		some := runs[0]
		runs = runs[1:]
		w, err := s.run(ctx, binary, s.tested, selects(number), some, false, 30*time.Second+time.Duration(20*seconds*float64(time.Second)))
		if err != nil {
			return v, err
		}
		v.late = v.late || w.late
		if w.died && len(some) > 1 {
			for name := range slices.Chunk(some, 1) {
				runs = append(runs, name)
			}
			continue
		}
		if w.crashed {
			w.failed = some
		}
		for _, name := range w.failed {
			if err := s.checkSound(ctx, all, name, number > 0); err != nil {
				return v, err
			}
			v.failed = append(v.failed, name)
		}
	}
	return v, nil
}

// coverage measures that of a mode once.
func (s *suite) coverage(ctx context.Context, k int) (coverage, error) {
	m := &s.modes[k]
	m.once.Do(func() { m.cover, m.err = s.cover(ctx, s.tested, s.edited, k == 0) })
	return m.cover, m.err
}

// near returns the tests to run for an edit: those that run what differs, then those that run its
// function. Where it is in no function, all may notice it.
func (s *suite) near(c coverage, i int) [][]covered {
	p := s.places[i]
	f, err := parseFile(p.path, p.source)
	if err != nil {
		return [][]covered{c.Tests}
	}
	for _, d := range f.file.Decls {
		from, to := f.start(d), f.offset(d.End())
		if from <= p.from && p.from < to && strings.HasPrefix(p.source[from:], "func") {
			line := c.reaching(p.path, p.source, p.from, p.to)
			return [][]covered{line, c.reaching(p.path, p.source, from, to)}
		}
	}
	return [][]covered{c.Tests}
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
func (s *suite) checkSound(ctx context.Context, k int, test string, hybrid bool) error {
	m := &s.modes[k]
	m.lock.Lock()
	if m.sound == nil {
		m.sound = map[string]*soundness{}
	}
	if m.sound[test] == nil {
		m.sound[test] = &soundness{}
	}
	t := m.sound[test]
	m.lock.Unlock()
	t.once.Do(func() {
		v, err := s.run(ctx, s.binary, s.tested, selects(0), []string{test}, k == 0, s.timeout)
		if t.err, t.hybrid = err, !v.late && !v.killed(); err != nil || t.hybrid {
			return
		}
		binary, err := s.unedited(ctx)
		if err != nil {
			t.err = err
			return
		}
		t.v, t.err = s.run(ctx, binary, s.tested, selects(0), []string{test}, k == 0, s.timeout)
	})
	switch {
	case t.err != nil:
		return t.err
	case t.hybrid:
		return nil
	case t.v.late || t.v.killed():
		return fmt.Errorf("the tests of %s without any edit: %v", s.tested, t.v)
	case hybrid:
		return errHybrid
	}
	return nil
}

// unedited builds the plain package's tests, once.
func (s *suite) unedited(ctx context.Context) (string, error) {
	s.plain.once.Do(func() {
		var faults []fault
		s.plain.binary, faults, s.plain.err = s.compile(ctx, s.tested, nil)
		if s.plain.err == nil && faults != nil {
			s.plain.err = fmt.Errorf("without any edit: %v", faults[0])
		}
	})
	return s.plain.binary, s.plain.err
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
