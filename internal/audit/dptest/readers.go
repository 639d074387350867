package dptest

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// Readers calls every exported method of a released object from several goroutines at once, and
// checks that all of them see what one goroutine saw alone. Run under the race detector it finds
// state that a reader changes; without it, state that changes results.
//
// Arguments are made up: 0.9 for a float, 1 for an integer, the object itself where its own type is
// wanted, else the zero value. An iterator that is returned is drained. Methods that decode, and
// those with arguments of interface or function type, are left out.
func Readers(t testing.TB, object any) {
	t.Helper()
	want, err := readAll(object)
	if err != nil {
		t.Fatalf("%T: %v", object, err)
	}
	if len(want) == 0 {
		t.Fatalf("%T has no method to read with", object)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				got, err := readAll(object)
				for name, result := range want {
					if err != nil || got[name] != result {
						t.Errorf("%T: %s: alone %.200s, among readers %.200s (%v)", object, name, result, got[name], err)
					}
				}
			}
		})
	}
	group.Wait()
}

// readAll calls the methods one after the other and returns the printed results by name.
func readAll(object any) (results map[string]string, err error) {
	results = make(map[string]string)
	v := reflect.ValueOf(object)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		args, ok := arguments(v, v.Method(i).Type())
		if !ok || strings.HasPrefix(name, "Unmarshal") || strings.HasPrefix(name, "Format") {
			continue
		}
		func() {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("%s panics: %v", name, r)
				}
			}()
			results[name] = printed(v.Method(i).Call(args))
		}()
	}
	return results, err
}

// arguments makes up arguments for a method; false if it cannot.
func arguments(object reflect.Value, method reflect.Type) (args []reflect.Value, ok bool) {
	for i := range method.NumIn() {
		in := method.In(i)
		arg := reflect.New(in).Elem()
		switch {
		case i == method.NumIn()-1 && method.IsVariadic():
			return args, true
		case in == object.Type():
			arg = object
		case arg.CanFloat():
			arg.SetFloat(0.9)
		case arg.CanInt():
			arg.SetInt(1)
		case arg.CanUint():
			arg.SetUint(1)
		case in.Kind() == reflect.Interface, in.Kind() == reflect.Func, in.Kind() == reflect.Pointer:
			return nil, false
		}
		args = append(args, arg)
	}
	return args, true
}

// printed prints results; iterators are drained, pointers followed. Of a released object it prints
// what is public: its text and its encoding.
func printed(results []reflect.Value) string {
	var b strings.Builder
	for _, r := range results {
		switch {
		case r.Kind() == reflect.Func && r.Type().CanSeq2():
			for k, v := range r.Seq2() {
				fmt.Fprintf(&b, "%v:%v ", k, v)
			}
		case r.Kind() == reflect.Func && r.Type().CanSeq():
			for v := range r.Seq() {
				fmt.Fprintf(&b, "%v ", v)
			}
		case r.Kind() == reflect.Pointer && !r.IsNil() && r.Type().Implements(reflect.TypeFor[encoding.BinaryMarshaler]()):
			data, err := r.Interface().(encoding.BinaryMarshaler).MarshalBinary()
			fmt.Fprintf(&b, "%v %x %v ", r, data, err)
		case r.Kind() == reflect.Pointer && !r.IsNil():
			fmt.Fprintf(&b, "%v ", r.Elem())
		default:
			fmt.Fprintf(&b, "%v ", r)
		}
	}
	return b.String()
}
