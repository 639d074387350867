// Command claims prints the index of what the library claims: of each guarantee and each bound the
// theorem, the code, the tests and the edits that break it.
//
//	go run ./internal/audit/claims
//	  -follow   also runs each test that is named, alone, and fails where it runs nothing of the
//	            code that it is named for, or where no test runs that: some minutes
//
// A claim stands at the end of its proof, a file *_proof.md, or in claims.md where a comment in the
// code is the proof. It names functions, tests and edits, never lines, and the test of this package
// fails where a name is not there, a release method or a bound has no claim, or a claim has no test
// or edit. Every release method besides has neighbours with frozen noise in internal/audit/replay,
// and every package all of its edits in internal/audit/mutation.
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
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/audit/edits"
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
	x, err := read(".")
	if err != nil {
		return err
	}
	lines := x.dead(x.claims)
	if len(lines) == 0 {
		x.print()
		if *following {
			lines, err = x.follow(x.claims)
		}
	}
	if err == nil && len(lines) > 0 {
		err = fmt.Errorf("%s", strings.Join(lines, "\n"))
	}
	return err
}

// columns are what a claim has: the sentence; the exported functions that make it; the paper with
// what was corrected, or what the own proof says; the file of the proof; the functions that it
// rests on; tests against exact laws or formulas; tests that sample releases; and the package of
// the edits that break it, ": ", and their names.
//
// Functions are package.Function or package.Type.Method, tests package.Test. Spaces separate them,
// semicolons the names of edits.
var columns = []string{"claim", "about", "theorem", "proof", "code", "exact", "audit", "edits"}

// claim is the text of each column.
type claim map[string]string

// names returns those in the columns.
func (c claim) names(columns ...string) (names []string) {
	for _, column := range columns {
		names = append(names, strings.Fields(c[column])...)
	}
	return names
}

// edits returns the directory and the names of the edits.
func (c claim) edits() (dir string, names []string) {
	dir, list, _ := strings.Cut(c["edits"], ": ")
	return dir, strings.Split(list, "; ")
}

// claimsIn returns those in a file: in a fenced block each, or several with empty lines between.
func claimsIn(file, text string) (all []claim) {
	for _, part := range strings.Split(text, "\n```claims\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		for paragraph := range strings.SplitSeq(block, "\n\n") {
			c := claim{"proof": file}
			for line := range strings.SplitSeq(strings.TrimSpace(paragraph), "\n") {
				column, text, _ := strings.Cut(line, ": ")
				c[column] = text
			}
			all = append(all, c)
		}
	}
	return all
}

// function is where one stands, and what it returns.
type function struct {
	file     string
	from, to int    // lines
	public   bool   // exported from a package that users import
	promises bool   // returns a Guarantee
	counts   bool   // returns a number or some
	origin   string // its full name, if another type has it from an embedded one
}

// index is what there is to link to, and the claims.
type index struct {
	root      string
	claims    []claim
	functions map[string]function // by package.Type.Method
	edits     map[string][]string // directory → names
	embeds    map[string]funcname.Embeds
	methods   map[string][]string // the names of those of each type
}

func newIndex(root string) *index {
	return &index{root: root, functions: map[string]function{}, edits: map[string][]string{}, embeds: map[string]funcname.Embeds{}, methods: map[string][]string{}}
}

// read reads all packages of the module at root, without types, and all claims.
func read(root string) (*index, error) {
	x := newIndex(root)
	for _, e := range edits.All() {
		file, _, _ := strings.Cut(e.File, ":")
		x.edits[path.Dir(file)] = append(x.edits[path.Dir(file)], e.Name)
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || name == "examples" || d.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			text, err := os.ReadFile(file)
			x.claims = append(x.claims, claimsIn(name, string(text))...)
			return err
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err == nil {
			x.add(set, name, parsed)
		}
		return err
	})
	x.promote()
	return x, err
}

// isPublic reports whether users can call a function, Func or Type.Method.
func isPublic(file, name string) bool {
	of, method, _ := strings.Cut(name, ".")
	dir := "/" + path.Dir(file) + "/"
	return !strings.HasSuffix(file, "_test.go") && !strings.Contains(dir, "/internal/") && dir != "/./" && token.IsExported(of) && (method == "" || token.IsExported(method))
}

// add notes the functions of a file, and what its types embed.
func (x *index) add(set *token.FileSet, file string, parsed *ast.File) {
	dir := path.Dir(file)
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := funcname.Of(d)
			f := function{file: file, from: set.Position(d.Pos()).Line, to: set.Position(d.End()).Line, public: isPublic(file, name)}
			if d.Type.Results != nil {
				for _, r := range d.Type.Results.List {
					text := types.ExprString(r.Type)
					f.promises = f.promises || text == "budget.Guarantee" || text == "Guarantee"
					f.counts = f.counts || text == "int" || text == "int64" || strings.Contains(text, "float64")
				}
			}
			x.functions[dir+"."+name] = f
			if of, method, ok := strings.Cut(name, "."); ok {
				x.methods[dir+"."+of] = append(x.methods[dir+"."+of], method)
			}
		case *ast.GenDecl:
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

// promote notes the methods that a type has from what it embeds as its own.
func (x *index) promote() {
	for dir, embeds := range x.embeds {
		for of := range embeds {
			embeds.Promoted(of, func(from string) {
				for _, method := range x.methods[dir+"."+from] {
					f, full := x.functions[dir+"."+from+"."+method], dir+"."+of+"."+method
					if _, shadowed := x.functions[full]; !shadowed {
						f.origin, f.public = dir+"."+from+"."+method, isPublic(f.file, of+"."+method)
						x.functions[full] = f
					}
				}
			})
		}
	}
}

// dead returns a line for each link that leads nowhere, and for each claim that lacks one.
func (x *index) dead(claims []claim) (lines []string) {
	for _, c := range claims {
		say := func(format string, values ...any) {
			lines = append(lines, fmt.Sprintf("%s: %q: ", c["proof"], c["claim"])+fmt.Sprintf(format, values...))
		}
		for _, kind := range []struct{ what, first, second string }{{"function", "about", "code"}, {"test", "exact", "audit"}} {
			for _, name := range c.names(kind.first, kind.second) {
				f, ok := x.functions[name]
				if !ok {
					say("there is no %s %s", kind.what, name)
				} else if strings.HasSuffix(f.file, "_test.go") != (kind.what == "test") {
					say("%s is no %s", name, kind.what)
				}
			}
		}
		for _, column := range columns {
			if c[column] == "" {
				say("column %s is empty", column)
			}
		}
		if _, err := os.Stat(filepath.Join(x.root, filepath.FromSlash(c["proof"]))); err != nil {
			say("there is no proof %s", c["proof"])
		}
		dir, names := c.edits()
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
// the types with a Sample or a CDF, have their own claim, for their samplers.
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

// unclaimed returns what no claim is about: release methods, of the list that
// internal/audit/surface keeps, whatever returns a Guarantee, bounds, and whatever returns numbers
// but what is plain.
func (x *index) unclaimed(claims []claim) (names []string, err error) {
	var about []string
	for _, c := range claims {
		about = append(about, c.names("about")...)
	}
	text, err := os.ReadFile(filepath.Join(x.root, "internal", "audit", "surface", "testdata", "releases.txt"))
	if err != nil {
		return nil, err
	}
	wanted := strings.Fields(string(text))
	for name, f := range x.functions {
		of, method := cutLast(name)
		_, draws := x.functions[of+".Sample"]
		_, tells := x.functions[of+".CDF"]
		if f.public && (f.promises || slices.Contains(bounds, method) || f.counts && !draws && !tells && !slices.Contains(plain, name) && !slices.Contains(plain, method)) {
			wanted = append(wanted, name)
		}
	}
	for _, name := range wanted {
		if !slices.Contains(about, name) && !slices.Contains(about, x.functions[name].origin) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// print prints the table, a claim after the other.
func (x *index) print() {
	for i, c := range x.claims {
		for _, column := range columns {
			text := c[column]
			switch dir, names := c.edits(); column {
			case "claim":
				fmt.Printf("%d. %s\n", i+1, text)
				continue
			case "about":
				text = strings.ReplaceAll(text, " ", ", ")
			case "code", "exact", "audit":
				var links []string
				for _, name := range c.names(column) {
					links = append(links, name+" ("+x.functions[name].file+")")
				}
				text = strings.Join(links, ", ")
			case "edits":
				text = fmt.Sprintf("%s: %s (of %d in all)", dir, strings.Join(names, "; "), len(x.edits[dir]))
			}
			fmt.Printf("   %-8s %s\n", column, text)
		}
	}
}
