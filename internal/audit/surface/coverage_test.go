package surface

import (
	"go/ast"
	"go/types"
	"strings"
)

const kit = module + "/internal/audit/dptest"

// coverage is what the tests of a package do with its types: "Codec", "Decoded", "Readers",
// "Redacted" and "Builder" of the kit, "Example", by the names of the types.
type coverage map[string]map[string]bool

func (c coverage) note(what, name string) {
	if name == "" {
		return
	}
	if c[what] == nil {
		c[what] = map[string]bool{}
	}
	c[what][name] = true
}

// facts is what one function of the tests does.
type facts struct {
	calls []types.Object // functions of the same package
	does  coverage
}

// coverage follows the calls from tests, fuzz targets and examples. A codec counts where a test
// calls dptest.Codec, hostile bytes where a fuzz target calls dptest.Decoded.
func (s *subject) coverage() coverage {
	total := coverage{}
	for _, c := range []code{s.inner, s.outer} {
		functions := map[types.Object]facts{}
		for _, file := range c.files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					functions[c.info.Defs[f.Name]] = c.facts(f, s.inner.types.Path())
				}
			}
		}
		for f := range functions {
			for start, counts := range map[string]string{"Test": "Codec Readers Redacted Builder", "Fuzz": "Decoded", "Example": "Example"} {
				if f != nil && strings.HasPrefix(f.Name(), start) {
					follow(f, functions, map[types.Object]bool{}, func(done coverage) {
						for _, what := range strings.Fields(counts) {
							for name := range done[what] {
								total.note(what, name)
							}
						}
					})
				}
			}
		}
	}
	return total
}

// follow visits a function and those that it calls.
func follow(f types.Object, functions map[types.Object]facts, seen map[types.Object]bool, visit func(coverage)) {
	if seen[f] {
		return
	}
	seen[f] = true
	visit(functions[f].does)
	for _, called := range functions[f].calls {
		follow(called, functions, seen, visit)
	}
}

// facts looks through the body of a function.
func (c code) facts(f *ast.FuncDecl, path string) facts {
	found := facts{does: coverage{}}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if used, ok := c.info.Uses[n].(*types.Func); ok && used.Pkg() != nil {
				if used.Pkg() == c.types {
					found.calls = append(found.calls, used.Origin())
				} else if used.Pkg().Path() == kit {
					if t := c.info.Instances[n].TypeArgs; t != nil {
						found.does.note(used.Name(), localName(t.At(0), path))
					}
				}
			}
		case *ast.CallExpr:
			if selector, ok := n.Fun.(*ast.SelectorExpr); ok {
				if used := c.info.Uses[selector.Sel]; used != nil && used.Pkg() != nil && used.Pkg().Path() == kit {
					for _, arg := range n.Args {
						found.does.note(used.Name(), localName(c.info.TypeOf(arg), path))
					}
				}
			}
		}
		if e, ok := n.(ast.Expr); ok {
			if t := c.info.TypeOf(e); t != nil {
				found.does.note("Example", localName(t, path))
			}
		}
		return true
	})
	return found
}
