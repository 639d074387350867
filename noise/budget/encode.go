package budget

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Guarantee, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 11, version 1
//	18     Unit, see [Unit.AppendBinary]; all 0 for a guarantee that promises nothing, and then so is what follows
//	8      Σε
//	8      Σε·tanh(ε/2)
//	8      Σδ
//	8      Σρ
//	8      Σμ²
//	4      number of different ε > 0 of the releases, at most 2048; 0 where they are not known
//	16     for each of them, increasing: ε, 8 bytes, and the number of releases in [1, 2⁴⁰], 8 bytes
//
// No other bytes decode to the same Guarantee.
const (
	version = 1

	// UnitSize is the length in bytes of the encoding of a [Unit].
	UnitSize = 1 + 1 + 4 + 4 + 8
)

// AppendBinary appends the encoding of the unit, UnitSize bytes, to dst: the kind (0 none, 1
// element, 2 user, 3 key, 4 row, 5 party, 6 ℓ₁, 7 ℓ₂), the Relation (0 for vectors), the most keys
// of a user and the size of the group, 4 bytes each, and in 8 bytes the distance of vectors or, as
// an integer, the period of a user in steps. The error is always nil.
func (u Unit) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, byte(u.kind), byte(u.relation))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(u.max))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(u.many))
	if u.kind == user {
		return binary.LittleEndian.AppendUint64(dst, uint64(u.period)), nil
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(u.distance)), nil
}

// MarshalBinary returns the encoding of the unit.
func (u Unit) MarshalBinary() ([]byte, error) { return u.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (u *Unit) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("budget", data)
	read := readUnit(r)
	if err := r.Done(); err != nil {
		return err
	}
	*u = read
	return nil
}

// readUnit reads a unit, or the zero Unit. It fails for what no function of this package makes.
func readUnit(r *wire.Reader) Unit {
	u := Unit{kind: kind(r.Uint8()), relation: Relation(r.Uint8())}
	most, many, last := r.Uint32(), r.Uint32(), r.Uint64()
	u.max, u.many = int(min(most, mostMany)), int(min(many, mostMany))
	period := uint64(0)
	if u.kind == user {
		period = last
		u.period = int(min(period, mostMany))
	} else {
		u.distance = math.Float64frombits(last)
	}
	var again Unit
	switch {
	case u.kind == 0:
	case u.kind > l2:
		r.Fail("an unknown unit")
		return Unit{}
	case u.vectorial():
		again = vector(u.kind, u.distance)
	case u.many > 0:
		again = discrete(u.kind, u.max, u.relation)
		again.many, again.period = u.many, u.period
	}
	if again != u || most > mostMany || many > mostMany || period > mostMany || u.max > 0 && u.kind != user ||
		u.kind == element && u.relation == AddRemove && u.many > 1 || math.Signbit(u.distance) {
		r.Fail("an impossible unit")
		return Unit{}
	}
	return u
}

// AppendBinary appends the encoding of the guarantee to dst. The error is always nil.
func (g Guarantee) AppendBinary(dst []byte) ([]byte, error) {
	dst = wire.AppendHeader(dst, wire.KindGuarantee, version)
	dst, _ = g.unit.AppendBinary(dst)
	for _, x := range g.list() {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(g.kinds.len()))
	for _, x := range g.kinds.list() {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x.epsilon))
		dst = binary.LittleEndian.AppendUint64(dst, x.count)
	}
	return dst, nil
}

// readKinds reads the multiset of releases with that Σε.
func readKinds(r *wire.Reader, epsilon float64) kinds {
	n := r.Count(mostKinds, kindSize)
	list, last := make([]lossKind, n), 0.0
	for i := range list {
		x := lossKind{r.Float64(), r.Uint64()}
		if !(x.epsilon > last && x.epsilon <= math.MaxFloat64) || x.count < 1 || x.count > mostCount {
			r.Fail("impossible releases")
			return ""
		}
		list[i], last = x, x.epsilon
	}
	k := makeKinds(list)
	if sum := k.sum(); n > 0 && !(sum >= epsilon*(1-0x1p-30) && sum <= epsilon*2.5) {
		r.Fail("releases with another sum")
		return ""
	}
	return k
}

// list returns the sums in the order of the encoding.
func (s sums) list() [5]float64 {
	return [...]float64{s.epsilon, s.responses, s.delta, s.rho, s.muSquares}
}

// MarshalBinary returns the encoding of the guarantee.
func (g Guarantee) MarshalBinary() ([]byte, error) { return g.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes. That the guarantee is true is on whoever
// wrote the bytes.
func (g *Guarantee) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("budget", data)
	r.Header(wire.KindGuarantee, version)
	u := readUnit(r)
	s := sums{r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64()}
	decoded := promise(u, s, readKinds(r, s.epsilon))
	switch {
	case r.Err() != nil:
	case wire.NegativeZero(s.epsilon, s.responses, s.delta, s.rho, s.muSquares):
		r.Fail("a negative zero")
	case decoded.unit != u || decoded.sums != s || !s.possible():
		r.Fail("impossible sums")
	}
	if err := r.Done(); err != nil {
		return err
	}
	*g = decoded
	return nil
}

// possible reports whether releases can have these sums: Σε·tanh(ε/2) is 0 only if all ε are, and
// at most that of Σε, but for roundings.
func (s sums) possible() bool {
	if !(s.responses >= 0) || !(s.delta >= 0) {
		return false
	}
	return (s.epsilon == 0) == (s.responses == 0) && s.responses <= responseRho(s.epsilon)*(1+0x1p-20)
}
