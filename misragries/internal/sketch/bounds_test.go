package sketch

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// shortStreams calls f with every stream of at most so many elements of the keys 0, …, keys−1.
func shortStreams(keys, length int, f func(stream []int)) {
	var extend func(stream []int)
	extend = func(stream []int) {
		f(stream)
		if len(stream) < length {
			for key := range keys {
				extend(append(stream, key))
			}
		}
	}
	extend(make([]int, 0, length))
}

// patterns calls f with every stream of at most so many elements, up to the names of the keys: a
// key that is new is the least that has not come.
func patterns(length int, f func(stream []int)) {
	var extend func(stream []int, keys int)
	extend = func(stream []int, keys int) {
		f(stream)
		if len(stream) < length {
			for key := range keys + 1 {
				extend(append(stream, key), max(keys, key+1))
			}
		}
	}
	extend(make([]int, 0, length), 0)
}

// f = c + D − Z, where Z counts the decrements at which the key was neither stored nor the element
// that came, replayed on all streams of up to eight elements of any keys. Positive counters and D
// do not depend on how keys are called, so one stream stands for all of a pattern; another order of
// the names gives the same. So the upper reading is right for a key that was there at every
// decrement.
func TestUpperIsTheCountLessAbsences(t *testing.T) {
	const length = 8
	streams := 0
	for k := 1; k <= 3; k++ {
		patterns(length, func(stream []int) {
			streams++
			s, mirrored := New[int](k), New[int](k)
			f, absent := [length]int64{}, [length]int64{}
			for _, key := range stream {
				before, stored := s.decrements, [length]bool{}
				for _, e := range s.entries {
					stored[e.key] = true
				}
				s.Add(key)
				mirrored.Add(-key)
				f[key]++
				for other := range stored {
					if s.decrements > before && !stored[other] && other != key {
						absent[other]++
					}
				}
			}
			c := [length]int64{}
			for _, x := range s.Positive() {
				c[x.Key] = x.Count
			}
			for _, x := range mirrored.Positive() {
				if c[-x.Key] != x.Count || mirrored.decrements != s.decrements {
					require.Fail(t, "names matter", "k = %d: %v", k, stream)
				}
			}
			for key := range f {
				if f[key] != c[key]+int64(s.decrements)-absent[key] {
					require.Fail(t, "f = c + D − Z", "k = %d: %v", k, stream)
				}
			}
			if int64(len(stream)) != s.Length(k) {
				require.Fail(t, "S + (k+1)·D is the number of elements", "k = %d: %v", k, stream)
			}
		})
	}
	require.Equal(t, 3*5296, streams, "1, 1, 2, 5, 15, 52, 203, 877 and 4140 patterns")
}

// Σr ≤ f ≤ Σr + N/(k+1) for every key and for all pairs of short streams, and for the reduced
// sketch of both merged.
func TestReducedSketchesAndTheirLengthEncloseCounts(t *testing.T) {
	for k := 1; k <= 3; k++ {
		type summary struct {
			f, units [4]int64
			length   int64
			sketch   *Sketch[int]
		}
		var all []summary
		shortStreams(4, dptest.Full(5, 3), func(stream []int) {
			x := summary{sketch: New[int](k)}
			for _, key := range stream {
				x.sketch.Add(key)
				x.f[key]++
			}
			for _, c := range Reduced(x.sketch.Positive(), k) {
				x.units[c.Key] = c.Count
			}
			x.length = x.sketch.Length(k)
			all = append(all, x)
		})
		rng := rand.New(rand.NewPCG(1, 2))
		for i, a := range all {
			for range 60 {
				b := all[rng.IntN(len(all))]
				merged := New[int](k)
				merged.merge(a.sketch)
				merged.merge(b.sketch)
				units := [4]int64{}
				for _, c := range Reduced(merged.Positive(), k) {
					units[c.Key] = c.Count
				}
				length := merged.Length(k)
				holds := length <= a.length+b.length
				for key := range a.f {
					f, sum := (a.f[key]+b.f[key])*(int64(k)+1), a.units[key]+b.units[key]
					holds = holds && sum <= f && f <= sum+a.length+b.length && units[key] <= f && f <= units[key]+length
				}
				if !holds {
					require.Fail(t, "bounds", "k = %d, stream %d: %+v and %+v", k, i, a, b)
				}
			}
		}
	}
}
