package budget

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// The encoding of a Guarantee, little-endian, version 1, or 2 with keys, or 3 with conditions;
// floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 11, version
//	18     Unit, see [Unit.AppendBinary]; all 0 for a guarantee that promises nothing, and then so
//	       is what follows
//	8      Σε
//	8      Σε·tanh(ε/2)
//	8      Σδ
//	8      Σρ
//	8      Σμ²
//	8      Σρ of the releases that follow, as what bounds them
//	8      Σ of their masses of infinite loss
//	8      Σρ of the other releases
//	8      Σμ² of the other releases
//	8      number of releases with such a mass and Gaussian noise, at most 2⁴⁰; 2⁶⁴ − 1 where one
//	       has what has no rule for groups
//	4      number of different kinds of releases, at most 2048; 0 where they are not known
//	29     for each of them, increasing, the numbers big-endian: its family, 1 byte (0 Laplace
//	       noise, 1 Gaussian noise, 2 discrete Gaussian noise, 3 Gaussian noise for a unit that is
//	       replaced); the steps of its lattice, or the
//	       size of a group of which each is in a sample by himself, 4 bytes, 0 for none; its ε, μ
//	       or σ, 8 bytes; the fraction of the sample, 8 bytes; the number of releases in [1, 2⁴⁰],
//	       8 bytes
//	152    in version 2, where keys that nobody listed were released: their Σμ² > 0, Σλ, ΣΛ, and
//	       ΣG for 16 κ; in version 3 the same, or 0
//	1      in version 3, what the caller promised about the data: number of conditions, at least 1
//	10     in version 3 for each of them, increasing, the number big-endian: the kind of unit that
//	       it is about, 1 byte; the kind that the input of the release consists of, 1 byte; how
//	       much of that one unit changes at most, 8 bytes
//
// No other bytes decode to the same Guarantee.
const (
	version           = 1
	keysVersion       = 2 // of what there are keys in
	conditionsVersion = 3 // of what is promised under conditions, with keys or none

	ofElements = 1 << 63 // of the elements of a user, in place of a period
)

// UnitSize is the length in bytes of the encoding of a [Unit].
const UnitSize = 1 + 1 + 4 + 4 + 8

// AppendBinary appends the encoding, [UnitSize] bytes.
func (u Unit) AppendBinary(dst []byte) ([]byte, error) {
	// The kind (0 none, 1 element, 2 user, 3 key, 4 row, 5 party, 6 ℓ₁, 7 ℓ₂, 8 one's own element),
	// the Relation (0 for vectors), the most keys of a user and the size of the group, 4 bytes
	// each, and in 8 bytes the distance of vectors or, as an integer, the period of a user in
	// steps, 2⁶³ for a user by elements.
	dst = append(dst, byte(u.kind), byte(u.relation))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(u.max))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(u.many))
	switch {
	case u.elements:
		return binary.LittleEndian.AppendUint64(dst, ofElements), nil
	case u.kind == user:
		return binary.LittleEndian.AppendUint64(dst, uint64(u.period)), nil
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(u.distance)), nil
}

// MarshalBinary returns the encoding.
func (u Unit) MarshalBinary() ([]byte, error) { return u.AppendBinary(nil) }

// UnmarshalBinary decodes the encoding.
func (u *Unit) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("budget", data)
	read := readUnit(r)
	return wire.Decoded(r, u, read)
}

// readUnit reads a unit, or the zero Unit. It fails for what no function of this package makes.
func readUnit(r *wire.Reader) (u Unit) {
	data := r.Bytes(UnitSize)
	if r.Err() != nil {
		return Unit{}
	}
	k, most, many, last := kind(data[0]), binary.LittleEndian.Uint32(data[2:]), binary.LittleEndian.Uint32(data[6:]), binary.LittleEndian.Uint64(data[10:])
	switch {
	case k == l1 || k == l2:
		u = vector(k, math.Float64frombits(last))
	case k > 0 && k <= own && most <= mostMany && many <= mostMany:
		if u = discrete(k, int(most), Relation(data[1])); !u.Valid() {
			break
		}
		if u.many = int(many); k == user && last == ofElements {
			u.elements = most > 0
		} else if k == user {
			u.period = int(min(last, mostMany))
		}
		if many == 0 || most > 0 && k != user || many > 1 && k == element && u.relation == AddRemove {
			r.Fail("an impossible unit")
		}
	}
	if again, _ := u.AppendBinary(nil); string(again) != string(data) {
		r.Fail("an impossible unit")
	}
	if r.Err() != nil {
		return Unit{}
	}
	return u
}

// AppendBinary appends the encoding.
func (g Guarantee) AppendBinary(dst []byte) ([]byte, error) {
	dst = wire.AppendHeader(dst, wire.KindGuarantee, g.version())
	dst, _ = g.unit.AppendBinary(dst)
	list := account.Releases{Asked: g.asked, Pair: account.Pair{PairSums: g.pair}}.List()
	appendSums := func(part []float64) {
		for _, x := range part {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	}
	appendSums(list[:account.PlainSums])
	dst = binary.LittleEndian.AppendUint64(dst, uint64(g.pair.Escapes))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(g.kinds)/account.KindSize))
	dst = append(dst, g.kinds...)
	if g.version() >= keysVersion {
		appendSums(list[account.PlainSums:])
	}
	if g.on != "" {
		dst = append(append(dst, byte(len(g.on)/conditionSize)), g.on...)
	}
	return dst, nil
}

// version returns that of the encoding.
func (g Guarantee) version() uint8 {
	switch {
	case g.on != "":
		return conditionsVersion
	case g.pair.HasKeys():
		return keysVersion
	}
	return version
}

// MarshalBinary returns the encoding.
func (g Guarantee) MarshalBinary() ([]byte, error) { return g.AppendBinary(nil) }

// UnmarshalBinary decodes the encoding.
func (g *Guarantee) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("budget", data)
	found := r.Header(wire.KindGuarantee, version, keysVersion, conditionsVersion)
	u := readUnit(r)
	var x [account.AllSums]float64
	read := func(part []float64) {
		for i := range part {
			part[i] = r.Float64()
		}
	}
	read(x[:account.PlainSums])
	escapes := account.Escapes(r.Uint64())
	kinds := account.ReadKinds(string(r.Bytes(account.KindSize * r.Count(account.MostKinds, account.KindSize))))
	if found >= keysVersion {
		read(x[account.PlainSums:])
	}
	on := conditions("")
	if found == conditionsVersion {
		on = conditions(r.Bytes(conditionSize * int(r.Uint8())))
	}
	known := account.Of(x, escapes, kinds)
	decoded := promise(u, known, on.and(on.list()...))
	switch again, _ := decoded.MarshalBinary(); {
	case r.Err() != nil:
	case wire.NegativeZero(x[:]...) || string(again) != string(data):
		r.Fail("impossible sums")
	case !known.Possible():
		r.Fail("impossible kinds of noise")
	case slices.ContainsFunc(on.list(), func(c condition) bool { return !c.valid() }):
		r.Fail("an impossible condition")
	}
	return wire.Decoded(r, g, decoded)
}

// MarshalJSON returns String, the sums that are not 0, and as "if" what the caller promised.
func (g Guarantee) MarshalJSON() ([]byte, error) {
	s, unit := g.asked, ""
	if g.promised {
		unit = g.unit.String()
	}
	return wire.MarshalJSON(&g, struct {
		Text    string      `json:"text"`
		Unit    string      `json:"unit,omitzero"`
		Epsilon wire.Number `json:"epsilon,omitzero"`
		Delta   wire.Number `json:"delta,omitzero"`
		Rho     wire.Number `json:"rho,omitzero"`
		Mu      wire.Number `json:"mu,omitzero"`
		If      string      `json:"if,omitzero"`
	}{g.String(), unit, wire.Number(s.Epsilon), wire.Number(s.Delta), wire.Number(s.Rho), wire.Number(account.MuOf(s.MuSquares)), g.on.String()})
}

// UnmarshalJSON reads the JSON.
func (g *Guarantee) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, g) }

// MarshalJSON returns String.
func (u Unit) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&u, struct {
		Text string `json:"text"`
	}{u.String()})
}

// UnmarshalJSON reads the JSON.
func (u *Unit) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, u) }

// MarshalText names the constant.
func (r Relation) MarshalText() ([]byte, error) { return check.EnumText(r, relationNames, "Relation") }

// UnmarshalText reads that name.
func (r *Relation) UnmarshalText(text []byte) error {
	return check.ParseEnum(r, text, relationNames, "Relation")
}
