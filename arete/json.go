package arete

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and the standard
// deviation, and in the member data the binary encoding.
func (v Value) MarshalJSON() ([]byte, error) {
	low, high := v.Interval(wire.Confidence)
	return wire.MarshalJSON(&v, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		wire.Estimated
		StdDev wire.Number `json:"stdDev"`
	}{v.Guarantee(), wire.EstimatedOf(v.Estimate(), low, high), wire.Number(v.StdDev())})
}

// UnmarshalJSON decodes the member data, as UnmarshalBinary does.
func (v *Value) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, v) }

// MarshalText returns the name of the constant.
func (l Law) MarshalText() ([]byte, error) { return check.EnumText(l, lawNames, "Law") }

// UnmarshalText reads the name of a constant.
func (l *Law) UnmarshalText(text []byte) error { return check.ParseEnum(l, text, lawNames, "Law") }

// MarshalText returns the name of the constant.
func (o Objective) MarshalText() ([]byte, error) {
	return check.EnumText(o, objectiveNames, "Objective")
}

// UnmarshalText reads the name of a constant.
func (o *Objective) UnmarshalText(text []byte) error {
	return check.ParseEnum(o, text, objectiveNames, "Objective")
}
