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

// interrupted returns the error of a context that ended a release. Nothing was released.
func interrupted(err error) error { return fmt.Errorf("plan: Release: %w", err) }
