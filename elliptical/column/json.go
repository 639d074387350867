package column

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee, each statistic with its interval at .95, null where it was not
// released or no end is known, and the range. Its member data is the binary encoding, the only part
// that UnmarshalJSON reads.
func (s Summary) MarshalJSON() ([]byte, error) {
	of := func(x Statistic) view.Estimated {
		low, high := s.Interval(x, view.Confidence)
		return view.Of(s.Value(x), low, high)
	}
	lo, hi := s.Range()
	return view.Marshal(&s, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Min       view.Number      `json:"min"`
		Max       view.Number      `json:"max"`
		Count     view.Estimated   `json:"count"`
		Sum       view.Estimated   `json:"sum"`
		Mean      view.Estimated   `json:"mean"`
		Variance  view.Estimated   `json:"variance"`
		StdDev    view.Estimated   `json:"stdDev"`
	}{s.Guarantee(), view.Number(lo), view.Number(hi), of(Count), of(Sum), of(Mean), of(Variance), of(StdDev)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Summary) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, s) }

// MarshalJSON returns the guarantee, the resolution (0 where there is none) and the quantiles, each
// with its interval at .95, null for several levels, and the bounds at .95 on how many rows its
// rank is off, see [Quantiles.RankInterval]. Its member data is the binary encoding, the only part
// that UnmarshalJSON reads.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	quantiles := make([]line, 0, q.Len())
	for level, value := range q.All() {
		low, high := q.Interval(level, view.Confidence)
		lowRank, highRank := q.RankInterval(level, view.Confidence)
		quantiles = append(quantiles, line{view.Number(level), view.Number(value), view.Number(low), view.Number(high), view.Number(lowRank), view.Number(highRank)})
	}
	return view.Marshal(&q, struct {
		Guarantee  budget.Guarantee `json:"guarantee"`
		Resolution view.Number      `json:"resolution"`
		Quantiles  []line           `json:"quantiles"`
	}{q.Guarantee(), view.Number(q.params.Resolution), quantiles})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (q *Quantiles) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, q) }

// line is one of the JSON of [Quantiles].
type line struct {
	Level    view.Number `json:"level"`
	Value    view.Number `json:"value"`
	Low      view.Number `json:"low"`
	High     view.Number `json:"high"`
	LowRank  view.Number `json:"lowRank"`
	HighRank view.Number `json:"highRank"`
}

// MarshalText returns the name of the constant, for JSON and flags.
func (s Statistic) MarshalText() ([]byte, error) { return enum.Text(s, statisticNames, "Statistic") }

// UnmarshalText reads the name of a constant.
func (s *Statistic) UnmarshalText(text []byte) error {
	return enum.Parse(s, text, statisticNames, "Statistic")
}
