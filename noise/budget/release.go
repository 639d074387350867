package budget

import (
	"errors"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Releaser is what the Builders of this library have in common: their Guarantee says what a release
// costs before it is made.
type Releaser[T any] interface {
	Guarantee() Guarantee
	Release() (T, error)
}

// Release spends the guarantee of b from the ledger and then releases b. If the ledger refuses, b
// keeps its data, nothing is spent, and the error is that of [Ledger.Spend]. If b was released
// before, nothing is spent, and the error wraps [ErrReleased].
//
// What was spent stays spent if the release fails.
func Release[T any](l *Ledger, b Releaser[T]) (T, error) {
	if once, ok := b.(interface{ Released() bool }); ok && once.Released() {
		var none T
		return none, releasedBefore(b)
	}
	return ReleaseFunc(l, b.Guarantee(), b.Release)
}

// releasedBefore returns the error of a Builder without data, which says why it has none.
func releasedBefore[T any](b Releaser[T]) error {
	if _, err := b.Release(); errors.Is(err, ErrReleased) {
		return err
	}
	return check.NoDataError("budget: Release: the Builder", "holds no data: it is already released, or it is the zero Builder")
}

// ReleaseFunc spends g from the ledger and then calls release, for a release that takes more than
// one argument, such as a mean of rows:
//
//	mean, err := budget.ReleaseFunc(ledger, m.Guarantee(), func() (*plan.Mean, error) {
//		return m.Release(ctx, rows)
//	})
//
// A stream that is released step by step pays once, before it begins:
//
//	s, err := budget.ReleaseFunc(ledger, p.Guarantee(), func() (*series.Builder[string], error) {
//		return series.New[string](p)
//	})
//
// If the ledger refuses, release is not called, and nothing is spent; the error is that of
// [Ledger.Spend]. What was spent stays spent if the release fails.
func ReleaseFunc[T any](l *Ledger, g Guarantee, release func() (T, error)) (T, error) {
	if err := l.Spend(g); err != nil {
		var none T
		return none, err
	}
	return release()
}
