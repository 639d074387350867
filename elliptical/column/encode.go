package column

import (
	"slices"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/tail"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Summary, little-endian, version 4; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 15, version 4
//	8      Epsilon
//	8      Delta
//	8      Rho
//	8      Min
//	8      Max
//	8      Params.Rows
//	1      Relation: 1 AddRemove, 2 Replace
//	1      Want: 0, 1 Count, 2 Sum or 3 Mean
//	8      TailIndex
//	8      Bound
//	8      the number of rows under Replace, else 0
//	where the range is learned, that is Min and Max are 0 and Want is 3:
//	4      cell of the centre
//	8      noisy number of rows that are not at the centre under ρ, else 0
//	2, 2   the ends below and above it, as numbers of bins
//	2, 2   the first bin behind the visible ones, below and above
//	8      noisy number of rows in the central bin, then 8 for each bin below and each above
//	for each coordinate of the scheme (scheme.go), in the units of noise.go:
//	16     its sum with the noise, two's complement: 8 bytes of high half, 8 of low half
//
// No other bytes decode to the same Summary.
const (
	version     = 4
	fixedSize   = wire.HeaderSize + 5*8 + 8 + 2 + 2*8 + 8
	learnedSize = 4 + 8 + 4*2 + 8*(1+2*tail.Count)

	maxHigh = 1 << 58 // of the high half of a sum: 2⁵³ rows of 2⁶⁰
)

// fields are the numbers of the Params.
func (p *Params) fields() []wire.Field {
	return []wire.Field{
		wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Float(&p.Rho), wire.Float(&p.Min), wire.Float(&p.Max), wire.Long(&p.Rows, maxRows),
		wire.Byte(&p.Relation), wire.Byte(&p.Want), wire.Float(&p.TailIndex), wire.Float(&p.Bound),
	}
}

// AppendBinary appends the encoding. The error wraps [ErrFormat], for the zero Summary.
func (s *Summary) AppendBinary(dst []byte) ([]byte, error) {
	if !s.valid() {
		return dst, check.FormatError("column", "a Summary that was not released has no encoding")
	}
	p, rows := s.params, s.rows
	dst = wire.AppendHeader(dst, wire.KindColumn, version)
	dst = wire.AppendFields(dst, append(p.fields(), wire.Signed(&rows)))
	if s.found != nil {
		l := *s.found
		dst = wire.AppendFields(dst, l.fields())
	}
	return wire.AppendFields(dst, wideFields(slices.Clone(s.values))), nil
}

// fields are what was learned.
func (l *learned) fields() []wire.Field {
	fields, c := []wire.Field{wire.Int(&l.cell, maxCells), wire.Signed(&l.aside)}, &l.chosen
	for _, b := range []*int{&c.End[0], &c.End[1], &c.Top[0], &c.Top[1]} {
		fields = append(fields, wire.Short(b, tail.Count))
	}
	for _, x := range l.numbers() {
		fields = append(fields, wire.Signed(x))
	}
	return fields
}

// wideFields are 128-bit integers.
func wideFields(values []exact.Int128) (fields []wire.Field) {
	for i := range values {
		fields = append(fields, wire.Signed(&values[i].Hi), wire.Uint(&values[i].Lo))
	}
	return fields
}

// MarshalBinary returns the encoding.
func (s *Summary) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary decodes it. The error for other bytes wraps [ErrFormat]; nothing changes then.
func (s *Summary) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("column", data)
	r.Header(wire.KindColumn, version)
	var d Summary
	r.Fields(append(d.params.fields(), wire.Signed(&d.rows)))
	if r.Err() == nil {
		d.decode(r)
	}
	return wire.Decoded(r, s, d)
}

// decode checks the Params and reads the values.
func (s *Summary) decode(r *wire.Reader) {
	p := s.params
	replace := p.Relation == budget.Replace
	switch {
	case p != p.normal().summary() || p.validate() != nil:
		r.Fail("invalid Params")
		return
	case s.rows < 0 || s.rows > maxRows || !replace && s.rows != 0 || replace && p.Rows > 0 && s.rows != int64(p.Rows):
		r.Fail("an impossible number of rows")
		return
	}
	l, err := p.law(half)
	if err != nil {
		r.Fail("invalid Params")
		return
	}
	if p.learns() {
		s.found, l = p.read(r)
	}
	s.law, s.values = l, make([]exact.Int128, len(l.at))
	r.Fields(wideFields(s.values))
	for _, v := range s.values {
		if v.Hi > maxHigh || v.Hi < -maxHigh {
			r.Fail("a sum out of range")
		}
	}
}

// read reads what was learned. It fails unless every method works with it.
func (p Params) read(r *wire.Reader) (*learned, law) {
	l, axis := p.at(0), p.widest()
	r.Fields(l.fields())
	if r.Err() != nil {
		return nil, law{}
	}
	l.centre = axis.Value(int64(l.cell))
	if int64(l.cell) >= axis.Cells() || l.histogram.Edge(min(l.chosen.End[0], l.chosen.End[1])) < l.least() {
		r.Fail("an impossible range")
	}
	for _, x := range append(l.numbers(), &l.aside) {
		if *x > maxHigh || *x < -maxHigh || !p.gaussian() && l.aside != 0 {
			r.Fail("a number of rows out of range")
		}
	}
	return l, l.split(p, half)
}

// MarshalJSON returns the guarantee, each statistic with its interval at .95, null where not
// released or without an end, which values these are about, the range, and the encoding as the
// member data.
func (s Summary) MarshalJSON() ([]byte, error) {
	of := func(x Statistic) wire.Estimated {
		low, high := s.Interval(x, wire.Confidence)
		return wire.EstimatedOf(s.Value(x), low, high)
	}
	lo, hi := s.Range()
	return wire.MarshalJSON(&s, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		About     string           `json:"about,omitempty"`
		Min       wire.Number      `json:"min"`
		Max       wire.Number      `json:"max"`
		Count     wire.Estimated   `json:"count"`
		Sum       wire.Estimated   `json:"sum"`
		Mean      wire.Estimated   `json:"mean"`
		Variance  wire.Estimated   `json:"variance"`
		StdDev    wire.Estimated   `json:"stdDev"`
	}{s.Guarantee(), s.params.about(), wire.Number(lo), wire.Number(hi), of(Count), of(Sum), of(Mean), of(Variance), of(StdDev)})
}

// UnmarshalJSON decodes the member data.
func (s *Summary) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalJSON returns the guarantee, the resolution (or 0), the quantiles, each with its interval,
// null for several levels, and its [Quantiles.RankInterval], both at .95, and the encoding as the
// member data.
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

// UnmarshalJSON decodes the member data.
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
