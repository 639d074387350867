package surface

import (
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// releases returns the methods by which anything leaves what holds data or adds noise: those named
// Release…, those that return a released object or another holder of data that is not a Builder,
// and of the private types that are no Builders those that return numbers or bytes; and the
// functions that make a released object of Builders, or of what they call.
func (s *subject) releases() (found []string) {
	roles := s.roles()
	for name, role := range roles {
		if role != builder && role != mechanism && role != isPrivate || s.path == "noise" {
			continue
		}
		for method, signature := range s.methods(name) {
			if redaction[method] != "" {
				continue
			}
			out := strings.HasPrefix(method, "Release") && method != "Released" && method != "Releases"
			for v := range signature.Results().Variables() {
				to := roles[localName(v.Type(), s.inner.types.Path())]
				_, parameters := types.Unalias(v.Type()).(*types.Named)
				out = out || to == releasedObject || to == isPrivate && !parameters ||
					role == isPrivate && slices.Contains([]string{"int64", "[]byte"}, v.Type().String())
			}
			if out {
				found = append(found, s.path+"."+name+"."+method)
			}
		}
	}
	scope := s.inner.types.Scope()
	for _, name := range scope.Names() {
		f, ok := scope.Lookup(name).(*types.Func)
		if !ok || !f.Exported() {
			continue
		}
		is := func(list *types.Tuple, want role) bool {
			return slices.ContainsFunc(slices.Collect(list.Variables()), func(v *types.Var) bool { return roles[localName(v.Type(), s.inner.types.Path())] == want })
		}
		calls := func(v *types.Var) bool { _, ok := v.Type().(*types.Signature); return ok }
		of := f.Signature()
		if (is(of.Params(), builder) || slices.ContainsFunc(slices.Collect(of.Params().Variables()), calls)) && is(of.Results(), releasedObject) {
			found = append(found, s.path+"."+name)
		}
	}
	return found
}

// The file lists all of them: internal/audit/replay has a test for each, internal/audit/claims a
// row.
func TestReleaseMethods(t *testing.T) {
	var all []string
	for _, s := range loaded(t) {
		all = append(all, s.releases()...)
	}
	slices.Sort(all)
	dptest.Golden(t, "releases.txt", strings.Join(all, "\n")+"\n")
}
