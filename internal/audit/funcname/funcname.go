// Package funcname names declared functions as the lists of internal/audit/claims and
// internal/audit/mutation do.
package funcname

import "go/ast"

// Of returns Func or Type.Method.
func Of(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return f.Name.Name
	}
	if of := local(f.Recv.List[0].Type); of != "" {
		return of + "." + f.Name.Name
	}
	return f.Name.Name
}

// local returns the name of a type of the package itself, else nothing.
func local(t ast.Expr) string {
	switch of := t.(type) {
	case *ast.StarExpr:
		return local(of.X)
	case *ast.ParenExpr:
		return local(of.X)
	case *ast.IndexExpr:
		return local(of.X)
	case *ast.IndexListExpr:
		return local(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// Embeds are the structs of a package with the types of the same package that each embeds.
type Embeds map[string][]string

// Add adds a type.
func (e Embeds) Add(spec *ast.TypeSpec) {
	if structure, ok := spec.Type.(*ast.StructType); ok {
		for _, field := range structure.Fields.List {
			if name := local(field.Type); len(field.Names) == 0 && name != "" {
				e[spec.Name.Name] = append(e[spec.Name.Name], name)
			}
		}
	}
}

// Promoted yields the type itself, and all that it embeds at any depth: whose methods it has, where
// an earlier one has none of that name.
func (e Embeds) Promoted(of string, yield func(name string)) {
	yield(of)
	for _, name := range e[of] {
		e.Promoted(name, yield)
	}
}
