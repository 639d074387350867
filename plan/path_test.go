package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/audit/profile"
)

const module = "github.com/dpsketch/dpsketch"

// pathFiles is how many files a row passes at most from Release to the bytes of the Mean, those of
// internal/quantile counted as one.
const pathFiles = 8

// carriers are types that hold rows, or numbers that were computed from them and not released;
// fields are those of a run that do.
var (
	carriers = strings.Fields("rows Sparse shaping shaped wholeRows clipper Column [][]float64")
	fields   = strings.Fields("x squares shaping")
)

// The way of a row: see TestLongPath, which counts the files of it. Some rows are clipped, columns
// are scaled, and the number of rows is private.
func TestPath(t *testing.T) {
	// test data
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(1, 2)), 3000, 5, dptest.Powers(20, 1))
	for range 2 {
		m := dptest.OK(New(Params{Rho: 1, Dim: 20, Max: 1000}))(t)
		out := dptest.OK(m.Release(t.Context(), x))(t)
		require.True(t, out.Spent().Scaled && out.Spent().Gamma < 1.2)
		dptest.OK(out.AppendBinary(nil))(t)
	}
}

// From Release to the bytes of the Mean a row passes eight files: those with a function that runs
// and has something at hand that was computed from rows. All other files see public numbers alone.
func TestLongPath(t *testing.T) {
	dptest.NeedsLong(t)
	text := filepath.Join(t.TempDir(), "path")
	out, err := exec.Command("go", "test", "-run", "^TestPath$", "-coverpkg", "./...,"+module+"/internal/quantile", "-coverprofile", text, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	lines := dptest.OK(os.ReadFile(text))(t)
	ran, files, public := profile.Ran(string(lines), module), map[string]bool{}, map[string]bool{}
	for _, block := range ran {
		name := block.File
		if path.Dir(name) == "internal/quantile" {
			files["internal/quantile"] = true
			continue
		}
		set := token.NewFileSet()
		parsed := dptest.OK(parser.ParseFile(set, filepath.Join("..", filepath.FromSlash(name)), nil, parser.SkipObjectResolution))(t)
		public[name] = true
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && set.Position(f.Pos()).Line <= block.From[0] && block.To[0] <= set.Position(f.End()).Line && carries(f) {
				files[name] = true
			}
		}
	}
	for name := range files {
		delete(public, name)
	}
	t.Logf("%d files: %v; see public numbers alone: %v", len(files), slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(public)))
	require.Contains(t, files, "plan/mechanism.go")
	require.Contains(t, files, "plan/encode.go")
	require.LessOrEqual(t, len(files), pathFiles)
}

// carries reports whether a function has a receiver or an argument that carries rows, or selects a
// field of a run that does, or writes the Mean.
func carries(f *ast.FuncDecl) bool {
	found := f.Name.Name == "AppendBinary"
	typed := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			name := strings.TrimPrefix(types.ExprString(field.Type), "*")
			found = found || slices.Contains(carriers, name[strings.LastIndex(name, ".")+1:])
		}
	}
	typed(f.Recv)
	typed(f.Type.Params)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && types.ExprString(s.X) == "r" && slices.Contains(fields, s.Sel.Name) {
			found = true
		}
		return !found
	})
	return found
}
