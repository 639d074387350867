package noise

import "testing"

// BenchmarkMills has the Mills ratio by nodes, and by the continued fraction that it was before.
func BenchmarkMills(b *testing.B) {
	sum := 0.0
	for name, ratio := range map[string]func(t float64) float64{
		"nodes":             mills,
		"continuedfraction": func(t float64) float64 { return 1 / (t + millsTail(t)) },
	} {
		b.Run("by="+name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				sum += ratio(3 + float64(i&1023)/128)
			}
		})
	}
}
