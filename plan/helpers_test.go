package plan

import (
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// releaseSparse makes a release of sparse rows.
func releaseSparse(t testing.TB, p Params, x Sparse) *Mean {
	t.Helper()
	m := dptest.OK(New(p))(t)
	return dptest.OK(m.ReleaseSparse(t.Context(), x))(t)
}

// unscaled is releaseSparse with equal scales.
func unscaled(t testing.TB, p Params, x Sparse) *Mean {
	t.Helper()
	m := dptest.OK(New(p))(t)
	m = dptest.OK(m.WithScales(slices.Repeat([]float64{1}, p.Dim)))(t)
	return dptest.OK(m.ReleaseSparse(t.Context(), x))(t)
}
