// Package memo remembers what was computed from public numbers: the calibrations of mechanisms, and
// public matrices, so that a service which opens a Builder each minute with the same Params
// calibrates once.
package memo

import "sync"

// Table keeps what functions returned, by their arguments. The zero value is ready. It must not
// hold private data, and what it returns is shared: nobody may change it.
type Table[K comparable, V any] struct {
	mutex sync.Mutex
	kept  map[K]V
}

// most is how many values a table keeps. One more, and it forgets all of them.
const most = 64

// Get returns what is kept for the key, or else what compute returns, which is kept unless it is an
// error. Two callers at a time may compute the same.
func (t *Table[K, V]) Get(key K, compute func() (V, error)) (V, error) {
	t.mutex.Lock()
	v, ok := t.kept[key]
	t.mutex.Unlock()
	if ok {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return v, err
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.kept) >= most || t.kept == nil {
		t.kept = make(map[K]V)
	}
	t.kept[key] = v
	return v, nil
}
