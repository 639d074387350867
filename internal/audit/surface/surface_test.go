package surface

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// what a method of each role looks like, its parameters and results.
var (
	releasedMethods = map[string]string{
		"Guarantee": "() (budget.Guarantee)", "String": "() (string)", "AppendBinary": "([]byte) ([]byte, error)",
		"MarshalBinary": "() ([]byte, error)", "UnmarshalBinary": "([]byte) (error)",
		"MarshalJSON": "() ([]byte, error)", "UnmarshalJSON": "([]byte) (error)",
	}
	redaction = map[string]string{"Format": "(fmt.State, rune) ()", "LogValue": "() (slog.Value)", "MarshalText": "() ([]byte, error)", "UnmarshalText": "([]byte) (error)"}
)

// audit returns a line for each thing that is missing.
func (s *subject) audit() (missing []string) {
	lacks := func(who, what string) { missing = append(missing, fmt.Sprintf("%s.%s lacks %s", s.path, who, what)) }
	roles, covered := s.roles(), s.coverage()
	outcomes := s.outcomes(roles)
	for name, role := range roles {
		need := func(methods map[string]string) {
			for method, want := range methods {
				if got, ok := s.methods(name)[method]; !ok {
					lacks(name, "the method "+method)
				} else if show(got) != want {
					lacks(name, fmt.Sprintf("the method %s%s, it has %s", method, want, show(got)))
				}
			}
		}
		test := func(what, sentence string) {
			if !covered[what][name] {
				lacks(name, sentence)
			}
		}
		switch role {
		case none:
			lacks(name, "a role: no Builder or Mechanism returns it, it has no codec, takes in nothing and releases nothing, and is not in the lists "+
				"public and private of roles_test.go")
		case isPublic:
			if slices.Contains(coded, s.path+"."+name) {
				codec := maps.Clone(releasedMethods)
				delete(codec, "Guarantee")
				need(codec)
			}
		case isPrivate:
			test("Redacted", "a test with dptest.Redacted")
		case builder:
			need(redaction)
			need(map[string]string{"Released": "() (bool)", "Guarantee": "() (budget.Guarantee)"})
			if release, ok := s.methods(name)["Release"]; ok && (release.Params().Len() > 0 || release.Results().Len() != 2) {
				lacks(name, "a method Release() (T, error): it is no budget.Releaser")
			}
			s.auditWaysOut(name, roles, lacks)
			s.auditFields(name, lacks)
			s.auditState(name, lacks)
			test("Redacted", "a test with dptest.Redacted")
			test("Builder", "a test with dptest.Builder")
		case mechanism:
			need(map[string]string{"Guarantee": "() (budget.Guarantee)"})
			s.auditFields(name, lacks)
		case releasedObject:
			need(releasedMethods)
			if _, decodes := s.methods(name)["UnmarshalBinary"]; !decodes && outcomes[name] != "" {
				lacks(name, "a codec, though it comes out of "+outcomes[name])
			}
			s.auditParams(name, lacks)
			s.auditFields(name, lacks)
			test("Codec", "a test with dptest.Codec")
			test("Decoded", "a fuzz target with dptest.Decoded")
			test("Example", "an Example in which it occurs")
		}
	}
	s.auditWords(roles, lacks)
	if len(s.doc) == 0 || len(s.doc) > 80 {
		lacks("doc.go", fmt.Sprintf("a length of 1 to 80 lines, it has %d", len(s.doc)))
	}
	if !s.hasExample() {
		lacks("package", "an Example")
	}
	slices.Sort(missing)
	return missing
}

// auditParams asks a released type for its Params, a comparable type.
func (s *subject) auditParams(name string, lacks func(who, what string)) {
	switch params, ok := s.methods(name)["Params"]; {
	case !ok:
		lacks(name, "the method Params")
	case params.Params().Len() != 0 || params.Results().Len() != 1 || !types.Comparable(params.Results().At(0).Type()):
		lacks(name, "a method Params that returns comparable Params, it has "+show(params))
	}
}

// auditFields asks for a struct whose fields are all hidden.
func (s *subject) auditFields(name string, lacks func(who, what string)) {
	structure, ok := s.inner.types.Scope().Lookup(name).Type().Underlying().(*types.Struct)
	if !ok {
		lacks(name, "immutability: it is not a struct")
		return
	}
	for field := range structure.Fields() {
		if field.Exported() {
			lacks(name, "immutability: it has the exported field "+field.Name())
		}
	}
}

// auditState asks that a Builder embeds the one private state, or a type of its package that does,
// and has nothing else that could hold data: all other fields are plain numbers, texts and structs
// of these, such as Params.
func (s *subject) auditState(name string, lacks func(who, what string)) {
	embedded := false
	var walk func(t types.Type)
	walk = func(t types.Type) {
		structure, ok := t.Underlying().(*types.Struct)
		if !ok {
			return
		}
		for field := range structure.Fields() {
			named, _ := types.Unalias(field.Type()).(*types.Named)
			if named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == module+"/internal/private" && named.Obj().Name() == "State" {
				if !field.Embedded() {
					lacks(name, "redaction: it has a private.State that is not embedded")
				}
				embedded = true
			} else if named != nil && field.Embedded() && named.Obj().Pkg() == s.inner.types {
				walk(named)
			} else if !plain(field.Type()) {
				lacks(name, "secrecy: its field "+field.Name()+" is neither the embedded private.State nor plain")
			}
		}
	}
	walk(s.inner.types.Scope().Lookup(name).Type())
	if !embedded {
		lacks(name, "an embedded private.State, which is where private data are kept")
	}
}

// plain reports whether values of a type refer to nothing: numbers, texts, and arrays and structs
// of these.
func plain(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Kind() != types.UnsafePointer
	case *types.Array:
		return plain(t.Elem())
	case *types.Struct:
		for field := range t.Fields() {
			if !plain(field.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// auditWaysOut asks a Builder that its methods tell nothing but what Release does: they return an
// error, whether it is released, another Builder, a released object, or what hides its content. One
// method tells its caller, who has the data, how many of them count: AddFor of series.
func (s *subject) auditWaysOut(name string, roles map[string]role, lacks func(who, what string)) {
	methods := s.methods(name)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(methods)), func(m string) bool { return strings.HasPrefix(m, "Release") && m != "Released" || m == "Step" }) {
		lacks(name, "the method Release, though it takes in data")
	}
	for method, signature := range methods {
		if redaction[method] != "" || method == "Released" || method == "AppendPrivateState" || method == "Params" || method == "Guarantee" || s.inner.types.Name() == "series" && method == "AddFor" {
			continue
		}
		for v := range signature.Results().Variables() {
			known := roles[localName(v.Type(), s.inner.types.Path())]
			if known != builder && known != releasedObject && known != isPrivate && v.Type().String() != "error" {
				lacks(name, fmt.Sprintf("secrecy: the method %s returns %s", method, v.Type()))
			}
		}
	}
}

// hasExample reports whether the package has a runnable Example.
func (s *subject) hasExample() bool {
	for _, c := range []code{s.inner, s.outer} {
		if c.types == nil {
			continue
		}
		for _, name := range c.types.Scope().Names() {
			if _, ok := c.types.Scope().Lookup(name).(*types.Func); ok && strings.HasPrefix(name, "Example") {
				return true
			}
		}
	}
	return false
}

// show prints the types of parameters and results.
func show(s *types.Signature) string {
	list := func(t *types.Tuple) string {
		var all []string
		for v := range t.Variables() {
			all = append(all, types.TypeString(v.Type(), (*types.Package).Name))
		}
		return "(" + strings.Join(all, ", ") + ")"
	}
	return list(s.Params()) + " " + list(s.Results())
}

var loadOnce = sync.OnceValues(subjects)

// loaded returns all packages. It starts the go tool and type-checks them, which needs -long.
func loaded(t *testing.T) []*subject {
	dptest.NeedsLong(t)
	all := dptest.OK(loadOnce())(t)
	require.GreaterOrEqual(t, len(all), 10)
	return all
}

func TestEveryTypeHasWhatItsRoleDemands(t *testing.T) {
	known := map[string]bool{}
	for _, s := range loaded(t) {
		for _, line := range s.audit() {
			t.Error(line)
		}
		for name := range s.roles() {
			known[s.path+"."+name] = true
		}
	}
	for _, name := range slices.Concat(public, private) {
		require.True(t, known[name], "%s is listed, but there is no such type", name)
	}
}
