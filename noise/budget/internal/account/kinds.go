package account

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// Kind is Count releases of one dominating pair: one distribution of privacy losses that bounds
// each of them. A new kind of noise is a [Family], with its range in Valid, its ρ in Rho and its
// losses in losses.
type Kind struct {
	Family   Family
	Steps    uint32  // of a lattice, 0 for noise on reals
	Size     float64 // ε, μ or σ
	Fraction float64 // of a Poisson sample that the release was made on, 1 for all
	Count    uint64
}

// Family is a family of distributions.
type Family uint8

const (
	// LaplaceNoise of which Size = ε is the loss of all steps: ±ε, randomized response, with one
	// step; Laplace noise on reals with 0.
	LaplaceNoise Family = iota
	// SampledGaussian is Gaussian noise of Size = μ, on a sample; without one it is in Σμ². With
	// steps it is for a group of that many, each in the sample independently.
	SampledGaussian
	// DiscreteGaussianNoise of Size = σ on a number that moves by Steps.
	DiscreteGaussianNoise
	// ReplacedGaussian is Gaussian noise of Size = μ for a unit of a sample that is replaced by
	// another, where μ is for one that is added or removed; Steps is 2.
	ReplacedGaussian
)

const (
	KindSize  = 1 + 4 + 8 + 8 + 8 // bytes of a Kind
	MostKinds = 2048              // in one multiset; more are rounded up
	MostCount = 1 << 40           // releases of one Kind; with more, errors of 2⁻⁴⁷ each count
	mostSteps = 1 << 30
	mostGroup = 64 // of a sample
)

// Response is one release of which nothing is known but ε.
func Response(epsilon float64) Kind {
	return Kind{Family: LaplaceNoise, Steps: 1, Size: epsilon, Fraction: 1, Count: 1}
}

// isResponse reports whether x is of releases of which nothing is known but ε.
func (x Kind) isResponse() bool { return x.Family == LaplaceNoise && x.Steps == 1 && x.Fraction == 1 }

// compare orders kinds, and is 0 for equal distributions.
func (x Kind) compare(y Kind) int {
	return cmp.Or(cmp.Compare(x.Family, y.Family), cmp.Compare(x.Steps, y.Steps), cmp.Compare(x.Size, y.Size), cmp.Compare(x.Fraction, y.Fraction))
}

// Valid reports whether there is such a Kind.
func (x Kind) Valid() bool {
	switch {
	case !(x.Size > 0 && x.Size <= math.MaxFloat64), !(x.Fraction > 0 && x.Fraction <= 1), x.Count < 1 || x.Count > MostCount, x.Steps > mostSteps:
		return false
	case x.Family == SampledGaussian:
		return x.Fraction < 1 && (x.Steps == 0 || x.groups(int(x.Steps)))
	case x.Family == ReplacedGaussian:
		return x.Steps == 2 && x.Fraction < 1 && x.Size <= loss.MostMove/2
	case x.Family == DiscreteGaussianNoise:
		return x.Steps >= 1 && x.Steps <= loss.MostSigma && x.Size >= loss.LeastSigma && x.Size <= loss.MostSigma
	}
	return x.Family == LaplaceNoise
}

// groups reports whether the losses of a group of m ≥ 2 are known, each member in the sample
// independently.
func (x Kind) groups(m int) bool {
	return x.Family == SampledGaussian && m >= 2 && m <= mostGroup && float64(m)*x.Size <= loss.MostMove && x.Fraction >= 0x1p-60 && x.Size >= 0x1p-60
}

// epsilon returns the ε at which a release with Laplace noise is ε-DP.
func (x Kind) epsilon() float64 {
	if x.Fraction == 1 {
		return x.Size
	}
	return min(x.Size, exact.Above(SampledEpsilon(x.Size, x.Fraction)))
}

// rho returns a ρ at which one release is ρ-zCDP, rounded up. On a sample it is at most that
// without.
func (x Kind) rho() float64 {
	switch x.Family {
	case SampledGaussian, ReplacedGaussian:
		mu := exact.ProductUp(x.Size, float64(max(x.Steps, 1)))
		return exact.ProductUp(0.5, exact.ProductUp(mu, mu))
	case DiscreteGaussianNoise: // Canonne, Kamath, Steinke, Theorem 4
		ratio := exact.QuotientUp(float64(x.Steps), x.Size)
		return exact.ProductUp(0.5, exact.ProductUp(ratio, ratio))
	}
	return ResponseRho(x.epsilon())
}

// ResponseRho returns ε·tanh(ε/2) rounded up: the least ρ for which every ε-DP release is ρ-zCDP.
func ResponseRho(epsilon float64) float64 {
	if epsilon == 0 {
		return 0
	}
	return min(epsilon, math.Nextafter(epsilon*math.Tanh(epsilon/2)*(1+0x1p-50), math.Inf(1)))
}

// losses returns the distribution of the losses of one release, that of a sample on so many points,
// and about how many squarings of [loss.Points] points it takes. It is nil where the parameters are
// out of range.
func (x Kind) losses(points int) (l losses, squarings int) {
	sampled, power := x.Fraction < 1, max(bits.Len64(x.Count)-9, 0)
	var m *loss.Measure // symmetric
	switch {
	case x.Family == DiscreteGaussianNoise:
		m, squarings = loss.DiscreteGaussian(x.Size, int(x.Steps)), 1
	case x.Size < loss.Least:
	case x.Family == ReplacedGaussian:
		m = loss.Replaced(x.Size, x.Fraction, points)
		return losses{m, m}, 200
	case x.Family == SampledGaussian && x.Steps > 0:
		moves, weights := x.mixture()
		l.removed, l.added = loss.Mixture(moves, weights, points)
		return l, 300
	case x.Family == SampledGaussian && x.Size <= loss.MostSampledMu:
		m, squarings = loss.Gaussian(x.Size, points), 1
	case x.Family != LaplaceNoise || x.Size > loss.Most:
	case x.Steps > 0:
		m = loss.Lattice(x.Size, int(x.Steps))
	case sampled:
		m = loss.Laplace(x.Size, 1024)
	default:
		m = loss.Laplace(x.Size, 128)
	}
	switch {
	case m == nil:
		return losses{}, 0
	case !sampled:
		m = m.Coarse(2 * loss.Points)
		return losses{m, m}, squarings + power
	case m.Points() > 2:
		squarings = 200
	default:
		points, squarings = 2, 2*power
	}
	l.removed, l.added = m.Poisson(x.Fraction, points)
	return l, squarings
}

// mixture returns with which probability how many of a group are in the sample, and how far that
// many move the number.
func (x Kind) mixture() (moves, weights []float64) {
	weights = []float64{1}
	for k := range x.Steps {
		weights = append(weights, 0)
		for j := int(k); j >= 0; j-- {
			weights[j+1] += weights[j] * x.Fraction
			weights[j] *= 1 - x.Fraction
		}
	}
	for k := range weights {
		moves = append(moves, float64(k)*x.Size)
	}
	return moves, weights
}

// Kinds is the multiset of what bounds the releases, apart from those by ρ and μ, whose sums say
// all: sorted, each distribution once. It is empty without such releases, and where there are too
// many for the accountant. It is never changed in place.
type Kinds []Kind

// makeKinds returns the multiset of the list, in any order and with repetitions, which it may
// reorder. Too many different ones are rounded up, to the largest number of digits that leaves few
// enough: a release at ε is bounded by one at any ε′ ≥ ε, and so for μ. Too large a count gives
// nil.
func makeKinds(list []Kind) Kinds {
	for digits := 20; ; digits -= 2 {
		slices.SortFunc(list, Kind.compare)
		n := 0
		for _, x := range list {
			if n > 0 && list[n-1].compare(x) == 0 {
				x.Count += list[n-1].Count // at most 2⁴¹
				n--
			}
			if x.Count > MostCount {
				return nil
			}
			list[n] = x
			n++
		}
		list = list[:n]
		if n <= MostKinds {
			return list
		}
		if digits < 0 {
			return nil
		}
		for i, x := range list {
			if x.Family == DiscreteGaussianNoise {
				continue // not known to increase with 1/σ
			}
			if list[i].Size = digitsUp(x.Size, digits); list[i].Size > math.MaxFloat64 {
				return nil
			}
		}
	}
}

// digitsUp rounds x > 0 up to so many binary digits after the first.
func digitsUp(x float64, digits int) float64 {
	rest := uint64(1)<<(52-digits) - 1
	return math.Float64frombits((math.Float64bits(x) + rest) &^ rest)
}

// times returns the multiset n times.
func (k Kinds) times(n uint64) Kinds {
	if n == 1 {
		return k
	}
	k = slices.Clone(k)
	for i := range k {
		high, low := bits.Mul64(k[i].Count, n)
		if high != 0 || low > MostCount {
			return nil
		}
		k[i].Count = low
	}
	return k
}

// Single reports whether there is one release, of which nothing is known but ε.
func (k Kinds) Single() bool { return len(k) == 1 && k[0].Count == 1 && k[0].isResponse() }

// Sampled reports whether there are releases on a sample.
func (k Kinds) Sampled() bool {
	return slices.ContainsFunc(k, func(x Kind) bool { return x.Fraction < 1 })
}

// rho returns the sum of the ρ.
func (k Kinds) rho() (sum float64) {
	for _, x := range k {
		sum = exact.SumUp(sum, exact.ProductUp(float64(x.Count), x.rho()))
	}
	return sum
}

// Append appends KindSize bytes for each, which are in the order of compare.
func (k Kinds) Append(data []byte) []byte {
	data = slices.Grow(data, len(k)*KindSize)
	for _, x := range k {
		data = append(data, byte(x.Family))
		data = binary.BigEndian.AppendUint32(data, x.Steps)
		data = binary.BigEndian.AppendUint64(data, math.Float64bits(x.Size))
		data = binary.BigEndian.AppendUint64(data, math.Float64bits(x.Fraction))
		data = binary.BigEndian.AppendUint64(data, x.Count)
	}
	return data
}

// ReadKinds returns the multiset of the bytes of Append; [Releases.Possible] checks it.
func ReadKinds(data string) Kinds { return readKinds(nil, data) }

// readKinds appends what is read.
func readKinds(k Kinds, data string) Kinds {
	k = slices.Grow(k, len(data)/KindSize)
	for ; len(data) >= KindSize; data = data[KindSize:] {
		var b [KindSize]byte
		copy(b[:], data)
		number := func(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
		k = append(k, Kind{Family(b[0]), binary.BigEndian.Uint32(b[1:]), number(b[5:]), number(b[13:]), binary.BigEndian.Uint64(b[21:])})
	}
	return k
}
