package dptest

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// Leaks prints value in every way a program prints by accident and returns a line for each way in
// which a secret shows, nil if there is none. The ways are
//
//   - the value, what it points to, a pointer to it, and structs (exported, unexported, interface
//     fields, concrete fields), slices, arrays and maps that hold it or what it points to;
//   - for each: fmt with every letter as a verb, the known ones (with -long all) under many flags,
//     Sprint, Sprintln, errors that wrap it, slog with the text and the JSON handler,
//     encoding/json, xml and gob, their error texts included.
//
// A secret is a text, or the decimal form of an integer or a float that the value holds. It is
// looked for as it is and, ignoring case, spaces and 0x, in the forms of [needles]: hexadecimal,
// base64, decimal bytes, quoted, and for numbers the other bases, exponents and the binary forms. A
// secret of fewer than 8 bytes could occur by chance (in an address, say) and is reported as a
// misuse; so is a call without secrets.
//
// An address that is printed is no leak. Reading memory through package unsafe, as debuggers and
// the failure output of some test libraries do, is not covered.
func Leaks(value any, secrets ...string) []string {
	if len(secrets) == 0 {
		return []string{"misuse: no secrets given"}
	}
	var leaks []string
	var wanted []needle
	for _, s := range secrets {
		if len(s) < 8 {
			leaks = append(leaks, fmt.Sprintf("misuse: the secret %q is shorter than 8 bytes", s))
			continue
		}
		wanted = append(wanted, needles(s)...)
	}
	clean := map[string]bool{} // texts that show nothing: many ways print the same
	for _, f := range forms(value) {
		for _, out := range outputs(f.value) {
			if clean[out.text] {
				continue
			}
			hay, before := newHaystack(out.text), len(leaks)
			for _, n := range wanted {
				if hay.holds(n) {
					leaks = append(leaks, fmt.Sprintf("%s of %s shows the secret %q (%s)", out.how, f.name, n.secret, n.form))
					break
				}
			}
			clean[out.text] = len(leaks) == before
		}
	}
	return leaks
}

// Redacted fails the test if a secret shows when value is printed; see [Leaks].
func Redacted(t testing.TB, value any, secrets ...string) {
	t.Helper()
	const most = 10
	leaks := Leaks(value, secrets...)
	for i, leak := range leaks {
		if i == most {
			t.Errorf("%T: and %d more", value, len(leaks)-most)
			break
		}
		t.Errorf("%T: %s", value, leak)
	}
}

// form is one Go value that contains the value under test.
type form struct {
	name  string
	value any
}

// forms returns the values to print.
func forms(value any) []form {
	type hidden struct{ field any }
	type open struct{ Field any }
	list := []form{
		{"the value", value},
		{"an unexported interface field", hidden{value}},
		{"a pointer to a struct with an unexported field", &hidden{value}},
		{"an exported interface field", open{value}},
		{"a pointer to a struct with an exported field", &open{value}},
		{"a []any", []any{value, value}},
		{"a map of any", map[string]any{"k": value}},
		{"a nested struct", struct{ outer open }{open{hidden{value}}}},
	}
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return list
	}
	list = append(list, concrete("it", v)...)
	// An unexported field that holds it: package fmt prints this reflect.Value without calling
	// methods.
	inside := reflect.ValueOf(hidden{value}).Field(0).Elem()
	list = append(list, form{"an unexported concrete field", inside})
	for depth := 1; depth <= 3 && v.Kind() == reflect.Pointer && !v.IsNil(); depth++ {
		v, inside = v.Elem(), inside.Elem()
		name := strings.Repeat("*", depth) + "it"
		list = append(list, concrete(name, v)...)
		list = append(list, form{"an unexported concrete field of " + name, inside})
	}
	return list
}

// concrete returns values whose static type has v's type in it.
func concrete(name string, v reflect.Value) []form {
	t := v.Type()
	pointer := reflect.New(t)
	pointer.Elem().Set(v)
	pointers := reflect.New(pointer.Type())
	pointers.Elem().Set(pointer)
	slice := reflect.MakeSlice(reflect.SliceOf(t), 2, 2)
	slice.Index(1).Set(v)
	array := reflect.New(reflect.ArrayOf(1, t)).Elem()
	array.Index(0).Set(v)
	record := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Field", Type: t}})).Elem()
	record.Field(0).Set(v)
	table := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), t))
	table.SetMapIndex(reflect.ValueOf("k"), v)
	list := []form{
		{name, v.Interface()},
		{"a pointer to " + name, pointer.Interface()},
		{"a pointer to a pointer to " + name, pointers.Interface()},
		{"a slice of " + name, slice.Interface()},
		{"an array of " + name, array.Interface()},
		{"an exported concrete field of " + name, record.Interface()},
		{"a map to " + name, table.Interface()},
	}
	if t.Comparable() && v.Comparable() {
		keys := reflect.MakeMap(reflect.MapOf(t, reflect.TypeFor[bool]()))
		keys.SetMapIndex(v, reflect.ValueOf(true))
		list = append(list, form{"a map from " + name, keys.Interface()})
	}
	return list
}

// output is one printed text.
type output struct{ how, text string }

// outputs prints a value in every way.
func outputs(value any) []output {
	var list []output
	add := func(how string, print func() string) {
		defer func() { // a panic's text is printed, too
			if r := recover(); r != nil {
				list = append(list, output{how + " (panic)", fmt.Sprint(r)})
			}
		}()
		list = append(list, output{how, print()})
	}
	for _, flags := range []string{"", "+", "#", "# ", " ", "-", "0", "+#", "60", "-60.50", "+.3", "#060", "[1]"} {
		for c := 'A'; c <= 'z'; c++ {
			known := strings.ContainsRune("vTtbcdoOqxXUeEfFgGspw", c) // to package fmt
			if c <= 'Z' || c >= 'a' {
				if flags != "" && !known && !Long() { // printed as without the flags
					continue
				}
				verb := "%" + flags + string(c)
				add(verb, func() string { return fmt.Sprintf(verb, value) })
			}
		}
	}
	add("Sprint", func() string { return fmt.Sprint(value) })
	add("Sprintln", func() string { return fmt.Sprintln(value, value) })
	add("wrapped error", func() string {
		err, ok := value.(error)
		if !ok {
			err = fmt.Errorf("%v", value)
		}
		err = fmt.Errorf("outer: %w", errors.Join(err, errors.New("other")))
		return fmt.Sprintf("%v %+v %#v %q", err, err, err, err)
	})
	add("slog text", func() string {
		var b bytes.Buffer
		slog.New(slog.NewTextHandler(&b, nil)).Info("m", "k", value, slog.Group("g", "k", value))
		return b.String()
	})
	add("slog JSON", func() string {
		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("m", "k", value, slog.Group("g", "k", value))
		return b.String()
	})
	add("json", func() string { b, err := json.Marshal(value); return fmt.Sprintf("%s %v", b, err) })
	add("xml", func() string { b, err := xml.Marshal(value); return fmt.Sprintf("%s %v", b, err) })
	add("gob", func() string {
		var b bytes.Buffer
		err := gob.NewEncoder(&b).Encode(value)
		return b.String() + fmt.Sprintf(" %v", err)
	})
	return list
}
