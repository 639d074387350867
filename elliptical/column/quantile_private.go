package column

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// privateQuantiles is the kind of private state, unlike those of other Builders.
const privateQuantiles = byte(wire.KindQuantiles)

// AppendPrivateState is [Builder.AppendPrivateState]: WHAT IT APPENDS IS PRIVATE DATA, the exact
// number of rows in each cell.
func (b *QuantileBuilder) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(b.quantileSecret, dst, "column: AppendPrivateState: the QuantileBuilder", (*counts).appendState)
}

func (s *counts) appendState(dst []byte) []byte {
	kind, p, levels := privateQuantiles, s.params, len(s.params.levels())
	dst = wire.AppendHeader(dst, wire.KindPrivate, privateVersion)
	dst = wire.AppendFields(dst, append([]wire.Field{wire.Byte(&kind)}, p.fields(&levels)...))
	dst = wire.AppendFields(dst, p.levelFields(levels))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.cells))) // at most 2³⁰
	for _, cell := range slices.Sorted(maps.Keys(s.cells)) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(cell))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.cells[cell]))
	}
	return dst
}

// RestorePrivateState is [Builder.RestorePrivateState].
func (b *QuantileBuilder) RestorePrivateState(data []byte) error {
	return private.Restore(b.quantileSecret, data, "column: RestorePrivateState: the QuantileBuilder", (*counts).readState)
}

func (s *counts) readState(data []byte) error {
	r := wire.NewReader("column", data)
	r.Header(wire.KindPrivate, privateVersion)
	var kind byte
	var p quantileParams
	var levels int
	r.Fields(append([]wire.Field{wire.Byte(&kind)}, p.fields(&levels)...))
	if r.Err() == nil {
		r.Fields(p.levelFields(levels))
	}
	cells, last := readCells(r)
	switch {
	case r.Err() != nil:
	case kind != privateQuantiles:
		r.Fail("another kind of state")
	case p != s.params && r.Done() == nil:
		return check.MismatchError("column", "Params", s.params, p)
	case last >= s.axis.Cells():
		r.Fail("cells out of range")
	}
	return wire.Decoded(r, &s.cells, cells)
}

// readCells reads the number of rows in each cell in use, and the last of these. It fails unless
// they are in order, and so few rows that those of many states can be added.
func readCells(r *wire.Reader) (cells map[int64]int64, last int64) {
	n := r.Count(maxCells, 16)
	cells, last = make(map[int64]int64, n), -1
	rows := int64(0)
	for range n {
		cell, count := r.Int64(), r.Int64()
		if cell <= last || count < 1 || count > maxRows-rows {
			r.Fail("cells that no rows have")
			return nil, 0
		}
		cells[cell] = count
		last, rows = cell, rows+count
	}
	return cells, last
}

// levelFields are the first n levels.
func (p *quantileParams) levelFields(n int) (fields []wire.Field) {
	for i := range n {
		fields = append(fields, wire.Float(&p.Levels[i]))
	}
	return fields
}
