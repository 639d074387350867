package replay

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpsketch/dpsketch/internal/audit/funcname"
)

// dataDependent are the parameters of samplers that may depend on private data, by the sampler's
// doc comment: its law is the same for all of them, and the parameter says what of it is looked at.
// The first two are what comes of a draw that is compared, the others how many draws are counted at
// once.
var dataDependent = map[string]string{
	"DiscreteLaplace.SampleTail": "least",
	"DiscreteLaplace.CountLayer": "draws",
	"DiscreteLaplace.CountTail":  "draws",
	"DiscreteLaplace.CountTails": "draws",
	"RandomizedRound":            "x",
}

// plainly are bodies, by which a sampler draws first and then looks, whatever is asked for. The law
// is that of the sampler, by its doc comment, and the noise no longer depends on what is asked.
var plainly = map[string]string{
	"DiscreteLaplace.SampleTail": "if replay.Frozen() { if x = d.SampleInt(src); x < least { return 0, false }; return x, true }",
	"RandomizedRound":            "",
}

// fixedBy are the statements by which a sampler returns a number of steps that is fixed, by the
// name of its method.
var fixedBy = map[string]string{
	"Sample":        "return steps * step",
	"SampleInt":     "return int64(steps)",
	"SampleSteps":   "return int64(steps), true",
	"SampleTail":    "return int64(steps), int64(steps) >= least",
	"CountTail":     "if int64(steps) < least { return 0 }; return draws",
	"CountTails":    "if max(int64(steps), -int64(steps)) < least { return 0 }; return draws",
	"CountLayer":    "if int64(steps) < least || int64(steps) >= below { return 0 }; return draws",
	"SamplerBeside": "all := func() float64 { return steps * step }; return all, all",
}

// fixes returns the statement at the top of a sampler, "" if what it draws is no noise.
func fixes(id string) string {
	if id == "RandomizedRound" {
		return " if _, ok := replay.Fixed(); ok { return math.Round(x/step) * step };"
	}
	law, method, _ := strings.Cut(id, ".")
	if law == "Bernoulli" || fixedBy[method] == "" {
		return ""
	}
	return " if steps, ok := replay.Fixed(); ok { " + fixedBy[method] + " };"
}

// Overlay writes package noise, as it stands in the module at root, with calls of [Enter] to a
// directory, and returns the replacements by file.
func Overlay(root, directory string) (replace map[string]string, err error) {
	files, err := filepath.Glob(filepath.Join(root, "noise", "*.go"))
	if err != nil {
		return nil, err
	}
	replace = map[string]string{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		edited, err := instrument(filepath.Base(file), source)
		if err != nil {
			return nil, err
		}
		if edited == "" {
			continue
		}
		to := filepath.Join(directory, filepath.Base(file))
		if err := os.WriteFile(to, []byte(edited), 0o600); err != nil {
			return nil, err
		}
		replace[file] = to
	}
	return replace, nil
}

// instrument returns the file with a report at the top of each function that draws, "" if it has
// none.
func instrument(name string, source []byte) (string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	edits := map[int]string{} // by offset
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		receiver, id := receiverOf(f), funcname.Of(f)
		kind := strings.TrimSuffix(strings.TrimSuffix(id, f.Name.Name), ".")
		at := set.Position(f.Body.Lbrace).Offset + 1
		switch source := sourceOf(f); {
		case id == "state.newKey":
			edits[at] = " if frozen := replay.Stream(); frozen != nil { return frozen };"
		case kind == "Source" && f.Name.Name != "Format" && f.Name.Name != "refill" && f.Name.Name != "drop":
			edits[at] = report(id, receiver, "", f)
		case source != "" && kind != "Source":
			// What is not exported is called from outside through what a sampler returned.
			edits[at] = report(id, source, receiver, f) + fixes(id) + plainly[id]
		}
	}
	if len(edits) == 0 {
		return "", nil
	}
	edits[set.Position(file.Name.End()).Offset] = `; import "github.com/dpsketch/dpsketch/internal/audit/replay"`
	var b strings.Builder
	for i := range len(source) + 1 {
		b.WriteString(edits[i])
		if i < len(source) {
			b.WriteByte(source[i])
		}
	}
	return b.String(), nil
}

// report is the statement at the top of a function: src is the name of the Source, law that of the
// receiver if it is one.
func report(id, src, law string, f *ast.FuncDecl) string {
	format, values, data, of := id, "", "nil", "nil"
	add := func(name string) {
		format += " " + name + "=%v"
		values += ", " + name
	}
	if law != "" {
		of = law
		add(law)
	}
	for _, p := range f.Type.Params.List {
		for _, n := range p.Names {
			switch t := p.Type.(type) {
			case *ast.Ident:
				switch {
				case n.Name == dataDependent[id]:
					data = n.Name
				case n.Name != "_" && strings.Contains("int int64 uint64 uint float64 bool", t.Name):
					add(n.Name)
				}
			case *ast.ArrayType:
				format += " len(" + n.Name + ")=%v"
				values += ", len(" + n.Name + ")"
			}
		}
	}
	renew := fmt.Sprintf("func() { if %[1]s.state != nil { (*%[1]s.state).left = 0 } }", src)
	return fmt.Sprintf(" defer replay.Enter(%s, %s, %s, %q%s)();", renew, of, data, format, values)
}

// receiverOf returns the name of the receiver, "" if there is none.
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List[0].Names) != 1 || f.Recv.List[0].Names[0].Name == "_" {
		return ""
	}
	return f.Recv.List[0].Names[0].Name
}

// sourceOf returns the name of the parameter of an exported function that is a Source, "" if there
// is none.
func sourceOf(f *ast.FuncDecl) string {
	if !f.Name.IsExported() {
		return ""
	}
	for _, p := range f.Type.Params.List {
		if star, ok := p.Type.(*ast.StarExpr); ok && len(p.Names) == 1 {
			if id, ok := star.X.(*ast.Ident); ok && id.Name == "Source" {
				return p.Names[0].Name
			}
		}
	}
	return ""
}
