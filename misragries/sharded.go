package misragries

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/keyhash"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sharded counts a stream of keys that many goroutines add to. It is a [Sum] of Builders, one for
// each shard, of which every element goes to one: any number of goroutines may use it at a time,
// also release it while others add. It holds private data, as a Builder does.
//
// The shard of an element is drawn at random. So an element more or less moves no other element to
// another shard, nor to another place in its own, and the guarantee is that of the Sum. It would
// not hold for shards in turn, or for buffers that are flushed into one Builder when they are full:
// there one element changes the order of many. And a key spreads evenly, as the estimate of a Sum
// takes it to.
//
// It takes the memory of so many Builders, and its noise is that of a Sum: at ε = 1, δ = 1e-6, k =
// 1024 a threshold of 15.5 instead of 17. What it loses is what one Builder would: at most n/(k+1).
// Goroutines that each have their own part of the stream are faster with a Builder each, and
// [Sum.Add] at the end.
type Sharded[K hashing.Key] struct {
	shardedSecret[K]
	promise budget.Guarantee
}

// shardedSecret is what a Sharded counts.
type shardedSecret[K hashing.Key] = private.State[shardedState[K]]

type shardedState[K hashing.Key] struct {
	lanes []*lane[K]
	mutex sync.Mutex
	sum   *Sum[K] // of no lanes yet; nil after the release
}

// lane is a shard. Its Builder is there for good, but released when the Sharded is.
type lane[K hashing.Key] struct {
	sync.Mutex
	builder *Builder[K]
	_       [48]byte // no other lane in the same cache line
}

const maxShards = 1 << 16

// NewSharded returns an empty Sharded. More shards make goroutines wait less for each other: twice
// the number of processors do. The number is public. The error wraps [ErrParams] if it is not in
// [1, 2¹⁶], and where that of [NewSum] or [New] does.
func NewSharded[K hashing.Key](p Params, shards int) (*Sharded[K], error) {
	if shards < 1 || shards > maxShards {
		return nil, fault.Params("misragries", "shards", shards, "an integer in [1, 2¹⁶]")
	}
	sum, err := NewSum[K](p)
	if err != nil {
		return nil, err
	}
	lanes := make([]*lane[K], shards)
	for i := range lanes {
		b, err := New[K](p)
		if err != nil {
			return nil, err
		}
		lanes[i] = &lane[K]{builder: b}
	}
	return &Sharded[K]{private.New(shardedState[K]{lanes: lanes, sum: sum}), sum.Guarantee()}, nil
}

// Guarantee returns what the release promises, as [Sum.Guarantee] does. The zero Sharded promises
// nothing.
func (t *Sharded[K]) Guarantee() budget.Guarantee { return t.promise }

// Add counts one element: see [Builder.Add].
func (t *Sharded[K]) Add(key K) {
	if s := t.lock(); s != nil {
		s.builder.Add(key)
		s.Unlock()
	}
}

// AddN counts n elements of the key at once, at most MaxElements: see [Builder.AddN].
func (t *Sharded[K]) AddN(key K, n int) {
	if s := t.lock(); s != nil {
		s.builder.AddN(key, n)
		s.Unlock()
	}
}

// AddSlice adds the keys to one shard: see [Builder.AddSlice]. It takes less time for each than
// Add.
func (t *Sharded[K]) AddSlice(keys []K) {
	if s := t.lock(); s != nil {
		s.builder.AddSlice(keys)
		s.Unlock()
	}
}

// lock returns a shard drawn at random, locked, or nil if there is none.
func (t *Sharded[K]) lock() *lane[K] {
	s := private.Share(t.shardedSecret)
	if s == nil {
		return nil
	}
	l := s.lanes[keyhash.Reduce(rand.Uint64(), len(s.lanes))]
	l.Lock()
	return l
}

// Sum returns all that was counted as a [Sum], to be merged with those of other machines. The
// Sharded gives up its data, and ignores what is added afterwards. The error wraps [ErrReleased].
func (t *Sharded[K]) Sum() (*Sum[K], error) { return t.take("misragries: Sum: the Sharded") }

// Release spends the budget and returns the private histogram of all that was counted. The Sharded
// gives up its data, and ignores what is added afterwards. A second Release returns an error that
// wraps [ErrReleased].
func (t *Sharded[K]) Release() (*Histogram[K], error) {
	sum, err := t.take("misragries: Release: the Sharded")
	if err != nil {
		return nil, err
	}
	return sum.Release()
}

func (t *Sharded[K]) take(doing string) (*Sum[K], error) {
	var sum *Sum[K]
	s := private.Share(t.shardedSecret)
	if s != nil {
		s.mutex.Lock()
		sum, s.sum = s.sum, nil
		s.mutex.Unlock()
	}
	if sum == nil {
		return nil, fmt.Errorf("%s is %w", doing, fault.ErrReleased)
	}
	for _, l := range s.lanes {
		l.Lock()
		err := sum.Add(l.builder)
		l.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// Released reports whether the Sharded has been released, or its Sum taken.
func (t *Sharded[K]) Released() bool {
	s := private.Share(t.shardedSecret)
	if s == nil {
		return true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sum == nil
}
