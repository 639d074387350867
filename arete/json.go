package arete

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and the standard
// deviation. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (v Value) MarshalJSON() ([]byte, error) {
	low, high := v.Interval(view.Confidence)
	return view.Marshal(&v, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		view.Estimated
		StdDev view.Number `json:"stdDev"`
	}{v.Guarantee(), view.Of(v.Estimate(), low, high), view.Number(v.StdDev())})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (v *Value) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, v) }

// MarshalText returns the name of the constant, for JSON and flags.
func (l Law) MarshalText() ([]byte, error) { return enum.Text(l, lawNames, "Law") }

// UnmarshalText reads the name of a constant.
func (l *Law) UnmarshalText(text []byte) error { return enum.Parse(l, text, lawNames, "Law") }

// MarshalText returns the name of the constant, for JSON and flags.
func (o Objective) MarshalText() ([]byte, error) { return enum.Text(o, objectiveNames, "Objective") }

// UnmarshalText reads the name of a constant.
func (o *Objective) UnmarshalText(text []byte) error {
	return enum.Parse(o, text, objectiveNames, "Objective")
}
