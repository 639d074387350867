package tail

import "math"

// Count is the number of bins on a side.
const Count = 196

// octaves are those from the unit to the bound, or almost one less.
const octaves = 96

// Bins are the half octaves of the distance from a centre: bin b on either side has e_b ≤ |y| <
// e_{b+1}, e_b = unit·2^{b/2}, and the central one |y| < e₀. They are public.
type Bins struct {
	exponent int // of the unit
	edge     []float64
}

// NewBins returns the bins for values of at most bound in absolute value: two of them are at most
// 2·bound ≤ e_K apart, K = Count.
func NewBins(bound float64) Bins { return Some(math.Ilogb(bound)-octaves, Count) }

// Some returns so many bins on each side, for a unit of 2^exponent.
func Some(exponent, count int) Bins {
	g := Bins{exponent, make([]float64, count+1)}
	for b := range g.edge {
		g.edge[b] = math.Ldexp([2]float64{1, math.Sqrt2}[b&1], exponent+b>>1)
	}
	return g
}

// Edge returns e_b, from 0 to the number of bins.
func (g Bins) Edge(b int) float64 { return g.edge[b] }

// count returns the number of bins on a side.
func (g Bins) count() int { return len(g.edge) - 1 }

// Of returns the side of a distance y, 1 above the centre, and 0 for the central bin or 1 + b. (It
// has no branches, which would depend on chance.)
func (g Bins) Of(y float64) (side, number int) {
	const fraction = 1<<52 - 1
	bits := math.Float64bits(y)
	octave := int(bits>>52&0x7ff) - 1023 - g.exponent
	upper := (bits&fraction + 1<<52 - math.Float64bits(math.Sqrt2)&fraction) >> 52 // 1 from √2 on
	number = max(2*octave+1, 0)                                                    // 0 or odd
	return int(bits>>63 ^ 1), min(number+int(upper)&-(number&1), g.count())
}

// Noise is what was added to each number of rows.
type Noise struct {
	Laplace bool
	Scale   float64 // of Laplace noise, or σ
}

// deviation returns the standard deviation.
func (n Noise) deviation() float64 {
	if n.Laplace {
		return math.Sqrt2 * n.Scale
	}
	return n.Scale
}

// Histogram has the numbers of rows by bin, with noise.
type Histogram struct {
	Bins
	Noise
	Middle int64      // of the central bin
	Rows   [2][]int64 // below the centre and above it
	// Sum is the standard deviation that the noise of the sum will have, in
	// rows at an end.
	Sum float64
}

// Range says where values are clamped and how far the histogram is believed, below the centre and
// above it: the ends are e_End, and Top is the first bin behind the last visible one.
type Range struct{ End, Top [2]int }

// NewHistogram returns one of no rows.
func NewHistogram(g Bins, n Noise, sum float64) Histogram {
	return Histogram{g, n, 0, [2][]int64{make([]int64, g.count()), make([]int64, g.count())}, sum}
}

// at returns the number of rows of a bin, 0 where there is none.
func (h *Histogram) at(side, b int) float64 {
	if b < 0 || b >= h.count() {
		return 0
	}
	return float64(h.Rows[side][b])
}

// positive is at without what noise made negative.
func (h *Histogram) positive(side, b int) float64 { return max(h.at(side, b), 0) }

// large is a number of rows that noise alone hardly ever makes in one of all bins.
func (h *Histogram) large() float64 { return 8 * h.Scale }

// sure returns the number of rows of a bin that surely holds some, else 0.
func (h *Histogram) sure(side, b int) float64 {
	if x := h.at(side, b); x > h.large() {
		return x
	}
	return 0
}

// Sure returns about how many rows there are, by the bins that surely hold some: all of them, and
// those beside the central bin.
func (h *Histogram) Sure() (all, outside float64) {
	outside = h.Beside(0, 0) + h.Beside(1, 0)
	if all = float64(h.Middle); all <= h.large() {
		all = 0
	}
	return all + outside, outside
}
