package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// worn are phrases that readers had to read twice, with what to write.
var worn = []struct{ phrase, write string }{
	{`[Bb]ut for`, "except, apart from, plus"},
	{`[Ww]hoever`, "anyone who; a caller who"},
	{`ignores what it is given|prints nothing of it`, "Then Add does nothing; never prints"},
	{`stands with each`, "each says what 0 means"},
	{`that New(\w*) did not make|New(\w*) did not make it`, "the zero Builder; made by New"},
	{`the most that|the least that it may`, "an upper bound on; the smaller; its minimum"},
	{`so many|such a one`, "n; say the subject"},
	{`whichever of them`, "the smaller, the larger"},
	{`which can do without|that does without`, "without; which needs no"},
	{`as on paper`, "holds for the floating-point implementation"},
	{`nothing enforces it`, "it is not checked"},
	{`whose caller answers`, "the caller is responsible"},
	{`Somebody who`, "a user who"},
	{`tells its guarantee`, "has a Guarantee method"},
	{`if it is noticed`, "if it is detected"},
	{`the caller's word|nothing checks`, "the caller guarantees it; it is not checked"},
	{`a caller that cannot be sure`, "if in doubt"},
	{`makes up for`, "corrects"},
	{`also after it`, "before and after it"},
	{`that is none`, "an invalid one"},
	{`is what of`, "say the noun"},
	{`for no budget`, "and costs no budget"},
}

// TestPhrases reads the documentation of all exported names, and the texts of errors, of the
// packages that users import.
func TestPhrases(t *testing.T) {
	top := root(t)
	for _, folder := range slices.Concat(base, mechanisms) {
		names := dptest.OK(filepath.Glob(filepath.Join(top, filepath.FromSlash(folder), "*.go")))(t)
		require.NotEmpty(t, names, folder)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source := dptest.OK(os.ReadFile(name))(t)
			for _, problem := range wornIn(t, string(source)) {
				t.Errorf("%s/%s:%s", folder, filepath.Base(name), problem)
			}
		}
	}
}

// TestWorn has each phrase in a comment of an exported name, and in an error.
func TestWorn(t *testing.T) {
	require.Len(t, wornIn(t, "// Package p is fine but for this.\npackage p\n\n// F is the most that\n// G is.\nfunc F() {}\n\nvar e = bad(\"a Builder that New did not make\")\n"), 3)
	require.Empty(t, wornIn(t, "package p\n\n// f is fine but for this.\nfunc f() {}\n\nvar s = format(\"but for\")\n"))
}

// wornIn returns a line for each phrase in the exported documentation of a file, or an error of it.
func wornIn(t *testing.T, source string) (problems []string) {
	set := token.NewFileSet()
	file := dptest.OK(parser.ParseFile(set, "", source, parser.ParseComments))(t)
	read := func(at token.Pos, text string) {
		text = strings.Join(strings.Fields(text), " ")
		for _, w := range worn {
			if found := regexp.MustCompile(`\b(` + w.phrase + `)\b`).FindString(text); found != "" {
				problems = append(problems, fmt.Sprintf("%d: %q: write %s", set.Position(at).Line, found, w.write))
			}
		}
	}
	doc := func(exported bool, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if exported && g != nil {
				read(g.Pos(), g.Text())
			}
		}
	}
	doc(true, file.Doc)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			doc(d.Name.IsExported(), d.Doc)
		case *ast.GenDecl:
			doc(true, d.Doc)
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					doc(s.Names[0].IsExported(), s.Doc, s.Comment)
				case *ast.TypeSpec:
					doc(s.Name.IsExported(), s.Doc)
					if fields, ok := s.Type.(*ast.StructType); ok && s.Name.IsExported() {
						for _, f := range fields.Fields.List {
							doc(len(f.Names) > 0 && f.Names[0].IsExported(), f.Doc, f.Comment)
						}
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool { // errors
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok {
				name = x.Name
			}
		}
		if name != "bad" && name != "fault" && name != "errors" {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				read(lit.Pos(), text)
			}
		}
		return true
	})
	return problems
}
