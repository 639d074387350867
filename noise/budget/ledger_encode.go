package budget

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Ledger, little-endian, version 1, or 2 with keys; floating-point numbers are
// IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 21, version
//	16     ε and δ of the budget
//	18     Unit, see [Unit.AppendBinary]
//	1      the rule: 0 none, 1 SumRule, 2 RhoRule, 3 MuRule
//	8      the escapes of RhoRule, else 0
//	8      number of releases
//	261    the sums of a Guarantee in the order of its encoding, exactly, 29 bytes each: the
//	       exponent e, 4 bytes, and the mantissa m, 25 bytes big-endian in [2¹⁹⁹, 2²⁰⁰), of
//	       m·2^(e−200); or 0 and 0
//	8      releases with an escape beside Gaussian noise, as in a Guarantee
//	4      number of different laws, and the laws, as in a Guarantee
//	4      number of names of SpendOnce
//	…      for each, increasing: the length of the name, 1 byte; the name; the length of its
//	       Guarantee, 4 bytes; the Guarantee
//	551    in version 2: the 19 sums of keys of a Guarantee, exactly
//
// No other bytes decode to the same Ledger.
const (
	sumDigits = 200 // binary digits of an exact sum
	sumSize   = 4 + sumDigits/8
)

// AppendBinary appends the encoding of the ledger to dst: the budget and all that was spent. It is
// a copy, in memory only: what is spent afterwards from one of the two, the other does not know.
// For a budget that survives a crash see [CreateJournal]. The error is always nil.
func (l Ledger) AppendBinary(dst []byte) ([]byte, error) {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	dst = wire.AppendHeader(dst, wire.KindLedger, b.spentSoFar.guarantee(l.unit).pair.version())
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.epsilon))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.delta))
	dst, _ = l.unit.AppendBinary(dst)
	rule := l.rule()
	dst = append(dst, byte(rule.by))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(rule.escapes))
	return b.spentSoFar.append(dst, b.ids), nil
}

// rule returns the rule of a filter, the zero Rule of other ledgers.
func (l *Ledger) rule() Rule {
	if l.filter == nil {
		return Rule{}
	}
	return l.filter.Rule
}

// append appends what was spent, and under which names.
func (s exact) append(dst []byte, ids map[string]Guarantee) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.releases))
	for _, x := range s.sums[:plainSums] {
		dst = appendSum(dst, x)
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.beside))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.kinds.len()))
	dst = append(dst, s.kinds...)
	names := make([]string, 0, len(ids))
	for name := range ids {
		names = append(names, name)
	}
	slices.Sort(names)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(names)))
	for _, name := range names {
		data, _ := ids[name].MarshalBinary()
		dst = append(dst, byte(len(name)))
		dst = append(dst, name...)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(data)))
		dst = append(dst, data...)
	}
	if s.sums[plainSums] != nil { // Σμ² of keys
		for _, x := range s.sums[plainSums:] {
			dst = appendSum(dst, x)
		}
	}
	return dst
}

// appendSum appends a sum of 200 binary digits, nil for 0.
func appendSum(dst []byte, x *big.Float) []byte {
	var data [sumSize]byte
	if x != nil {
		mantissa := new(big.Float)
		exponent := x.MantExp(mantissa)
		binary.LittleEndian.PutUint32(data[:], uint32(int32(exponent)))
		digits, _ := mantissa.SetMantExp(mantissa, sumDigits).Int(nil)
		digits.FillBytes(data[4:])
	}
	return append(dst, data[:]...)
}

// readSum reads what appendSum wrote.
func readSum(r *wire.Reader) *big.Float {
	exponent, data := int32(r.Uint32()), r.Bytes(sumDigits/8)
	if data == nil || exponent == 0 && !slices.ContainsFunc(data, func(b byte) bool { return b != 0 }) {
		return nil
	}
	if data[0] < 1<<7 || exponent < -2000 || exponent > 2000 { // sums of numbers in [2⁻¹⁰⁷⁴, 2¹⁰²⁴)
		r.Fail("an impossible sum")
		return nil
	}
	x := newSum().SetInt(new(big.Int).SetBytes(data))
	return x.SetMantExp(x, int(exponent)-sumDigits)
}

// newSum returns an exact 0 to which numbers can be added.
func newSum() *big.Float { return new(big.Float).SetPrec(sumDigits).SetMode(big.ToPositiveInf) }

// readExact reads what was spent for the unit, and under which names.
func readExact(r *wire.Reader, u Unit, keys bool) (s exact, ids map[string]Guarantee) {
	releases := r.Uint64()
	read := func(sums []*big.Float) {
		for i := range sums {
			sums[i] = readSum(r)
		}
	}
	read(s.sums[:plainSums])
	s.beside = beside(r.Uint64())
	s.kinds = kinds(r.Bytes(kindSize * r.Count(mostKinds, kindSize)))
	n := r.Count(math.MaxInt32, 1+1+4)
	if r.Err() != nil {
		return exact{}, nil
	}
	last := ""
	for range n {
		name := r.String(int(r.Uint8()))
		var g Guarantee
		err := g.UnmarshalBinary(r.Bytes(int(min(r.Uint32(), math.MaxInt32))))
		if r.Err() != nil {
			return exact{}, nil
		}
		if !validName(name) || name <= last || err != nil || !g.promised || g.unit != u {
			r.Fail("an impossible name, or its guarantee")
			return exact{}, nil
		}
		if ids == nil {
			ids = map[string]Guarantee{}
		}
		ids[name], last = g, name
	}
	if keys {
		read(s.sums[plainSums:])
	}
	s.unknown = s.sums[5] != nil && s.kinds == "" // as pair.unknown has it
	s.releases = int(releases)
	spent := s.guarantee(u)
	data, _ := spent.MarshalBinary()
	switch {
	case r.Err() != nil:
	case keys != spent.pair.hasKeys():
		r.Fail("impossible keys")
	case releases > math.MaxInt || uint64(n) > releases:
		r.Fail("impossible releases")
	case spent.pair.kinds != s.kinds || !spent.promised || new(Guarantee).UnmarshalBinary(data) != nil:
		r.Fail("impossible sums")
	case releases == 0 && spent.sums != sums{} || releases == 0 && spent.pair != pair{}:
		r.Fail("sums of no releases")
	}
	return s, ids
}

// MarshalBinary returns the encoding of the ledger.
func (l Ledger) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded, into a Ledger in memory that nobody else uses.
// It returns an error that wraps [ErrFormat] for any other bytes, and [ErrMismatch] for a ledger
// with a journal, which must not forget what stands there; and then leaves the receiver as it was.
// Whether the bytes tell all that was spent is up to whoever wrote them.
func (l *Ledger) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("budget", data)
	keys := r.Header(wire.KindLedger, version, keysVersion) == keysVersion
	epsilon, delta := r.Float64(), r.Float64()
	u := readUnit(r)
	rule := Rule{ruleKind(r.Uint8()), r.Float64()}
	spent, ids := readExact(r, u, keys)
	if err := r.Done(); err != nil {
		return err
	}
	read, err := ledgerBy(epsilon, delta, u, rule)
	if err != nil || wire.NegativeZero(epsilon, delta, rule.escapes) || rule.by != byRho && rule.escapes != 0 {
		return fault.Format("budget", "an impossible budget or rule")
	}
	if l.open().journal != nil {
		return fault.Mismatch("budget", "Ledger", "one with a journal", "one in memory")
	}
	read.spentSoFar, read.ids = spent, ids
	*l = *read // copies of what l was keep that
	return nil
}

// ledgerBy returns a Ledger, with the rule of a filter unless that is the zero Rule.
func ledgerBy(epsilon, delta float64, u Unit, r Rule) (*Ledger, error) {
	if r.by == 0 {
		return NewLedger(epsilon, delta, u)
	}
	return NewLedger(epsilon, delta, u, r)
}

// MarshalJSON returns what String says, the budget and what was spent, as a Guarantee.
// Beside it stands the binary encoding as data, the only part that UnmarshalJSON reads.
func (l Ledger) MarshalJSON() ([]byte, error) {
	data, err := l.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var copied Ledger // so that what is shown agrees with data, whatever is spent meanwhile
	if err := copied.UnmarshalBinary(data); err != nil {
		return nil, err
	}
	return view.Marshal(&copied, struct {
		Text     string      `json:"text"`
		Unit     string      `json:"unit"`
		Epsilon  view.Number `json:"epsilon"`
		Delta    view.Number `json:"delta"`
		Spent    Guarantee   `json:"spent"`
		Releases int         `json:"releases"`
	}{copied.String(), copied.unit.String(), view.Number(copied.epsilon), view.Number(copied.delta), copied.Spent(), copied.spentSoFar.releases})
}

// UnmarshalJSON decodes what MarshalJSON encoded, as UnmarshalBinary would its data.
func (l *Ledger) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, l) }
