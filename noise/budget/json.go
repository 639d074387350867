package budget

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/view"
)

// MarshalJSON returns what String says, the sums that are not 0, and as "if" what the caller
// promised about the data (see [Guarantee.Stable]). Its member data is the binary encoding, the
// only part that UnmarshalJSON reads.
func (g Guarantee) MarshalJSON() ([]byte, error) {
	if !g.promised {
		return view.Marshal(&g, struct {
			Text string `json:"text"`
		}{g.String()})
	}
	return view.Marshal(&g, struct {
		Text    string      `json:"text"`
		Unit    string      `json:"unit"`
		Epsilon view.Number `json:"epsilon,omitzero"`
		Delta   view.Number `json:"delta,omitzero"`
		Rho     view.Number `json:"rho,omitzero"`
		Mu      view.Number `json:"mu,omitzero"`
		If      string      `json:"if,omitzero"`
	}{g.String(), g.unit.String(), view.Number(g.Epsilon()), view.Number(g.Delta()), view.Number(g.Rho()), view.Number(g.Mu()), g.on.String()})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (g *Guarantee) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, g) }

// MarshalJSON returns what String says. Its member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (u Unit) MarshalJSON() ([]byte, error) {
	return view.Marshal(&u, struct {
		Text string `json:"text"`
	}{u.String()})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (u *Unit) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, u) }

// MarshalText returns the name of the constant, for JSON and flags.
func (r Relation) MarshalText() ([]byte, error) { return enum.Text(r, relationNames, "Relation") }

// UnmarshalText reads the name of a constant.
func (r *Relation) UnmarshalText(text []byte) error {
	return enum.Parse(r, text, relationNames, "Relation")
}
