package memo

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStore(t *testing.T) {
	const most = 100 * least
	store := Store[float64, int]{Most: most, Size: func(v int) int { return v }}
	calls := 0
	get := func(key float64, v int, err error) int {
		got, failed := store.Get(key, func() (int, error) { calls++; return v, err })
		require.Equal(t, err, failed)
		require.LessOrEqual(t, store.used, most)
		return got
	}
	for range 3 {
		require.Equal(t, 50*least, get(1, 50*least, nil))
	}
	require.Equal(t, 1, calls)
	for range 2 { // neither errors are kept nor what is too large
		get(2, 7, errors.New("no"))
		require.Equal(t, most-least+1, get(3, most-least+1, nil))
	}
	require.Equal(t, 5, calls)
	require.Equal(t, 48*least, get(4, 48*least, nil)) // both fit, to the last byte
	require.Equal(t, 50*least, get(1, 0, nil))
	require.Equal(t, 6, calls)
	get(5, 0, nil) // and this one does not: all others are forgotten
	require.Equal(t, 9, get(1, 9, nil))
	require.Equal(t, least+least+9, store.used)
	for i := range 1000 { // under keys that equal nothing
		get(math.NaN(), i, nil)
		require.LessOrEqual(t, len(store.kept), 100)
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	store := Store[int, int]{Most: 20 * least, Size: func(int) int { return 0 }}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 200 {
				if v, err := store.Get(i%30, func() (int, error) { return i % 30, nil }); err != nil || v != i%30 {
					t.Error("another value")
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, len(store.kept)*least, store.used, "what two computed at a time counts once")
}
