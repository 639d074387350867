package alp

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Projection, little-endian, version 3; floating-point numbers are IEEE 754 bits.
// The Params are those that New or Release filled in:
//
//	bytes  field
//	6      header: "dpsk", kind 3, version 3
//	1      flags: 1 Integers, 2 Signed, 4 TwoVectors, 8 Linear, 16 Independent
//	1      Structure
//	2      Levels
//	2      Columns
//	8      Dim
//	8      Sparsity
//	16     Seed
//	8 each Epsilon, Delta, Sensitivity, Max, Base, Alpha, Bits, Split, Turn, FalseKeys, and
//	       the share of ε that Sparsity was estimated with
//	8      the number of cells of the table, those of a block that are not used included
//	8 each a bit for each cell, whether it shows another output than 0
//	8 each the outputs of those cells, less one, ⌈log₂(Levels−1)⌉ bits each
//	…      the list, unless Structure is ColumnsOnly: the encoding of a threshold.Vector[uint64]
//
// Nothing in it depends on the order of arrival, and no other bytes decode to the same Projection.
const (
	version   = 3
	fixedSize = wire.HeaderSize + 2 + 2*2 + 2*8 + 16 + 11*8 + 8
)

// encoded returns the length in bytes of the encoding of a release with that many values in its
// table and listed keys.
func (g *geometry) encoded(values uint64, listed int) int {
	size := fixedSize + 8*int(g.bitWords()+(values*valueBits(1<<g.cellBits)+63)/64)
	if g.hasList {
		size += sparse.FixedSize + 16*listed
	}
	return size
}

// fields is what an encoding says of the Params, in its order.
func (p *Params) fields() []wire.Field {
	list := []wire.Field{
		wire.Flags(&p.Integers, &p.Signed, &p.TwoVectors, &p.Linear, &p.Independent),
		wire.Byte(&p.Structure),
		wire.Short(&p.Levels, maxLevels), wire.Short(&p.Columns, maxColumns),
		wire.Uint(&p.Dim), wire.Long(&p.Sparsity, math.MaxInt), wire.Bytes(p.Seed[:]),
	}
	for _, x := range []*float64{
		&p.Epsilon, &p.Delta, &p.Sensitivity, &p.Max, &p.Base, &p.Alpha, &p.Bits, &p.Split, &p.Turn, &p.FalseKeys, &p.share,
	} {
		list = append(list, wire.Float(x))
	}
	return list
}

// AppendBinary appends the encoding to dst. The error wraps [ErrFormat].
func (p *Projection) AppendBinary(dst []byte) ([]byte, error) {
	if p.decoder == nil {
		return dst, check.FormatError("alp", "a Projection that was not released has no encoding")
	}
	q := p.shape.params
	dst = wire.AppendHeader(dst, wire.KindALP, version)
	dst = wire.AppendFields(dst, q.fields())
	dst = binary.LittleEndian.AppendUint64(dst, p.table.cells)
	shown, values := p.table.unpack()
	for _, word := range shown {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	word, n := uint64(0), uint64(0)
	for _, value := range values {
		word |= uint64(value) << n
		if n += p.table.valueBits; n >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			n -= 64
			word = uint64(value) >> (p.table.valueBits - n)
		}
	}
	if n > 0 {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	if p.list == nil {
		return dst, nil
	}
	return p.list.AppendBinary(dst)
}

// MarshalBinary returns the encoding.
func (p *Projection) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded, in up to some milliseconds. The error for
// other bytes wraps [ErrFormat]; nothing changes then.
func (p *Projection) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("alp", data)
	r.Header(wire.KindALP, version)
	params := readParams(r)
	if err := r.Err(); err != nil {
		return err
	}
	g, err := params.geometry()
	if cells := r.Uint64(); err != nil || !params.covers(&g) || cells != g.blocks*g.blockCells() || cells/8 > uint64(r.Remaining()) {
		r.Fail("a table of another size")
		return r.Err()
	}
	var d Projection
	shown, n := make([]uint64, g.bitWords()), 0
	for i := range shown {
		shown[i] = r.Uint64()
		n += bits.OnesCount64(shown[i])
	}
	values := readValues(r, n, valueBits(1<<g.cellBits))
	if r.Err() != nil {
		return r.Err()
	}
	if d.table = g.layOut(shown, values); !g.canonical(&d.table) {
		r.Fail("bits outside the cells")
	}
	rest := r.Bytes(r.Remaining())
	if err := r.Done(); err != nil {
		return err
	}
	if d.list, err = params.readList(&g, rest); err != nil {
		return err
	}
	if d.shape, err = params.resolvedShape(); err != nil {
		return check.FormatError("alp", "invalid Params")
	}
	d.keys = listed(d.list)
	d.decoder = newDecoder(&d)
	*p = d
	return nil
}

// readValues reads n outputs, less one each, of size bits, and nothing for 0 bits. It fails if bits
// behind them are set.
func readValues(r *wire.Reader, n int, size uint64) []uint8 {
	switch {
	case size == 0:
		return nil
	case uint64(n)*size > uint64(r.Remaining())*8:
		r.Fail("too few values")
		return nil
	}
	values := make([]uint8, n)
	word, left := uint64(0), uint64(0)
	for i := range values {
		value := word
		if left < size {
			next := r.Uint64()
			value |= next << left
			word = next >> (size - left)
			left += 64 - size
		} else {
			word >>= size
			left -= size
		}
		values[i] = uint8(value & (1<<size - 1))
	}
	if word != 0 {
		r.Fail("bits behind the values")
	}
	return values
}

// readParams reads the Params. It fails unless they are valid, filled in and encoded in the one way
// they can be.
func readParams(r *wire.Reader) (p Params) {
	r.Fields(p.fields())
	if r.Err() == nil && (p.validate() != nil || !p.filledIn()) {
		r.Fail("invalid Params")
	}
	return p
}

// filledIn reports whether nothing is left to choose.
func (p Params) filledIn() bool {
	if p.Sparsity == 0 || p.Levels == 0 || p.Columns == 0 || p.Alpha == 0 || p.Bits == 0 || p.Seed.IsZero() {
		return false
	}
	switch p.Structure {
	case AutoStructure:
		return false
	case ColumnsOnly:
		return p.Split == 0 && p.Turn == 0 && p.FalseKeys == 0
	}
	return p.Split > 0 && p.Turn > 0 && (p.Delta > 0 || p.Dim > 0)
}

// covers reports whether the columns are no wider and no more than their range needs, up to a step
// or two of rounding.
func (p Params) covers(g *geometry) bool {
	reach, width := p.axisReach(g.step)+2, float64(g.width)
	return width <= reach && float64(g.half-1)*width < reach
}

// readList decodes the list, which must be the one that the Params call for. Its ε and δ are
// logarithms and exponentials, in whose last places machines differ.
func (p Params) readList(g *geometry, data []byte) (*sparse.Vector[uint64], error) {
	if !g.hasList {
		if len(data) > 0 {
			return nil, check.FormatError("alp", "bytes after the table")
		}
		return nil, nil
	}
	list := new(sparse.Vector[uint64])
	if err := list.UnmarshalBinary(data); err != nil {
		return nil, err
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= 0x1p-30*math.Abs(y) }
	want, got := p.listParams(), list.Params()
	same := near(got.Epsilon, want.Epsilon) && near(got.Delta, want.Delta)
	got.Epsilon, got.Delta = want.Epsilon, want.Delta
	if !same || got != want || float64(g.slopeBelow)*float64(g.turn) < list.Threshold() {
		return nil, check.FormatError("alp", "a list of other Params")
	}
	return list, nil
}

// MarshalJSON returns the guarantee, and in the member data the binary encoding.
func (p Projection) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&p, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
	}{p.Guarantee()})
}

// UnmarshalJSON decodes the member data.
func (p *Projection) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, p) }

// MarshalText returns the name of the constant.
func (s Structure) MarshalText() ([]byte, error) {
	return check.EnumText(s, structureNames, "Structure")
}

// UnmarshalText reads the name of a constant.
func (s *Structure) UnmarshalText(text []byte) error {
	return check.ParseEnum(s, text, structureNames, "Structure")
}
