package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/hadamard"
	"github.com/dpsketch/dpsketch/noise"
)

// rotation is x ↦ H·D·x/√u: random signs D and the Walsh–Hadamard matrix H of u coordinates, u the
// least power of two ≥ d; x is padded with zeros. It is orthogonal, and spreads every vector over
// all coordinates: each is at most t·‖x‖₂/√u in absolute value except with probability 2e^{−t²/2}
// (Hoeffding).
//
// The signs do not depend on the data. A release is private for each of them, and so for random
// ones.
type rotation struct {
	dim   int
	signs []uint64 // one bit each
}

// newRotation draws the signs for dim coordinates.
func newRotation(src *noise.Source, dim int) *rotation {
	signs := make([]uint64, (dim+63)/64)
	src.Fill(signs)
	return &rotation{dim, signs}
}

// size returns u.
func (r *rotation) size() int { return int(hadamard.Size(uint64(r.dim))) }

// sign returns the sign of coordinate i.
func (r *rotation) sign(i int) float64 { return 1 - 2*float64(r.signs[i/64]>>(i%64)&1) }

// apply replaces x, u coordinates of which those from dim on are 0, by H·D·x/√u.
func (r *rotation) apply(x []float64) {
	scale := 1 / math.Sqrt(float64(len(x)))
	for i := range r.dim {
		x[i] *= r.sign(i) * scale
	}
	hadamard.Float(x)
}

// invert undoes apply: H is symmetric and H² = u.
func (r *rotation) invert(x []float64) {
	scale := 1 / math.Sqrt(float64(len(x)))
	hadamard.Float(x)
	for i := range r.dim {
		x[i] *= r.sign(i) * scale
	}
}
