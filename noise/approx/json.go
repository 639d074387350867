package approx

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// shown is what JSON has in addition to the member data.
type shown struct {
	Guarantee budget.Guarantee `json:"guarantee"`
	wire.Estimated
}

// MarshalJSON returns the guarantee and the estimate with its interval at .95. Its member data is
// the binary encoding, the only part that UnmarshalJSON reads.
func (v Value) MarshalJSON() ([]byte, error) {
	low, high := v.Interval(wire.Confidence)
	return wire.MarshalJSON(&v, shown{v.Guarantee(), wire.EstimatedOf(v.Estimate(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (v *Value) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, v) }

// MarshalJSON returns the guarantee and the estimate with its interval at .95. Its member data is
// the binary encoding, the only part that UnmarshalJSON reads.
func (a Advised) MarshalJSON() ([]byte, error) {
	low, high := a.Interval(wire.Confidence)
	return wire.MarshalJSON(&a, shown{a.Guarantee(), wire.EstimatedOf(a.Estimate(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (a *Advised) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, a) }

// MarshalText returns the name of the constant, for JSON and flags.
func (n Noise) MarshalText() ([]byte, error) { return check.EnumText(n, noiseNames, "Noise") }

// UnmarshalText reads the name of a constant.
func (n *Noise) UnmarshalText(text []byte) error {
	return check.ParseEnum(n, text, noiseNames, "Noise")
}
