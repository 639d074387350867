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

func TestNear(t *testing.T) {
	for least := int64(3); least <= 40; least++ {
		for guess := int64(-2); guess < 50; guess++ {
			calls := 0
			got := Near(3, 40, guess, func(n int64) bool {
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
	if got := Near(0, 1<<62, 1<<61, func(n int64) bool { return n >= 1<<60+12345 }); got != 1<<60+12345 {
		t.Errorf("got %d", got)
	}
}
