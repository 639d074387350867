package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/audit/profile"
)

// Every edit applies to the source as it is, once, and leaves Go source; names are told apart.
func TestMutationsApply(t *testing.T) {
	all := mutations()
	require.GreaterOrEqual(t, len(all), 40)
	names := map[string]bool{}
	for _, m := range all {
		p, err := m.locate(filepath.Join("..", "..", ".."))
		if err != nil {
			t.Error(err)
			continue
		}
		dptest.OK(parser.ParseFile(token.NewFileSet(), m.file, p.edited(m), parser.SkipObjectResolution))(t, m.name)
		require.False(t, names[m.dir()+m.name], "two edits are called %q", m.name)
		names[m.dir()+m.name] = true
	}
}

const example = `package p

type T struct{}

// f adds.
func (t *T) f(a, b int) int {
	if a > b { // larger
		return g(
			a,
			b,
		)
	}
	return a + b
}

func g(a, b int) int { return a + b }
`

// Formatting and comments do not matter; what an edit is found in, and how often, does.
func TestLocate(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "p.go"), []byte(example), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "q.go"), []byte("package p\n\nvar x = 1\n"), 0o600))
	for _, c := range []struct{ file, old, new, from, to string }{
		{"p.go", "return g(a, b)", "return g(b, a)", "return g(\n\t\t\ta,\n\t\t\tb,\n\t\t)", "return g(b, a)"},
		{"p.go", "if a>b {\n", "if a<b {\n", "if a > b {", "if a<b {\n"},
		{"p.go:T.f", "a+b", "a-b", "return a + b\n}\n\n", "return a-b\n}\n\n"},
		{"p.go:g", "return a + b", "", "{ return a + b }", "{  }"},
		{"p.go:g", "return a + b\n", "return 0\n", "{ return a + b }", "{ return 0\n }"},
		{"p.go", ")\n}\nreturn a", ")}; return b", ")\n\t}\n\treturn a", ")}; return b"},
	} {
		m := mutation{"edit", c.file, c.old, c.new}
		p := dptest.OK(m.locate(root))(t, c.old)
		require.Equal(t, strings.Replace(example, c.from, c.to, 1), p.edited(m), c.old)
	}
	moved := mutation{"moved", "p.go", "x = 1", "x = 2"}
	p := dptest.OK(moved.locate(root))(t)
	require.Equal(t, "q.go", p.path)
	for _, c := range []struct{ file, old, want string }{
		{"p.go", "a + b", "edit: \"a + b\" occurs 2 times in p.go"},
		{"p.go", "retur", "occurs 0 times"},
		{"p.go:T.f", "func g", "occurs 0 times"},
		{"p.go:h", "a", "occurs 0 times"},
		{"p.go", "return a\n", "occurs 0 times"},
		{"p.go", "", "occurs 0 times"},
		{"p.go", "// f adds.", "occurs 0 times"},
		{"p.go", "'", "is no Go"},
		{"r.go", "y", "no such file"},
	} {
		require.ErrorContains(t, dptest.Err(mutation{"edit", c.file, c.old, ""}.locate(root)), c.want, c.old)
	}
}

// What differs is what tests have to run.
func TestPlace(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "p.go"), []byte(example), 0o600))
	m := mutation{"edit", "p.go", "return g(a, b)\n}\nreturn a", "return g(a, a)\n}\nreturn a"}
	p := dptest.OK(m.locate(root))(t)
	require.Equal(t, "b", p.source[p.from:p.to])
	require.Equal(t, profile.Point{10, 4}, at(p.source, p.from))
	c := coverage{
		Blocks: []profile.Block{{File: "p.go", From: profile.Point{7, 13}, To: profile.Point{12, 3}}, {File: "p.go", From: profile.Point{13, 2}, To: profile.Point{13, 14}}, {File: "q.go", From: profile.Point{1, 1}, To: profile.Point{99, 1}}},
		Tests:  []covered{{Name: "A", Runs: []int{0, 1}}, {Name: "B", Runs: []int{1}}, {Name: "C", Runs: []int{2}}, {Name: "D", Unknown: true}},
	}
	names := ""
	for _, t := range c.reaching(p.path, p.source, p.from, p.to) {
		names += t.Name
	}
	require.Equal(t, "AD", names)
}

// A copy of each edited function, which the function calls.
func TestHybrid(t *testing.T) {
	source := "package p\n\nfunc (T) f(_ int, y ...int) { print(y) }\n\nfunc g[K any](x K) K { return x }\n\nvar x = 1\n"
	edits := []mutation{{"f", "p.go", "print(y)", "print()"}, {"x", "p.go", "= 1", "= 2"}, {"g", "p.go", "return x", "panic(x)"}, {"signature", "p.go", "(x K) K", "(x, y K) K"}}
	var places []place
	for _, m := range edits {
		i := strings.Index(source, m.old)
		places = append(places, place{path: "p.go", source: source, at: i, end: i + len(m.old)})
	}
	h, others, err := newHybrid(edits, places, nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 3}, others)
	require.Equal(t, `package p

func (mutationR0 T) f(mutationP0 int, y ...int) { switch mutationChosen { case 1: mutationR0.mutation1_f(mutationP0, y...); return; };  print(y) }

func g[K any](x K) K { switch mutationChosen { case 3: return mutation3_g[K](x); };  return x }

var x = 1

func (T) mutation1_f(_ int, y ...int) { print() }
func mutation3_g[K any](x K) K { panic(x) }
`, h.sources["p.go"])
	require.Equal(t, []span{{0, "p.go", 9, 9}, {2, "p.go", 10, 10}}, h.clones)
	require.Contains(t, h.sources["mutation_selector.go"], "package p\n")
}
