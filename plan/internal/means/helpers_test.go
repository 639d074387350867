package means

import "math"

// NoiseInterval is that of plan.Mean.
func (m *Mean) NoiseInterval(i int, confidence float64) (lo, hi float64) {
	reach := m.Errors[i] * math.Sqrt2 * math.Erfinv(confidence)
	return m.Values[i] - reach, m.Values[i] + reach
}

// Scale is that of plan.Mean.
func (m *Mean) Scale(i int) float64 {
	if m.Scales == nil {
		return math.NaN()
	}
	return m.Scales[i]
}

// gamma returns γ.
func (m *Mean) gamma() float64 { return m.Divisor / max(m.Rows, 1) }

// noiseNorm returns the size of the noise: (Σ E|noiseᵢ|ᵖ)^{1/p}.
func (m *Mean) noiseNorm(p float64) float64 { return normError(m.Errors, p) }
