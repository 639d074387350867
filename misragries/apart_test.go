package misragries

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The algorithms know nothing of privacy, and the names of mechanisms occur in no code but that of
// the table and their own, in files that begin with them.
func TestAlgorithmsAndMechanismsAreApart(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	own := map[string][]string{ // the files of a mechanism
		"KeptZeros": {"keptzeros"}, "FreedZeros": {"freedzeros"}, "SparseVector": {"sparsevector"}, "ReducedSum": {"reducedsum"},
		"ShiftedSum": {"shiftedsum"}, "PureUniverse": {"pureuniverse"},
	}
	table := []string{"method.go", "plan.go"}
	sketches := 0
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		if strings.HasPrefix(name, "sketch") {
			sketches++
			for _, i := range tree.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				require.NoError(t, err)
				for _, private := range []string{"dpsketch/noise", "dpsketch/threshold", "internal/private", "internal/rounding"} {
					require.NotContains(t, path, private, name)
				}
			}
		}
		for _, used := range tree.Unresolved {
			if files, is := own[used.Name]; is && !slices.Contains(table, name) {
				require.True(t, slices.ContainsFunc(files, func(prefix string) bool { return strings.HasPrefix(name, prefix) }), "%s in %s", used.Name, name)
			}
		}
	}
	require.Equal(t, 6, sketches)
}
