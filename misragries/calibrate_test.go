package misragries

import (
	"math"
	"math/rand/v2"
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
		{"Users/large ε", Users, Params{Counters: 26_004, Epsilon: 941, Delta: 0.12, MaxKeys: 7}},
		{"Summed", Summed, Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}},
		{"Summed/many", Summed, Params{Counters: 1<<28 - 1, Epsilon: 0.1, Delta: 1e-5}},
		{"Summed/worst", Summed, Params{Counters: 262_226_900, Epsilon: 0.002, Delta: 1.6e-10}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.p.Delta = math.Nextafter(c.p.Delta, 0) // so that nothing is remembered
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

// The threshold is the least that the bound allows, as a search that computes H at each step finds,
// from wherever both start.
func TestSettleConcentration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	between := func(a, b float64) float64 { return a * math.Pow(b/a, rng.Float64()) }
	tried := 0
	for range 250 {
		k, epsilon, delta := int(between(2, 1<<17)), between(1e-6, 100), between(1e-12, 0.9)
		want := inward(delta)
		found, ok := calibrateConcentration(k, epsilon, want)
		if !ok {
			continue
		}
		require.LessOrEqual(t, found.concentrationLogDelta(k, epsilon), want)
		low := found
		low.threshold = (found.from + found.threshold) / 2
		plain := low
		require.True(t, low.settleConcentration(k, epsilon, want))
		plain.settle(func(l sumLaw) bool { return l.concentrationLogDelta(k, epsilon) <= want })
		require.Equal(t, plain, low, "k = %d, ε = %v, δ = %v", k, epsilon, delta)
		require.Equal(t, plain, found, "k = %d, ε = %v, δ = %v", k, epsilon, delta)
		tried++
	}
	require.Greater(t, tried, 80)
}
