// Package check has the errors that all packages of the library share, and checks the public
// numbers and constants that most Params have: the one place that says which ε, δ, ρ, sensitivities
// and relations there are.
//
// Every package that returns one of the errors re-exports it under the same name, so a caller
// writes errors.Is(err, misragries.ErrParams) without importing anything internal. No error text
// ever contains private data: it names the package, the field, the public value and what is wanted.
package check

import (
	"errors"
	"fmt"
	"reflect"
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
