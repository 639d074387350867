package misragries

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The sketches know no noise, and the names of mechanisms occur in no code but that of the table
// and their own, in files that begin with them.
func TestRooms(t *testing.T) {
	own := map[string][]string{ // the files of a mechanism
		"KeptZeros": {"keptzeros"}, "FreedZeros": {"freedzeros"}, "SparseVector": {"sparsevector"}, "ReducedSum": {"reducedsum"},
		"ShiftedSum": {"shiftedsum"}, "PureUniverse": {"pureuniverse"},
	}
	table := []string{"method.go", "plan.go"}
	for room, forbidden := range map[string][]string{
		".":               nil,
		"internal/sketch": {"dpsketch/noise", "dpsketch/threshold", "internal/rounding"},
	} {
		files, err := os.ReadDir(room)
		require.NoError(t, err)
		for _, file := range files {
			name := file.Name()
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(room, name), nil, 0)
			require.NoError(t, err)
			for _, i := range tree.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				require.NoError(t, err)
				for _, stranger := range forbidden {
					require.NotContains(t, path, stranger, name)
				}
			}
			for _, used := range tree.Unresolved {
				if files, is := own[used.Name]; is && !slices.Contains(table, name) {
					require.True(t, slices.ContainsFunc(files, func(prefix string) bool { return strings.HasPrefix(name, prefix) }), "%s in %s", used.Name, name)
				}
			}
		}
	}
}
