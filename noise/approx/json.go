package approx

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee and the estimate with its interval at .95. Its member data is
// the binary encoding, the only part that UnmarshalJSON reads.
func (v Value) MarshalJSON() ([]byte, error) {
	low, high := v.Interval(view.Confidence)
	return view.Marshal(&v, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		view.Estimated
	}{v.Guarantee(), view.Of(v.Estimate(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (v *Value) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, v) }

// MarshalJSON returns the guarantee and the estimate with its interval at .95. Its member data is
// the binary encoding, the only part that UnmarshalJSON reads.
func (a Advised) MarshalJSON() ([]byte, error) {
	low, high := a.Interval(view.Confidence)
	return view.Marshal(&a, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		view.Estimated
	}{a.Guarantee(), view.Of(a.Estimate(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (a *Advised) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, a) }

// MarshalText returns the name of the constant, for JSON and flags.
func (n Noise) MarshalText() ([]byte, error) { return enum.Text(n, noiseNames, "Noise") }

// UnmarshalText reads the name of a constant.
func (n *Noise) UnmarshalText(text []byte) error { return enum.Parse(n, text, noiseNames, "Noise") }
