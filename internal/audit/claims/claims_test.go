package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

func TestClaims(t *testing.T) {
	x := dptest.OK(read("../../.."))(t)
	for _, line := range x.dead(rows) {
		t.Error(line)
	}
	names := dptest.OK(x.unclaimed(rows))(t)
	for _, name := range names {
		t.Errorf("%s has no row", name)
	}
	edits := 0
	for _, names := range x.edits {
		edits += len(names)
	}
	require.Greater(t, edits, 400)

	// Controls: each kind of dead link is found.
	for name, spoil := range map[string]func(r *row){
		"function": func(r *row) { r.code += " misragries.nothing" },
		"test":     func(r *row) { r.exact = "misragries.TestNothing" },
		"no test":  func(r *row) { r.audit = "misragries.Combine" },
		"proof":    func(r *row) { r.proof = "misragries/no_proof.md" },
		"edit":     func(r *row) { r.edits = "misragries: nothing is broken" },
		"package":  func(r *row) { r.edits = "nowhere: own noise left out" },
		"empty":    func(r *row) { r.theorem = "" },
	} {
		r := rows[0]
		spoil(&r)
		require.Len(t, x.dead([]row{r}), 1, name)
	}
	names = dptest.OK(x.unclaimed(rows[1:]))(t)
	require.Contains(t, strings.Join(names, " "), "misragries.Builder.Guarantee")
	names = dptest.OK(x.unclaimed(nil))(t)
	require.Contains(t, names, "jl.Sketch.DotInterval")
	require.Contains(t, names, "noise/budget.Guarantee.DeltaAt")
	for _, name := range plain {
		require.True(t, slices.ContainsFunc(x.public, func(p string) bool { return p == name || strings.HasSuffix(p, "."+name) }), "%s is plain, but nothing is called so", name)
	}

	// And new functions that promise, bound or count something.
	set := token.NewFileSet()
	file := dptest.OK(parser.ParseFile(set, "", `package kor
		func Disjoint(a, b *Sketch) (budget.Guarantee, error)
		func (s *Sketch) Radius(confidence float64) float64
		func (s *Sketch[K]) Corners() (bounds [2]float64)
		func (s *Sketch) Enough() int
		func (s *Sketch) Fit() error
		func (s *Sketch) Estimate() float64
		func (s *Sketch) radius() float64
		func (s *Sketch) Close() error
	`, parser.SkipObjectResolution))(t)
	x = newIndex("../../..")
	x.add(set, "kor/new.go", file)
	before := dptest.OK((&index{root: "../../.."}).unclaimed(rows))(t)
	require.Empty(t, before)
	names = dptest.OK(x.unclaimed(rows))(t)
	require.Equal(t, []string{"kor.Disjoint", "kor.Sketch.Radius", "kor.Sketch.Corners", "kor.Sketch.Enough", "kor.Sketch.Fit"}, names)
}

// A test that runs nothing of its row, and code that no test runs, are found.
func TestAstray(t *testing.T) {
	all := []row{{claim: "a", about: "p.A", code: "p.b p.c", exact: "p.TestB p.TestOther", audit: "p.TestA internal/audit/vectors.TestDecoder"}}
	ran := map[string]string{"p.TestA": "p.A", "p.TestB": "p.b"}
	require.Equal(t, []string{`"a": p.TestOther runs nothing of it`, `"a": no test of it runs p.c`}, astray(all, func(test, f string) bool { return ran[test] == f }))
}
