package plan

import (
	"fmt"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrMismatch = fault.ErrMismatch
	ErrFormat   = fault.ErrFormat
)

// bad returns the error for a field of the Params.
func bad(field string, value any, want string) error { return fault.Params("plan", field, value, want) }

// notMade returns the error for a zero value, which has no budget to spend.
func notMade(name string) error { return bad("Dim", 0, "a "+name+" that its constructor made") }

// interrupted returns the error of a context that ended a release. Nothing was released.
func interrupted(err error) error { return fmt.Errorf("plan: Release: %w", err) }
