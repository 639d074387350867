package plan

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee and the coordinates, each with its NoiseInterval at .95.
// Beside it stands the binary encoding as data, the only part that UnmarshalJSON reads.
func (m Mean) MarshalJSON() ([]byte, error) {
	values := make([]noisyValue, m.Dim())
	for i := range values {
		low, high := m.NoiseInterval(i, view.Confidence)
		values[i] = noisyValue{view.Number(m.Estimate(i)), view.Number(low), view.Number(high)}
	}
	return view.Marshal(&m, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Values    []noisyValue     `json:"values"`
	}{m.Guarantee(), values})
}

// noisyValue is a coordinate in the JSON of [Mean], with the ends of its NoiseInterval.
type noisyValue struct {
	Estimate  view.Number `json:"estimate"`
	NoiseLow  view.Number `json:"noiseLow"`
	NoiseHigh view.Number `json:"noiseHigh"`
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (m *Mean) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, m) }

// MarshalJSON returns the guarantee, by how many rows the rank of each level can be off at .95, and
// the quantiles of the levels, column after column. Beside it stands the binary encoding as data,
// the only part that UnmarshalJSON reads.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	levels := make([]quantileLevel, len(q.levels))
	for at, level := range q.levels {
		lo, hi := q.Interval(level, view.Confidence)
		levels[at] = quantileLevel{view.Number(level), view.Number(lo), view.Number(hi)}
	}
	columns := make([][]view.Number, q.Dim())
	for i := range columns {
		for _, value := range q.All(i) {
			columns[i] = append(columns[i], view.Number(value))
		}
	}
	return view.Marshal(&q, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Levels    []quantileLevel  `json:"levels"`
		Columns   [][]view.Number  `json:"columns"`
	}{q.Guarantee(), levels, columns})
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (q *Quantiles) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, q) }

// quantileLevel is a level in the JSON of [Quantiles], with the ranks that it can be off.
type quantileLevel struct {
	Level    view.Number `json:"level"`
	LowRank  view.Number `json:"lowRank"`
	HighRank view.Number `json:"highRank"`
}

// MarshalText returns the name of the constant, for JSON and flags.
func (m Method) MarshalText() ([]byte, error) { return enum.Text(m, methodNames, "Method") }

// UnmarshalText reads the name of a constant.
func (m *Method) UnmarshalText(text []byte) error { return enum.Parse(m, text, methodNames, "Method") }

// MarshalText returns the name of the constant, for JSON and flags.
func (c Centre) MarshalText() ([]byte, error) { return enum.Text(c, centreNames, "Centre") }

// UnmarshalText reads the name of a constant.
func (c *Centre) UnmarshalText(text []byte) error { return enum.Parse(c, text, centreNames, "Centre") }

// MarshalText returns the name of the constant, for JSON and flags.
func (s Scaling) MarshalText() ([]byte, error) { return enum.Text(s, scalingNames, "Scaling") }

// UnmarshalText reads the name of a constant.
func (s *Scaling) UnmarshalText(text []byte) error {
	return enum.Parse(s, text, scalingNames, "Scaling")
}

// MarshalText returns the name of the constant, for JSON and flags.
func (s Spread) MarshalText() ([]byte, error) { return enum.Text(s, spreadNames, "Spread") }

// UnmarshalText reads the name of a constant.
func (s *Spread) UnmarshalText(text []byte) error { return enum.Parse(s, text, spreadNames, "Spread") }

// MarshalText returns the name of the constant, for JSON and flags.
func (b Base) MarshalText() ([]byte, error) { return enum.Text(b, baseNames, "Base") }

// UnmarshalText reads the name of a constant.
func (b *Base) UnmarshalText(text []byte) error { return enum.Parse(b, text, baseNames, "Base") }
