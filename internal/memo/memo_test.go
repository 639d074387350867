package memo

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	var table Table[float64, int]
	calls := 0
	get := func(key float64, v int, err error) (int, error) {
		return table.Get(key, func() (int, error) { calls++; return v, err })
	}
	for range 3 {
		v := dptest.OK(get(1, 7, nil))(t)
		require.Equal(t, 7, v)
	}
	require.Equal(t, 1, calls)
	for range 2 { // errors are not kept
		require.Error(t, dptest.Err(get(2, 0, errors.New("no"))))
	}
	require.Equal(t, 3, calls)
	for i := range 1000 { // nor is more than there is room for, also under keys that equal nothing
		dptest.OK(get(math.NaN(), i, nil))(t)
		require.LessOrEqual(t, len(table.kept), mostInTable)
	}
	v := dptest.OK(get(1, 7, nil))(t)
	require.Equal(t, 7, v)
}

func TestTableIsSafeForConcurrentUse(t *testing.T) {
	var table Table[int, int]
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 200 {
				v, err := table.Get(i%100, func() (int, error) { return i % 100, nil })
				if err != nil || v != i%100 {
					t.Error("another value")
				}
			}
		})
	}
	group.Wait()
}
