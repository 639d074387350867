package budget

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// MarshalJSON returns what String says, the sums that are not 0, and as "if" what the caller
// promised about the data (see [Guarantee.Stable]). Its member data is the binary encoding, the
// only part that UnmarshalJSON reads.
func (g Guarantee) MarshalJSON() ([]byte, error) {
	if !g.promised {
		return wire.MarshalJSON(&g, struct {
			Text string `json:"text"`
		}{g.String()})
	}
	return wire.MarshalJSON(&g, struct {
		Text    string      `json:"text"`
		Unit    string      `json:"unit"`
		Epsilon wire.Number `json:"epsilon,omitzero"`
		Delta   wire.Number `json:"delta,omitzero"`
		Rho     wire.Number `json:"rho,omitzero"`
		Mu      wire.Number `json:"mu,omitzero"`
		If      string      `json:"if,omitzero"`
	}{g.String(), g.unit.String(), wire.Number(g.Epsilon()), wire.Number(g.Delta()), wire.Number(g.Rho()), wire.Number(g.Mu()), g.on.String()})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (g *Guarantee) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, g) }

// MarshalJSON returns what String says. Its member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (u Unit) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&u, struct {
		Text string `json:"text"`
	}{u.String()})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (u *Unit) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, u) }

// MarshalText returns the name of the constant, for JSON and flags.
func (r Relation) MarshalText() ([]byte, error) { return check.EnumText(r, relationNames, "Relation") }

// UnmarshalText reads the name of a constant.
func (r *Relation) UnmarshalText(text []byte) error {
	return check.ParseEnum(r, text, relationNames, "Relation")
}
