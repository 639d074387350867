package surface

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// maker is a constructor with Params that it accepts. One that comes from New also decides what the
// methods of its Params answer. What it makes may be bound to a ledger.
type maker struct {
	name  string
	good  any
	make  func(params any) (object any, err error)
	main  bool
	bound func() bound
}

func by[P, T any](name string, main bool, good P, construct func(P) (T, error)) maker {
	return maker{name, good, func(p any) (any, error) { return construct(p.(P)) }, main, nil}
}

// builds is by for what has a Release.
func builds[P any, T budget.Releaser[R], R any](name string, main bool, good P, construct func(P) (T, error)) maker {
	m := by(name, main, good, construct)
	m.bound = func() bound { return byBuilder[R](made(construct(good))) }
	return m
}

// makers are all constructors of the library that take Params: the one list of objects that hold
// data, add noise to it, and release it.
var makers = []maker{
	builds("alp.New", true, alp.Params{Epsilon: 1, Delta: 1e-6, Dim: 1 << 16, Sparsity: 16}, alp.New),
	by("arete.New", true, arete.Params{Epsilon: 1}, arete.New),
	by("elliptical.New", true, box, elliptical.New),
	builds("elliptical.NewBuilder", false, box, elliptical.NewBuilder),
	builds("elliptical/column.New", true, column.Params{Epsilon: 1, Max: 1}, column.New),
	by("elliptical/column.New", false, column.Params{Rho: 1, Max: 1, Relation: budget.Replace, Rows: 1}, column.New),
	builds("elliptical/column.NewQuantiles", true, column.Params{Epsilon: 1, Max: 1}, func(p column.Params) (*column.QuantileBuilder, error) { return column.NewQuantiles(p, 0.5) }),
	builds("jl.New", true, jl.Params{Dim: 64, Rows: 8, Epsilon: 1, Seed: hashing.Seed{1}}, jl.New),
	builds("kor.New", true, korParams, kor.New),
	builds("kor.NewStreamBuilder", false, korParams, kor.NewStreamBuilder),
	builds("kor/distinct.New", true, distinctParams, distinct.New),
	by("kor/distinct.NewRunningBuilder", false, distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}, distinct.NewRunningBuilder),
	builds("kor/distinct.NewFrequencyBuilder", false, distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}},
		func(p distinct.Params) (*distinct.FrequencyBuilder, error) { return distinct.NewFrequencyBuilder(p, 3) }),
	by("kor/distinct.NewCohortBuilder", false, distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}},
		func(p distinct.Params) (*distinct.CohortBuilder, error) { return distinct.NewCohortBuilder(p, 3) }),
	builds("kor/distinct.NewWindowBuilder", false, distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}},
		func(p distinct.Params) (*distinct.WindowBuilder, error) { return distinct.NewWindowBuilder(p, 1) }),
	by("misragries.New", true, sketch, misragries.New[uint64]),
	builds("misragries.New", false, sketch, misragries.New[string]), // refuses Dim as well
	builds("misragries.NewSum", false, sketch, misragries.NewSum[string]),
	builds("misragries.NewUserBuilder", false, misragries.Params{Counters: 8, Epsilon: 1, Delta: 1e-6, MaxElements: 2}, misragries.NewUserBuilder[string]),
	by("misragries.FromMisraGries", false, sketch, func(p misragries.Params) (*misragries.Builder[string], error) {
		return misragries.FromMisraGries(p, map[string]int64{"key": 1})
	}),
	by("misragries/series.New", false, series.Params{Epsilon: 1, Dim: 3, MaxElements: 2}, series.New[int]),
	by("misragries/series.New", true, series.Params{Epsilon: 1, Delta: 1e-6}, series.New[string]),
	by("misragries/series.NewTimeline", false, series.Params{Epsilon: 1, Delta: 1e-6}, series.NewTimeline[string]),
	by("noise/approx.New", true, approx.Params{Epsilon: 1, Error: 1}, approx.New),
	by("noise/approx.Search", false, advised, func(p approx.Params) (approx.Advised, error) { return approx.Search(p, one) }),
	by("plan.New", true, plan.Params{Rho: 1, Dim: 4, Max: 1, Rows: 100, Relation: budget.Replace}, plan.New),
	by("plan/thesis.New", true, thesis.Params{Rho: 1, Dim: 4, Max: 1, Rows: 100, Relation: budget.Replace}, thesis.New),
	builds("threshold/groupby.New", true, groupby.Params{Epsilon: 1, Delta: 1e-6}, groupby.New[string]),
	by("threshold/groupby.NewListed", false, groupby.Params{Epsilon: 1, Max: 1}, func(p groupby.Params) (*groupby.Builder[string], error) {
		return groupby.NewListed(p, "key", "the key of one user")
	}),
	builds("threshold/groupby.NewDiscovery", false, groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2}, groupby.NewDiscovery[string]),
	by("threshold/groupby.NewListedRows", false, groupby.Params{Epsilon: 1, Max: 1}, func(p groupby.Params) (*groupby.Rows[string, string], error) {
		return groupby.NewListedRows[string](p, "key", "the key of one user")
	}),
	builds("threshold/groupby.NewRows", false, groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 1, Max: 1}, groupby.NewRows[string, string]),
	by("threshold.NewBounded", false, threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 4}, threshold.NewBounded[uint64]),
	by("threshold.New", true, threshold.Params{Epsilon: 1, Delta: 1e-6}, threshold.New[uint64]),
	builds("threshold.New", false, threshold.Params{Epsilon: 1, Delta: 1e-6}, threshold.New[string]),
	by("threshold.NewListed", false, threshold.Params{Epsilon: 1}, func(p threshold.Params) (*threshold.Builder[string], error) {
		return threshold.NewListed(p, "key", "the key of one user")
	}),
}

var (
	box            = elliptical.Params{Min: elliptical.VectorOf(0, 0), Max: elliptical.VectorOf(1, 2), Rho: 1}
	korParams      = kor.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	distinctParams = distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, CountShare: 0.5, Seed: hashing.Seed{1}}
	advised        = approx.Params{Epsilon: 1, Max: 1 << 10, Sensitivity: 1e-3, Advice: approx.Advice{Min: 1}}
	one            = func(advice, accuracy float64) float64 { return 1 }
	sketch         = misragries.Params{Counters: 8, Epsilon: 1, Delta: 1e-6}
)

// constructors without Params are tested where they are: those of laws in package noise, and of
// Params that are computed.
var otherConstructors = strings.Fields("arete.Calibrate arete.NewArete noise/approx.Median " +
	"misragries.Combine kor.XOR kor.Aggregate noise/budget.NewLedger")

// zeros is the zero value of every type that takes in data, adds noise to it or comes out of a
// release: of what the makers make, what that releases, and what has no maker here. Of types with
// keys it is the last that is listed.
func zeros() []any {
	found := map[string]reflect.Type{}
	add := func(t reflect.Type) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), module) {
			found[nameOf(t)] = t
		}
	}
	for _, m := range makers {
		t := reflect.TypeOf(made(m.make(m.good)))
		if m.name != "misragries/series.NewTimeline" { // of public slices
			add(t)
		}
		for _, release := range []string{"Release", "ReleaseSparse", "Share", "Step"} {
			if method, ok := t.MethodByName(release); ok {
				add(method.Type.Out(0))
			}
		}
	}
	for _, x := range []any{arete.Lattice{}, misragries.Combined[string]{}, distinct.Pair{}} {
		add(reflect.TypeOf(x))
	}
	var all []any
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, reflect.New(found[name]).Interface())
	}
	return all
}

// nameOf returns the package and the name of a type, without its key type.
func nameOf(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return strings.TrimPrefix(t.PkgPath(), module+"/") + "." + name
}

// data is what a program would hide: all numbers and texts that are given to the methods.
type data struct {
	number float64
	count  int64
	text   string
}

var (
	mine   = data{123456.75, 7654321, "the key of one user"}
	theirs = data{-98765.25, 1234567, "another user's key"}
)

// TestIgnoredErrors is a program that never looks at an error: it makes every object of the library
// by its zero value, and by each constructor from Params that are wrong in one field, gives it data
// by every method, and prints what comes back. What it prints is the same whatever the data are.
func TestIgnoredErrors(t *testing.T) {
	for _, zero := range zeros() {
		t.Run(fmt.Sprintf("%T", zero), func(t *testing.T) {
			sameForAll(t, func() any { return reflect.New(reflect.TypeOf(zero).Elem()).Interface() })
		})
	}
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			dptest.OK(m.make(m.good))(t, "the Params of this test")
			refused := 0
			for i, p := range spoiled(m.good) {
				if testing.Short() && i%4 != 1 {
					continue
				}
				object, err := m.make(p)
				if err == nil {
					checkPromise(t, m, p, object)
					continue
				}
				refused++
				require.True(t, errors.Is(err, budget.ErrParams), "%+v: %v", p, err)
				require.True(t, reflect.ValueOf(object).IsZero(), "%+v: %v, and an object", p, err)
				require.True(t, namesAField(m.name, p, err), "%+v: %v", p, err)
				if m.main {
					promisesNothing(t, p)
				}
			}
			if testing.Short() { // of a quarter of them
				require.Positive(t, refused)
			} else {
				require.Greater(t, refused, 3)
			}
		})
	}
}

// namesAField reports whether an error begins with the package of a constructor, or the one above,
// and a field of its Params, or of a struct in them.
func namesAField(maker string, p any, err error) bool {
	of, text, _ := strings.Cut(err.Error(), ": ")
	in, _, _ := strings.Cut(maker, ".")
	name := text[:len(text)-len(strings.TrimLeft(text, letters))]
	var has func(t reflect.Type) bool
	has = func(t reflect.Type) bool {
		return t.Kind() == reflect.Struct && slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return strings.EqualFold(f.Name, name) || has(f.Type) })
	}
	return (of == in || slices.Contains(strings.Split(in, "/"), of)) && has(reflect.TypeOf(p))
}

// letters are those of a field's name.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// sameForAll gives two objects made alike the data of one user and of another, under the same
// randomness, and compares all that comes back.
func sameForAll(t *testing.T, construct func() any) {
	var printed [2][]string
	for i, d := range []data{mine, theirs} {
		cryptotest.SetGlobalRandom(t, 1)
		printed[i] = exercise(t, reflect.ValueOf(construct()), d, 2)
	}
	require.Len(t, printed[1], len(printed[0]))
	for i, line := range printed[0] {
		require.Equal(t, line, printed[1][i])
	}
}

// checkPromise asks that what New accepts promises something, by the Params as by the object.
func checkPromise(t *testing.T, m maker, p, object any) {
	for _, x := range []any{p, object} {
		if g, ok := x.(interface{ Guarantee() budget.Guarantee }); ok {
			if g.Guarantee().Promises() {
				continue
			}
			require.False(t, m.main, "%s takes %+v, and %T promises nothing", m.name, p, x)
		}
	}
}

// promisesNothing asks that Params which New refuses promise nothing and give no number to plan
// with.
func promisesNothing(t *testing.T, p any) {
	v := reflect.ValueOf(p)
	for i := range v.NumMethod() {
		method := v.Type().Method(i)
		if method.Type.NumIn() != 1 || method.Type.NumOut() == 0 {
			continue
		}
		switch x := v.Method(i).Call(nil)[0].Interface().(type) {
		case budget.Guarantee:
			require.Equal(t, budget.Guarantee{}, x, "%+v", p)
		case float64:
			require.True(t, math.IsNaN(x), "%s of %+v is %g", method.Name, p, x)
		}
	}
}

// spoiled returns the Params with each field, one at a time, at each of some values that mostly are
// out of range.
func spoiled(good any) (all []any) {
	all = append(all, reflect.Zero(reflect.TypeOf(good)).Interface())
	var walk func(path []int, t reflect.Type)
	walk = func(path []int, t reflect.Type) {
		for i := range t.NumField() {
			at, field := append(slices.Clone(path), i), t.Field(i)
			if !field.IsExported() {
				continue
			}
			if field.Type.Kind() == reflect.Struct && field.Type.NumField() > 0 && field.Type.Field(0).IsExported() {
				walk(at, field.Type)
				continue
			}
			for _, x := range wrong(field.Type) {
				p := reflect.New(reflect.TypeOf(good)).Elem()
				p.Set(reflect.ValueOf(good))
				p.FieldByIndex(at).Set(x)
				all = append(all, p.Interface())
			}
		}
	}
	walk(nil, reflect.TypeOf(good))
	return all
}

// wrong returns values of a type that mostly are out of range.
func wrong(t reflect.Type) (all []reflect.Value) {
	for _, x := range []any{
		math.NaN(), math.Inf(1), math.Inf(-1), -1.0, 0.0, 5e-324, 1e300, math.MaxFloat64, -1, 0, math.MinInt, math.MaxInt, uint8(255), uint64(0), uint64(math.MaxUint64),
		true, false, "", hashing.Seed{}, elliptical.VectorOf(math.NaN(), 1), elliptical.VectorOf(1, math.Inf(1)), elliptical.Vector{}, elliptical.VectorOf(3, 3),
		budget.Unit{}, budget.Row(budget.Replace),
	} {
		v := reflect.ValueOf(x)
		if v.Type() == t || v.Kind() == t.Kind() && v.Kind() != reflect.Struct && v.Kind() != reflect.Array && v.CanConvert(t) {
			all = append(all, v.Convert(t))
		}
	}
	return all
}

// exercise calls every method of an object with the data and returns what comes back, in words; and
// of objects of the library that come back, the same, so many levels deep.
func exercise(t *testing.T, object reflect.Value, d data, depth int) (lines []string) {
	if object.Kind() == reflect.Pointer && object.IsNil() {
		return nil
	}
	name := object.Type().String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		if text := fmt.Sprintf(verb, object.Interface()); !strings.Contains(text, "0xc0") {
			// but for addresses
			lines = append(lines, name+" "+verb+" "+text)
		}
	}
	for i := range object.NumMethod() {
		method := object.Type().Method(i)
		args, ok := arguments(method.Type, d)
		if !ok || method.Name == "Format" {
			continue
		}
		require.NotPanics(t, func() {
			for _, result := range object.Method(i).Call(args) {
				lines = append(lines, name+"."+method.Name+": "+show1(result))
				if depth > 0 && holdsData[typePath(result.Type())] && result.Kind() != reflect.Interface && result.Type().Name() != "Params" {
					lines = append(lines, exercise(t, result, d, depth-1)...)
				}
			}
		}, "%s.%s", name, method.Name)
	}
	return lines
}

// holdsData are the packages whose objects are exercised in turn, but for their Params.
var holdsData = map[string]bool{}

func init() {
	for _, zero := range zeros() {
		holdsData[reflect.TypeOf(zero).Elem().PkgPath()] = true
	}
}

// show1 prints a result: of an iterator, what it yields.
func show1(v reflect.Value) string {
	if v.Kind() != reflect.Func {
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			return "an object"
		}
		return fmt.Sprintf("%v", v.Interface())
	}
	text := "yields"
	if !v.IsNil() && v.Type().NumIn() == 1 && v.Type().In(0).Kind() == reflect.Func {
		yield := reflect.MakeFunc(v.Type().In(0), func(args []reflect.Value) []reflect.Value {
			for _, a := range args {
				text += fmt.Sprintf(" %v", a.Interface())
			}
			return []reflect.Value{reflect.ValueOf(true)}
		})
		v.Call([]reflect.Value{yield})
	}
	return text
}

// typePath returns the path of the package of a type, or of what it points to.
func typePath(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// arguments makes arguments of the data, two for a variadic parameter, after the receiver.
func arguments(f reflect.Type, d data) (args []reflect.Value, ok bool) {
	for i := 1; i < f.NumIn(); i++ {
		typ, n := f.In(i), 1
		if f.IsVariadic() && i == f.NumIn()-1 {
			typ, n = typ.Elem(), 2
		}
		for range n {
			v, ok := argument(typ, d)
			if !ok {
				return nil, false
			}
			args = append(args, v)
		}
	}
	return args, true
}

func argument(t reflect.Type, d data) (reflect.Value, bool) {
	switch {
	case t == reflect.TypeFor[*noise.Source]():
		return reflect.ValueOf(new(noise.Source)), true
	case t == reflect.TypeFor[context.Context]():
		return reflect.ValueOf(context.Background()), true
	case t.Kind() == reflect.Bool:
		return reflect.ValueOf(true), true
	case t.Kind() == reflect.String:
		return reflect.ValueOf(d.text).Convert(t), true
	case t.Kind() == reflect.Float64:
		return reflect.ValueOf(d.number), true
	case reflect.ValueOf(d.count).CanConvert(t):
		return reflect.ValueOf(d.count).Convert(t), true
	case t == reflect.TypeFor[[]byte]():
		return reflect.ValueOf([]byte("bytes")), true // where encodings go or come from
	case t.Kind() == reflect.Slice:
		v, ok := argument(t.Elem(), d)
		return reflect.Append(reflect.Zero(t), v, v), ok
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		return reflect.New(t.Elem()), true
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Array:
		return reflect.Zero(t), true
	case t.Kind() == reflect.Func:
		return reflect.MakeFunc(t, func([]reflect.Value) (results []reflect.Value) {
			for i := range t.NumOut() {
				v, ok := argument(t.Out(i), d)
				if !ok {
					v = reflect.Zero(t.Out(i))
				}
				results = append(results, v)
			}
			return results
		}), true
	}
	return reflect.Value{}, false
}

// The lists above are complete: every type with a role that touches data has its zero value in it,
// every exported New… a place among the makers.
func TestIgnoredErrorsIsComplete(t *testing.T) {
	var listed, made []string
	for _, zero := range zeros() {
		listed = append(listed, nameOf(reflect.TypeOf(zero).Elem()))
	}
	for _, m := range makers {
		made = append(made, m.name)
	}
	for _, s := range loaded(t) {
		for name, role := range s.roles() {
			if full := s.path + "." + name; role != isPublic && role != none && full != "noise.Source" {
				require.Contains(t, listed, full, "its zero value is in no list of TestIgnoredErrors")
			}
		}
		for _, name := range s.inner.types.Scope().Names() {
			if strings.HasPrefix(name, "New") && s.path != "noise" && s.path != "hashing" && !slices.Contains(otherConstructors, s.path+"."+name) {
				require.Contains(t, made, s.path+"."+name, "this constructor is in no list of TestIgnoredErrors")
			}
		}
	}
}

// leaky is a Mechanism whose zero value adds no noise, and whose text tells what it was given.
type leaky struct{ seen float64 }

func (l *leaky) Release(x float64) (float64, error) { l.seen = x; return x, budget.ErrParams }
func (l *leaky) String() string                     { return fmt.Sprint(l.seen) }

// The test above sees a value that comes back, and one that is only printed.
func TestIgnoredErrorsSeesALeak(t *testing.T) {
	var printed [2]string
	for i, d := range []data{mine, theirs} {
		l := &leaky{}
		printed[i] = strings.Join(exercise(t, reflect.ValueOf(l), d, 0), "\n")
		require.Contains(t, printed[i], fmt.Sprintf("Release: %v", d.number))
		require.Contains(t, printed[i], fmt.Sprintf("String: %v", d.number))
	}
	require.NotEqual(t, printed[0], printed[1])
}

// An error that names no field, or another package, is seen.
func TestNamesAField(t *testing.T) {
	for text, want := range map[string]bool{"kor: Cells = -1: want more": true, "distinct: Cells: no": true, "kor: cell = 3": false, "jl: Cells = 1": false, "Cells = 1": false} {
		require.Equal(t, want, namesAField("kor/distinct.New", distinctParams, errors.New(text)), text)
	}
}
