package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaims(t *testing.T) {
	x, err := read("../..")
	require.NoError(t, err)
	for _, line := range x.dead(rows) {
		t.Error(line)
	}
	names, err := x.unclaimed(rows)
	require.NoError(t, err)
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
		"no test":  func(r *row) { r.audit = "misragries.Delta" },
		"proof":    func(r *row) { r.proof = "misragries/no_proof.md" },
		"edit":     func(r *row) { r.edits = "misragries: nothing is broken" },
		"package":  func(r *row) { r.edits = "nowhere: own noise left out" },
		"empty":    func(r *row) { r.theorem = "" },
	} {
		r := rows[0]
		spoil(&r)
		require.Len(t, x.dead([]row{r}), 1, name)
	}
	names, err = x.unclaimed(rows[1:])
	require.NoError(t, err)
	require.Contains(t, strings.Join(names, " "), "misragries.Sharded.Release")
	names, err = x.unclaimed(nil)
	require.NoError(t, err)
	require.Contains(t, names, "jl.Sketch.DotInterval")
	require.Contains(t, names, "noise/budget.Guarantee.DeltaAt")
}
