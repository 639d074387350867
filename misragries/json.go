package misragries

import (
	"encoding/json"

	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the threshold and the keys, the largest noisy counts first,
// with their estimates and intervals at .95. A key that is not UTF-8, or that begins with \x, is \x
// and its bytes in hexadecimal digits. The member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (h Histogram[K]) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&h, struct {
		Guarantee budget.Guarantee   `json:"guarantee"`
		Threshold wire.Number        `json:"threshold"`
		Keys      []wire.KeyEstimate `json:"keys"`
	}{h.Guarantee(), wire.Number(h.threshold()), wire.KeyEstimates(h.Top(h.Len()), h.Interval)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (h *Histogram[K]) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, h) }

// MarshalJSON returns the guarantee and the keys, the largest sums first, with their estimates and
// intervals at .95, with keys as in the JSON of a [Histogram]. It is a view, which is not read
// back: store the histograms.
func (c Combined[K]) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Guarantee budget.Guarantee   `json:"guarantee"`
		Keys      []wire.KeyEstimate `json:"keys"`
	}{c.Guarantee(), wire.KeyEstimates(c.Top(c.Len()), c.Interval)})
}
