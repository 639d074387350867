package noise

import (
	"fmt"
	"math"
	"testing"
)

var benchScales = []float64{0.1, 1, 4, 64, 1e3, 1e9}

func BenchmarkSampleInt(b *testing.B) {
	var src Source
	for _, scale := range benchScales {
		laplace, _ := NewDiscreteLaplace(scale)
		b.Run(fmt.Sprintf("law=discretelaplace/scale=%g", scale), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				laplace.SampleInt(&src)
			}
		})
		law, _ := NewGeometric(scale)
		b.Run(fmt.Sprintf("law=geometric/scale=%g", scale), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				law.SampleInt(&src)
			}
		})
	}
}

// The logarithm of [quickLog] against that of the standard library.
func BenchmarkLog(b *testing.B) {
	const n = 1024
	var src Source
	words := make([]uint64, n)
	src.Fill(words)
	sum := 0.0
	for name, log := range map[string]func(uint64) float64{
		"quick":    quickLog,
		"math.Log": func(w uint64) float64 { return 64*math.Ln2 - math.Log(float64(w)) },
	} {
		b.Run("by="+name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				sum += log(words[i%n])
			}
		})
	}
}

func BenchmarkUint64N(b *testing.B) {
	var src Source
	for _, n := range []uint64{0, 10, 3 << 62} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				src.Uint64N(n)
			}
		})
	}
}

func BenchmarkSampleTail(b *testing.B) {
	var src Source
	for _, scale := range []float64{1, 64, 1e9} {
		d, _ := NewDiscreteLaplace(scale)
		for _, x := range []float64{0.1, 1, 2, 5, 20, 100} {
			if scale*x < 1 {
				continue
			}
			least := int64(scale * x)
			b.Run(fmt.Sprintf("scale=%g/least=%d", scale, least), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d.SampleTail(&src, least)
				}
			})
		}
	}
}

// The time of CountTail for the number of draws and the expected count.
func BenchmarkCountTail(b *testing.B) {
	var src Source
	d, _ := NewDiscreteLaplace(2)
	for _, draws := range []uint64{1000, 1e6, 1e12, math.MaxUint64} {
		for _, mean := range []float64{1e-9, 1, 30, 1e3, 1e6} {
			if mean > float64(draws)/4 {
				continue
			}
			least := int64(-d.Quantile(mean / float64(draws)))
			b.Run(fmt.Sprintf("draws=%.0e/mean=%.0e", float64(draws), mean), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d.CountTail(&src, draws, least)
				}
			})
		}
	}
}
