package surface

import (
	"encoding"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
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
var released = []object{
	&alp.Projection{}, &arete.Value{},
	&distinct.Cohorts{}, &distinct.Frequencies{}, &distinct.Pair{}, &distinct.Running{}, &distinct.Sketch{}, &distinct.Windows{},
	&column.Quantiles{}, &column.Summary{}, &elliptical.Sum{}, &jl.Sketch{}, &kor.Sketch{}, &kor.StreamSketch{}, &misragries.Histogram[string]{}, &series.Slice[string]{},
	&approx.Advised{}, &approx.Value{}, &plan.Mean{}, &threshold.Vector[string]{}, &groupby.Groups[string]{},
}

// fullName returns the package and the type of a released object, without its key type.
func fullName(o object) string {
	t := reflect.TypeOf(o).Elem()
	name, _, _ := strings.Cut(t.Name(), "[")
	return strings.TrimPrefix(t.PkgPath(), module+"/") + "." + name
}

// The list above is complete, by what the audit of the sources finds.
func TestEveryReleasedTypeIsListed(t *testing.T) {
	var listed, found []string
	for _, o := range released {
		listed = append(listed, fullName(o))
	}
	for _, s := range loaded(t) {
		for name, role := range s.roles() {
			if role == releasedObject {
				found = append(found, s.path+"."+name)
			}
		}
	}
	for _, name := range found {
		require.True(t, slices.Contains(listed, name), "%s lacks a place in the list released, and so a test of its golden file and its concurrent readers", name)
	}
	require.ElementsMatch(t, listed, found)
}

// Each type has a golden file that it decodes, and what it decodes can be used by several
// goroutines at once; the zero value of the type claims no guarantee and has no encoding.
func TestReleasedObjects(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	for _, zero := range released {
		t.Run(fullName(zero), func(t *testing.T) {
			require.Error(t, dptest.Err(zero.MarshalBinary()), "the zero value has an encoding")
			require.Error(t, dptest.Err(json.Marshal(zero)), "the zero value has JSON")
			require.NotEmpty(t, zero.String())
			found, promise := 0, false
			for _, data := range goldenFiles(t, strings.Split(fullName(zero), ".")[0]) {
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
