package jl

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the number of rows and the squared norm with its interval at
// .95. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s Sketch) MarshalJSON() ([]byte, error) {
	low, high := s.SquaredNormInterval(wire.Confidence)
	return wire.MarshalJSON(&s, struct {
		Guarantee   budget.Guarantee `json:"guarantee"`
		Rows        int              `json:"rows"`
		SquaredNorm wire.Estimated   `json:"squaredNorm"`
	}{s.Guarantee(), s.Params().Rows, wire.EstimatedOf(s.SquaredNorm(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalText returns the name of the constant, for JSON and flags.
func (t Transform) MarshalText() ([]byte, error) {
	return check.EnumText(t, transformNames, "Transform")
}

// UnmarshalText reads the name of a constant.
func (t *Transform) UnmarshalText(text []byte) error {
	return check.ParseEnum(t, text, transformNames, "Transform")
}

// MarshalText returns the name of the constant, for JSON and flags.
func (n Norm) MarshalText() ([]byte, error) { return check.EnumText(n, normNames, "Norm") }

// UnmarshalText reads the name of a constant.
func (n *Norm) UnmarshalText(text []byte) error { return check.ParseEnum(n, text, normNames, "Norm") }

// MarshalText returns the name of the constant, for JSON and flags.
func (n Noise) MarshalText() ([]byte, error) { return check.EnumText(n, noiseNames, "Noise") }

// UnmarshalText reads the name of a constant.
func (n *Noise) UnmarshalText(text []byte) error {
	return check.ParseEnum(n, text, noiseNames, "Noise")
}
