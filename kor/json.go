package kor

import (
	"encoding/json"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and its standard error.
// Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s Sketch) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&s, wire.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalJSON returns the guarantee, the estimate with its interval at .95 and its standard error.
// Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s StreamSketch) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&s, wire.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *StreamSketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalJSON returns the estimate with its interval at .95 and its standard error; what is not
// known or not bounded is null. It is a view, which is not read back: store the releases.
func (c Cardinality) MarshalJSON() ([]byte, error) { return json.Marshal(wire.SizeOf(c)) }

// MarshalJSON returns the four sizes, each with its interval at .95 and its standard error, as
// [Cardinality.MarshalJSON] does.
func (c Comparison) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Union        Cardinality `json:"union"`
		Intersection Cardinality `json:"intersection"`
		OnlyA        Cardinality `json:"onlyA"`
		OnlyB        Cardinality `json:"onlyB"`
	}{c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB()})
}
