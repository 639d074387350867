package plan

import "github.com/dpsketch/dpsketch/internal/check"

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
)

// bad returns the error for an argument.
func bad(field string, value any, want string) error {
	return check.ParamsError("plan", field, value, want)
}
