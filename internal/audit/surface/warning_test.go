package surface

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every constructor that takes an ε takes ε = 1000 too, for experiments, and its documentation says
// what that protects.
func TestConstructorsWarn(t *testing.T) {
	found := 0
	for _, s := range loaded(t) {
		for _, plain := range s.inner.files {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../../..", s.path, s.inner.set.Position(plain.Pos()).Filename), nil, parser.ParseComments)
			require.NoError(t, err)
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv != nil || !constructs(f) {
					continue
				}
				found++
				require.Regexp(t, `protects? hardly anybody`, strings.Join(strings.Fields(f.Doc.Text()), " "), "%s.%s", s.inner.types.Path(), f.Name.Name)
			}
		}
	}
	require.Greater(t, found, 25)
}

// constructs reports whether a function makes something of Params of a release.
func constructs(f *ast.FuncDecl) bool {
	if !strings.HasPrefix(f.Name.Name, "New") && !strings.HasPrefix(f.Name.Name, "From") || f.Name.Name == "NewTimeline" || f.Type.Params.NumFields() == 0 {
		return false
	}
	first, ok := f.Type.Params.List[0].Type.(*ast.Ident)
	return ok && strings.HasSuffix(first.Name, "Params")
}
