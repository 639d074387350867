// Command claims prints the index of what the library claims: of each guarantee and each bound the
// theorem, the code, the tests and the edits that break it.
//
//	go run ./internal/audit/claims
//	  -follow   also runs each test that is named, alone, and fails where it runs nothing of the
//	            code that it is named for, or where no test runs that: some minutes
//
// The rows stand in rows.go. They name functions, tests and edits, never lines, and the test of
// this package fails where a name is not there, a release method or a bound has no row, or a row
// has no test or edit. Besides those in the table every release method has neighbours with frozen
// noise in internal/audit/replay, and every package all of its edits in internal/audit/mutation.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/audit/funcname"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "claims:", err)
		os.Exit(1)
	}
}

func run() error {
	following := flag.Bool("follow", false, "run each test, and fail where one runs nothing of its claim's code")
	flag.Parse()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	x, err := read(strings.TrimSpace(string(out)))
	if err != nil {
		return err
	}
	if dead := x.dead(rows); len(dead) > 0 {
		return fmt.Errorf("%s", strings.Join(dead, "\n"))
	}
	x.print()
	if *following {
		lines, err := x.follow(rows)
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			return fmt.Errorf("%s", strings.Join(lines, "\n"))
		}
	}
	return nil
}

// index is what there is to link to.
type index struct {
	root      string
	functions map[string]string   // package.Type.Method → file
	spans     map[string]span     // the same, with lines
	edits     map[string][]string // directory → names
	public    []string            // the exported functions and methods of the library
	promises  map[string]bool     // of these, what returns a Guarantee
	numbers   map[string]bool     // and what returns a number or some
	embeds    map[string]funcname.Embeds
	methods   map[string][]*ast.FuncDecl // of each type
	origins   map[string]string          // of methods of embedded types: that type's name of it
}

func newIndex(root string) *index {
	return &index{root, map[string]string{}, map[string]span{}, map[string][]string{}, nil, map[string]bool{}, map[string]bool{}, map[string]funcname.Embeds{}, map[string][]*ast.FuncDecl{}, map[string]string{}}
}

// read parses all packages of the module at root; types are not needed to find what is declared.
func read(root string) (*index, error) {
	x := newIndex(root)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || name == "examples" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		x.add(set, name, parsed)
		return nil
	})
	x.promote()
	slices.Sort(x.public)
	return x, err
}

// promote notes the methods that a type has from what it embeds as its own.
func (x *index) promote() {
	for dir, embeds := range x.embeds {
		for of := range embeds {
			embeds.Promoted(of, func(from string) {
				for _, d := range x.methods[dir+"."+from] {
					full := dir + "." + of + "." + d.Name.Name
					if _, shadowed := x.functions[full]; shadowed {
						continue
					}
					origin := dir + "." + from + "." + d.Name.Name
					x.functions[full], x.spans[full], x.origins[full] = x.functions[origin], x.spans[origin], origin
					if token.IsExported(of) {
						x.addPublic(full, d)
					}
				}
			})
		}
	}
}

// addPublic notes an exported function of the library.
func (x *index) addPublic(full string, d *ast.FuncDecl) {
	name, dir := x.functions[full], path.Dir(x.functions[full])
	if token.IsExported(d.Name.Name) && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(dir, "internal") && !strings.Contains(dir, "/internal/") && dir != "." {
		x.public = append(x.public, full)
		x.addResults(full, d)
	}
}

// add notes the functions of a file, and its edits if it is one of internal/audit/mutation.
func (x *index) add(set *token.FileSet, name string, file *ast.File) {
	dir := path.Dir(name)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			full := dir + "." + funcname.Of(d)
			x.functions[full] = name
			x.spans[full] = span{name, set.Position(d.Pos()).Line, set.Position(d.End()).Line}
			if of, _, ok := strings.Cut(funcname.Of(d), "."); ok {
				x.methods[dir+"."+of] = append(x.methods[dir+"."+of], d)
			}
			if token.IsExported(funcname.Of(d)) {
				x.addPublic(full, d)
			}
		case *ast.GenDecl:
			if strings.HasPrefix(name, "internal/audit/mutation/list") {
				ast.Inspect(d, x.addEdit)
			}
			for _, spec := range d.Specs {
				if of, ok := spec.(*ast.TypeSpec); ok {
					if x.embeds[dir] == nil {
						x.embeds[dir] = funcname.Embeds{}
					}
					x.embeds[dir].Add(of)
				}
			}
		}
	}
}

// addResults notes whether an exported function returns a Guarantee or numbers.
func (x *index) addResults(full string, f *ast.FuncDecl) {
	if f.Type.Results == nil {
		return
	}
	for _, r := range f.Type.Results.List {
		switch text := types.ExprString(r.Type); {
		case text == "budget.Guarantee" || text == "Guarantee":
			x.promises[full] = true
		case text == "int" || text == "int64" || strings.Contains(text, "float64"):
			x.numbers[full] = true
		}
	}
}

// addEdit notes an element of a list of edits: {"name", "file", "old", "new"}.
func (x *index) addEdit(n ast.Node) bool {
	list, ok := n.(*ast.CompositeLit)
	if !ok || list.Type != nil || len(list.Elts) != 4 {
		return true
	}
	var parts []string
	for _, e := range list.Elts[:2] {
		if text, ok := e.(*ast.BasicLit); ok {
			part, _ := strconv.Unquote(text.Value)
			parts = append(parts, part)
		}
	}
	if len(parts) == 2 {
		file, _, _ := strings.Cut(parts[1], ":")
		x.edits[path.Dir(file)] = append(x.edits[path.Dir(file)], parts[0])
	}
	return false
}

// editsOf returns the directory and the names that a row says.
func (r row) editsOf() (dir string, names []string) {
	dir, list, _ := strings.Cut(r.edits, ": ")
	return dir, strings.Split(list, "; ")
}

// dead returns a line for each link that leads nowhere, and for each row that lacks one.
func (x *index) dead(rows []row) (lines []string) {
	for _, r := range rows {
		say := func(format string, values ...any) {
			lines = append(lines, fmt.Sprintf("%q: ", r.claim)+fmt.Sprintf(format, values...))
		}
		for what, list := range map[string]string{"function": r.about + " " + r.code, "test": r.exact + " " + r.audit} {
			for name := range strings.FieldsSeq(list) {
				file, ok := x.functions[name]
				if !ok {
					say("there is no %s %s", what, name)
				} else if strings.HasSuffix(file, "_test.go") != (what == "test") {
					say("%s is no %s", name, what)
				}
			}
		}
		if r.claim == "" || r.theorem == "" || r.about == "" || r.code == "" || r.exact == "" || r.audit == "" {
			say("a column is empty")
		}
		if _, err := os.Stat(filepath.Join(x.root, filepath.FromSlash(r.proof))); r.proof == "" || err != nil {
			say("there is no proof %s", r.proof)
		}
		dir, names := r.editsOf()
		for _, name := range names {
			if !slices.Contains(x.edits[dir], name) {
				say("there is no edit %q of %s", name, dir)
			}
		}
	}
	return lines
}

// plain are the names of methods and functions that return numbers and claim nothing about them:
// estimates, and what was given, chosen or read. Whole names are of one function. Laws, which are
// the types with a Sample or a CDF, have their own row, for their samplers.
var plain = strings.Fields(`
	Estimate EstimateAll Estimates Mean Median Argmax All Top Values At Sum Count
	Dot Cosine SquaredNorm SquaredDistance
	Row Rows Others Found Advice Shrunk Shrink Quantile
	Max Step Steps First Day Slots Centre Clip plan.Mean.Scale
	Len Dim Sign Parties Terms Releases
	elliptical/column.Summary.Value
`)

// bounds are the names of what bounds an error and returns no number.
var bounds = []string{"Fit", "FitStream", "HeavyHitters"}

// unclaimed returns what no row is about: release methods, of the list that internal/audit/surface
// keeps, whatever returns a Guarantee, bounds, and whatever returns numbers but what is plain.
func (x *index) unclaimed(rows []row) (names []string, err error) {
	var about []string
	for _, r := range rows {
		about = append(about, strings.Fields(r.about)...)
	}
	text, err := os.ReadFile(filepath.Join(x.root, "internal", "audit", "surface", "testdata", "releases.txt"))
	if err != nil {
		return nil, err
	}
	wanted := strings.Fields(string(text))
	for _, name := range x.public {
		of, method := cutLast(name)
		_, draws := x.functions[of+".Sample"]
		_, tells := x.functions[of+".CDF"]
		law := draws || tells
		if x.promises[name] || slices.Contains(bounds, method) || x.numbers[name] && !law && !slices.Contains(plain, name) && !slices.Contains(plain, method) {
			wanted = append(wanted, name)
		}
	}
	for _, name := range wanted {
		if !slices.Contains(about, name) && !slices.Contains(about, x.origins[name]) {
			names = append(names, name)
		}
	}
	return names, nil
}

// print prints the table, a claim after the other.
func (x *index) print() {
	for i, r := range rows {
		fmt.Printf("%d. %s\n", i+1, r.claim)
		line := func(what, text string) { fmt.Printf("   %-8s %s\n", what, text) }
		links := func(list string) string {
			var all []string
			for name := range strings.FieldsSeq(list) {
				all = append(all, name+" ("+x.functions[name]+")")
			}
			return strings.Join(all, ", ")
		}
		line("about", strings.Join(strings.Fields(r.about), ", "))
		line("theorem", r.theorem)
		line("proof", r.proof)
		line("code", links(r.code))
		line("exact", links(r.exact))
		line("audit", links(r.audit))
		dir, names := r.editsOf()
		line("edits", fmt.Sprintf("%s: %s (of %d in all)", dir, strings.Join(names, "; "), len(x.edits[dir])))
	}
}
