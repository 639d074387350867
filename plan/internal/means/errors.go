package means

import (
	"fmt"

	"github.com/dpsketch/dpsketch/internal/check"
)

// bad returns the error for a field of the Params.
func bad(field string, value any, want string) error {
	return check.ParamsError("plan", field, value, want)
}

// notMade returns the error for a zero Mechanism, which has no budget to spend.
func notMade() error { return bad("Dim", 0, "a Mechanism made by New") }

// interrupted returns the error of a context that ended a release. Nothing was released.
func interrupted(err error) error { return fmt.Errorf("plan: Release: %w", err) }
