package plan

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of Quantiles, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 20, version 1
//	8      Rho
//	8      Max
//	8      Unit
//	8      Rows
//	1      Relation
//	1      Base
//	4      Search
//	2      number of levels, 1 to 64
//	8      each level, ascending
//	4      Dim
//	4      each quantile, a cell of the axis of the Base, column after column, ascending in each
//
// No other bytes decode to the same Quantiles.
const quantileVersion = 1

// fields are the numbers before the levels.
func (q *QuantileParams) fields(levels *int) []wire.Field {
	return []wire.Field{
		wire.Float(&q.Rho), wire.Float(&q.Max), wire.Float(&q.Unit), wire.Long(&q.Rows, maxRows), wire.Byte(&q.Relation), wire.Byte(&q.Base),
		wire.Int(&q.Search, maxSearch), wire.Short(levels, maxLevels),
	}
}

// levelFields are the levels.
func levelFields(levels []float64) (fields []wire.Field) {
	for i := range levels {
		fields = append(fields, wire.Float(&levels[i]))
	}
	return fields
}

// AppendBinary appends the encoding of the Quantiles to dst. The error, which wraps [ErrFormat], is
// for Quantiles that are neither released nor decoded.
func (q *Quantiles) AppendBinary(dst []byte) ([]byte, error) {
	if !q.valid() {
		return dst, fault.Format("plan", "Quantiles that were not released have no encoding")
	}
	p, n := q.params, len(q.levels)
	dst = wire.AppendHeader(dst, wire.KindPLANQuantiles, quantileVersion)
	dst = wire.AppendFields(dst, p.fields(&n))
	dst = wire.AppendFields(dst, levelFields(q.Levels()))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(p.Dim))
	for _, key := range q.keys {
		dst = binary.LittleEndian.AppendUint32(dst, key)
	}
	return dst, nil
}

// MarshalBinary returns the encoding of the Quantiles.
func (q *Quantiles) MarshalBinary() ([]byte, error) { return q.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (q *Quantiles) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("plan", data)
	r.Header(wire.KindPLANQuantiles, quantileVersion)
	var d Quantiles
	n := 0
	r.Fields(d.params.fields(&n))
	if r.Err() == nil {
		d.levels = make([]float64, n)
		r.Fields(levelFields(d.levels))
	}
	d.params.Dim = r.Count(maxDim, max(4*n, 1))
	if r.Err() == nil {
		d.decode(r)
	}
	if err := r.Done(); err != nil {
		return err
	}
	*q = d
	return nil
}

// decode checks the Params and the levels, and reads the quantiles.
func (q *Quantiles) decode(r *wire.Reader) {
	p := q.params
	levels, err := cleanLevels(q.levels)
	if p.validate() != nil || p.resolved() != p || err != nil || !slices.EqualFunc(levels, q.levels, sameBits) {
		r.Fail("invalid Params or levels")
		return
	}
	cells := p.axis().keys
	q.keys = make([]uint32, p.Dim*len(levels))
	for i := range q.keys {
		q.keys[i] = r.Uint32()
	}
	for i := range p.Dim {
		if c := q.column(i); !slices.IsSorted(c) || uint64(c[len(c)-1]) >= cells {
			r.Fail("quantiles out of range or order")
			return
		}
	}
}

// sameBits tells −0 from 0.
func sameBits(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }

// Size returns the number of bytes that the encoding of so many levels of these Params has; 0 for
// invalid Params.
func (q QuantileParams) Size(levels int) int {
	if q.validate() != nil || levels < 1 || levels > maxLevels {
		return 0
	}
	return wire.HeaderSize + 4*8 + 2 + 4 + 2 + 8*levels + 4 + 4*q.Dim*levels
}
