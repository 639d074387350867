package main

import (
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

func TestClaims(t *testing.T) {
	x := dptest.OK(read("../../.."))(t)
	require.Greater(t, len(x.claims), 50)
	require.Empty(t, x.dead(x.claims))
	require.Empty(t, dptest.OK(x.unclaimed(x.claims))(t), "no claim is about it")
	edits := 0
	for _, names := range x.edits {
		edits += len(names)
	}
	require.Greater(t, edits, 400)

	// Controls: each kind of dead link is found.
	first := slices.IndexFunc(x.claims, func(c claim) bool { return strings.Contains(c["about"], "misragries.base.Guarantee") })
	for column, text := range map[string]string{
		"code": "misragries.nothing", "exact": "misragries.TestNothing", "audit": "misragries.Combine", "proof": "misragries/no_proof.md", "edits": "misragries: nothing is broken", "theorem": "",
	} {
		c := maps.Clone(x.claims[first])
		c[column] = text
		require.Len(t, x.dead([]claim{c}), 1, column)
	}
	c := maps.Clone(x.claims[first])
	c["edits"] = "nowhere: own noise left out"
	require.Len(t, x.dead([]claim{c}), 1)
	names := dptest.OK(x.unclaimed(slices.Delete(slices.Clone(x.claims), first, first+1)))(t)
	require.Contains(t, names, "misragries.Builder.Guarantee")
	names = dptest.OK(x.unclaimed(nil))(t)
	require.Contains(t, names, "jl.Sketch.DotInterval")
	require.Contains(t, names, "noise/budget.Guarantee.DeltaAt")
	for _, name := range plain {
		called := slices.ContainsFunc(slices.Collect(maps.Keys(x.functions)), func(f string) bool { return x.functions[f].public && (f == name || strings.HasSuffix(f, "."+name)) })
		require.True(t, called, "%s is plain, but nothing is called so", name)
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
	added := newIndex("../../..")
	require.Empty(t, dptest.OK(added.unclaimed(x.claims))(t))
	added.add(set, "kor/new.go", file)
	names = dptest.OK(added.unclaimed(x.claims))(t)
	require.Equal(t, []string{"kor.Disjoint", "kor.Sketch.Corners", "kor.Sketch.Enough", "kor.Sketch.Fit", "kor.Sketch.Radius"}, names)
}

// A test that runs nothing of its claim, and code that no test runs, are found.
func TestAstray(t *testing.T) {
	all := claimsIn("p_proof.md", "A proof.\n\n```claims\nclaim: a\nabout: p.A\ncode: p.b p.c\nexact: p.TestB p.TestOther\naudit: p.TestA internal/audit/vectors.TestDecoder\n```\n")
	ran := map[string]string{"p.TestA": "p.A", "p.TestB": "p.b"}
	require.Equal(t, []string{`"a": p.TestOther runs nothing of it`, `"a": no test of it runs p.c`}, astray(all, func(test, f string) bool { return ran[test] == f }))
}
