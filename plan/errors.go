package plan

import "github.com/dpsketch/dpsketch/internal/fault"

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrMismatch = fault.ErrMismatch
	ErrFormat   = fault.ErrFormat
)

// bad returns the error for an argument.
func bad(field string, value any, want string) error { return fault.Params("plan", field, value, want) }
