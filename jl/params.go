package jl

import (
	"cmp"
	"fmt"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/hadamard"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)

const (
	maxRows    = 1 << 20
	maxHeld    = 1 << 26 // coordinates of a vector that is held, padded: 1 GiB
	maxLoads   = 1 << 28 // coordinates whose places are counted
	maxEntries = 1 << 28 // of a matrix that is drawn entry by entry
	maxGram    = 2048    // rows of an SJLT whose operator norm is computed
	maxDense   = 512     // of another matrix
	minDensity = 0x1p-20
)

// Params are the public numbers of a sketch, comparable. Dim, Rows, Seed and one of Epsilon and Rho
// are required. Two sketches can be compared if their Transform, Dim, Rows, Sparsity, Independence
// and Seed agree.
type Params struct {
	// Transform is S. 0 is SJLT.
	Transform Transform
	// Dim is u, the number of coordinates, 0 to u−1: at most 2²⁶ for transforms
	// that hold the vector, and at most 2²⁸ under L2.
	Dim uint64
	// Rows is k, the length of the sketch, in [1, 2²⁰].
	Rows int
	// Sparsity is s, the number of entries of a column of an SJLT, a divisor of
	// Rows; 0 for other transforms. 0 is 1, the best for Laplace noise, which
	// grows by √s. With Gaussian noise 4 to 8 make collisions of large coordinates
	// rarer and add no noise; under L2 only up to 2048 rows.
	Sparsity int
	// Independence is how many coordinates the hash functions of an SJLT, or the
	// signs of a Rademacher matrix, treat as independent, in [4, 1024]: 4 decide
	// the variance, 8 make intervals narrower, more make large errors rarer
	// ([Params.Fit]). 0 is 8 for an SJLT with Dim·Sparsity ≤ 2²², else 4. For
	// other transforms it must be 0.
	Independence int
	// Seed, not zero, selects the transform, and is the same for all parties.
	Seed hashing.Seed

	// Epsilon is ε, in [2⁻³⁰, 2¹⁰], or 0 with Rho.
	Epsilon float64
	// Delta is δ, 0 for pure ε-privacy or in [1e-300, 1).
	Delta float64
	// Rho is ρ, in [2⁻⁶⁰, 2²⁰], of ρ-zCDP instead of (ε, δ); or 0.
	Rho float64
	// Change is how neighbours differ. 0 is L1(1).
	Change Change
	// Integers says that all values are integers, and so is the size of Change.
	Integers bool

	// Noise is the kind of noise. 0 is Gaussian for Rho and for δ > 0, else
	// DiscreteLaplace for integers, Staircase for OneCoordinate where an SJLT
	// has Sparsity 1 and ε ≥ 1, and Laplace for others.
	Noise Noise
	// Input puts the noise on the vector instead of on the sketch, for SRHT and
	// FJLT. Under L1 that is more noise by about u/k. Under L2 it is at most the
	// noise on the sketch.
	Input bool
}

// Change is how two neighbours differ, and so what a release protects: made by [L1], [L2] or
// [OneCoordinate]. Changes of a coordinate add up. Sizes are in the units of the data, in [2⁻²⁰⁰,
// 2²⁰⁰]; a size of 0 is 1.
type Change struct {
	norm norm
	one  bool // in one coordinate, under l1
	size float64
}

// norm is the norm of the difference of neighbours, as in the encoding.
type norm uint8

const (
	l1 norm = iota
	l2
)

// L1 is a change with ‖x − x′‖₁ ≤ distance; the release protects [budget.L1](distance).
func L1(distance float64) Change { return Change{size: distance} }

// L2 is the same with ‖x − x′‖₂ and budget.L2.
func L2(distance float64) Change { return Change{norm: l2, size: distance} }

// OneCoordinate is one row of the data more or less, if it changes one coordinate, by at most size;
// the release protects [budget.Row]([budget.AddRemove]).
func OneCoordinate(size float64) Change { return Change{one: true, size: size} }

// String returns the call that makes the change.
func (c Change) String() string { return c.call(c.distance()) }

// call returns the call that makes a change of this size.
func (c Change) call(size float64) string {
	name := "L1"
	switch {
	case c.one:
		name = "OneCoordinate"
	case c.norm == l2:
		name = "L2"
	}
	return fmt.Sprintf("%s(%v)", name, size)
}

// distance returns Δ.
func (c Change) distance() float64 {
	return cmp.Or(c.size, 1)
}

// unit returns whom a release protects.
func (c Change) unit() budget.Unit {
	switch {
	case c.one:
		return budget.Row(budget.AddRemove)
	case c.norm == l2:
		return budget.L2(c.distance())
	}
	return budget.L1(c.distance())
}

// bad returns the error of a field.
func bad(field string, value any, want string) error {
	return check.ParamsError("jl", field, value, want)
}

// validate checks what can be checked without the matrix.
func (p Params) validate() error {
	return cmp.Or(p.validateTransform(), check.EpsilonOrRho("jl", p.Epsilon, p.Delta, p.Rho),
		check.Real("jl", "Change", p.Change.size, p.Integers), p.validateNoise())
}

// validateTransform checks the fields that select the matrix, and its size.
func (p Params) validateTransform() error {
	switch {
	case p.Transform > lastTransform:
		return bad("Transform", p.Transform, "one of the constants")
	case p.Dim == 0:
		return bad("Dim", p.Dim, "at least 1")
	case p.Rows < 1 || p.Rows > maxRows:
		return bad("Rows", p.Rows, "an integer in [1, 2²⁰]")
	case p.Sparsity < 0 || p.Sparsity != 0 && p.Transform != SJLT:
		return bad("Sparsity", p.Sparsity, "0, or for SJLT a divisor of Rows")
	case p.Transform == SJLT && p.Rows%p.sparsity() != 0:
		return bad("Sparsity", p.Sparsity, "a divisor of Rows")
	case p.Independence != 0 && !(p.hashed() && p.Independence >= 4 && p.Independence <= hashing.MaxIndependence):
		return bad("Independence", p.Independence, "0, or for SJLT and Rademacher an integer in [4, 1024]")
	case p.Seed.IsZero():
		return bad("Seed", p.Seed, "a seed that all parties share, not zero")
	case p.Change.norm > l2 || p.Change.one && p.Change.norm != l1: // of a decoder
		return bad("Change", p.Change, "L1, L2 or OneCoordinate")
	case p.Input && p.Transform != SRHT && p.Transform != FJLT:
		return bad("Input", p.Input, "false: noise on the input is for SRHT and FJLT")
	}
	return p.validateSize()
}

// validateSize refuses what would take too much memory or time.
func (p Params) validateSize() error {
	dense := p.Transform == FJLT || p.Transform == Normal
	switch {
	case p.holds() && p.Dim > maxHeld:
		return bad("Dim", p.Dim, fmt.Sprintf("at most 2²⁶ where the vector is held until release: %.3g bytes", 16*float64(p.Dim)))
	case p.Change.norm == l2 && p.Dim > maxLoads:
		return bad("Dim", p.Dim, fmt.Sprintf("at most 2²⁸ under L2, where the matrix has to be looked at: %.3g hash values",
			float64(p.Dim)*float64(p.sparsity())))
	case p.Transform == SRHT && uint64(p.Rows) > hadamard.Size(p.Dim):
		return bad("Rows", p.Rows, fmt.Sprintf("at most Dim as a power of two, %d, the number of rows there are", hadamard.Size(p.Dim)))
	case dense && float64(p.Rows)*float64(p.Dim) > maxEntries:
		want := "at most 2²⁸/Dim for %v: the matrix has %.3g entries, and its sensitivity has to be computed"
		return bad("Rows", p.Rows, fmt.Sprintf(want, p.Transform, float64(p.Rows)*float64(p.Dim)))
	case p.Change.norm == l2 && !p.Input && (dense || p.Transform == Rademacher) && p.Rows > maxDense:
		return bad("Rows", p.Rows, fmt.Sprintf("at most 512 for %v under L2, where the operator norm has to be computed", p.Transform))
	}
	return nil
}

// validateNoise checks that the kind of noise fits the guarantee.
func (p Params) validateNoise() error {
	switch {
	case p.Noise > lastNoise:
		return bad("Noise", p.Noise, "one of the constants")
	case p.Rho != 0 && p.Noise != AutoNoise && p.Noise != Gaussian:
		return bad("Noise", p.Noise, "Gaussian where Rho is given")
	case p.Rho == 0 && p.Delta == 0 && p.Noise == Gaussian:
		return bad("Noise", p.Noise, "one for pure ε-privacy where Delta is 0")
	case p.Noise == Staircase && !p.stairs():
		return bad("Noise", p.Noise, "another kind unless Change is OneCoordinate, for an SJLT with s = 1, "+
			"pure ε in [½, 2⁹] and real values")
	case p.Noise == DiscreteLaplace && !p.Integers:
		return bad("Noise", p.Noise, "another kind unless Integers: real values may differ in many coordinates by less than its unit, "+
			"and each would cost as much as a unit")
	}
	return nil
}

// stairs reports whether staircase noise makes the sketch private: one row of it changes.
func (p Params) stairs() bool {
	return p.Change.one && p.Transform == SJLT && p.sparsity() == 1 && !p.Integers && p.Rho == 0 && p.Delta == 0 && p.Epsilon >= 0.5 && p.Epsilon <= 0x1p9
}

// sparsity returns s of an SJLT.
func (p Params) sparsity() int { return max(p.Sparsity, 1) }

// hashed reports whether all that is random in the matrix comes from hash functions.
func (p Params) hashed() bool { return p.Transform == SJLT || p.Transform == Rademacher }

// independence returns the Independence of the hash functions, filled in.
func (p Params) independence() int {
	switch {
	case p.Independence != 0:
		return p.Independence
	case p.Transform == SJLT && p.Dim <= maxTable/uint64(p.sparsity()):
		return 8
	}
	return 4
}

// density returns q of an FJLT, the share of the entries of P that are not 0, with which the
// transform's variance is at most 3‖x‖₂⁴/k: min(1, 1/(u/9 + 1)).
func (p Params) density() float64 {
	return max(minDensity, 1/(float64(hadamard.Size(p.Dim))/9+1))
}

// Guarantee returns what a release promises: ρ-zCDP, (ε, δ), or ε where Laplace noise is used.
// Invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	c, err := p.noise()
	if err != nil {
		return budget.Guarantee{}
	}
	return newTerm(p, c.noise).guarantee(p.Change.unit())
}

// withoutNegativeZeros returns p with no −0, so that equal Params are encoded equally.
func (p Params) withoutNegativeZeros() Params {
	p.Epsilon, p.Delta, p.Rho, p.Change.size = p.Epsilon+0, p.Delta+0, p.Rho+0, p.Change.size+0
	return p
}

// Transform is a random matrix S: c·A for an integer matrix A and a number c.
type Transform uint8

const (
	// SJLT is the sparser Johnson–Lindenstrauss transform of Kane and Nelson,
	// block construction: s entries ±1/√s per column, one in each of s blocks of
	// k/s rows.
	SJLT Transform = iota
	// SRHT is √(u/k) times k of the u rows, drawn without repetition, of the
	// Walsh–Hadamard matrix after random signs. It has the least variance: none at
	// k = u.
	SRHT
	// FJLT is the fast Johnson–Lindenstrauss transform of Ailon and Chazelle,
	// PHD: P is sparse with normal entries, with the density for which the
	// variance is at most 3‖x‖₂⁴/k. With Laplace noise under L1 it has less
	// noise than SRHT from about 256 rows on.
	FJLT
	// Rademacher is dense and has independent entries ±1/√k.
	Rademacher
	// Normal is dense and has independent normal entries, to a multiple of 1/16
	// before the normalisation. Its sensitivity takes u·k steps in New and in
	// Release.
	Normal

	lastTransform = Normal
)

var transformNames = []string{"SJLT", "SRHT", "FJLT", "Rademacher", "Normal"}

// String returns the name.
func (t Transform) String() string { return check.EnumName(t, transformNames, "Transform") }

// holds reports whether a Builder holds the vector and transforms it on release, instead of
// updating the sketch: where the transform does not work by columns, where the noise goes to the
// input, and where the sum over entries of both signs has to stay exact (sensitivity_proof.md).
func (p Params) holds() bool {
	return p.Input || p.Transform != SJLT && p.Transform != Rademacher || p.Transform == Rademacher && p.Change.norm == l2
}

// wraps reports whether the rows of the sketch wrap around instead of saturating: then they are
// linear in the values, and neighbours differ by Ad itself, not by |A|d. Under L1, and with one
// entry a column, the norms of both are the same.
func (p Params) wraps() bool {
	return p.Transform == SJLT && p.Change.norm == l2 && p.sparsity() > 1 && p.Rows <= maxGram
}

// matrix is the integer matrix A of a transform. It is immutable.
type matrix interface {
	bounded
	// bytes returns how much memory the matrix keeps, about.
	bytes() int
}

// bounded is what the calibration of the noise needs from a matrix.
type bounded interface {
	// norms returns bounds on the norms of A·d: over ‖d‖₁ ≤ 1, or over ‖d‖₂ ≤ 1.
	norms(n norm) norms
	// gain returns a bound on |(A·x)ᵢ| and all that apply computes on the way, for |xⱼ| ≤ 1.
	gain() float64
}

// applied is a matrix that works on a vector that is held.
type applied interface {
	// apply returns A·x for a vector of all coordinates, which it may overwrite.
	apply(x []int64) []int64
}

// columns is a matrix that can work by columns.
type columns interface {
	matrix
	// add adds v times column j to the rows, which saturate at ±2⁶¹ or wrap around.
	add(rows []fixed, j uint64, v fixed)
}

// norms are upper bounds on ‖A·d‖₁ and ‖A·d‖₂.
type norms struct{ one, two float64 }

// matrices caches the matrices that were drawn last. They are public.
var matrices = memo.Store[Params, matrix]{Most: mostMatrices, Size: matrix.bytes}

// mostMatrices is how many bytes of matrices are kept: two of the largest tables of an SJLT.
const mostMatrices = 2*4*maxTable + 1<<20

// drawn returns the matrix that the Seed selects, drawn now or before.
func (p Params) drawn() matrix {
	m, _ := matrices.Get(p.selecting(), func() (matrix, error) { return p.newMatrix(), nil })
	return m
}

// selecting returns the fields that select the matrix. The norm of Change decides whether rows wrap
// around.
func (p Params) selecting() Params {
	return Params{Transform: p.Transform, Dim: p.Dim, Rows: p.Rows, Sparsity: p.Sparsity,
		Independence: p.Independence, Seed: p.Seed, Change: Change{norm: p.Change.norm}}
}

// newMatrix draws the matrix that the Seed selects. The Params are valid.
func (p Params) newMatrix() matrix {
	switch p.Transform {
	case SRHT:
		return newSRHT(p)
	case FJLT:
		return newFJLT(p)
	case Rademacher:
		return newRademacher(p)
	case Normal:
		return newNormal(p)
	}
	return newSJLT(p)
}
