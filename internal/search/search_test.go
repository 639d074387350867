package search

import "testing"

func TestLeast(t *testing.T) {
	for _, from := range []int64{-5, 0, 1, 40} {
		for least := from; least < from+70; least++ {
			calls := 0
			got := Least(from, func(n int64) bool {
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
	if got := Least(0, func(n int64) bool { return n >= 1<<60+12345 }); got != 1<<60+12345 {
		t.Errorf("got %d", got)
	}
}
