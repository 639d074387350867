// Package check has the errors that all packages of the library share, and checks the public
// numbers and constants that most Params have: the one place that says which ε, δ, ρ, sensitivities
// and relations there are.
//
// Every package that returns one of the errors re-exports it under the same name, so a caller
// writes errors.Is(err, misragries.ErrParams) without importing anything internal. No error text
// ever contains private data: it names the package, the field, the public value and what is wanted.
package check

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

var (
	// ErrParams reports a public parameter outside its range.
	ErrParams = errors.New("parameter out of range")
	// ErrMismatch reports two objects whose Params, Seed or Relation differ where they must agree.
	ErrMismatch = errors.New("parameters do not match")
	// ErrFormat reports bytes that are not the canonical encoding of a valid object.
	ErrFormat = errors.New("malformed encoding")
	// ErrReleased reports a Builder without data: it has been released before, New did not make it,
	// or a wrong call spoilt it. The text says which.
	ErrReleased = errors.New("already released")
	// ErrBudget reports a release that a privacy budget does not allow.
	ErrBudget = errors.New("privacy budget exceeded")
)

// noData is an [ErrReleased] of another reason than a release.
type noData string

func (e noData) Error() string { return string(e) }

func (noData) Is(target error) bool { return target == ErrReleased }

// NoDataError returns an error that is [ErrReleased] and says why a Builder holds no data, such as
// "kor: Release: the Builder" and "was not made by New".
func NoDataError(doing, why string) error { return noData(doing + " " + why) }

// ParamsError returns an error that wraps [ErrParams], such as
// "misragries: Epsilon = -1: want a number in [2⁻³⁰, 1024]: parameter out of range".
func ParamsError(pkg, field string, value any, want string) error {
	return fmt.Errorf("%s: %s = %v: want %s: %w", pkg, field, value, want, ErrParams)
}

// MismatchError returns an error that wraps [ErrMismatch] and names the public field that differs.
func MismatchError(pkg, field string, a, b any) error {
	return fmt.Errorf("%s: %s differs, %v and %v: %w", pkg, field, a, b, ErrMismatch)
}

// Equal returns nil for equal Params, else an error that wraps [ErrMismatch] and names the first
// field that differs.
func Equal[P comparable](pkg string, a, b P) error {
	if a == b {
		return nil
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if p, q := x.Field(i), y.Field(i); !p.Equal(q) {
			return MismatchError(pkg, x.Type().Field(i).Name, p, q)
		}
	}
	return MismatchError(pkg, "Params", a, b) // NaN
}

// BudgetError returns an error that wraps [ErrBudget] and says what was asked for and what remains.
// That is computed when the text is asked for: it takes up to half a second.
func BudgetError(pkg string, asked any, remaining func() any) error {
	return &overdrawn{text: sync.OnceValue(func() string {
		return fmt.Sprintf("%s: %v asked, %v remains: %v", pkg, asked, remaining(), ErrBudget)
	})}
}

type overdrawn struct{ text func() string }

func (e *overdrawn) Error() string { return e.text() }
func (e *overdrawn) Unwrap() error { return ErrBudget }

// FormatError returns an error that wraps [ErrFormat] and says what is wrong with the bytes.
func FormatError(pkg, problem string) error {
	return fmt.Errorf("%s: %s: %w", pkg, problem, ErrFormat)
}

const (
	// MinEpsilon and MaxEpsilon are the ends of ε.
	MinEpsilon = 0x1p-30
	MaxEpsilon = 0x1p10
	// MinDelta is the least δ above 0. It leaves room for the thousandth part of δ and for what a
	// calibration loses.
	MinDelta = 1e-300
	// MinRho and MaxRho are the ends of ρ.
	MinRho = 0x1p-60
	MaxRho = 0x1p20
	// MinReal and MaxReal are the ends of what is measured in the units of the data.
	MinReal = 0x1p-200
	MaxReal = 0x1p200
	// MaxInteger is the most that one record changes where values are integers: 2³³ of them fit
	// into an int64.
	MaxInteger = 0x1p30
)

// Epsilon checks that ε is in [2⁻³⁰, most], for most at most MaxEpsilon.
func Epsilon(pkg string, epsilon, most float64) error {
	if !(epsilon >= MinEpsilon && epsilon <= most) {
		return ParamsError(pkg, "Epsilon", epsilon, fmt.Sprintf("a number in [2⁻³⁰, %g]", most))
	}
	return nil
}

// Delta checks that δ is 0 or in [1e-300, 1).
func Delta(pkg string, delta float64) error {
	if delta != 0 && !(delta >= MinDelta && delta < 1) {
		return ParamsError(pkg, "Delta", delta, "0 or a number in [1e-300, 1)")
	}
	return nil
}

// Rho checks that ρ is in [2⁻⁶⁰, 2²⁰].
func Rho(pkg string, rho float64) error {
	if !(rho >= MinRho && rho <= MaxRho) {
		return ParamsError(pkg, "Rho", rho, "a number in [2⁻⁶⁰, 2²⁰]")
	}
	return nil
}

// EpsilonOrRho checks what a mechanism of Gaussian or other noise takes: ρ alone, or ε with or
// without δ.
func EpsilonOrRho(pkg string, epsilon, delta, rho float64) error {
	switch {
	case rho == 0:
		return cmp.Or(Epsilon(pkg, epsilon, MaxEpsilon), Delta(pkg, delta))
	case epsilon != 0:
		return ParamsError(pkg, "Epsilon", epsilon, "0 where Rho is given")
	case delta != 0:
		return ParamsError(pkg, "Delta", delta, "0 where Rho is given")
	}
	return Rho(pkg, rho)
}

// Real checks that a number in the units of the data is 0, which stands for a default, or in
// [2⁻²⁰⁰, 2²⁰⁰]; where the data are integers, an integer in [0, 2³⁰].
func Real(pkg, field string, x float64, integers bool) error {
	switch {
	case x == 0:
		return nil
	case integers && !(x >= 1 && x <= MaxInteger && x == math.Trunc(x)):
		return ParamsError(pkg, field, x, "0 or an integer in [1, 2³⁰], the values being integers")
	case !(x >= MinReal && x <= MaxReal):
		return ParamsError(pkg, field, x, "0 or a number in [2⁻²⁰⁰, 2²⁰⁰]")
	}
	return nil
}

// SketchPlan checks what a sketch of sets is asked for: a relative error in (0, 1], a size in [1,
// 2⁶⁴], and a number of sketches in [1, most] that are combined.
func SketchPlan(pkg string, relative, size float64, sketches, most int) error {
	switch {
	case !(relative > 0 && relative <= 1):
		return ParamsError(pkg, "relative error", relative, "a number in (0, 1]")
	case !(size >= 1 && size <= 0x1p64):
		return ParamsError(pkg, "largest size", size, "a number in [1, 2⁶⁴]")
	case sketches < 1 || sketches > most:
		return ParamsError(pkg, "number of sketches", sketches, fmt.Sprintf("an integer in [1, %d]", most))
	}
	return nil
}

// Relation checks that a neighbouring relation is 0, which stands for a default, or one of the
// constants.
func Relation[R interface {
	~uint8
	Valid() bool
}](pkg string, r R) error {
	if r != 0 && !r.Valid() {
		return ParamsError(pkg, "Relation", r, "AddRemove or Replace")
	}
	return nil
}

// Confidence reports whether a confidence is in [0, 1).
func Confidence(confidence float64) bool { return confidence >= 0 && confidence < 1 }

// EnumName returns names[value], or such as "Relation(9)" for a value without a name.
func EnumName[T ~uint8](value T, names []string, typeName string) string {
	if int(value) < len(names) && names[value] != "" {
		return names[value]
	}
	return typeName + "(" + strconv.Itoa(int(value)) + ")"
}

// EnumText returns the name of a constant for JSON, flags and logs: empty for 0 where that is no
// constant, and an error for a value that is none of them.
func EnumText[T ~uint8](value T, names []string, typeName string) ([]byte, error) {
	if int(value) < len(names) && (value == 0 || names[value] != "") {
		return []byte(names[value]), nil
	}
	return nil, fmt.Errorf("%w: %s", ErrParams, EnumName(value, nil, typeName))
}

// ParseEnum stores the constant that [EnumText] gives that text in value. It leaves value as it was
// for any other text.
func ParseEnum[T ~uint8](value *T, text []byte, names []string, typeName string) error {
	i := slices.Index(names, string(text))
	if i < 0 || i > 0 && names[i] == "" {
		return fmt.Errorf("%w: no %s is called %q", ErrFormat, typeName, text)
	}
	*value = T(i)
	return nil
}
