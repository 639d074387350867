package plan

import (
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// releaseSparse makes a release of sparse rows.
func releaseSparse(t testing.TB, p Params, x Sparse) *Mean {
	t.Helper()
	m := dptest.OK(New(p))(t)
	return dptest.OK(m.ReleaseSparse(t.Context(), x))(t)
}
