package column

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of Quantiles, little-endian, version 4; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 17, version 4
//	8      Epsilon
//	8      Delta
//	8      Rho
//	8      Min
//	8      Max
//	8      Resolution
//	8      Bound
//	1      Relation: 1 AddRemove, 2 Replace
//	8      number of rows, signed; with noise under AddRemove
//	2      number of levels, 1 to 32
//	for each level, in ascending order:
//	8      the level
//	4      the cell of its quantile; not lower than the one before
//	for a single level:
//	4, 4   the cells of the ends of its interval, plus 1
//
// No other bytes decode to the same Quantiles.
const quantileVersion = 4

// fields are the numbers of the Params before the levels, with what is between them and these.
func (p *quantileParams) fields(levels *int, between ...wire.Field) []wire.Field {
	fields := []wire.Field{
		wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Float(&p.Rho), wire.Float(&p.Min), wire.Float(&p.Max), wire.Float(&p.Resolution), wire.Float(&p.Bound), wire.Byte(&p.Relation),
	}
	return append(append(fields, between...), wire.Short(levels, maxLevels))
}

// listed are the levels with their cells.
func (q *Quantiles) listed() (fields []wire.Field) {
	for i := range q.cells {
		fields = append(fields, wire.Float(&q.params.Levels[i]), wire.Int(&q.cells[i], maxCells))
	}
	if len(q.cells) == 1 {
		fields = append(fields, wire.Int(&q.ends[0], maxCells+1), wire.Int(&q.ends[1], maxCells+1))
	}
	return fields
}

// AppendBinary is [Summary.AppendBinary].
func (q *Quantiles) AppendBinary(dst []byte) ([]byte, error) {
	if !q.valid() {
		return dst, check.FormatError("column", "Quantiles that were not released have no encoding")
	}
	copied, n := *q, len(q.cells)
	dst = wire.AppendHeader(dst, wire.KindQuantiles, quantileVersion)
	dst = wire.AppendFields(dst, copied.params.fields(&n, wire.Signed(&copied.rows)))
	return wire.AppendFields(dst, copied.listed()), nil
}

// MarshalBinary returns the encoding.
func (q *Quantiles) MarshalBinary() ([]byte, error) { return q.AppendBinary(nil) }

// UnmarshalBinary is [Summary.UnmarshalBinary].
func (q *Quantiles) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("column", data)
	r.Header(wire.KindQuantiles, quantileVersion)
	var d Quantiles
	var n int
	r.Fields(d.params.fields(&n, wire.Signed(&d.rows)))
	if r.Err() == nil && n > 0 {
		d.cells = make([]int, n)
		r.Fields(d.listed())
	}
	if r.Err() == nil {
		d.check(r)
	}
	return wire.Decoded(r, q, d)
}

// check fails for what no release has.
func (q *Quantiles) check(r *wire.Reader) {
	p := q.params
	if len(q.cells) == 0 || p != p.normal() || p.validate() != nil || len(p.levels()) != len(q.cells) {
		r.Fail("invalid Params")
		return
	}
	q.axis = p.axis()
	last, cells := 0, int(q.axis.Cells())
	for _, cell := range q.cells {
		if cell < last || cell >= cells {
			r.Fail("quantiles out of range or order")
		}
		last = cell
	}
	if most := int64(maxRows) << 8; q.rows < -most || q.rows > most || q.rows < 0 && p.Relation == budget.Replace {
		r.Fail("a number of rows that is none")
	}
	if q.ends[0] > cells+1 || q.ends[1] > cells+1 {
		r.Fail("an interval out of range")
	}
}
