package surface

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	root   = "../../.."
	module = "github.com/dpsketch/dpsketch"
)

// listed is what `go list -json` says of a package, or of a variant of it that is compiled for
// tests.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	ImportMap               map[string]string
}

// code is a package after type checking.
type code struct {
	types *types.Package
	files []*ast.File
	set   *token.FileSet
	info  *types.Info
}

// subject is a package of the library with its tests.
type subject struct {
	path  string   // relative to the module
	inner code     // the package and the tests inside it
	outer code     // the tests outside it; no files if there are none
	doc   []string // lines of doc.go
}

// subjects loads all packages of the library but the internal ones and the examples, with their
// tests.
func subjects() ([]*subject, error) {
	if err := readDirectories(); err != nil {
		return nil, err
	}
	ids, err := library()
	if err != nil {
		return nil, err
	}
	all, err := list(ids)
	if err != nil {
		return nil, err
	}
	var found []*subject
	for _, id := range ids {
		s, err := load(id, all)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		found = append(found, s)
	}
	return found, nil
}

// load type-checks a package with its tests.
func load(id string, all map[string]listed) (s *subject, err error) {
	s = &subject{path: strings.TrimPrefix(id, module+"/")}
	inner, tested := all[fmt.Sprintf("%s [%s.test]", id, id)]
	if !tested {
		inner = all[id]
	}
	if s.inner, err = inner.check(all); err != nil {
		return nil, err
	}
	if outer, ok := all[fmt.Sprintf("%s_test [%s.test]", id, id)]; ok {
		if s.outer, err = outer.check(all); err != nil {
			return nil, err
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, s.path, "doc.go")); err == nil {
		s.doc = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	return s, nil
}

// readDirectories reads the directories of the library and does nothing with them: so the go
// command knows that this test depends on them, and does not repeat an old result when a package or
// a file has been added.
func readDirectories() error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
}

// library asks the go command for the packages of the library, without the internal ones, the
// examples and the benchmarks of the root.
func library() (ids []string, err error) {
	out, err := goList("./...")
	for id := range strings.FieldsSeq(string(out)) {
		path, below := strings.CutPrefix(id, module+"/")
		if first, _, _ := strings.Cut(path, "/"); below && first != "examples" && !slices.Contains(strings.Split(path, "/"), "internal") {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// list asks the go command for packages, their variants for tests, and the export data of all they
// import.
func list(ids []string) (map[string]listed, error) {
	out, err := goList(append([]string{"-export", "-deps", "-test", "-json=ImportPath,Dir,Export,GoFiles,ImportMap"}, ids...)...)
	if err != nil {
		return nil, err
	}
	all := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
}

func goList(args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return out, nil
}

// check parses and type-checks a package; what it imports is read from export data.
func (p listed) check(all map[string]listed) (code, error) {
	sources := map[string]string{}
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return code{}, err
		}
		sources[name] = string(text)
	}
	set := token.NewFileSet()
	lookup := func(path string) (io.ReadCloser, error) {
		if variant, ok := p.ImportMap[path]; ok {
			path = variant
		}
		return os.Open(all[path].Export)
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return check(path, sources, set, importer.ForCompiler(set, "gc", lookup))
}

// check type-checks the sources of a package.
func check(path string, sources map[string]string, set *token.FileSet, imports types.Importer) (c code, err error) {
	for name, text := range sources {
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return code{}, err
		}
		c.files = append(c.files, file)
	}
	c.set = set
	c.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
		Instances: map[*ast.Ident]types.Instance{}}
	c.types, err = (&types.Config{Importer: imports}).Check(path, set, c.files, c.info)
	return c, err
}
