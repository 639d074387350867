package misragries

import (
	"encoding/json"

	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the JSON.
func (h Histogram[K]) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&h, struct {
		Guarantee budget.Guarantee   `json:"guarantee"`
		Threshold wire.Number        `json:"threshold"`
		Keys      []wire.KeyEstimate `json:"keys"`
	}{h.Guarantee(), wire.Number(h.threshold()), wire.KeyEstimates(h.Top(h.Len()), h.Interval)})
}

// UnmarshalJSON decodes JSON, with the errors of UnmarshalBinary.
func (h *Histogram[K]) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, h) }

// MarshalJSON is not read back: store the parts.
func (c Combined[K]) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Guarantee budget.Guarantee   `json:"guarantee"`
		Keys      []wire.KeyEstimate `json:"keys"`
	}{c.Guarantee(), wire.KeyEstimates(c.Top(c.Len()), c.Interval)})
}
