package plan

import (
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee and the coordinates, each with its NoiseInterval at .95, and as
// member data the binary encoding.
func (m Mean) MarshalJSON() ([]byte, error) {
	values := make([]noisyValue, m.Dim())
	for i := range values {
		low, high := m.NoiseInterval(i, wire.Confidence)
		values[i] = noisyValue{wire.Number(m.Estimate(i)), wire.Number(low), wire.Number(high)}
	}
	return wire.MarshalJSON(&m, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Without   string           `json:"without"`
		Values    []noisyValue     `json:"values"`
	}{m.Guarantee(), "noiseLow and noiseHigh leave out the bias of clipping and the error of the sample", values})
}

// noisyValue is a coordinate in the JSON of [Mean], with the ends of its NoiseInterval.
type noisyValue struct {
	Estimate  wire.Number `json:"estimate"`
	NoiseLow  wire.Number `json:"noiseLow"`
	NoiseHigh wire.Number `json:"noiseHigh"`
}

// UnmarshalJSON decodes JSON, with the errors of UnmarshalBinary.
func (m *Mean) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, m) }
