package distinct

import (
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and its standard error.
// Beside it stands the binary encoding as data, the only part that UnmarshalJSON reads.
func (s Sketch) MarshalJSON() ([]byte, error) {
	return view.Marshal(&s, view.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, s) }

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and its standard error.
// Beside it stands the binary encoding as data, the only part that UnmarshalJSON reads.
func (r Running) MarshalJSON() ([]byte, error) {
	return view.Marshal(&r, view.CountOf(r.Guarantee(), &r))
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (r *Running) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, r) }

// MarshalJSON returns the guarantee, the day and the estimates of 1, 7 and 30 days with their
// intervals at .95. Beside it stands the binary encoding as data, the only part that UnmarshalJSON
// reads.
func (w Windows) MarshalJSON() ([]byte, error) {
	var windows [3]window
	for i, days := range []int{1, 7, 30} {
		low, high := w.Interval(days, view.Confidence)
		windows[i] = window{days, view.Of(w.Estimate(days), low, high)}
	}
	return view.Marshal(&w, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Day       int              `json:"day"`
		Windows   [3]window        `json:"windows"`
	}{w.Guarantee(), w.Day(), windows})
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (w *Windows) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, w) }

// window is a line of the JSON of [Windows].
type window struct {
	Days int `json:"days"`
	view.Estimated
}
