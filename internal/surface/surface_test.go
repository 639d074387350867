package surface

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

	"github.com/stretchr/testify/require"
)

const root = "../.."

// packageAPI is what the audit needs to know of a package.
type packageAPI struct {
	name    string
	types   map[string]*ast.StructType // exported structs
	methods map[string][]string        // by receiver type
	tests   string                     // all test files
	golden  bool
	doc     []string // lines of doc.go
}

// load parses a package of the module.
func load(name string) (*packageAPI, error) {
	p := &packageAPI{name: name, types: map[string]*ast.StructType{}, methods: map[string][]string{}}
	dir := filepath.Join(root, name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if e.Name() == "doc.go" {
			p.doc = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		}
		if strings.HasSuffix(e.Name(), "_test.go") {
			p.tests += string(text)
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.collect(file)
	}
	err = filepath.WalkDir(filepath.Join(dir, "testdata"), func(path string, _ fs.DirEntry, err error) error {
		p.golden = p.golden || strings.HasSuffix(path, ".hex")
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	return p, err
}

// collect notes the exported structs and the methods of a file.
func (p *packageAPI) collect(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
					if structure, ok := s.Type.(*ast.StructType); ok {
						p.types[s.Name.Name] = structure
					}
				}
			}
		case *ast.FuncDecl:
			if d.Recv != nil && d.Name.IsExported() {
				receiver := baseName(d.Recv.List[0].Type)
				p.methods[receiver] = append(p.methods[receiver], d.Name.Name)
			}
		}
	}
}

// baseName strips a receiver's type of pointers and type parameters.
func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// audit returns a line for each thing that is missing.
func (p *packageAPI) audit() (missing []string) {
	lacks := func(who, what string) { missing = append(missing, fmt.Sprintf("%s.%s lacks %s", p.name, who, what)) }
	has := func(name, method string) bool { return slices.Contains(p.methods[name], method) }
	for name, structure := range p.types {
		encodes := has(name, "MarshalBinary") || has(name, "AppendBinary") || has(name, "GobEncode")
		switch {
		case has(name, "UnmarshalBinary"):
			for _, method := range strings.Fields("Guarantee Params String AppendBinary MarshalBinary UnmarshalBinary") {
				if !has(name, method) {
					lacks(name, "the method "+method)
				}
			}
			for _, field := range structure.Fields.List {
				if len(field.Names) == 0 || field.Names[0].IsExported() {
					lacks(name, "immutability: it has an exported field")
				}
			}
			p.auditReleasedTests(name, lacks)
		case encodes:
			lacks(name, "a decoder, though it encodes")
		case has(name, "Release") && collects(p.methods[name]):
			for _, method := range strings.Fields("Format LogValue MarshalText") {
				if !has(name, method) {
					lacks(name, "redaction by "+method)
				}
			}
			if !strings.Contains(p.tests, "dptest.Redacted(") {
				lacks(name, "a test with dptest.Redacted")
			}
		}
	}
	if len(p.doc) == 0 || len(p.doc) > 80 {
		lacks("doc.go", fmt.Sprintf("a length of 1 to 80 lines, it has %d", len(p.doc)))
	}
	if !strings.Contains(p.tests, "\nfunc Example") {
		lacks("package", "an Example")
	}
	slices.Sort(missing)
	return missing
}

// auditReleasedTests asks the package's tests for what every released type needs.
func (p *packageAPI) auditReleasedTests(name string, lacks func(who, what string)) {
	for _, call := range []string{"dptest.Codec(", "dptest.Readers(", "func FuzzUnmarshal"} {
		if !strings.Contains(p.tests, call) {
			lacks(name, "a test with "+call)
		}
	}
	if !p.golden {
		lacks(name, "a golden file testdata/*.hex")
	}
}

// collects reports whether a type with these methods takes in private data before Release.
func collects(methods []string) bool {
	return slices.ContainsFunc(methods, func(m string) bool {
		return strings.HasPrefix(m, "Add") || strings.HasPrefix(m, "Toggle") || m == "Merge"
	})
}

func TestEveryTypeHasWhatItsRoleDemands(t *testing.T) {
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "internal" || e.Name() == "examples" {
			continue
		}
		p, err := load(e.Name())
		require.NoError(t, err)
		for _, line := range p.audit() {
			t.Error(line)
		}
	}
}

// TestAudit gives the audit one flaw at a time.
func TestAudit(t *testing.T) {
	const good = `package x
type Builder struct{ s **int }
func (b *Builder) Add(k uint64) {}
func (b *Builder) Release() (*Sketch, error) { return nil, nil }
func (b Builder) Format() {}
func (b Builder) LogValue() {}
func (b Builder) MarshalText() {}
type Sketch struct{ x int }
func (s *Sketch) Guarantee() {}
func (s *Sketch) Params() {}
func (s *Sketch) String() {}
func (s *Sketch) AppendBinary() {}
func (s *Sketch) MarshalBinary() {}
func (s *Sketch) UnmarshalBinary() {}
`
	const tests = "dptest.Codec( dptest.Readers( dptest.Redacted( func FuzzUnmarshal(\nfunc Example("
	check := func(source, tests string, golden bool) []string {
		p := &packageAPI{name: "x", types: map[string]*ast.StructType{}, methods: map[string][]string{}, tests: tests, golden: golden, doc: []string{"package x"}}
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution)
		require.NoError(t, err)
		p.collect(file)
		return p.audit()
	}
	require.Empty(t, check(good, tests, true))
	require.NotEmpty(t, check(good, tests, false))
	for _, line := range strings.Split(strings.TrimSpace(good), "\n")[4:] {
		if strings.HasPrefix(line, "func") && !strings.Contains(line, "UnmarshalBinary") {
			require.NotEmpty(t, check(strings.Replace(good, line, "", 1), tests, true), line)
		}
	}
	require.NotEmpty(t, check(strings.Replace(good, "Sketch) UnmarshalBinary", "Sketch) Decode", 1), tests, true))
	require.NotEmpty(t, check(strings.Replace(good, "{ x int", "{ X int", 1), tests, true))
	for _, word := range append(strings.Fields("dptest.Codec( dptest.Readers( dptest.Redacted( FuzzUnmarshal("), "\nfunc Example(") {
		require.NotEmpty(t, check(good, strings.Replace(tests, word, "", 1), true), word)
	}
}
