package groupby

import (
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee and the keys with their estimates and intervals at .95.
// Beside it stands the binary encoding as data, the only part that UnmarshalJSON reads.
func (g Groups[K]) MarshalJSON() ([]byte, error) {
	return view.Marshal(&g, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Keys      []view.Keyed     `json:"keys"`
	}{g.Guarantee(), view.Keys(g.All(), g.Interval)})
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (g *Groups[K]) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, g) }
