package jl

import "github.com/dpsketch/dpsketch/internal/hadamard"

// held is a vector that is held until the release, as the sums of its coordinates. Whole numbers
// and digits are apart, so that the whole numbers become, in place, what is rounded and
// transformed.
type held struct {
	whole []int64 // with room for the coordinates that pad the vector
	frac  []int64 // nil for integers, which are whole numbers of steps
}

// newHeld returns the vector 0.
func newHeld(dim uint64, integers bool) held {
	size := hadamard.Size(dim)
	if integers {
		return held{whole: make([]int64, dim, size)}
	}
	words := make([]int64, size+dim) // one piece of memory takes less time than two
	return held{words[:dim:size], words[size:]}
}

// at returns the sum of a coordinate.
func (h *held) at(i int) fixed {
	if h.frac == nil {
		return fixed{whole: h.whole[i]}
	}
	return fixed{h.whole[i], uint64(h.frac[i])}
}

// set sets the sum of a coordinate.
func (h *held) set(i int, v fixed) {
	h.whole[i] = v.whole
	if h.frac != nil {
		h.frac[i] = int64(v.frac)
	}
}

// rounded returns the sums in whole steps. They are in the memory of the vector, which is gone.
func (h *held) rounded() []int64 {
	whole := h.whole[:len(h.frac)]
	for i, frac := range h.frac {
		whole[i] = fixed{whole[i], uint64(frac)}.rounded()
	}
	whole = h.whole
	*h = held{}
	return whole
}
