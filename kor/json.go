package kor

import (
	"github.com/dpsketch/dpsketch/internal/view"
)

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and its standard error.
// Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s Sketch) MarshalJSON() ([]byte, error) {
	return view.Marshal(&s, view.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, s) }

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and its standard error.
// Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s StreamSketch) MarshalJSON() ([]byte, error) {
	return view.Marshal(&s, view.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *StreamSketch) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, s) }
