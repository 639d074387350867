package means

import (
	"math"
	"sync"
	"sync/atomic"
)

// workers runs part(i, worker) for i = 0, …, n−1 in chunks on the given number of goroutines, until
// stop says so.
func workers(count, n int, stop func() error, part func(i, worker int)) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	run := func(worker int) {
		for failed.Load() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := stop(); err != nil {
				failed.Store(&err)
				return
			}
			part(i, worker)
		}
	}
	var group sync.WaitGroup
	for worker := 1; worker < count; worker++ {
		group.Go(func() { run(worker) })
	}
	run(0)
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// block is the number of rows that a worker takes at a time.
const block = 64

// cap1 returns x, at least 1.
func cap1(x float64) float64 { return math.Max(x, 1) }
