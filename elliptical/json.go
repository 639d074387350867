package elliptical

import (
	"encoding/json"
	"fmt"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee and the coordinates with their intervals at .95. UnmarshalJSON
// reads its member data, the binary encoding.
func (s Sum) MarshalJSON() ([]byte, error) {
	values := make([]wire.Estimated, s.Len())
	for i := range values {
		low, high := s.Interval(i, wire.Confidence)
		values[i] = wire.EstimatedOf(s.Estimate(i), low, high)
	}
	return wire.MarshalJSON(&s, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Values    []wire.Estimated `json:"values"`
	}{s.Guarantee(), values})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sum) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalText returns the name.
func (s Shape) MarshalText() ([]byte, error) { return check.EnumText(s, shapeNames, "Shape") }

// UnmarshalText reads a name.
func (s *Shape) UnmarshalText(text []byte) error {
	return check.ParseEnum(s, text, shapeNames, "Shape")
}

// MarshalJSON returns the numbers as an array. It returns an error if one of them is not finite.
func (v Vector) MarshalJSON() ([]byte, error) { return json.Marshal(v.Values()) }

// UnmarshalJSON reads an array of numbers.
func (v *Vector) UnmarshalJSON(encoded []byte) error {
	var values []float64
	if err := json.Unmarshal(encoded, &values); err != nil {
		return fmt.Errorf("elliptical: a Vector: %w: %w", ErrFormat, err)
	}
	*v = VectorOf(values...)
	return nil
}
