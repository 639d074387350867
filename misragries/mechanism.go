package misragries

import "github.com/dpsketch/dpsketch/internal/enum"

// Mechanism is a way to release a sketch. Auto takes the one that is right for what the Builder
// holds, as listed with each.
type Mechanism uint8

const (
	// Auto chooses: see [Params.Candidates].
	Auto Mechanism = iota
	// KeptZeros is Algorithm 2 of the paper: zero counters kept, shared and own discrete
	// Laplace noise. For one stream; the default there.
	KeptZeros
	// FreedZeros is the same for a sketch that frees counters at zero (section 5.1). For
	// counters from elsewhere, see [FromCounters], where it is the default, and for one stream.
	FreedZeros
	// SparseVector releases the positive counters as a sparse vector of at most k keys, of
	// which a neighbour changes up to k by one, all one way (package threshold, by correlated
	// Gaussian noise mostly). For merged sketches and for users with several keys, the default
	// there; and for one stream.
	SparseVector
	// ReducedSum releases the sum of reduced sketches (Algorithm 3), with noise that does not
	// grow with the number of sketches. The default of [Sum]; also for one stream.
	ReducedSum
	// ShiftedSum is ReducedSum with a private shift of each sketch: a lower threshold, and more
	// bias with each sketch.
	ShiftedSum
	// PureUniverse needs Dim and is ε-private without δ (section 6): the reduced sketch with
	// noise on all Dim keys, of which the k largest are released. The default where Delta is 0.
	// For one stream.
	PureUniverse
	// ShiftedUniverse is PureUniverse with a private shift, at about half the noise and a δ > 0
	// that may be tiny.
	ShiftedUniverse

	lastMechanism = ShiftedUniverse
)

var mechanismNames = []string{
	"Auto", "KeptZeros", "FreedZeros", "SparseVector", "ReducedSum", "ShiftedSum", "PureUniverse", "ShiftedUniverse",
}

// String returns the name of the constant.
func (m Mechanism) String() string {
	return enum.Name(m, mechanismNames, "Mechanism")
}

// universe reports whether the mechanism draws noise for all Dim keys.
func (m Mechanism) universe() bool { return m == PureUniverse || m == ShiftedUniverse }

// reduces reports whether the mechanism releases reduced sketches.
func (m Mechanism) reduces() bool { return m.universe() || m == ReducedSum || m == ShiftedSum }

// shifts reports whether sketches are reduced by a private shift.
func (m Mechanism) shifts() bool { return m == ShiftedSum || m == ShiftedUniverse }
