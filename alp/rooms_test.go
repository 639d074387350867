package alp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// Private data is in the files that write alone; the files that read know the release.
var (
	writes = []string{"builder.go", "budget.go", "cell.go", "sparsity.go", "table.go"}
	reads  = []string{"projection.go", "list.go", "load.go", "decoder.go", "evidence.go", "batch.go", "total.go"}
)

// The rooms are apart: what writes names no type of those that read, and what reads names nothing
// that holds private data or draws noise.
func TestRooms(t *testing.T) {
	used := map[string]bool{}
	parse := func(name string, used map[string]bool) (types []string) {
		f := dptest.OK(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				used[n.Name] = true
			case *ast.TypeSpec:
				types = append(types, n.Name.Name)
			}
			return true
		})
		return types
	}
	private := []string{"noise", "totals", "private", "state", "secret", "Builder", "clamped"}
	parse(writes[0], used)
	written := map[string]bool{}
	for _, name := range writes[1:] {
		parse(name, written)
	}
	maps.Copy(used, written)
	for _, name := range private {
		require.True(t, used[name], "no %s at all", name)
	}
	// what a release consists of
	allowed := []string{"Projection", "packed", "directory", "directorySlot"}
	for _, name := range reads {
		here := map[string]bool{}
		for _, declared := range parse(name, here) {
			ok := !written[declared] || slices.Contains(allowed, declared)
			require.True(t, ok, "the files of cells name %s of %s", declared, name)
		}
		for _, p := range private {
			require.False(t, here[p], "%s names %s", name, p)
		}
	}
}
