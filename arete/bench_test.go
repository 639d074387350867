package arete

import (
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/noise"
)

// BenchmarkDraw measures one exact draw at ε = 8, whole and as a share of one in a thousand.
func BenchmarkDraw(b *testing.B) {
	for _, law := range []Law{Jump, DiscreteArete, DiscreteLaplace} {
		l, err := lattice(Params{Epsilon: 8, Law: law})
		if err != nil {
			b.Fatal(err)
		}
		for _, parts := range []uint64{1, 1000} {
			b.Run(fmt.Sprintf("law=%v/shares=%d", law, parts), func(b *testing.B) {
				s, err := l.spec.sampler(parts)
				if err != nil {
					b.Fatal(err)
				}
				var src noise.Source
				b.ReportAllocs()
				for b.Loop() {
					s.draw(&src)
				}
				b.ReportMetric(l.MeanAbs()*l.Step(), "mean-abs-error")
			})
		}
	}
	b.Run("law=Arete", func(b *testing.B) {
		d, err := Calibrate(8, 1)
		if err != nil {
			b.Fatal(err)
		}
		var src noise.Source
		b.ReportAllocs()
		for b.Loop() {
			d.Sample(&src, 0x1p-30)
		}
	})
}

// BenchmarkCalibrate measures what New takes, and Calibrate.
func BenchmarkCalibrate(b *testing.B) {
	for _, epsilon := range []float64{3, 4, 6, 8, 12, 20} {
		b.Run(fmt.Sprintf("law=Jump/epsilon=%v", epsilon), func(b *testing.B) {
			for b.Loop() {
				if _, err := lattice(Params{Epsilon: epsilon}); err != nil {
					b.Fatal(err)
				}
			}
		})
		if epsilon >= leastArete {
			b.Run(fmt.Sprintf("law=Arete/epsilon=%v", epsilon), func(b *testing.B) {
				for b.Loop() {
					if _, err := Calibrate(epsilon, 1); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
