package budget

import (
	"fmt"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Releaser is what a Builder of this library is: it knows what its release costs before it makes
// it.
type Releaser[T any] interface {
	Guarantee() Guarantee
	Release() (T, error)
}

// Release spends the guarantee of b from the ledger and then releases b. If the ledger refuses, b
// keeps its data, and nothing is spent; the error is that of [Ledger.Spend]. A Builder that was
// released before costs nothing either: the error wraps [ErrReleased].
//
// What was spent stays spent if the release fails.
func Release[T any](l *Ledger, b Releaser[T]) (T, error) {
	var none T
	if once, ok := b.(interface{ Released() bool }); ok && once.Released() {
		return none, fmt.Errorf("budget: Release: the Builder is %w", fault.ErrReleased)
	}
	if err := l.Spend(b.Guarantee()); err != nil {
		return none, err
	}
	return b.Release()
}
