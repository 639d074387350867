package surface

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// public are the types that keep no secret: parameters, plans, laws, hash functions, what is
// computed from released objects, the caller's own rows. private are those that do without being
// Builders. Every other exported type shows by its methods what it is.
var (
	public = strings.Fields("elliptical/column.Bin elliptical/column.Params elliptical/column.Plan elliptical/column.Statistic " +
		"kor/distinct.Params kor/distinct.Plan " +
		"alp.Params alp.Plan alp.Prior alp.Structure alp.Variant arete.Arete arete.Lattice arete.Law arete.Objective arete.Params arete.Plan elliptical.Params elliptical.Plan elliptical.Shape " +
		"elliptical.Vector hashing.Key hashing.Polynomial hashing.Range hashing.Seed jl.Change jl.Noise jl.Params jl.Plan " +
		"jl.Transform kor/distinct.Adder kor.Cardinality kor.Comparison kor.Params kor.Plan misragries.Combined misragries.Method misragries.Params misragries.Plan " +
		"misragries.Row misragries/series.Params misragries/series.Plan misragries/series.Timeline misragries/series.Window noise/approx.Advice noise/approx.Noise noise/approx.Params noise/approx.Plan noise.Bernoulli noise.CorrelatedGaussian " +
		"noise.DiscreteGaussian noise.DiscreteLaplace noise.Gaussian noise.Geometric noise/budget.Guarantee noise.Laplace noise/budget.Ledger noise.Pareto noise/budget.Record noise/budget.Relation noise/budget.Releaser noise/budget.Rule noise/budget.Storage noise/budget.Unit " +
		"noise.Staircase noise.Student plan.Method plan.Plan plan.Params plan.Sparse plan.Spent plan/thesis.Instance plan/thesis.Params " +
		"plan/thesis.Shares plan/thesis.Steps threshold.Candidate threshold.Method threshold.Params threshold.Plan threshold/groupby.Params threshold/groupby.Plan")
	private = strings.Fields("arete.Share kor.Share noise.Source")

	// coded are those of the public types that have the codec and the JSON of a released object.
	coded = strings.Fields("noise/budget.Guarantee noise/budget.Ledger noise/budget.Unit")
)

// role is what an exported type is for, and with it what is asked of it.
type role int

const (
	none           role = iota
	isPublic            // nothing is asked
	isPrivate           // it hides what it holds
	mechanism           // it holds no data, and releases
	builder             // it takes in data until it releases
	releasedObject      // it is what comes out
)

// roles returns the role of each exported type of a package.
func (s *subject) roles() map[string]role {
	roles := map[string]role{}
	scope := s.inner.types.Scope()
	for _, name := range scope.Names() {
		if object, ok := scope.Lookup(name).(*types.TypeName); ok && object.Exported() && !s.fromTest(object.Pos()) {
			roles[name] = s.roleByMethods(name)
		}
	}
	for name := range s.outcomes(roles) {
		if roles[name] == none {
			roles[name] = releasedObject
		}
	}
	return roles
}

// roleByMethods returns the role that a type has by the lists or its methods.
func (s *subject) roleByMethods(name string) role {
	methods := s.methods(name)
	has := func(prefixes ...string) bool {
		for method := range methods {
			if method != "Released" && method != "Releases" && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(method, p) }) {
				return true
			}
		}
		return false
	}
	switch full := s.path + "." + name; {
	case slices.Contains(public, full):
		return isPublic
	case has("MarshalBinary", "AppendBinary", "UnmarshalBinary", "Gob", "MarshalJSON", "UnmarshalJSON"):
		return releasedObject
	case slices.Contains(private, full):
		return isPrivate
	case has("Add", "Toggle", "Merge"):
		return builder
	case has("Release"):
		return mechanism
	}
	return none
}

// methods returns the methods of the exported type and of pointers to it, embedded ones included.
func (s *subject) methods(name string) map[string]*types.Signature {
	methods := map[string]*types.Signature{}
	t := s.inner.types.Scope().Lookup(name).Type()
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for m := range types.NewMethodSet(t).Methods() {
		if m.Obj().Exported() {
			methods[m.Obj().Name()] = m.Obj().Type().(*types.Signature)
		}
	}
	return methods
}

// outcomes returns the exported types that come out of a Builder or a Mechanism, by whatever method
// or function, with its name.
func (s *subject) outcomes(roles map[string]role) map[string]string {
	found := map[string]string{}
	note := func(by string, results *types.Tuple) {
		for v := range results.Variables() {
			if name := localName(v.Type(), s.inner.types.Path()); name != "" {
				found[name] = by
			}
		}
	}
	holds := func(name string) bool {
		return roles[name] == builder || roles[name] == mechanism || roles[name] == isPrivate
	}
	for name := range roles {
		if holds(name) {
			for method, signature := range s.methods(name) {
				note(name+"."+method, signature.Results())
			}
		}
	}
	scope := s.inner.types.Scope()
	for _, name := range scope.Names() {
		if f, ok := scope.Lookup(name).(*types.Func); ok && f.Exported() && !s.fromTest(f.Pos()) {
			signature := f.Type().(*types.Signature)
			for v := range signature.Params().Variables() {
				if holds(localName(v.Type(), s.inner.types.Path())) {
					note(name, signature.Results())
				}
			}
		}
	}
	return found
}

// localName returns the name of an exported type of the package, behind any pointers, slices and
// type arguments, else nothing.
func localName(t types.Type, path string) string {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return localName(t.Elem(), path)
	case *types.Slice:
		return localName(t.Elem(), path)
	case *types.Named:
		if o := t.Obj(); o.Exported() && o.Pkg() != nil && o.Pkg().Path() == path {
			return o.Name()
		}
	}
	return ""
}

// fromTest reports whether the position is in a test file.
func (s *subject) fromTest(pos token.Pos) bool {
	return strings.HasSuffix(s.inner.set.Position(pos).Filename, "_test.go")
}
