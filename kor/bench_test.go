package kor

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
)

// eight KiB: 32 levels of 2048 cells.
var eight = Params{Epsilon: 1, Cells: 2048, Levels: 32, Seed: hashing.Seed{1}}

func BenchmarkToggle(b *testing.B) {
	sketch, err := New(eight)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for key := uint64(0); b.Loop(); key++ {
		sketch.Toggle(key)
	}
}

func BenchmarkToggleWeighted(b *testing.B) {
	sketch, err := New(eight)
	if err != nil {
		b.Fatal(err)
	}
	for key := uint64(0); b.Loop(); key++ {
		sketch.ToggleWeighted(key, 0.3)
	}
}

func BenchmarkStreamAdd(b *testing.B) {
	sketch, err := NewStreamBuilder(eight)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for key := uint64(0); b.Loop(); key++ {
		sketch.Add(key)
	}
}

func BenchmarkRelease(b *testing.B) {
	p := eight
	p.Cells = 1 << 16
	for b.Loop() {
		released(b, p)
	}
	b.ReportMetric(float64(b.N)*float64(p.Cells*p.Levels)/b.Elapsed().Seconds()/1e9, "Gbit/s")
}

func BenchmarkSymmetricDifference(b *testing.B) {
	s, o := released(b, eight), released(b, eight)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.SymmetricDifference(o); err != nil {
			b.Fatal(err)
		}
	}
}

// The XOR of many sketches goes into one.
func BenchmarkXOR(b *testing.B) {
	const parties = 64
	sketches := make([]*Sketch, parties)
	for i := range sketches {
		sketches[i] = released(b, eight)
	}
	for b.Loop() {
		if _, err := XOR(sketches...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(parties-1)), "ns/XOR")
}

func BenchmarkAddMany(b *testing.B) {
	sketch, err := New(eight)
	if err != nil {
		b.Fatal(err)
	}
	keys := run(0, 1<<12)
	for b.Loop() {
		sketch.Add(keys...)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
}

func BenchmarkEstimate(b *testing.B) {
	s := released(b, eight, run(0, 20_000)...)
	b.ReportAllocs()
	errors, runs := 0.0, 0.0
	for b.Loop() {
		errors += math.Abs(s.Estimate()/20_000 - 1)
		runs++
	}
	b.ReportMetric(errors/runs, "relative-error")
}

func BenchmarkInterval(b *testing.B) {
	s := released(b, eight, run(0, 20_000)...)
	b.ReportAllocs()
	for b.Loop() {
		s.Interval(0.95)
	}
}
