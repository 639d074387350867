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

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// The sketches know no noise, the laws know no keys, and the names of mechanisms occur in one table
// alone: everything else works with what the table says of them.
func TestRooms(t *testing.T) {
	for room, forbidden := range map[string][]string{
		".":                   nil,
		"internal/sketch":     {"dpsketch/noise", "dpsketch/internal/sparse", "internal/rounding", "internal/thresholds"},
		"internal/thresholds": {"dpsketch/hashing", "internal/private", "internal/wire", "internal/keytable", "internal/sketch", "noise/budget"},
	} {
		files := dptest.OK(os.ReadDir(room))(t)
		for _, file := range files {
			name := file.Name()
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			tree := dptest.OK(parser.ParseFile(token.NewFileSet(), filepath.Join(room, name), nil, 0))(t)
			for _, i := range tree.Imports {
				path := dptest.OK(strconv.Unquote(i.Path.Value))(t)
				for _, stranger := range forbidden {
					require.NotContains(t, path, stranger, name)
				}
			}
			for _, used := range tree.Unresolved {
				if slices.Contains(methodNames[1:], used.Name) {
					require.Equal(t, "method.go", name, used.Name)
				}
			}
		}
	}
}
