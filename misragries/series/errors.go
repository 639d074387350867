package series

import "github.com/dpsketch/dpsketch/internal/fault"

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrMismatch = fault.ErrMismatch
	ErrFormat   = fault.ErrFormat
	ErrReleased = fault.ErrReleased
)
