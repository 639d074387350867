package memo

import "sync"

// Store is a Table of values that may be large. It keeps values of at most Most bytes in total, as
// measured by Size, and forgets all of them when one more does not fit. A value larger than Most is
// not kept. Set Most and Size before the first Get.
type Store[K comparable, V any] struct {
	Most int
	Size func(V) int

	mutex sync.Mutex
	kept  map[K]V
	used  int // bytes
}

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
	if size := s.Size(v) + least; size <= s.Most {
		s.keep(key, v, size)
	}
	return v, nil
}

// least is what a small value is counted as: it bounds how many are kept, and what their keys and
// the map take.
const least = 1 << 10

// keep keeps a value that fits, unless another goroutine has.
func (s *Store[K, V]) keep(key K, v V, size int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, ok := s.kept[key]; ok {
		return
	}
	if s.used+size > s.Most || s.kept == nil {
		s.kept, s.used = make(map[K]V), 0
	}
	s.kept[key] = v
	s.used += size
}
