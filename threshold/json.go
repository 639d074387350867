package threshold

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the threshold and the keys with their estimates and intervals
// at .95. Beside it stands the binary encoding as data, the only part that UnmarshalJSON reads.
func (v Vector[K]) MarshalJSON() ([]byte, error) {
	return view.Marshal(&v, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Threshold view.Number      `json:"threshold"`
		Keys      []view.Keyed     `json:"keys"`
	}{v.Guarantee(), view.Number(v.Threshold()), view.Keys(v.All(), v.Interval)})
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (v *Vector[K]) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, v) }

// MarshalText returns the name of the constant, for JSON and flags.
func (m Method) MarshalText() ([]byte, error) { return enum.Text(m, methodNames, "Method") }

// UnmarshalText reads the name of a constant.
func (m *Method) UnmarshalText(text []byte) error {
	return enum.Parse(m, text, methodNames, "Method")
}
