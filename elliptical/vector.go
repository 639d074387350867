package elliptical

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Vector is an immutable list of public numbers, one for each coordinate, that is comparable with
// == (and so are the [Params] that hold it). The zero Vector is empty.
type Vector struct {
	bits string // IEEE 754 bits, eight bytes each: a string is immutable and comparable
}

// VectorOf returns the Vector of the numbers, which are copied; −0 counts as 0.
func VectorOf(values ...float64) Vector {
	bits := make([]byte, 0, 8*len(values))
	for _, x := range values {
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(x+0))
	}
	return Vector{string(bits)}
}

// Len returns the number of coordinates.
func (v Vector) Len() int { return len(v.bits) / 8 }

// At returns number i, counted from 0, or NaN if there is none.
func (v Vector) At(i int) float64 {
	if i < 0 || i >= v.Len() {
		return math.NaN()
	}
	s := v.bits[8*i : 8*i+8]
	low := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	high := uint32(s[4]) | uint32(s[5])<<8 | uint32(s[6])<<16 | uint32(s[7])<<24
	return math.Float64frombits(uint64(high)<<32 | uint64(low))
}

// Values returns the numbers as a new slice.
func (v Vector) Values() []float64 {
	values := make([]float64, v.Len())
	for i := range values {
		values[i] = v.At(i)
	}
	return values
}

// String prints the numbers, the first eight of a long list.
func (v Vector) String() string {
	const shown = 8
	if n := v.Len(); n > shown {
		return fmt.Sprintf("%v… (%d numbers)", Vector{v.bits[:8*shown]}.Values(), n)
	}
	return fmt.Sprint(v.Values())
}
