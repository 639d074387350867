package budget

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The encoding of a Ledger, little-endian, version 2, or 3 with outputs or after a Split;
// floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 21, version
//	16     ε and δ of the budget
//	18     Unit, see [Unit.AppendBinary]
//	1      the rule: 0 none, 1 SumRule, 2 RhoRule, 3 MuRule, 4 MixedRule
//	16     the share of MixedRule, else 0; the escapes of RhoRule and MixedRule, else 0
//	4      number of different guarantees
//	…      for each, as they were first spent: its length, 4 bytes; the Guarantee
//	4      number of records
//	…      for each, in their order: the length of the name of its part, 1 byte, 0 for the whole;
//	       that; the length of its name, 1 byte, 0 for none; that; the index of its guarantee, 4
//	       bytes; 8 bytes: how many releases, 1 for one with a name. Releases without a name that
//	       are alike are one record, if they come one after the other
//	4      in version 3: number of outputs of [ReleaseOnce]
//	…      in version 3, for each, in their order: the index of its record, 4 bytes, which has a
//	       name; the length of the output, 4 bytes, at least 1; the output
//	4      in version 3: number of releases that are left of a Split, 0 for none
//	…      if there are any: the length of the name of its part, 1 byte; that; the length of the
//	       guarantee of each, 4 bytes; the Guarantee
//
// No other bytes decode to the same Ledger. A journal holds it as a snapshot.
const (
	ledgerVersion  = 2
	outputsVersion = 3
)

// AppendBinary appends the encoding. A decoded copy does not know what the other spends later.
func (l Ledger) AppendBinary(dst []byte) ([]byte, error) {
	defer l.lock().mu.Unlock()
	return l.append(dst), nil
}

func (l *Ledger) append(dst []byte) []byte {
	b, rule := l.open(), l.rule()
	outputs := 0
	for _, e := range b.entries {
		if e.output != "" {
			outputs++
		}
	}
	version := uint8(ledgerVersion)
	if outputs > 0 || b.quota.left > 0 {
		version = outputsVersion
	}
	dst = wire.AppendHeader(dst, wire.KindLedger, version)
	number := func(x int) { dst = binary.LittleEndian.AppendUint32(dst, uint32(x)) }
	name := func(x string) { dst = append(append(dst, byte(len(x))), x...) }
	guarantee := func(g Guarantee) {
		data, _ := g.MarshalBinary()
		number(len(data))
		dst = append(dst, data...)
	}
	floats := func(xs ...float64) {
		for _, x := range xs {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	}
	floats(l.epsilon, l.delta)
	dst, _ = l.unit.AppendBinary(dst)
	dst = append(dst, byte(rule.by))
	floats(rule.share, rule.escapes)
	number(len(b.known))
	for _, g := range b.known {
		guarantee(g)
	}
	number(len(b.entries))
	for _, e := range b.entries {
		name(e.part)
		name(e.name)
		number(e.guarantee)
		dst = binary.LittleEndian.AppendUint64(dst, e.count)
	}
	if version == ledgerVersion {
		return dst
	}
	number(outputs)
	for i, e := range b.entries {
		if e.output != "" {
			number(i)
			number(len(e.output))
			dst = append(dst, e.output...)
		}
	}
	if number(b.quota.left); b.quota.left > 0 {
		name(b.quota.part)
		guarantee(b.quota.each)
	}
	return dst
}

// MarshalBinary returns the encoding.
func (l Ledger) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary decodes into a Ledger in memory. Error: [ErrMismatch] for one with a journal.
func (l *Ledger) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("budget", data)
	found := r.Header(wire.KindLedger, ledgerVersion, outputsVersion)
	epsilon, delta := r.Float64(), r.Float64()
	u := readUnit(r)
	rule := Rule{ruleKind(r.Uint8()), r.Float64(), r.Float64()}
	guarantee := func() (g Guarantee) {
		if g.UnmarshalBinary(r.Bytes(int(min(r.Uint32(), math.MaxInt32)))) != nil {
			r.Fail("no guarantee")
		}
		return g
	}
	guarantees := make([]Guarantee, r.Count(math.MaxInt32, 4))
	for i := 0; i < len(guarantees) && r.Err() == nil; i++ {
		guarantees[i] = guarantee()
	}
	if r.Err() != nil {
		return r.Err()
	}
	read, err := ledgerBy(epsilon, delta, u, rule)
	if err != nil || read.rule() != rule || wire.NegativeZero(epsilon, delta, rule.share, rule.escapes) {
		return check.FormatError("budget", "an impossible budget or rule")
	}
	for range r.Count(math.MaxInt32, 1+1+4+8) {
		e := entry{part: r.String(int(r.Uint8())), name: r.String(int(r.Uint8())), guarantee: int(r.Uint32()), count: r.Uint64()}
		if r.Err() != nil {
			break
		}
		if e.guarantee >= len(guarantees) || !read.restore(e, guarantees[e.guarantee]) {
			r.Fail("an impossible record")
			break
		}
	}
	if found == outputsVersion {
		for range r.Count(math.MaxInt32, 4+4+1) {
			i, output := int(r.Uint32()), r.String(int(min(r.Uint32(), mostOutput+1)))
			if r.Err() != nil {
				break
			}
			if i >= len(read.entries) || read.entries[i].name == "" || !validOutput(output) {
				r.Fail("an impossible output")
				break
			}
			read.entries[i].output = output
		}
		if left := r.Uint32(); left > 0 {
			q := quota{left: int(min(left, math.MaxInt32)), part: r.String(int(r.Uint8())), each: guarantee()}
			if r.Err() == nil && !read.restoreQuota(q) {
				r.Fail("an impossible split")
			}
		}
	}
	if err := r.Done(); err != nil {
		return err
	}
	if again := read.append(nil); string(again) != string(data) || !read.possible() {
		return check.FormatError("budget", "another encoding of a ledger")
	}
	if b := l.open(); b.journal.InUse() {
		return check.MismatchError("budget", "Ledger", "one with a journal", "one in memory")
	}
	read.splits = 0
	*l = *read // copies of what l was keep that
	return nil
}

// MarshalJSON returns String; the ε of the budget, spent and remaining, all at delta; and the
// records of [Ledger.All].
func (l Ledger) MarshalJSON() ([]byte, error) {
	data, err := l.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var copied Ledger // so that what is shown agrees with data, whatever is spent meanwhile
	if err := copied.UnmarshalBinary(data); err != nil {
		return nil, err
	}
	type shown struct {
		Name      string      `json:"name,omitzero"`
		Part      string      `json:"part,omitzero"`
		Releases  int         `json:"releases"`
		Share     wire.Number `json:"share"`
		Guarantee string      `json:"guarantee"`
	}
	records := []shown{}
	for r := range copied.All() {
		records = append(records, shown{r.Name, r.Part, r.Releases, wire.Number(r.Share), r.Guarantee.String()})
	}
	spent := copied.Epsilon()
	return wire.MarshalJSON(&copied, struct {
		Text      string      `json:"text"`
		Unit      string      `json:"unit"`
		Rule      string      `json:"rule"`
		Delta     wire.Number `json:"delta"`
		Budget    wire.Number `json:"budget"`
		Spent     wire.Number `json:"spent"`
		Remaining wire.Number `json:"remaining"`
		Releases  int         `json:"releases"`
		Records   []shown     `json:"records"`
	}{copied.String(), copied.unit.String(), copied.rule().String(), wire.Number(copied.delta), wire.Number(copied.epsilon), wire.Number(spent), wire.Number(max(copied.epsilon-spent, 0)), copied.book.releases(), records})
}

// UnmarshalJSON reads the JSON.
func (l *Ledger) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, l) }
