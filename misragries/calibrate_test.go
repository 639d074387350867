package misragries

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkCalibrate makes calibrations afresh: usual ones, and those that took longest of 20,000
// random valid Params of all inputs and methods.
func BenchmarkCalibrate(b *testing.B) {
	for _, c := range []struct {
		name string
		in   Input
		p    Params
	}{
		{"OneStream", OneStream, Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}},
		{"Merged", Merged, Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}},
		{"Merged/delta=.01", Merged, Params{Counters: 1024, Epsilon: 0.1, Delta: 0.01}},
		{"Merged/worst", Merged, Params{Counters: 96_813, Epsilon: 1.502e-6, Delta: 0.0002425}},
		{"Users/worst", Users, Params{Counters: 88_890, Epsilon: 1.54e-9, Delta: 0.0007445, MaxKeys: 88_890}},
		{"Summed", Summed, Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}},
		{"Summed/worst", Summed, Params{Counters: 1<<28 - 1, Epsilon: 0.1, Delta: 1e-5}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.p.choose(c.in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Merged/again", func(b *testing.B) {
		for b.Loop() {
			if _, err := (Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}).check(Merged); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The search with the normal limit of H finds what the one with H itself does: the threshold in
// counts goes on where the one ends and the other begins, and is the least of its R and b.
func TestNormalResponses(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 8} {
		for _, delta := range []float64{1e-300, 1e-9, 0.01} {
			want := inward(delta)
			exact, _ := calibrateConcentration(1<<16, epsilon, want)
			about, ok := calibrateConcentration(1<<16+1, epsilon, want)
			require.True(t, ok)
			require.InEpsilon(t, float64(exact.threshold)/(1<<16), float64(about.threshold)/(1<<16+1), 1e-3, "ε = %v, δ = %v", epsilon, delta)
			require.LessOrEqual(t, about.concentrationLogDelta(1<<16+1, epsilon), want)
		}
	}
}
