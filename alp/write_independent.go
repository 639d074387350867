package alp

import (
	"github.com/dpsketch/dpsketch/noise"
)

// occupyApart is occupy for the independent layout: column by column, so that what is sorted is
// no more than one number an entry.
func (s *shape) occupyApart(src *noise.Source, table []uint64, entries []total, listed *directory) {
	first := make([]int, len(entries))
	for i, e := range entries {
		first[i] = s.firstColumn(listed, e.Key)
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

// locateApart is locate for the independent layout.
func (s *shape) locateApart(index uint64, dst []uint64) []uint64 {
	for j := range s.ranges {
		dst = append(dst, uint64(j)*s.positions+s.ranges[j].Hash(index))
	}
	return dst
}
