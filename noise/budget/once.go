package budget

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/dpsketch/dpsketch/internal/check"
)

// ReleaseOnce is [Release] for a release with a name (see [Ledger.SpendOnce]), which is drawn once:
// what was drawn is stored in the ledger, in one record with the guarantee and the name, before it
// is returned. If the name was released before, ReleaseOnce returns what is stored, spends nothing,
// and leaves b alone. So a service that crashes at any moment can ask again, with a Builder of the
// same Params and the same data:
//
//	ledger, err := budget.OpenFile(path, 10, 1e-6, user)
//	…
//	visits, err := budget.ReleaseOnce(ledger, "2026-11-22/visits", builder)
//
// T is a pointer to a released object of this library, or to any type that encodes and decodes
// itself. While b releases, other spending from the ledger waits, so b must not use the ledger. The
// ledger, its journal and its snapshots grow by what is stored.
//
// If the ledger refuses, b keeps its data, nothing is spent, and the error is that of
// [Ledger.SpendOnce]: also if the name was spent with another guarantee, or in another part, and if
// the stored object has other Params than b, where b has a method that tells. It wraps [ErrSpent]
// if the name was spent without a stored object: by SpendOnce, or by a release that failed. What
// was spent stays spent if the release fails.
func ReleaseOnce[T interface {
	*H
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}, H any](l *Ledger, name string, b Releaser[T]) (T, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	book := l.open()
	book.mu.Lock()
	defer book.mu.Unlock()
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
	if once, ok := b.(interface{ Released() bool }); ok && once.Released() {
		return nil, releasedBefore(b)
	}
	if err := l.check(g); err != nil {
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

// mostOutput bounds what is stored of one release.
const mostOutput = 1 << 28

func validOutput(output string) bool { return len(output) >= 1 && len(output) <= mostOutput }

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
