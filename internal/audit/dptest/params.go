package dptest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Params checks that every answer to Params refuses a field out of its range, with an error that
// wraps check.ErrParams and begins "pkg: Field = ". valid is accepted by all; bad has the values to
// refuse, by field. NaN and both infinities are tried for every field of type float64, bad or not.
// An answer is a constructor, Plan, Fit, or whatever else takes the Params.
func Params[P any](t testing.TB, pkg string, valid P, bad map[string][]any, answers map[string]func(P) error) {
	t.Helper()
	for _, problem := range paramsProblems(pkg, valid, bad, answers) {
		t.Error(problem)
	}
}

func paramsProblems[P any](pkg string, valid P, bad map[string][]any, answers map[string]func(P) error) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for name, answer := range answers {
		if err := answer(valid); err != nil {
			report("%s refuses %+v: %v", name, valid, err)
		}
	}
	structure := reflect.TypeFor[P]()
	for field := range bad {
		if _, ok := structure.FieldByName(field); !ok {
			report("there is no field %s", field)
		}
	}
	for i := range structure.NumField() {
		field := structure.Field(i)
		values := bad[field.Name]
		if field.Type.Kind() == reflect.Float64 {
			values = append([]any{math.NaN(), math.Inf(1), math.Inf(-1)}, values...)
		}
		for _, x := range values {
			p := valid
			reflect.ValueOf(&p).Elem().Field(i).Set(reflect.ValueOf(x).Convert(field.Type))
			for name, answer := range answers {
				switch err := answer(p); {
				case err == nil:
					report("%s accepts %s = %v", name, field.Name, x)
				case !errors.Is(err, check.ErrParams):
					report("%s of %s = %v: the error does not wrap ErrParams: %v", name, field.Name, x, err)
				case !strings.HasPrefix(err.Error(), pkg+": "+field.Name+" = "):
					report("%s of %s = %v: the error does not name the field: %v", name, field.Name, x, err)
				}
			}
		}
	}
	return problems
}
