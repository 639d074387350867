package alp

import (
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/threshold"
)

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
