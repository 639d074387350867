package alp

import (
	"cmp"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/threshold"
)

// release draws the list, then the table as if it were empty, then the cells that have entries
// given the list (Theorem 2): each by itself, in an order that the order of arrival does not
// change.
func (s *state) release() (*Projection, error) {
	entries := clamped(&s.totals, s.shape.limit, s.params.Signed)
	if err := s.settle(entries); err != nil {
		return nil, err
	}
	p := &Projection{shape: s.shape}
	if s.shape.hasList {
		list, err := s.shape.releaseList(entries)
		if err != nil {
			return nil, err
		}
		p.list = list
	}
	p.table = make([]uint64, s.shape.tableWords())
	s.shape.fill(&s.src, p.table)
	s.shape.occupy(&s.src, p.table, entries, p.list)
	p.decoder = newDecoder(p)
	return p, nil
}

// settle computes the shape for an estimated Sparsity, if it is unknown.
func (s *state) settle(entries []total) (err error) {
	if !s.params.estimates() {
		return nil
	}
	if s.params.Sparsity, err = s.estimateSparsity(entries); err != nil {
		return err
	}
	s.shape, err = s.params.shape()
	return err
}

// releaseList returns the list of the large entries: what package threshold releases of φ₁.
func (s *shape) releaseList(entries []total) (*threshold.Vector[uint64], error) {
	b, err := threshold.New[uint64](s.list)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		const lower = 1<<32 - 1
		phi := s.phi(e.Steps)
		b.Add(e.Key, float64(phi&lower)) // in two parts that are exact in a float64
		if high := phi &^ lower; high != 0 {
			b.Add(e.Key, float64(high))
		}
	}
	return b.Release()
}

// occupant is what an entry holds in a cell: from 1 to W.
type occupant struct {
	cell uint64
	size int
}

// occupy overwrites the cells that entries have something in by draws of their laws. Listed entries
// have nothing in the columns that they do not keep; a nil list lists nothing.
func (s *shape) occupy(src *noise.Source, table []uint64, entries []total, list *threshold.Vector[uint64]) {
	if s.ranges != nil {
		s.occupyColumns(src, table, entries, list)
		return
	}
	order := make([]placed, len(entries))
	for i, e := range entries {
		order[i] = placed{hashing.Fingerprint(s.places, e.Key), e}
	}
	slices.SortFunc(order, func(a, b placed) int { return cmp.Compare(a.fingerprint, b.fingerprint) })
	var occupants []occupant
	var cells []uint64
	for i, e := range order {
		if i > 0 && s.block(e.fingerprint) != s.block(order[i-1].fingerprint) {
			s.draw(src, table, occupants)
			occupants = occupants[:0]
		}
		cells = s.locate(e.Key, cells[:0])
		first := s.firstColumn(list, e.Key)
		for j, cell := range cells {
			if size := s.held(e.Steps, first, j); size > 0 {
				occupants = append(occupants, occupant{cell, size})
			}
		}
	}
	s.draw(src, table, occupants)
}

// placed is an entry with its fingerprint, which is another for each index, and grows with the
// block.
type placed struct {
	fingerprint uint64
	total
}

// occupyColumns is occupy for the independent layout: column by column, so that what is sorted is
// no more than one number an entry.
func (s *shape) occupyColumns(src *noise.Source, table []uint64, entries []total, list *threshold.Vector[uint64]) {
	first := make([]int, len(entries))
	for i, e := range entries {
		first[i] = s.firstColumn(list, e.Key)
	}
	occupants := make([]occupant, 0, len(entries))
	for j, h := range s.ranges {
		occupants = occupants[:0]
		for i, e := range entries {
			if size := s.held(e.Steps, first[i], j); size > 0 {
				occupants = append(occupants, occupant{uint64(j)*s.positions + h.Hash(e.Key), size})
			}
		}
		s.draw(src, table, occupants)
	}
}

// draw draws each of the cells once, by the law for the largest of what is in it.
func (s *shape) draw(src *noise.Source, table []uint64, occupants []occupant) {
	slices.SortFunc(occupants, func(a, b occupant) int {
		return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(b.size, a.size))
	})
	for i, o := range occupants {
		if i > 0 && o.cell == occupants[i-1].cell {
			continue
		}
		output := s.code.output(o.size, src.Uint64())
		if s.mirrored(s.column(o.cell)) {
			output = uint8(s.code.levels-1) - output
		}
		s.set(table, o.cell, output)
	}
}

// held returns what an entry that keeps the columns from the first one outwards holds in a column.
func (s *shape) held(v int64, first, column int) int {
	if s.outer(column) < first {
		return 0
	}
	return s.size(v, column)
}

// size returns what an entry that keeps all columns holds in a column, from 0 to W.
func (s *shape) size(v int64, column int) int {
	if s.params.Signed {
		if negative := column < s.half; negative == (v >= 0) {
			return 0
		} else if negative {
			v, column = -v, s.half-1-column // the column next to 0 is the last of them
		} else {
			column -= s.half
		}
	}
	v = min(v, s.turn)
	if s.axis != nil {
		v = s.axis.steps(v)
	}
	return int(min(max(v-int64(column)*int64(s.width), 0), int64(s.width)))
}
