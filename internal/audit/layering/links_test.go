package layering

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// aLink is a name in brackets, as links to names of this and of other packages are written.
var aLink = regexp.MustCompile(`(?:^|[^\w\]])\[\*?([a-z]+\.)?[A-Z]\w*(\.\w+)?\]`)

// TestDeadLinks has a link of each kind that leads nowhere, and some that lead somewhere.
func TestDeadLinks(t *testing.T) {
	source := func(comment string) string {
		return comment + "package p\n\nimport \"example.com/x/noise\"\n\nvar _ noise.T\n"
	}
	require.Empty(t, deadLinks(t, source("// See [T], [T.M] and [noise.Source].\n//\n//\tx[T] is code\n")+"\n// T is.\ntype T int\n\n// M is of a T[K], and [F] is not.\nfunc (T) M() {}\n\n// F is.\nfunc F[K any]() {}\n"))
	for _, text := range []string{"[U]", "[noise]s [T.N]", "([budget.Unit])", "±[T]"} {
		require.Len(t, deadLinks(t, source("// See "+text+".\n")+"\n// T is.\ntype T int\n"), 1, text)
	}
}

// TestLinks follows the links in the documentation of all public packages.
func TestLinks(t *testing.T) {
	for line := range strings.Lines(run(t, "list", "-f", `{{.ImportPath}} {{.Dir}} {{join .GoFiles " "}}`, "./...")) {
		words := strings.Fields(line)
		if strings.HasPrefix(words[0], module+"/internal/") || strings.HasPrefix(words[0], module+"/examples/") {
			continue
		}
		var sources []string
		for _, name := range words[2:] {
			source := dptest.OK(os.ReadFile(filepath.Join(words[1], name)))(t)
			sources = append(sources, string(source))
		}
		for _, dead := range deadLinks(t, sources...) {
			t.Errorf("%s: %s leads nowhere", words[0], dead)
		}
	}
}

// deadLinks returns the links in the documentation of a package that lead nowhere, as pkg.go.dev
// shows it.
func deadLinks(t *testing.T, sources ...string) (dead []string) {
	set, files := token.NewFileSet(), []*ast.File(nil)
	for i, source := range sources {
		file := dptest.OK(parser.ParseFile(set, fmt.Sprintf("%d.go", i), source, parser.ParseComments))(t)
		files = append(files, file)
	}
	p := dptest.OK(doc.NewFromFiles(set, files, "example.com/p"))(t)
	read := func(text string) {
		for _, block := range p.Parser().Parse(text).Content {
			dead = append(dead, deadIn(block)...)
		}
	}
	read(p.Doc)
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			read(f.Doc)
		}
	}
	values := func(list ...*doc.Value) {
		for _, v := range list {
			read(v.Doc)
		}
	}
	funcs(p.Funcs)
	values(slices.Concat(p.Consts, p.Vars)...)
	for _, typ := range p.Types {
		read(typ.Doc)
		funcs(slices.Concat(typ.Funcs, typ.Methods))
		values(slices.Concat(typ.Consts, typ.Vars)...)
	}
	return dead
}

// deadIn returns what still has brackets in a block of text.
func deadIn(block comment.Block) (dead []string) {
	plain := func(list []comment.Text) {
		for _, text := range list {
			if text, ok := text.(comment.Plain); ok {
				dead = append(dead, aLink.FindAllString(string(text), -1)...)
			}
		}
	}
	switch block := block.(type) {
	case *comment.Paragraph:
		plain(block.Text)
	case *comment.Heading:
		plain(block.Text)
	case *comment.List:
		for _, item := range block.Items {
			for _, inner := range item.Content {
				dead = append(dead, deadIn(inner)...)
			}
		}
	}
	return dead
}

// TestPages follows the links from each page of the repository to its other files. A picture that
// is here but left out of the repository is found where it is cloned.
func TestPages(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	pages, links := 0, 0
	require.NoError(t, filepath.WalkDir(root(t), func(path string, entry os.DirEntry, err error) error {
		// templates of issues are shown at another address
		if err != nil || filepath.Ext(path) != ".md" || strings.Contains(path, "ISSUE_TEMPLATE") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		for _, at := range link.FindAllStringSubmatch(string(text), -1) {
			links++
			dptest.OK(os.Stat(filepath.Join(filepath.Dir(path), at[1])))(t, "%s: %s", path, at[1])
		}
		return nil
	}))
	require.Greater(t, pages, 20)
	require.Greater(t, links, 50)
}
