package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// effect is what an edit that survives changes.
type effect uint8

const (
	unknown effect = iota // something, for all that is known
	noBuild               // nothing in what the compiler makes
	noValue               // no value of the edited expression in any test
)

// effect tells it by the tests of all suites.
func (j *jury) effect(ctx context.Context, i int) (effect, error) {
	if idle, err := j.suites[0].idle(ctx, i); err != nil || idle {
		return noBuild, err
	}
	for _, s := range j.suites {
		if same, err := s.sameValues(ctx, i); err != nil || !same {
			return unknown, err
		}
	}
	return noValue, nil
}

// idle tells whether the compiler makes the same test binary of the package with the edit and
// without.
func (s *suite) idle(ctx context.Context, i int) (bool, error) {
	p, sums := s.places[i], [2]string{}
	for k, text := range []string{p.source[p.at:p.end], s.edits[i].new} {
		source, err := p.onOneLine(text)
		if err != nil {
			return false, err
		}
		binary, faults, err := s.compile(ctx, s.tested, map[string]string{p.path: source})
		if err != nil || faults != nil || binary == "" {
			return false, err
		}
		if sums[k], err = digest(binary); err != nil {
			return false, err
		}
	}
	return sums[0] == sums[1], nil
}

// observed is the environment variable that names the file to write where values differ.
const observed = "DPSKETCH_MUTATION_DIFFERS"

// observer is the file beside a source with an expression in two forms.
const observer = `package %s

import (
	"os"
	"reflect"
)

func mutationBoth[T any](was, is T) T {
	if !reflect.DeepEqual(was, is) {
		os.WriteFile(os.Getenv("` + observed + `"), nil, 0o600)
	}
	return was
}
`

// sameValues tells whether the expression that the edit changes has in all tests the value that it
// has without. It is false where the edit changes no expression, or one that cannot be evaluated
// twice.
func (s *suite) sameValues(ctx context.Context, i int) (bool, error) {
	p := s.places[i]
	f, err := parseFile(p.path, p.source)
	if err != nil {
		return false, nil
	}
	selector := path.Join(path.Dir(p.path), "mutation_observer.go")
	for _, both := range p.both(f) {
		binary, faults, err := s.compile(ctx, s.tested, map[string]string{
			p.path: both, selector: fmt.Sprintf(observer, f.file.Name.Name),
		})
		if err != nil {
			return false, err
		}
		if faults != nil || binary == "" {
			continue
		}
		c, err := s.coverage(ctx, 1)
		if err != nil {
			return false, err
		}
		names, seconds := []string{}, 0.0
		for _, t := range s.near(c, i)[0] {
			names, seconds = append(names, t.Name), seconds+t.Seconds
		}
		differs := filepath.Join(s.tmp, "differs"+strconv.FormatInt(s.files.Add(1), 10))
		limit := time.Minute + time.Duration(30*seconds*float64(time.Second))
		env := []string{observed + "=" + differs}
		v, err := s.run(ctx, binary, s.tested, env, names, false, limit)
		if err != nil || v.late || v.crashed {
			return false, err
		}
		_, err = os.Stat(differs)
		return errors.Is(err, fs.ErrNotExist), nil
	}
	return false, nil
}

// both returns the source with each expression around what differs, the smallest first, replaced by
// a call that evaluates it without and with the edit.
func (p place) both(f parsed) (sources []string) {
	ast.Inspect(f.file, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		from, to := f.offset(n.Pos()), f.offset(n.End())
		if from > p.from || to < p.to {
			return false
		}
		if _, ok := n.(ast.Expr); !ok {
			return true
		}
		is := p.source[from:p.from] + p.differing + p.source[p.to:to]
		if _, err := parser.ParseExpr(is); err == nil {
			call := "mutationBoth(" + p.source[from:to] + ", " + is + ")"
			sources = append(sources, p.source[:from]+call+p.source[to:])
		}
		return true
	})
	slices.Reverse(sources)
	return sources
}
