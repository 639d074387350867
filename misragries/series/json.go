package series

import (
	"encoding/json"

	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the step, the known keys with their counts and intervals at
// .95, and the keys that were found with theirs. A key that is not UTF-8, or that begins with \x,
// is \x and hexadecimal digits. UnmarshalJSON reads only the member data, the binary encoding.
func (r Slice[K]) MarshalJSON() ([]byte, error) {
	type found struct {
		Key   string      `json:"key"`
		Count wire.Number `json:"count"`
	}
	fresh := []found{}
	for key, count := range r.Found() {
		fresh = append(fresh, found{wire.KeyText(key), wire.Number(count)})
	}
	return wire.MarshalJSON(&r, struct {
		Guarantee budget.Guarantee   `json:"guarantee"`
		Step      int                `json:"step"`
		Keys      []wire.KeyEstimate `json:"keys"`
		Found     []found            `json:"found"`
	}{r.Guarantee(), r.step, wire.KeyEstimates(r.all(), r.interval), fresh})
}

// UnmarshalJSON decodes JSON, with the errors of UnmarshalBinary.
func (r *Slice[K]) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, r) }

// MarshalJSON returns the guarantee, the steps, the keys, the largest estimates first, with
// intervals at .95, and with MaxElements the interval of [Window.Counted] at .95. It is not read
// back: store the Slices.
func (w Window[K]) MarshalJSON() ([]byte, error) {
	var share *[2]float64
	if lo, hi := w.Counted(0.95); w.params.MaxElements > 0 {
		share = &[2]float64{lo, hi}
	}
	return json.Marshal(struct {
		Guarantee budget.Guarantee   `json:"guarantee"`
		From      int                `json:"from"`
		To        int                `json:"to"`
		Counted   *[2]float64        `json:"counted,omitempty"`
		Keys      []wire.KeyEstimate `json:"keys"`
	}{w.Guarantee(), w.from, w.to, share, wire.KeyEstimates(w.Top(w.Len()), w.Interval)})
}
