package dptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Builder checks what all Builders have in common. fresh returns a new one that holds data; use
// calls each of its methods that take data; others have other Params.
//
//   - it releases once, for all of its copies; then, and on a zero Builder, use does nothing, and
//     Release, Merge, AppendPrivateState and RestorePrivateState return check.ErrReleased, with a
//     text that says which it is;
//   - it has a guarantee before and after, the zero Builder none;
//   - Merge refuses itself, nil and the others, and takes the data of the Builder it merges; a
//     refusal changes nothing;
//   - a state moves whole into a new Builder, and one without its last byte, or that of another, is
//     refused and changes nothing;
//   - every verb of fmt prints the same before and after use;
//   - json.Marshal and json.Unmarshal are errors.
//
// Methods that the Builder does not have are not asked for. Where RestorePrivateState is told how
// much is published, the Builder releases again and again: its release is not final, and it moves
// no state here.
// internal/audit/surface asks for this test of every Builder.
func Builder[T any](t testing.TB, fresh func() *T, use func(*T), others ...*T) {
	t.Helper()
	for _, problem := range builderProblems(fresh, use, others) {
		t.Errorf("%T: %s", fresh(), problem)
	}
}

func builderProblems[T any](fresh func() *T, use func(*T), others []*T) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	call := func(b *T, method string, args ...any) (out []reflect.Value, has bool) {
		m := reflect.ValueOf(b).MethodByName(method)
		if !m.IsValid() {
			return nil, false
		}
		in := make([]reflect.Value, len(args))
		for i, arg := range args {
			if in[i] = reflect.ValueOf(arg); in[i].Type() != m.Type().In(i) {
				return nil, false // it takes a Builder of another type
			}
		}
		for len(in) < m.Type().NumIn() { // how much is published, of RestorePrivateState
			in = append(in, reflect.Zero(m.Type().In(len(in))))
		}
		return m.Call(in), true
	}
	// wants checks the error that a method returns last, if there is such a method.
	wants := func(what string, target error, text string, b *T, method string, args ...any) {
		out, has := call(b, method, args...)
		if !has {
			return
		}
		switch err, _ := out[len(out)-1].Interface().(error); {
		case target == nil && err != nil:
			report("%s: %s: %v", what, method, err)
		case target != nil && (!errors.Is(err, target) || !strings.Contains(err.Error(), text)):
			report("%s: %s: want an error %v with %q, got %v", what, method, target, text, err)
		}
	}
	released := func(b *T) bool {
		out, _ := call(b, "Released")
		return out[0].Bool()
	}
	promise := func(b *T) any {
		out, _ := call(b, "Guarantee")
		return out[0].Interface()
	}
	gone := func(what, text string, b *T) {
		use(b)
		if !released(b) {
			report("%s: it is not Released", what)
		}
		wants(what, check.ErrReleased, text, b, "Release")
		wants(what, check.ErrReleased, text, b, "Step")
		wants(what, check.ErrReleased, text, b, "Merge", fresh())
		wants(what+", to be merged", check.ErrReleased, text, fresh(), "Merge", b)
		wants(what, check.ErrReleased, text, b, "AppendPrivateState", []byte(nil))
		wants(what, check.ErrReleased, text, b, "RestorePrivateState", []byte("a state"))
	}

	b := fresh()
	copied, before := *b, promise(b)
	if reflect.DeepEqual(before, promise(new(T))) {
		report("its guarantee is that of a zero Builder, nothing")
	}
	if released(b) {
		report("it is Released before its release")
	}
	use(b)
	wants("a new Builder", nil, "", b, "Release")
	wants("a new Builder", nil, "", b, "Step")
	// One that releases again and again restores its state beside the number of what is published.
	restore := reflect.ValueOf(b).MethodByName("RestorePrivateState")
	again := restore.IsValid() && restore.Type().NumIn() == 2
	if !again {
		gone("released", "already released", b)
		gone("a copy of a released one", "already released", &copied)
		if !reflect.DeepEqual(before, promise(b)) {
			report("its guarantee is another one after the release")
		}
	}
	gone("a zero Builder", "not made by New", new(T))

	b = fresh()
	wants("itself", check.ErrMismatch, "itself", b, "Merge", b)
	wants("nil", check.ErrReleased, "is nil", b, "Merge", (*T)(nil))
	state, moves := call(b, "AppendPrivateState", []byte(nil))
	for i, other := range others {
		what := fmt.Sprintf("other %d", i)
		wants(what, check.ErrMismatch, "", b, "Merge", other)
		if moves {
			wants(what, check.ErrMismatch, "", other, "RestorePrivateState", state[0].Interface())
		}
		if released(b) || released(other) {
			report("%s: a Merge that was refused has taken data", what)
		}
	}
	if moves && !again {
		stateOf := func(b *T) []byte {
			out, _ := call(b, "AppendPrivateState", []byte(nil))
			return out[0].Bytes()
		}
		data, moved := state[0].Bytes(), fresh()
		use(moved)
		before := stateOf(moved)
		wants("a state without its last byte", check.ErrFormat, "", moved, "RestorePrivateState", data[:len(data)-1])
		if !bytes.Equal(before, stateOf(moved)) || !bytes.Equal(data, stateOf(b)) {
			report("what was refused has changed its state")
		}
		wants("its state", nil, "", moved, "RestorePrivateState", data)
		if !bytes.Equal(data, stateOf(moved)) {
			report("its state has changed on the way into another one")
		}
	}
	plain := outputs(b)
	use(b)
	for i, out := range outputs(b) {
		if out != plain[i] && out.how[0] == '%' { // others print the time, or addresses
			report("by %s its data show", out.how)
			break
		}
	}
	second := fresh()
	wants("another one", nil, "", b, "Merge", second)
	if _, merges := call(fresh(), "Merge", fresh()); merges {
		gone("merged", "was merged", second)
	}

	for _, x := range []any{fresh(), *fresh(), struct{ Field *T }{fresh()}} {
		if out, err := json.Marshal(x); err == nil {
			report("json.Marshal of %T gives %s", x, out)
		}
	}
	if json.Unmarshal([]byte(`{}`), fresh()) == nil || json.Unmarshal([]byte(`"text"`), fresh()) == nil {
		report("json.Unmarshal changes it")
	}
	return problems
}
