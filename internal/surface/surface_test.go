package surface

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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
	results map[string]string          // exported structs that a method Release… returns, with the method's name
	tests   string                     // all test files
	codecs  map[string]bool            // types that the tests put through dptest.Codec
	fuzzed  map[string]bool            // types that the tests decode hostile bytes into, by dptest.Decoded
	doc     []string                   // lines of doc.go
}

func newPackageAPI(name string) *packageAPI {
	return &packageAPI{name: name, types: map[string]*ast.StructType{}, methods: map[string][]string{}, results: map[string]string{},
		codecs: map[string]bool{}, fuzzed: map[string]bool{}}
}

// load parses a package of the module.
func load(name string) (*packageAPI, error) {
	p := newPackageAPI(name)
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
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(e.Name(), "_test.go") {
			p.tests += string(text)
			p.collectTests(file)
		} else {
			p.collect(file)
		}
	}
	return p, nil
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
				if strings.HasPrefix(d.Name.Name, "Release") && d.Type.Results != nil {
					for _, result := range d.Type.Results.List {
						p.results[baseName(result.Type)] = receiver + "." + d.Name.Name
					}
				}
			}
		}
	}
}

// collectTests notes the types that a test file puts through the kit: T of dptest.Codec[T] and dptest.Decoded[T], and where T of
// dptest.Codec is inferred, that of the function literal that compares two objects.
func (p *packageAPI) collectTests(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if isKit(n.Fun, "Codec") && len(n.Args) == 3 {
				if equal, ok := n.Args[2].(*ast.FuncLit); ok {
					p.codecs[baseName(equal.Type.Params.List[0].Type)] = true
				}
			}
		case *ast.IndexExpr:
			if isKit(n.X, "Codec") {
				p.codecs[baseName(n.Index)] = true
			}
			if isKit(n.X, "Decoded") {
				p.fuzzed[baseName(n.Index)] = true
			}
		}
		return true
	})
}

// isKit reports whether the expression is dptest.name.
func isKit(e ast.Expr, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == name && baseName(selector.X) == "dptest"
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
		switch by, released := p.results[name]; {
		case released || has(name, "UnmarshalBinary"):
			if released && !has(name, "UnmarshalBinary") {
				lacks(name, "a codec, though "+by+" returns it")
			}
			for _, method := range strings.Fields("Guarantee Params String AppendBinary MarshalBinary") {
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

// auditReleasedTests asks the package's tests for what every released type needs. Golden files and readers are tested in released_test.go.
func (p *packageAPI) auditReleasedTests(name string, lacks func(who, what string)) {
	if !p.codecs[name] {
		lacks(name, "a test with dptest.Codec")
	}
	if !p.fuzzed[name] || !strings.Contains(p.tests, "\nfunc FuzzUnmarshal") {
		lacks(name, "a fuzz target FuzzUnmarshal with dptest.Decoded")
	}
}

// collects reports whether a type with these methods takes in private data before Release.
func collects(methods []string) bool {
	return slices.ContainsFunc(methods, func(m string) bool {
		return strings.HasPrefix(m, "Add") || strings.HasPrefix(m, "Toggle") || m == "Merge"
	})
}

// packages loads all packages of the library.
func packages(t *testing.T) (all []*packageAPI) {
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "internal" && e.Name() != "examples" {
			p, err := load(e.Name())
			require.NoError(t, err)
			all = append(all, p)
		}
	}
	require.NotEmpty(t, all)
	return all
}

func TestEveryTypeHasWhatItsRoleDemands(t *testing.T) {
	for _, p := range packages(t) {
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
	const tests = `package x
func Example() {}
func FuzzUnmarshal(f *testing.F) { dptest.Decoded[Sketch](t, data) }
func TestCodec(t *testing.T) { dptest.Codec(t, s, func(a, b *Sketch) bool { return true }) }
func TestRedaction(t *testing.T) { dptest.Redacted(t, b) }
`
	check := func(source, tests string) []string {
		p := newPackageAPI("x")
		p.tests, p.doc = tests, []string{"package x"}
		parse := func(text string) *ast.File {
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", text, parser.SkipObjectResolution)
			require.NoError(t, err)
			return file
		}
		p.collect(parse(source))
		p.collectTests(parse(tests))
		return p.audit()
	}
	require.Empty(t, check(good, tests))
	for _, line := range strings.Split(strings.TrimSpace(good), "\n")[4:] {
		if strings.HasPrefix(line, "func") {
			require.NotEmpty(t, check(strings.Replace(good, line, "", 1), tests), line)
		}
	}
	require.NotEmpty(t, check(strings.Replace(good, "{ x int", "{ X int", 1), tests))
	for _, line := range strings.Split(strings.TrimSpace(tests), "\n")[1:] {
		require.NotEmpty(t, check(good, strings.Replace(tests, line, "", 1)), line)
	}
	explicit := strings.Replace(tests, "dptest.Codec(t, s, func(a, b *Sketch) bool { return true })", "dptest.Codec[Sketch](t, s, same)", 1)
	require.Empty(t, check(good, explicit))
	require.NotEmpty(t, check(good, strings.Replace(explicit, "Codec[Sketch]", "Codec[Other]", 1)))
	require.NotEmpty(t, check(good, strings.Replace(explicit, "Codec[Sketch]", "Codec", 1)))
	// A second released type next to one that has everything.
	second := good + "type Other struct{}\nfunc (b *Builder) ReleaseOther() (Other, error) { return Other{}, nil }\n"
	require.Contains(t, check(second, tests), "x.Other lacks a codec, though Builder.ReleaseOther returns it")
	require.Contains(t, check(second+"func (o *Other) UnmarshalBinary() {}\n", tests), "x.Other lacks a test with dptest.Codec")
}
