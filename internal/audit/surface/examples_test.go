package surface

import (
	"go/ast"
	"go/types"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every exported function, and every reading of what is released or computed from it, is called in
// an Example of its package or of a package below. A reading is an exported method of a released
// object, or of a type that such a method or a function returns, apart from the codec, and from
// Guarantee and Params, which all of them have. A method of the laws, which have a CDF, is called
// for one of them.
func TestEveryReadingHasAnExample(t *testing.T) {
	shown, all := map[string]bool{}, loaded(t)
	for _, s := range all {
		maps.Copy(shown, s.shown())
	}
	readings := 0
	for _, s := range all {
		for _, name := range s.readings() {
			readings++
			if !shown[s.inner.types.Path()+"."+name] && !shown[name] {
				t.Errorf("%s.%s lacks an Example that calls it", s.path, name)
			}
		}
	}
	require.Greater(t, readings, 400, "found too few")
}

// readings returns the functions of a package, and Type.Method for the readings of its types.
func (s *subject) readings() (names []string) {
	roles, answers, path := s.roles(), map[string]bool{}, s.inner.types.Path()
	note := func(results *types.Tuple) {
		for v := range results.Variables() {
			if name := localName(v.Type(), path); roles[name] == isPublic {
				answers[name] = true
			}
		}
	}
	scope := s.inner.types.Scope()
	for _, name := range scope.Names() {
		if f, ok := scope.Lookup(name).(*types.Func); ok && f.Exported() && !s.fromTest(f.Pos()) {
			names = append(names, name)
			note(f.Signature().Results())
		}
	}
	for name, role := range roles {
		if role == releasedObject {
			answers[name] = true
			for _, m := range s.methods(name) {
				note(m.Results())
			}
		}
	}
	for name := range answers {
		for m := range s.methods(name) {
			if releasedMethods[m] == "" && redaction[m] == "" && m != "Params" {
				names = append(names, s.family(name)+"."+m)
			}
		}
	}
	return names
}

// family returns the name of a type, and "law" for all that have a CDF.
func (s *subject) family(name string) string {
	if s.methods(name)["CDF"] != nil {
		return "law"
	}
	return name
}

// shown returns the functions and methods that the Examples of a package use.
func (s *subject) shown() map[string]bool {
	found := map[string]bool{}
	for _, c := range []code{s.inner, s.outer} {
		for _, file := range c.files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
					ast.Inspect(f, func(n ast.Node) bool {
						switch n := n.(type) {
						case *ast.SelectorExpr:
							if x := c.info.Selections[n]; x != nil && x.Kind() != types.FieldVal {
								found[readingName(x.Obj().(*types.Func), x.Recv())] = true
							}
						case *ast.Ident:
							if f, ok := c.info.Uses[n].(*types.Func); ok && f.Pkg() != nil && f.Signature().Recv() == nil {
								found[readingName(f, nil)] = true
							}
						}
						return true
					})
				}
			}
		}
	}
	return found
}

// readingName returns the package and name of a function, with the type of a method, or "law".
func readingName(f *types.Func, of types.Type) string {
	if f.Pkg() == nil { // of error
		return f.Name()
	}
	path, name := f.Pkg().Path(), f.Name()
	if of != nil {
		name = localName(of, path) + "." + name
		if cdf, _, _ := types.LookupFieldOrMethod(of, true, f.Pkg(), "CDF"); cdf != nil {
			return "law." + f.Name()
		}
	}
	return path + "." + name
}
