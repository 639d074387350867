package column

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, each statistic with its interval at .95, null where it was not
// released or no end is known, the range, and in the member data the binary encoding.
func (s Summary) MarshalJSON() ([]byte, error) {
	of := func(x Statistic) wire.Estimated {
		low, high := s.Interval(x, wire.Confidence)
		return wire.EstimatedOf(s.Value(x), low, high)
	}
	lo, hi := s.Range()
	return wire.MarshalJSON(&s, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Min       wire.Number      `json:"min"`
		Max       wire.Number      `json:"max"`
		Count     wire.Estimated   `json:"count"`
		Sum       wire.Estimated   `json:"sum"`
		Mean      wire.Estimated   `json:"mean"`
		Variance  wire.Estimated   `json:"variance"`
		StdDev    wire.Estimated   `json:"stdDev"`
	}{s.Guarantee(), wire.Number(lo), wire.Number(hi), of(Count), of(Sum), of(Mean), of(Variance), of(StdDev)})
}

// UnmarshalJSON decodes the member data, as UnmarshalBinary does.
func (s *Summary) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalJSON returns the guarantee, the resolution (or 0) and the quantiles, each with its
// interval at .95, null for several levels, and its [Quantiles.RankInterval] at .95, and in the
// member data the binary encoding.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	quantiles := make([]line, 0, q.Len())
	for level, value := range q.All() {
		low, high := q.Interval(level, wire.Confidence)
		lowRank, highRank := q.RankInterval(level, wire.Confidence)
		quantiles = append(quantiles, line{wire.Number(level), wire.Number(value), wire.Number(low), wire.Number(high), wire.Number(lowRank), wire.Number(highRank)})
	}
	return wire.MarshalJSON(&q, struct {
		Guarantee  budget.Guarantee `json:"guarantee"`
		Resolution wire.Number      `json:"resolution"`
		Quantiles  []line           `json:"quantiles"`
	}{q.Guarantee(), wire.Number(q.params.Resolution), quantiles})
}

// UnmarshalJSON decodes the member data, as UnmarshalBinary does.
func (q *Quantiles) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, q) }

// line is one of the JSON of [Quantiles].
type line struct {
	Level    wire.Number `json:"level"`
	Value    wire.Number `json:"value"`
	Low      wire.Number `json:"low"`
	High     wire.Number `json:"high"`
	LowRank  wire.Number `json:"lowRank"`
	HighRank wire.Number `json:"highRank"`
}

// MarshalText returns the name of the constant.
func (s Statistic) MarshalText() ([]byte, error) {
	return check.EnumText(s, statisticNames, "Statistic")
}

// UnmarshalText reads the name of a constant.
func (s *Statistic) UnmarshalText(text []byte) error {
	return check.ParseEnum(s, text, statisticNames, "Statistic")
}
