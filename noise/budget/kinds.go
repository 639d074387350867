package budget

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// kinds is the multiset of the laws of privacy loss that bound the releases behind a Guarantee,
// apart from those by ρ and μ, whose sums say all. A string, so that a Guarantee stays comparable:
// the entries of [lossKind.append], sorted. It is empty without such releases, and where there are
// too many for the accountant.
type kinds string

// lossKind is one entry: count releases of one law.
type lossKind struct {
	law      lawKind
	steps    uint32  // of a lattice, 0 for noise on reals
	size     float64 // ε, μ or σ
	fraction float64 // of a Poisson sample that the release was made on, 1 for all
	count    uint64
}

// lawKind is a family of laws.
type lawKind uint8

const (
	// laplacian: Laplace noise of which size = ε is the loss of all steps: ±ε, randomized response,
	// with one step; Laplace noise on reals with 0.
	laplacian lawKind = iota
	// gaussian: Gaussian noise of size = μ, on a sample; without one it is in Σμ². With steps it is
	// for a group of so many, each in the sample by himself.
	gaussian
	// latticeGaussian: discrete Gaussian noise of size = σ on a number that moves by steps.
	latticeGaussian
	// swapped: Gaussian noise of size = μ for a unit of a sample that is replaced by another, where
	// μ is for one that is added or removed; with 2 steps, the one and the other.
	swapped
)

const (
	kindSize  = 1 + 4 + 8 + 8 + 8
	mostKinds = 2048    // different laws, from where on they are rounded up
	mostCount = 1 << 40 // releases of one law; with more the accountant's errors of 2⁻⁴⁷ each count
	mostSteps = 1 << 30
	mostGroup = 64 // of a sample
)

// response is one release at ε.
func response(epsilon float64) lossKind {
	return lossKind{law: laplacian, steps: 1, size: epsilon, fraction: 1, count: 1}
}

// isResponse reports whether x is of releases of which nothing is known but ε.
func (x lossKind) isResponse() bool { return x.law == laplacian && x.steps == 1 && x.fraction == 1 }

// append appends the entry, such that bytes are in the order of compare.
func (x lossKind) append(data []byte) []byte {
	data = append(data, byte(x.law))
	data = binary.BigEndian.AppendUint32(data, x.steps)
	data = binary.BigEndian.AppendUint64(data, math.Float64bits(x.size))
	data = binary.BigEndian.AppendUint64(data, math.Float64bits(x.fraction))
	return binary.BigEndian.AppendUint64(data, x.count)
}

// compare orders entries, and is 0 for equal laws.
func (x lossKind) compare(y lossKind) int {
	return cmp.Or(cmp.Compare(x.law, y.law), cmp.Compare(x.steps, y.steps), cmp.Compare(x.size, y.size), cmp.Compare(x.fraction, y.fraction))
}

// valid reports whether there is such an entry.
func (x lossKind) valid() bool {
	switch {
	case !(x.size > 0 && x.size <= math.MaxFloat64), !(x.fraction > 0 && x.fraction <= 1), x.count < 1 || x.count > mostCount, x.steps > mostSteps:
		return false
	case x.law == gaussian:
		return x.fraction < 1 && (x.steps == 0 || x.groups(int(x.steps)))
	case x.law == swapped:
		return x.steps == 2 && x.fraction < 1 && x.size <= loss.MostMove/2
	case x.law == latticeGaussian:
		return x.steps >= 1 && x.steps <= loss.MostSigma && x.size >= loss.LeastSigma && x.size <= loss.MostSigma
	}
	return x.law == laplacian
}

// groups reports whether the law of a group of m ≥ 2 is known, each in the sample by himself.
func (x lossKind) groups(m int) bool {
	return x.law == gaussian && m >= 2 && m <= mostGroup && float64(m)*x.size <= loss.MostMove && x.fraction >= 0x1p-60 && x.size >= 0x1p-60
}

// mixture returns with which probability how many of a group of m are in the sample, and how far
// that many move the number.
func (x lossKind) mixture() (moves, weights []float64) {
	weights = []float64{1}
	for k := range x.steps {
		weights = append(weights, 0)
		for j := int(k); j >= 0; j-- {
			weights[j+1] += weights[j] * x.fraction
			weights[j] *= 1 - x.fraction
		}
	}
	for k := range weights {
		moves = append(moves, float64(k)*x.size)
	}
	return moves, weights
}

// epsilon returns the ε at which a release of a laplacian law is ε-DP.
func (x lossKind) epsilon() float64 {
	if x.fraction == 1 {
		return x.size
	}
	return min(x.size, exact.Above(subsampledEpsilon(x.size, x.fraction)))
}

// rho returns a ρ at which one release is ρ-zCDP, rounded up. On a sample it is at most that
// without.
func (x lossKind) rho() float64 {
	switch x.law {
	case gaussian, swapped:
		mu := exact.ProductUp(x.size, float64(max(x.steps, 1)))
		return exact.ProductUp(0.5, exact.ProductUp(mu, mu))
	case latticeGaussian: // Canonne, Kamath, Steinke, Theorem 4
		ratio := exact.QuotientUp(float64(x.steps), x.size)
		return exact.ProductUp(0.5, exact.ProductUp(ratio, ratio))
	}
	return responseRho(x.epsilon())
}

// oneKind returns the multiset of one entry.
func oneKind(x lossKind) kinds {
	if x.size == 0 {
		return ""
	}
	return makeKinds([]lossKind{x})
}

func (k kinds) len() int { return len(k) / kindSize }

func (k kinds) at(i int) lossKind {
	b := []byte(k[i*kindSize : (i+1)*kindSize])
	number := func(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
	return lossKind{lawKind(b[0]), binary.BigEndian.Uint32(b[1:]), number(b[5:]), number(b[13:]), binary.BigEndian.Uint64(b[21:])}
}

// list returns the entries.
func (k kinds) list() []lossKind {
	list := make([]lossKind, k.len())
	for i := range list {
		list[i] = k.at(i)
	}
	return list
}

// makeKinds returns the multiset of the entries, in any order and with repetitions. Where there are
// too many different ones they are rounded up, to the largest number of digits that leaves few
// enough: a release at ε is bounded by one at any ε′ ≥ ε, and so for μ. Too large a count gives "".
func makeKinds(list []lossKind) kinds {
	list = slices.Clone(list)
	for digits := 20; ; digits -= 2 {
		slices.SortFunc(list, lossKind.compare)
		n := 0
		for _, x := range list {
			if n > 0 && list[n-1].compare(x) == 0 {
				list[n-1].count += x.count // at most 2⁴¹
				if list[n-1].count > mostCount {
					return ""
				}
				continue
			}
			if x.count > mostCount {
				return ""
			}
			list[n] = x
			n++
		}
		list = list[:n]
		if n <= mostKinds {
			break
		}
		if digits < 0 {
			return ""
		}
		for i, x := range list {
			if x.law == latticeGaussian {
				continue // not known to increase with 1/σ
			}
			if list[i].size = digitsUp(x.size, digits); list[i].size > math.MaxFloat64 {
				return ""
			}
		}
	}
	data := make([]byte, 0, len(list)*kindSize)
	for _, x := range list {
		data = x.append(data)
	}
	return kinds(data)
}

// digitsUp rounds x > 0 up to so many binary digits after the first.
func digitsUp(x float64, digits int) float64 {
	rest := uint64(1)<<(52-digits) - 1
	return math.Float64frombits((math.Float64bits(x) + rest) &^ rest)
}

// times returns the multiset n times.
func (k kinds) times(n uint64) kinds {
	list := k.list()
	for i := range list {
		high, low := bits.Mul64(list[i].count, n)
		if high != 0 || low > mostCount {
			return ""
		}
		list[i].count = low
	}
	return makeKinds(list)
}

// single reports whether there is one release, of which nothing is known but ε.
func (k kinds) single() bool { return k.len() == 1 && k.at(0).count == 1 && k.at(0).isResponse() }

// rho returns the sum of the ρ.
func (k kinds) rho() (sum float64) {
	for _, x := range k.list() {
		sum = exact.SumUp(sum, exact.ProductUp(float64(x.count), x.rho()))
	}
	return sum
}

// responseRho returns ε·tanh(ε/2) rounded up: the least ρ for which every ε-DP release is ρ-zCDP.
func responseRho(epsilon float64) float64 {
	if epsilon == 0 {
		return 0
	}
	return min(epsilon, math.Nextafter(epsilon*math.Tanh(epsilon/2)*(1+0x1p-50), math.Inf(1)))
}

// laws are the certified laws of the losses of many releases: removed for an input with a unit more
// against one without, added the other way round. They are the same but where there are samples.
type laws struct{ removed, added *loss.Measure }

// known reports whether there are any.
func (l laws) known() bool { return l.removed != nil }

// leaf returns the law of one release, that of a sample on so many points, and how many squarings
// of [loss.Points] points it takes on the most, about. It is nil where the parameters are out of
// range.
func (x lossKind) leaf(points int) (l laws, squarings int) {
	sampled := x.fraction < 1
	symmetric := (*loss.Measure)(nil)
	switch {
	case x.law == latticeGaussian:
		symmetric = loss.DiscreteGaussian(x.size, int(x.steps))
		squarings = 1
	case x.size < loss.Least:
		return laws{}, 0
	case x.law == swapped:
		both := loss.Replaced(x.size, x.fraction, points)
		return laws{both, both}, 200
	case x.law == gaussian && x.steps > 0:
		moves, weights := x.mixture()
		removed, added := loss.Mixture(moves, weights, points)
		return laws{removed, added}, 300
	case x.law == gaussian && x.size <= loss.MostSampledMu:
		symmetric = loss.Gaussian(x.size, points)
		squarings = 1
	case x.law == laplacian && x.size <= loss.Most:
		switch {
		case x.steps == 0 && sampled:
			symmetric = loss.Laplace(x.size, 1024)
		case x.steps == 0:
			symmetric = loss.Laplace(x.size, 128)
		default:
			symmetric = loss.Lattice(x.size, int(x.steps))
		}
	}
	switch {
	case symmetric == nil:
		return laws{}, 0
	case sampled && symmetric.Points() > 2:
		removed, added := symmetric.Poisson(x.fraction, points)
		return laws{removed, added}, 200
	case sampled:
		removed, added := symmetric.Poisson(x.fraction, 2)
		return laws{removed, added}, 2 * max(bits.Len64(x.count)-9, 0)
	}
	symmetric = symmetric.Coarse(2 * loss.Points)
	return laws{symmetric, symmetric}, squarings + max(bits.Len64(x.count)-9, 0)
}

// samplePoints is on how many points the law of one release on a sample is kept.
const samplePoints = 1 << 14

// sampled reports whether there are releases on a sample.
func (k kinds) sampled() bool {
	return slices.ContainsFunc(k.list(), func(x lossKind) bool { return x.fraction < 1 })
}

// measure returns the certified laws of the losses, and none where the accountant has none: no
// entries, parameters out of its range, or so many releases that it would take seconds.
func (k kinds) measure() laws { return k.measureOn(samplePoints) }

// measureOn is measure with the laws of samples on so many points: with fewer they are larger, and
// take less time.
func (k kinds) measureOn(points int) laws {
	var removed, added []*loss.Measure
	// squarings of 1,024 points, a millisecond each: no bytes may ask for minutes
	work, sampled := 0, false
	for _, x := range k.list() {
		l, squarings := x.leaf(points)
		if work += squarings; !l.known() || work > 1000 {
			return laws{}
		}
		sampled = sampled || x.fraction < 1
		one := l.removed.Power(x.count, loss.Points)
		removed = append(removed, one)
		if l.added != l.removed {
			one = l.added.Power(x.count, loss.Points)
		}
		added = append(added, one)
	}
	whole := loss.All(removed, loss.Points)
	if !sampled {
		return laws{whole, whole}
	}
	return laws{whole, loss.All(added, loss.Points)}
}

// with returns the laws with one more symmetric law.
func (l laws) with(m *loss.Measure) laws {
	if !l.known() {
		return laws{m, m}
	}
	both := laws{removed: loss.Compose(l.removed, m, loss.Points)}
	if both.added = both.removed; l.added != l.removed {
		both.added = loss.Compose(l.added, m, loss.Points)
	}
	return both
}
