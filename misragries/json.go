package misragries

import (
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the threshold and the keys, the largest noisy counts first,
// with their estimates and intervals at .95. Its member data is the binary encoding, the only part
// that UnmarshalJSON reads.
func (h Histogram[K]) MarshalJSON() ([]byte, error) {
	return view.Marshal(&h, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Threshold view.Number      `json:"threshold"`
		Keys      []view.Keyed     `json:"keys"`
	}{h.Guarantee(), view.Number(h.threshold()), view.Keys(h.Top(h.Len()), h.Interval)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (h *Histogram[K]) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, h) }
