package account

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// PlainSums is how many sums all releases have; after these come the ones of keys.
const (
	PlainSums = 9
	AllSums   = PlainSums + len(loss.Keys{})
)

// List returns all sums, in the order of the encoding.
func (r Releases) List() (list [AllSums]float64) {
	s, p := r.Asked, r.Pair
	list = [AllSums]float64{s.Epsilon, s.ResponseRho, s.Delta, s.Rho, s.MuSquares, p.ResponseRho, p.Escape, p.Rho, p.MuSquares}
	copy(list[PlainSums:], p.Keys[:])
	return list
}

// Of returns the releases with these sums.
func Of(x [AllSums]float64, e Escapes, k Kinds) Releases {
	return Releases{Sums{x[0], x[1], x[2], x[3], x[4]}, Pair{PairSums{x[5], x[6], x[7], x[8], e, loss.Keys(x[PlainSums:])}, k}}.paired()
}

// Sum adds up releases, each sum rounded up.
type Sum struct {
	sums    [AllSums]float64
	kinds   Kinds
	unknown bool // kinds is not all
	escapes Escapes
}

// Add adds releases, with the bytes of their Kinds.
func (s *Sum) Add(asked Sums, p PairSums, kinds string) {
	s.unknown = s.unknown || p.ResponseRho > 0 && kinds == ""
	s.kinds = readKinds(s.kinds, kinds)
	s.escapes = s.escapes.plus(p.Escapes)
	for i, x := range (Releases{asked, Pair{PairSums: p}}).List() {
		s.sums[i] = exact.SumUp(s.sums[i], x)
	}
}

// Releases returns all of them together. Nothing is added afterwards.
func (s *Sum) Releases() Releases {
	if s.unknown {
		s.kinds = nil
	}
	return Of(s.sums, s.escapes, makeKinds(s.kinds))
}

// Times returns n ≥ 1 times the releases.
func (r Releases) Times(n int) Releases {
	if !r.Valid() {
		return r
	}
	times, sums := FloatUp(n), r.List()
	for i, x := range sums {
		sums[i] = exact.ProductUp(times, x)
	}
	return Of(sums, r.Pair.Escapes.times(uint64(n)), r.Pair.Kinds.times(uint64(n)))
}

// Total adds up any number of releases without rounding: the sums of [Releases.List], 0 where nil.
// The numbers are never changed in place.
type Total struct {
	Count   int // of releases
	Kinds   Kinds
	unknown bool // Kinds is not all
	sums    [AllSums]*big.Float
	escapes Escapes
}

// newSum returns an exact 0: sums of 2⁵³ numbers in [2⁻¹⁰⁷⁴, 2¹⁰²⁴) fit.
func newSum() *big.Float { return new(big.Float).SetPrec(2304) }

// Plus returns the total with n times r.
func (t Total) Plus(r Releases, n uint64) Total {
	p := r.Pair
	more := Total{Count: int(n), Kinds: p.Kinds.times(n), unknown: p.unknown(), escapes: p.Escapes.times(n)}
	more.unknown = more.unknown || len(more.Kinds) == 0 && len(p.Kinds) > 0
	for i, x := range r.List() {
		if x > 0 {
			more.sums[i] = newSum().SetFloat64(x)
			more.sums[i].Mul(more.sums[i], newSum().SetUint64(n))
		}
	}
	return t.Join(more)
}

// Join returns the total of both.
func (t Total) Join(other Total) Total {
	t.Count += other.Count
	t.unknown = t.unknown || other.unknown
	t.escapes = t.escapes.plus(other.escapes)
	if len(other.Kinds) > 0 && !t.unknown {
		t.Kinds = makeKinds(append(t.Kinds[:len(t.Kinds):len(t.Kinds)], other.Kinds...))
		t.unknown = len(t.Kinds) == 0
	}
	if t.unknown {
		t.Kinds = nil
	}
	for i, x := range other.sums {
		switch {
		case t.sums[i] == nil:
			t.sums[i] = x
		case x != nil:
			t.sums[i] = newSum().Add(t.sums[i], x)
		}
	}
	return t
}

// Releases returns the composition, each sum rounded up.
func (t Total) Releases() Releases {
	var up [AllSums]float64
	for i, x := range t.sums {
		if x == nil {
			continue
		}
		nearest, accuracy := x.Float64()
		if accuracy == big.Below {
			nearest = math.Nextafter(nearest, math.Inf(1))
		}
		up[i] = nearest
	}
	return Of(up, t.escapes, t.Kinds)
}

// BoundedBy reports whether more is r and perhaps other releases, by the pairs of both: then what
// bounds more bounds r.
func (r Releases) BoundedBy(more Releases) bool {
	p, q := r.Pair, more.Pair
	if p.Keys != q.Keys || p.unknown() != q.unknown() || p.Escape > q.Escape || p.Rho > q.Rho || p.MuSquares > q.MuSquares {
		return false
	}
	j, others := 0, q.Kinds
	for _, x := range p.Kinds {
		for j < len(others) && others[j].compare(x) < 0 {
			j++
		}
		if j == len(others) || others[j].compare(x) != 0 || others[j].Count < x.Count {
			return false
		}
	}
	return true
}

// NoWorse reports whether r is bounded by other for certain, whatever else is released: the same
// noise, each of a lesser amount. All bounds by the sums increase with each. Of the kinds only
// those of Laplace noise may differ, continuous or on a lattice, or of randomized response: at a
// smaller ε such noise is that at the larger one with independent noise added (of two Laplace
// distributions the ratio of the characteristic functions, a² (b²+t²)/(b² (a²+t²)) for ε of a < b,
// is that of 0 with probability a²/b² and else Laplace noise at a; of geometric ones likewise), so
// a function of what the larger shows; on a sample too.
func (r Releases) NoWorse(other Releases) bool {
	x, y, p, q := r.List(), other.List(), r.Pair, other.Pair
	if p.Escapes != q.Escapes || p.Keys != q.Keys || len(p.Kinds) != len(q.Kinds) {
		return false
	}
	for i := range x[:PlainSums] {
		if x[i] > y[i] {
			return false
		}
	}
	for i, a := range p.Kinds {
		b := q.Kinds[i]
		if a.Family != LaplaceNoise { // of others it is not known that they increase
			a.Size, b.Size = max(a.Size, b.Size), min(a.Size, b.Size)
		}
		if a.Family != b.Family || a.Steps != b.Steps || a.Fraction != b.Fraction || a.Count != b.Count || a.Size > b.Size {
			return false
		}
	}
	return true
}
