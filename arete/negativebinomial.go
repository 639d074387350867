package arete

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// difference draws the difference of two independent negative binomial variables of one shape κ and
// p = e^{−1/s}, with masses ∝ p^k·Γ(κ+k)/k!, or one of n shares of it. Both are compound Poisson: a
// Poisson number, of mean 2κ·L(s), of [logarithmic] jumps with a fair sign. Nothing underflows,
// however small the shape: then there is mostly no jump. At κ = 1 the difference is discrete
// Laplace of scale s.
type difference struct {
	events *poisson
	jump   logarithmic
}

func newDifference(shape, scale float64, parts uint64) (*difference, error) {
	jump, err := newLogarithmic(scale)
	if err != nil {
		return nil, err
	}
	return &difference{newPoisson(rate{2 * shape, scale, parts}), jump}, nil
}

func (d *difference) SampleInt(src *noise.Source) (z int64) {
	for range d.events.draw(src) {
		k := d.jump.draw(src)
		if src.Uint64()&1 == 1 {
			k = -k
		}
		z += k
	}
	return z
}

// negativeBinomial returns the masses 0..n−1 of the negative binomial distribution,
// (1−p)^κ·p^k·κ(κ+1)⋯(κ+k−1)/k!.
func negativeBinomial(shape, scale float64, n int) []float64 {
	g := make([]float64, n)
	p := math.Exp(-1 / scale)
	g[0] = math.Pow(-math.Expm1(-1/scale), shape)
	for k := 1; k < n; k++ {
		g[k] = g[k-1] * p * ((shape + float64(k-1)) / float64(k))
	}
	return g
}

// logarithmic draws K ≥ 1 with Pr[K = k] ∝ p^k/k, p = e^{−1/s}: the jumps of a negative binomial
// distribution. It is exact for the float64 s as it stands.
//
// The values to B = 2^J ≥ 1.4·s are in J+1 octaves, {1}, {2}, {3, 4}, {5, …, 8}, …, the others in
// blocks mB+1, …, (m+1)B, m ≥ 1. Each octave has about the same weight, and all blocks together
// have no more than one. A proposal draws m with Pr = (1−p^B)·p^{mB}, the number of whole blocks in
// a geometric G, and one of J+2 cases:
//
//	octave of 2^j values: only if m = 0; k uniform in it, accepted with (2^j/k)·p^{k−1}:
//	        weight (1−p^B)·p^{k−1}/k
//	blocks: only if m ≥ 1; k = mB+1+i, i uniform, accepted with (B/k)·p^i:
//	        weight (1−p^B)·p^{mB}·p^i/k
//
// So every k has the weight (1−p^B)·p^{k−1}/k. An event of probability p^i is a geometric draw that
// is at least i; 2^j/k is decided among integers.
type logarithmic struct {
	unit    noise.Geometric
	octaves uint
}

func newLogarithmic(s float64) (logarithmic, error) {
	unit, err := noise.NewGeometric(s)
	return logarithmic{unit, uint(max(0, math.Ceil(math.Log2(1.4*s))))}, err
}

func (l logarithmic) draw(src *noise.Source) int64 {
	for {
		octave := uint(src.Uint64N(uint64(l.octaves + 2)))
		blocks := uint64(l.unit.SampleInt(src)) >> l.octaves
		if (blocks == 0) != (octave <= l.octaves) {
			continue
		}
		var k, size, decay uint64
		switch octave {
		case 0:
			return 1
		case l.octaves + 1:
			size = 1 << l.octaves
			decay = src.Uint64() & (size - 1)
			k = blocks*size + 1 + decay
		default:
			size = 1 << (octave - 1)
			decay = size + src.Uint64()&(size-1)
			k = decay + 1
		}
		if src.Uint64N(k) < size && uint64(l.unit.SampleInt(src)) >= decay {
			return int64(k)
		}
	}
}

// logSeries encloses L(s) = −ln(1 − e^{−1/s}), the total Lévy mass of one geometric distribution of
// scale s, for s in [2⁻⁴, 2⁵⁰].
//
// It starts from a float64 and refines x by Newton's method for e^{−x} = y, x ← x + (e^{−x}/y − 1),
// which doubles the digits. What is returned is not the limit on trust: e^{−hi} ≤ y ≤ e^{−lo} is
// verified, and the interval widened until that holds.
func logSeries(s float64, prec uint) exact.Interval {
	const guard = 96 // y may be as small as 2⁻⁵¹
	work := prec + guard
	inverse := new(big.Rat).SetFloat64(s)
	decay := exact.Enclose(inverse.Inv(inverse), work).ExpNeg(work)
	y := exact.Interval{Lo: new(big.Int).Sub(exact.One(work), decay.Hi), Hi: new(big.Int).Sub(exact.One(work), decay.Lo)}

	one := exact.One(work)
	expNeg := func(n *big.Int) exact.Interval { return exact.ExpNegQuo(n, one, work) }
	start, _ := new(big.Float).SetMantExp(big.NewFloat(-math.Log(-math.Expm1(-1/s))), int(work)).Int(nil)
	x := start
	for digits := uint(40); digits < work; digits *= 2 {
		power := expNeg(x).Lo
		step := power.Lsh(power, work)
		step.Quo(step, y.Lo).Sub(step, exact.One(work))
		x.Add(x, step)
	}
	for width := exact.One(guard / 8); ; width.Lsh(width, 8) {
		lo, hi := new(big.Int).Sub(x, width), new(big.Int).Add(x, width)
		if lo.Sign() < 0 {
			lo.SetInt64(0)
		}
		if expNeg(lo).Lo.Cmp(y.Hi) >= 0 && expNeg(hi).Hi.Cmp(y.Lo) <= 0 {
			return exact.Interval{Lo: lo.Rsh(lo, guard), Hi: exact.Increment(hi.Rsh(hi, guard))}
		}
	}
}
