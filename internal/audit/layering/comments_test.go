package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

const (
	mostColumns      = 100 // of a line with a comment, a tab counting four
	mostFieldColumns = 80  // of one at an exported field, of which pkg.go.dev cuts off the rest
	mostProof        = 15  // lines of a proof in Go files; longer ones are in a _proof.md
)

// TestUnreadable has a file with one fault of each kind.
func TestUnreadable(t *testing.T) {
	wide, proof := strings.Repeat("w", 98), "// Proof.\n"+strings.Repeat("// So it goes.\n", 15)+"// ∎\n"
	require.Empty(t, unreadable(t, "// "+wide[1:]+"\npackage p\n\n//go:generate "+wide+"\n\n// https://"+wide+"\nfunc f() {}\n"))
	require.Len(t, unreadable(t, "// "+wide+"\npackage p\n\nvar a int // "+wide+"\n\n"+proof+"func f() {}\n"), 3)
	require.Len(t, unreadable(t, "package p\n\ntype T struct {\n\t// "+wide[:77]+"\n\tA int\n\t// "+wide[:77]+"\n\tb int\n}\n"), 1)
}

// TestComments reads all comments of the repository.
func TestComments(t *testing.T) {
	top := root(t)
	require.NoError(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != top || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		name := dptest.OK(filepath.Rel(top, path))(t)
		source := dptest.OK(os.ReadFile(path))(t)
		for _, problem := range unreadable(t, string(source)) {
			t.Errorf("%s:%s", filepath.ToSlash(name), problem)
		}
		return nil
	}))
}

// unreadable returns a line for each comment of a file that is too wide or proves too much.
func unreadable(t *testing.T, source string) (problems []string) {
	set := token.NewFileSet()
	file := dptest.OK(parser.ParseFile(set, "", source, parser.ParseComments))(t)
	fields, lines := fieldComments(file), strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	for _, group := range file.Comments {
		begun := 0 // the line in which a proof began
		for _, c := range group.List {
			at, text := set.Position(c.Pos()), c.Text
			most, width := mostColumns, utf8.RuneCountInString(strings.ReplaceAll(lines[at.Line-1], "\t", "    "))
			if slices.Contains(fields, group) {
				most, width = mostFieldColumns, utf8.RuneCountInString(lines[at.Line-1])
			}
			if width > most && !strings.Contains(text, "://") && !strings.HasPrefix(text, "//go:") && !isOutput(group) {
				problems = append(problems, fmt.Sprintf("%d: a comment of %d columns, at most %d", at.Line, width, most))
			}
			if begun == 0 && strings.Contains(text, "Proof") {
				begun = at.Line
			}
			if begun > 0 && strings.Contains(text, "∎") {
				if lines := at.Line - begun + 1; lines > mostProof {
					problems = append(problems, fmt.Sprintf("%d: a proof of %d lines, at most %d", begun, lines, mostProof))
				}
				begun = 0
			}
		}
	}
	return problems
}

// isOutput reports whether the comment is the output of an example, which is as wide as it is.
func isOutput(group *ast.CommentGroup) bool {
	return slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
		text := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")))
		return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
	})
}

// fieldComments returns the comments of exported fields of exported structs.
func fieldComments(file *ast.File) (groups []*ast.CommentGroup) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				continue
			}
			if typ, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range typ.Fields.List {
					if f.Doc != nil && len(f.Names) > 0 && f.Names[0].IsExported() {
						groups = append(groups, f.Doc)
					}
				}
			}
		}
	}
	return groups
}
