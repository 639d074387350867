package surface

import (
	"encoding"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// object is what every released object can do; Params has another type in each package.
type object interface {
	Guarantee() budget.Guarantee
	String() string
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
	json.Marshaler
	json.Unmarshaler
}

// released holds a zero value of every type that decodes, of those with a key type for strings.
// TestIgnoredErrorsIsComplete sees that zeros has them, the audit of the sources that each decodes.
func released() (all []object) {
	for _, zero := range zeros() {
		if o, ok := zero.(object); ok {
			all = append(all, o)
		}
	}
	return all
}

// Each type has a golden file that it decodes, and what it decodes can be used by several
// goroutines at once; the zero value of the type claims no guarantee and has no encoding.
func TestReleasedObjects(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	for _, zero := range released() {
		t.Run(nameOf(reflect.TypeOf(zero).Elem()), func(t *testing.T) {
			require.Error(t, dptest.Err(zero.MarshalBinary()), "the zero value has an encoding")
			require.Error(t, dptest.Err(json.Marshal(zero)), "the zero value has JSON")
			require.NotEmpty(t, zero.String())
			found, promise := 0, false
			for _, data := range goldenFiles(t, strings.Split(nameOf(reflect.TypeOf(zero).Elem()), ".")[0]) {
				o := reflect.New(reflect.TypeOf(zero).Elem()).Interface().(object)
				if o.UnmarshalBinary(data) != nil {
					continue // of another type, or key type
				}
				found++
				// what is combined of several releases may promise nothing by itself
				promise = promise || o.Guarantee() != budget.Guarantee{}
				require.NotEqual(t, zero.String(), o.String())
				params := reflect.ValueOf(o).MethodByName("Params").Call(nil)[0]
				require.True(t, params.Comparable(), "%v is not comparable", params.Type())
				require.False(t, params.IsZero())
				again := dptest.OK(o.AppendBinary([]byte("before")))(t)
				require.Equal(t, "before"+string(data), string(again))
				checkJSON(t, o)
				dptest.Readers(t, o)
			}
			require.Positive(t, found, "there is no golden file testdata/*.hex of this type")
			require.True(t, promise, "no golden file of this type has a guarantee")
		})
	}
}

// checkJSON writes an object as JSON, behind its pointer and by value, and reads it back.
func checkJSON(t *testing.T, o object) {
	text := dptest.OK(json.Marshal(o))(t)
	byValue := dptest.OK(json.Marshal(struct{ O any }{reflect.ValueOf(o).Elem().Interface()}))(t)
	require.Equal(t, `{"O":`+string(text)+"}", string(byValue), "a copy in a struct")
	var members map[string]any
	require.NoError(t, json.Unmarshal(text, &members))
	require.Contains(t, members, "guarantee")
	back := reflect.New(reflect.TypeOf(o).Elem()).Interface().(object)
	require.NoError(t, json.Unmarshal(text, back))
	want := dptest.OK(o.MarshalBinary())(t)
	got := dptest.OK(back.MarshalBinary())(t)
	require.Equal(t, want, got, "bytes after JSON")
}

// goldenFiles returns the bytes of all files testdata/*.hex of a package: hexadecimal, or a dump.
func goldenFiles(t *testing.T, name string) (files [][]byte) {
	paths := dptest.OK(filepath.Glob(filepath.Join(root, name, "testdata", "*.hex")))(t)
	for _, path := range paths {
		text := dptest.OK(os.ReadFile(path))(t)
		var digits strings.Builder
		for line := range strings.Lines(string(text)) {
			line, _, dump := strings.Cut(strings.TrimSpace(line), "  |")
			if dump {
				_, line, _ = strings.Cut(line, "  ")
			} else if len(line) == 8 && digits.Len() > 0 {
				line = "" // the length, at the end of a dump
			}
			digits.WriteString(strings.ReplaceAll(line, " ", ""))
		}
		data := dptest.OK(hex.DecodeString(digits.String()))(t, path)
		files = append(files, data)
	}
	return files
}
