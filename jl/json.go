package jl

import (
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, the number of rows and the squared norm with its interval at
// .95. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s Sketch) MarshalJSON() ([]byte, error) {
	low, high := s.SquaredNormInterval(wire.Confidence)
	return wire.MarshalJSON(&s, struct {
		Guarantee   budget.Guarantee `json:"guarantee"`
		Rows        int              `json:"rows"`
		SquaredNorm wire.Estimated   `json:"squaredNorm"`
	}{s.Guarantee(), s.Params().Rows, wire.EstimatedOf(s.SquaredNorm(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalText returns the name of the constant, for JSON and flags.
func (t Transform) MarshalText() ([]byte, error) {
	return check.EnumText(t, transformNames, "Transform")
}

// UnmarshalText reads the name of a constant.
func (t *Transform) UnmarshalText(text []byte) error {
	return check.ParseEnum(t, text, transformNames, "Transform")
}

// MarshalText returns the call that makes the change, for JSON and flags.
func (c Change) MarshalText() ([]byte, error) { return []byte(c.call(c.size)), nil }

// UnmarshalText reads what MarshalText writes. The error wraps [ErrParams].
func (c *Change) UnmarshalText(text []byte) error {
	name, number, _ := strings.Cut(string(text), "(")
	size, err := strconv.ParseFloat(strings.TrimSuffix(number, ")"), 64)
	makers := map[string]func(float64) Change{"L1": L1, "L2": L2, "OneCoordinate": OneCoordinate}
	if err != nil || makers[name] == nil || !strings.HasSuffix(number, ")") {
		return bad("Change", string(text), "L1(Δ), L2(Δ) or OneCoordinate(Δ)")
	}
	*c = makers[name](size)
	return nil
}

// MarshalText returns the name of the constant, for JSON and flags.
func (n Noise) MarshalText() ([]byte, error) { return check.EnumText(n, noiseNames, "Noise") }

// UnmarshalText reads the name of a constant.
func (n *Noise) UnmarshalText(text []byte) error {
	return check.ParseEnum(n, text, noiseNames, "Noise")
}
