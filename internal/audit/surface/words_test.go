package surface

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// words are the shapes of the methods that mean the same wherever they occur: the words of
// CONTRIBUTING. Where a result is a key, it is written K.
var words = map[string][]string{
	"All": {"() (iter.Seq2[K, float64])", "() (iter.Seq[budget.Record])", "() (iter.Seq2[int, float64])", "() (iter.Seq2[float64, float64])", "(int) (iter.Seq2[float64, float64])"},
	"Top": {"(int) (iter.Seq2[K, float64])"},
	"Len": {"() (int)"},
}

// plural are the types whose constructor is called after what they make.
var plural = strings.Fields("QuantileBuilder")

// auditWords asks that a word means the same in every package: New makes what takes the data, other
// constructors are called after the type that they make, a Method is a constant and a Mechanism is
// not, Plan is a method of the Params that returns a Plan, intervals end with a confidence.
func (s *subject) auditWords(roles map[string]role, lacks func(who, what string)) {
	scope := s.inner.types.Scope()
	for _, name := range scope.Names() {
		if f, ok := scope.Lookup(name).(*types.Func); ok && f.Exported() && !s.fromTest(f.Pos()) {
			s.auditFunction(f, lacks)
		}
	}
	for name := range roles {
		s.auditType(name, lacks)
		for method, signature := range s.methods(name) {
			if want := words[method]; want != nil && !slices.Contains(want, show(signature)) {
				lacks(name, fmt.Sprintf("the meaning of %s%s, it has %s", method, want[0], show(signature)))
			}
			s.auditInterval(name, method, signature, lacks)
			if strings.HasPrefix(method, "Plan") && !(strings.HasSuffix(name, "Params") && strings.HasSuffix(show(signature), " ("+s.inner.types.Name()+".Plan, error)")) {
				lacks(name, "one shape of Plan, func (p Params) Plan(…) (Plan, error): it has "+method+show(signature))
			}
			if strings.Contains(method, "Sigma") && s.path != "noise" || strings.HasSuffix(method, "Variance") && show(signature) != "() (float64)" {
				lacks(name, "the word StdDev or StdErr for "+method)
			}
		}
	}
}

// auditFunction asks that New makes a Builder or a Mechanism, and that the name of another
// constructor is New and the type that it makes. Several constructors may make a Builder.
func (s *subject) auditFunction(f *types.Func, lacks func(who, what string)) {
	if f.Name() == "Plan" {
		lacks("Plan", "a receiver: planning is a method of Params")
	}
	results := f.Signature().Results()
	if !strings.HasPrefix(f.Name(), "New") || results.Len() == 0 {
		return
	}
	made := localName(results.At(0).Type(), s.inner.types.Path())
	switch {
	case f.Name() == "New":
		if made != "Builder" && made != "Mechanism" && !strings.HasSuffix(results.At(0).Type().String(), "/plan.Mechanism") {
			lacks("New", "a result Builder or Mechanism, it makes "+made)
		}
	case made == "Builder" || made == "Ledger" || slices.Contains(plural, made):
		// NewListed, NewQuantiles
	case f.Name() != "New"+made && f.Name() != "NewListed"+made: // NewRows, NewListedRows
		lacks(f.Name(), "the name New"+made+", after what it makes")
	}
}

// auditType asks what a Mechanism, a Method and a Plan are.
func (s *subject) auditType(name string, lacks func(who, what string)) {
	t := s.inner.types.Scope().Lookup(name).Type()
	basic, isBasic := t.Underlying().(*types.Basic)
	structure, isStruct := t.Underlying().(*types.Struct)
	switch {
	case name == "Mechanism" && isBasic:
		lacks(name, "a method Release: what chooses between ways to release is a Method")
	case name == "Method" && !(isBasic && basic.Info()&types.IsInteger != 0):
		lacks(name, "constants: a Method is one of several ways to do the same")
	case name == "Plan":
		if _, ok := s.methods(name)["String"]; !ok {
			lacks(name, "the method String")
		}
		if !isStruct || structure.NumFields() == 0 || structure.Field(0).Name() != "Params" {
			lacks(name, "a first field Params, those that were planned")
		}
	}
	if !isStruct || !strings.HasSuffix(name, "Params") {
		return
	}
	for field := range structure.Fields() {
		for _, word := range []string{"Maximum", "Minimum", "Limit", "Ceiling", "Mechanism"} {
			if strings.Contains(field.Name(), word) {
				lacks(name, fmt.Sprintf("the word Max, Min or Method for its field %s", field.Name()))
			}
		}
	}
}

// auditInterval asks that an interval is asked for by its confidence, the last argument (but for
// what IntervalTail assumes), and has two ends.
func (s *subject) auditInterval(name, method string, f *types.Signature, lacks func(who, what string)) {
	if !strings.HasSuffix(method, "Interval") && !strings.HasPrefix(method, "Interval") {
		return
	}
	arguments, results := f.Params(), f.Results()
	n := arguments.Len()
	if method == "IntervalTail" {
		n--
	}
	if n == 0 || arguments.At(n-1).Name() != "confidence" {
		lacks(name, "a confidence as the last argument of "+method)
	}
	if results.Len() < 2 || results.At(0).Name() != "lo" || results.At(1).Name() != "hi" {
		lacks(name, "the results lo, hi of "+method)
	}
}
