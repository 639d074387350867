package alp

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee.
// Beside it stands the binary encoding as data, the only part that UnmarshalJSON reads.
func (p Projection) MarshalJSON() ([]byte, error) {
	return view.Marshal(&p, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
	}{p.Guarantee()})
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (p *Projection) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, p) }

// MarshalText returns the name of the constant, for JSON and flags.
func (s Structure) MarshalText() ([]byte, error) { return enum.Text(s, structureNames, "Structure") }

// UnmarshalText reads the name of a constant.
func (s *Structure) UnmarshalText(text []byte) error {
	return enum.Parse(s, text, structureNames, "Structure")
}
