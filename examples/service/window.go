package main

import (
	"math/rand/v2"
	"sync"

	"github.com/dpsketch/dpsketch/misragries"
)

// window holds the events between two releases, in memory only, spread over builders that take them
// side by side.
//
// The guarantee of the sum of builders is for two streams of which one has one event more, while
// all other events are in the same builders in the same order. So the presence of an event must
// move no other. All events of a request go into one builder of one window, at once, and each
// request draws its builder by itself: take the draws as given, and without the event one builder
// lacks it and nothing else changes. Draws that are independent of the data keep that guarantee on
// average too. Builders that took turns, or took a request in pieces of so many events, would not
// do: one event more, and all later ones could be elsewhere.
type window struct {
	number uint64
	params misragries.Params
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

// add takes the events of a request; many goroutines may call it at once.
func (w *window) add(keys []string) {
	s := &w.shards[rand.IntN(len(w.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builder.AddSlice(keys)
}

// release sums the shards and draws the release. Nobody may add any more. The threshold does not
// depend on the number of shards.
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
