package misragries

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// pathFiles is how many files an element passes at most from Add to its bytes.
const pathFiles = 8

// TestMade makes what TestPath takes an element through: see TestLongPath.
func TestMade(t *testing.T) { build(t, Params{Epsilon: 1, Delta: 1e-6}, []int{}) }

// The way of an element: see TestLongPath, which counts the files that have a line of it.
func TestPath(t *testing.T) {
	b := build(t, Params{Epsilon: 1, Delta: 1e-6}, repeat(1000, 500))
	h := dptest.OK(b.Release())(t)
	dptest.OK(h.AppendBinary(nil))(t)
}

// From Add to its bytes an element passes few files of this package and its rooms: those of which
// TestPath runs more than TestMade does.
func TestLongPath(t *testing.T) {
	dptest.NeedsLong(t)
	blocks := func(test string) map[string]string {
		profile := filepath.Join(t.TempDir(), test)
		out, err := exec.Command("go", "test", "-run", "^"+test+"$", "-covermode", "count", "-coverpkg", "./,./internal/...", "-coverprofile", profile, ".").CombinedOutput()
		require.NoError(t, err, string(out))
		lines := dptest.OK(os.ReadFile(profile))(t)
		counts := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(\S+) \d+ (\d+)$`).FindAllStringSubmatch(string(lines), -1) {
			counts[m[1]] = m[2]
		}
		return counts
	}
	made, files := blocks("TestMade"), map[string]bool{}
	for block, count := range blocks("TestPath") {
		if count != made[block] {
			file, _, _ := strings.Cut(block, ":")
			files[file[strings.Index(file, "misragries/"):]] = true
		}
	}
	t.Logf("%d files: %v", len(files), files)
	require.NotEmpty(t, files)
	require.LessOrEqual(t, len(files), pathFiles)
}
