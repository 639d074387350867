package budget

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/internal/round"
)

// kinds is the multiset of the losses that the pure and approximate releases behind a Guarantee are
// bounded by: an (ε, δ)-DP release is bounded by randomized response at ε, and its δ is in the sum.
// A string, so that a Guarantee stays comparable: 16 bytes for each ε, big-endian: the float64 and
// how many releases have it, sorted by ε. It is empty without such releases, and where there are
// too many for the accountant.
type kinds string

// lossKind is one entry: count releases at ε.
type lossKind struct {
	epsilon float64
	count   uint64
}

const (
	kindSize  = 16
	mostKinds = 2048    // different ε, from where on they are rounded up
	mostCount = 1 << 40 // releases of one ε; with more the accountant's errors of 2⁻⁴⁷ each count
)

// oneKind returns the multiset of one release.
func oneKind(epsilon float64) kinds {
	if epsilon == 0 {
		return ""
	}
	return makeKinds([]lossKind{{epsilon, 1}})
}

func (k kinds) len() int { return len(k) / kindSize }

func (k kinds) at(i int) lossKind {
	b := []byte(k[i*kindSize : (i+1)*kindSize])
	return lossKind{math.Float64frombits(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
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
// enough: a release at ε is bounded by one at any ε′ ≥ ε. Too large a count gives "".
func makeKinds(list []lossKind) kinds {
	list = slices.Clone(list)
	for digits := 20; ; digits -= 2 {
		slices.SortFunc(list, func(a, b lossKind) int { return cmp.Compare(a.epsilon, b.epsilon) })
		n := 0
		for _, x := range list {
			if n > 0 && list[n-1].epsilon == x.epsilon {
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
		for i := range list {
			if list[i].epsilon = digitsUp(list[i].epsilon, digits); list[i].epsilon > math.MaxFloat64 {
				return ""
			}
		}
	}
	data := make([]byte, 0, len(list)*kindSize)
	for _, x := range list {
		data = binary.BigEndian.AppendUint64(data, math.Float64bits(x.epsilon))
		data = binary.BigEndian.AppendUint64(data, x.count)
	}
	return kinds(data)
}

// digitsUp rounds x > 0 up to so many binary digits after the first.
func digitsUp(x float64, digits int) float64 {
	rest := uint64(1)<<(52-digits) - 1
	return math.Float64frombits((math.Float64bits(x) + rest) &^ rest)
}

// times returns the multiset n times.
func (k kinds) times(n int) kinds {
	list := k.list()
	for i := range list {
		high, low := bits.Mul64(list[i].count, uint64(n))
		if high != 0 || low > mostCount {
			return ""
		}
		list[i].count = low
	}
	return makeKinds(list)
}

// along returns the multiset of m steps: an mε-DP release for each, rounded up, and the sum of
// their mε·tanh(mε/2).
func (k kinds) along(steps float64) (along kinds, rho float64) {
	list := k.list()
	for i := range list {
		list[i].epsilon = round.ProductUp(steps, list[i].epsilon)
		if list[i].epsilon > math.MaxFloat64 {
			return "", math.Inf(1)
		}
		rho = round.SumUp(rho, round.ProductUp(float64(list[i].count), responseRho(list[i].epsilon)))
	}
	return makeKinds(list), rho
}

// sum returns Σε, nearly.
func (k kinds) sum() (sum float64) {
	for _, x := range k.list() {
		sum += float64(x.count) * x.epsilon
	}
	return sum
}

// single reports whether there is one release.
func (k kinds) single() bool { return k.len() == 1 && k.at(0).count == 1 }

// measure returns the certified law of the losses, and nil where the accountant has none: no
// entries, ε out of its range, or so many releases that it would take seconds.
func (k kinds) measure() *loss.Measure {
	var laws []*loss.Measure
	squarings := 0 // of 1,024 points, a millisecond each: no bytes may ask for minutes
	for _, x := range k.list() {
		if squarings += max(bits.Len64(x.count)-9, 0); squarings > 1000 {
			return nil
		}
		if x.epsilon < loss.Least || x.epsilon > loss.Most {
			return nil
		}
		laws = append(laws, loss.Response(x.epsilon).Power(x.count, loss.Points))
	}
	return loss.All(laws, loss.Points)
}

// responseRho returns ε·tanh(ε/2) rounded up: the least ρ for which every ε-DP release is ρ-zCDP.
func responseRho(epsilon float64) float64 {
	if epsilon == 0 {
		return 0
	}
	return math.Nextafter(epsilon*math.Tanh(epsilon/2)*(1+0x1p-50), math.Inf(1))
}
