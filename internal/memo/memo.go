// Package memo remembers what was computed from public numbers: the calibrations of mechanisms, and
// public matrices, so that a service which opens a Builder each minute with the same Params
// calibrates once.
package memo

import "sync"

// Table is a Store of small values, of which it keeps at most 64. The zero value is ready.
type Table[K comparable, V any] = Store[K, V]

// Store keeps what functions returned, by their arguments. It must not hold private data, and what
// it returns is shared: nobody may change it. With Size it keeps values of at most Most bytes in
// total, as measured by Size. It forgets all of them when one more does not fit. A value larger
// than Most is not kept. Set Most and Size before the first Get.
type Store[K comparable, V any] struct {
	Most int
	Size func(V) int

	mutex sync.Mutex
	kept  map[K]V
	used  int // bytes, or values of a Table
}

const (
	// mostInTable is how many values a Table keeps.
	mostInTable = 64
	// least is what a small value is counted as: it bounds how many are kept, and what their keys
	// and the map take.
	least = 1 << 10
)

// Get returns what is kept for the key, or else what compute returns, which is kept if it fits and
// there was no error. Two concurrent callers may compute the same value.
func (s *Store[K, V]) Get(key K, compute func() (V, error)) (V, error) {
	s.mutex.Lock()
	v, ok := s.kept[key]
	s.mutex.Unlock()
	if ok {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return v, err
	}
	size, most := 1, mostInTable
	if s.Size != nil {
		size, most = s.Size(v)+least, s.Most
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, ok := s.kept[key]; ok || size > most { // ok: another goroutine computed it, too
		return v, nil
	}
	if s.used+size > most || s.kept == nil {
		s.kept, s.used = make(map[K]V), 0
	}
	s.kept[key] = v
	s.used += size
	return v, nil
}
