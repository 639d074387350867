package dptest

import (
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type quiet struct{ values []int }

func (q *quiet) At(i int) int           { return q.values[i] }
func (q *quiet) Same(other *quiet) bool { return q == other }
func (q *quiet) All() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) { _ = yield(0, q.values[0]) }
}
func (q *quiet) Names() []string { return []string{"a"} }
func (q *quiet) UnmarshalBinary([]byte) error {
	panic("must not be called")
}

type counting struct{ calls atomic.Int64 }

func (c *counting) Estimate(float64) int64 { return c.calls.Add(1) }

type panicking struct{}

func (*panicking) Estimate() int { panic("no") }

func TestReaders(t *testing.T) {
	q := &quiet{[]int{7, 8}}
	Readers(t, q)
	results, err := readAll(q)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"At": "8 ", "Same": "true ", "All": "0:7 ", "Names": "[a] "}, results)

	require.True(t, fails(func(t testing.TB) { Readers(t, &counting{}) }), "a result that changes must be found")
	_, err = readAll(&panicking{})
	require.Error(t, err)
	require.Contains(t, fmt.Sprint(err), "Estimate panics")
}
