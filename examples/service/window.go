package main

import (
	"sync"
	"sync/atomic"

	"github.com/dpsketch/dpsketch/misragries"
)

// window holds the events between two releases, in memory only, spread over builders that take them side by side.
type window struct {
	number uint64
	params misragries.Params
	next   atomic.Uint64
	shards []shard
}

type shard struct {
	mu      sync.Mutex
	builder *misragries.Builder[string]
	_       [48]byte // so that two locks are not in one cache line
}

func newWindow(number uint64, p misragries.Params, shards int) (*window, error) {
	w := &window{number: number, params: p, shards: make([]shard, max(shards, 1))}
	for i := range w.shards {
		b, err := misragries.New[string](p)
		if err != nil {
			return nil, err
		}
		w.shards[i].builder = b
	}
	return w, nil
}

// add takes events; many goroutines may call it at once.
func (w *window) add(keys []string) {
	s := &w.shards[w.next.Add(1)%uint64(len(w.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builder.AddSlice(keys)
}

// release sums the shards and draws the release. Nobody may add any more. The threshold does not depend on the number of shards.
func (w *window) release() (*misragries.Histogram[string], error) {
	sum, err := misragries.NewSum[string](w.params)
	if err != nil {
		return nil, err
	}
	for i := range w.shards {
		if err := sum.Add(w.shards[i].builder); err != nil {
			return nil, err
		}
	}
	return sum.Release()
}
