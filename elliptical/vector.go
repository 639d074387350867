package elliptical

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Vector is an immutable list of public numbers, one per coordinate. It is comparable with ==, and
// so are the [Params] that hold it. The zero Vector is empty.
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
	return math.Float64frombits(v.word(i))
}

// word returns the bits of number i; 0 if there is none.
func (v Vector) word(i int) uint64 {
	if uint(i) >= uint(v.Len()) {
		return 0
	}
	s := v.bits[8*i:][:8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// pick returns the numbers at some places, none of an empty Vector.
func (v Vector) pick(places []int) Vector {
	if v.Len() == 0 {
		return v
	}
	bits := make([]byte, 0, 8*len(places))
	for _, i := range places {
		bits = append(bits, v.bits[8*i:8*i+8]...)
	}
	return Vector{string(bits)}
}

// Values returns the numbers as a new slice.
func (v Vector) Values() []float64 {
	values := make([]float64, v.Len())
	for i := range values {
		values[i] = math.Float64frombits(v.word(i))
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
