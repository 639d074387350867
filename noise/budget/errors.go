package budget

import (
	"errors"

	"github.com/dpsketch/dpsketch/internal/check"
)

var (
	// ErrParams reports a public parameter outside its range. The text names the parameter, its
	// value and the range.
	ErrParams = check.ErrParams
	// ErrMismatch reports guarantees for different units, which do not compose.
	ErrMismatch = check.ErrMismatch
	// ErrBudget reports a guarantee that a [Ledger] does not accept. The text names what was asked
	// and what remains.
	ErrBudget = check.ErrBudget
	// ErrFormat reports bytes or text that do not encode a value of this package.
	ErrFormat = check.ErrFormat
	// ErrSpent reports a name that was paid for before: see [Ledger.SpendOnce].
	ErrSpent = errors.New("already spent")
	// ErrReleased reports a Builder that has been released before.
	ErrReleased = check.ErrReleased
)
