package budget

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Releaser is what the Builders of this library have in common.
type Releaser[T any] interface {
	Guarantee() Guarantee
	Release() (T, error)
}

// Release spends the guarantee of b and then releases b; if the ledger refuses, b still has its
// data. What was spent stays spent if the release fails. Error: [ErrReleased] if b was released
// before, at no cost.
func Release[T any](l *Ledger, b Releaser[T]) (none T, err error) {
	if err := releasedBefore(b); err != nil {
		return none, err
	}
	return ReleaseFunc(l, b.Guarantee(), b.Release)
}

// releasedBefore returns the error of a Builder without data, which says why it has none.
func releasedBefore[T any](b Releaser[T]) error {
	if once, ok := b.(interface{ Released() bool }); !ok || !once.Released() {
		return nil
	}
	if _, err := b.Release(); errors.Is(err, ErrReleased) {
		return err
	}
	return check.NoDataError("budget: Release: the Builder", "holds no data: it is already released, or it is the zero Builder")
}

// ReleaseFunc spends g and then, if the ledger does not refuse, calls release:
//
//	mean, err := budget.ReleaseFunc(ledger, m.Guarantee(), func() (*plan.Mean, error) {
//		return m.Release(ctx, rows)
//	})
func ReleaseFunc[T any](l *Ledger, g Guarantee, release func() (T, error)) (none T, err error) {
	if err := l.Spend(g); err != nil {
		return none, err
	}
	return release()
}

// ReleaseOnce is [Release] under a name (see [Ledger.SpendOnce]): the output is stored in the
// ledger, in one record with guarantee and name, before it is returned. For a name that was
// released before it returns what is stored, and leaves b alone, so a service that crashes can ask
// again. Meanwhile other spending waits: b must not use the ledger.
//
// Errors: those of SpendOnce, also if the stored object has other Params; then nothing is spent.
// [ErrSpent] says that nothing is stored: the name was spent by SpendOnce, or its release failed.
func ReleaseOnce[T interface {
	*H
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}, H any](l *Ledger, name string, b Releaser[T]) (T, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	defer l.lock().mu.Unlock()
	g := b.Guarantee()
	stored, known, err := l.stored(name, g)
	switch {
	case err != nil:
		return nil, err
	case known && stored == "":
		return nil, fmt.Errorf("budget: %s, of which no output is stored: %w", name, ErrSpent)
	case known:
		return decodeOutput[T](name, stored, b)
	}
	if err := releasedBefore(b); err != nil {
		return nil, err
	}
	if err := l.refusal(g); err != nil {
		return nil, err
	}
	e := entry{part: l.part, name: name, count: 1}
	drawn, failed := b.Release()
	if failed == nil {
		// What is returned now is what is returned later.
		var data []byte
		if data, failed = drawn.AppendBinary(nil); failed == nil {
			e.output = string(data)
			drawn, failed = decodeOutput[T](name, e.output, nil)
		}
	}
	if failed == nil && !validOutput(e.output) {
		failed = check.ParamsError("budget", "output of "+name, fmt.Sprintf("%d bytes", len(e.output)), "1 to 2²⁸ bytes")
	}
	if failed != nil {
		e.output = ""
	}
	if err := l.record(e, g); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return drawn, nil
}

// decodeOutput returns what is stored under a name. Its Params are those of the Builder that asks,
// if any does and tells.
func decodeOutput[T interface {
	*H
	encoding.BinaryUnmarshaler
}, H any](name, stored string, asks any) (T, error) {
	output := T(new(H))
	if err := output.UnmarshalBinary([]byte(stored)); err != nil {
		return nil, fmt.Errorf("budget: the output of %s: %w", name, err)
	}
	if x, y := paramsOf(asks), paramsOf(output); x != nil && y != nil && !reflect.DeepEqual(x, y) {
		return nil, check.MismatchError("budget", "Params of "+name, fmt.Sprintf("%+v", y), fmt.Sprintf("%+v", x))
	}
	return output, nil
}

// paramsOf returns what the method Params of x returns, nil without one.
func paramsOf(x any) any {
	if x == nil {
		return nil
	}
	method := reflect.ValueOf(x).MethodByName("Params")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return nil
	}
	return method.Call(nil)[0].Interface()
}
