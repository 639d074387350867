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

// Mechanism is what a Mechanism of this library is: it holds no data, and each release of what it is
// given spends its guarantee again.
type Mechanism[X, T any] interface {
	Guarantee() Guarantee
	Release(x X) (T, error)
}

// ReleaseOf spends the guarantee of m from the ledger and then releases x by it. If the ledger
// refuses, nothing is spent or released; the error is that of [Ledger.Spend].
//
// What was spent stays spent if the release fails.
func ReleaseOf[X, T any](l *Ledger, m Mechanism[X, T], x X) (T, error) {
	if err := l.Spend(m.Guarantee()); err != nil {
		var none T
		return none, err
	}
	return m.Release(x)
}
