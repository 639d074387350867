package alp

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// pathFiles is how many files a value passes at most from New and Add to Estimate.
const pathFiles = 13

// The way of a value: see TestLongPath, which counts the files that have a line of it.
func TestPath(t *testing.T) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = float64(i%50) + 0.5
	}
	p := released(t, Params{Epsilon: 1, Delta: 1e-6, Sparsity: len(values)}, values)
	for i := range 2 * len(values) {
		p.Estimate(scatter(i))
	}
}

// From New to Estimate, with the Params that are chosen, a value passes a dozen files.
func TestLongPath(t *testing.T) {
	dptest.NeedsLong(t)
	profile := filepath.Join(t.TempDir(), "path")
	out, err := exec.Command("go", "test", "-run", "^TestPath$", "-coverprofile", profile, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	lines := dptest.OK(os.ReadFile(profile))(t)
	files := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)/(\w+\.go):.* [1-9]\d*$`).FindAllSubmatch(lines, -1) {
		files[string(m[1])] = true
	}
	t.Logf("%d files: %v", len(files), files)
	require.NotEmpty(t, files)
	require.LessOrEqual(t, len(files), pathFiles)
}

// The rooms are apart: what writes names nothing that reads, and what reads names nothing that
// holds private data or draws noise.
func TestRooms(t *testing.T) {
	names := dptest.OK(filepath.Glob("*.go"))(t)
	declared, used := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, name := range names {
		room, _, found := strings.Cut(name, "_")
		if strings.HasSuffix(name, "_test.go") || !found && name != "builder.go" {
			continue
		}
		source := dptest.OK(os.ReadFile(name))(t)
		require.Less(t, bytes.Count(source, []byte("\n")), 310, name)
		f := dptest.OK(parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution))(t)
		if declared[room] == nil {
			declared[room], used[room] = map[string]bool{}, map[string]bool{}
		}
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					declared[room][spec.(*ast.TypeSpec).Name.Name] = true
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[room][id.Name] = true
			}
			return true
		})
	}
	require.NotEmpty(t, declared["read"])
	for name := range declared["read"] {
		require.False(t, used["write"][name], "the written room names %s", name)
	}
	for _, name := range []string{"noise", "totals", "private", "state", "secret", "Builder", "clamped"} {
		require.True(t, used["builder.go"][name] || used["write"][name], "no %s at all", name)
		require.False(t, used["read"][name], "the read room names %s", name)
	}
}
