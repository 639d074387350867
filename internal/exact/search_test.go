package exact

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeastInt(t *testing.T) {
	for _, from := range []int64{-5, 0, 1, 40} {
		for least := from; least < from+70; least++ {
			calls := 0
			got := LeastInt(from, func(n int64) bool {
				calls++
				if n < from {
					t.Fatalf("asked for %d below %d", n, from)
				}
				return n >= least
			})
			if got != least || calls > 16 {
				t.Errorf("from %d: got %d in %d calls, want %d", from, got, calls, least)
			}
		}
	}
	if got := LeastInt(0, func(n int64) bool { return n >= 1<<60+12345 }); got != 1<<60+12345 {
		t.Errorf("got %d", got)
	}
}

func TestLeastNear(t *testing.T) {
	for least := int64(3); least <= 40; least++ {
		for guess := int64(-2); guess < 50; guess++ {
			calls := 0
			got := LeastNear(3, 40, guess, func(n int64) bool {
				calls++
				if n < 3 || n >= 40 {
					t.Fatalf("asked for %d", n)
				}
				return n >= least
			})
			if got != least || calls > 12 {
				t.Errorf("guess %d: got %d in %d calls, want %d", guess, got, calls, least)
			}
			if (guess == least || guess == least-1) && calls > 2 {
				t.Errorf("%d calls by the guess %d of %d", calls, guess, least)
			}
		}
	}
	if got := LeastNear(0, 1<<62, 1<<61, func(n int64) bool { return n >= 1<<60+12345 }); got != 1<<60+12345 {
		t.Errorf("got %d", got)
	}
}

func TestMinimum(t *testing.T) {
	for _, want := range []float64{-1.7, 0, 0.3, 2} {
		at, value := Minimum(-2, 2, 60, func(x float64) float64 { return 3 + (x-want)*(x-want) })
		require.InDelta(t, want, at, 1e-6)
		require.InDelta(t, 3, value, 1e-12)
		at, _ = Minimum(-2, 4, 80, func(x float64) float64 { // nothing below want − 1
			if x < want-1 {
				return math.NaN()
			}
			return math.Abs(x - want)
		})
		require.InDelta(t, want, at, 1e-9)
	}
}

func TestRoot(t *testing.T) {
	for _, want := range []float64{-1.75, 0.1, 1.9} {
		for _, sign := range []float64{1, -1} {
			got := Root(-2, 2, 60, func(x float64) float64 { return sign * (x*x*x - want*want*want) })
			require.InDelta(t, want, got, 1e-14)
			require.GreaterOrEqual(t, sign*(got*got*got-want*want*want)*sign, 0.0, "the end towards hi")
		}
	}
}

func TestLeastFloat(t *testing.T) {
	for _, want := range []float64{-3, -5e-324, 0, 5e-324, 0.1, 1e300} {
		require.Equal(t, want, LeastFloat(-10, math.MaxFloat64, func(x float64) bool { return x >= want }))
	}
	require.Equal(t, 7.0, LeastFloat(3, 7, func(float64) bool { return false }), "in any case hi")
}
