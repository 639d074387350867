package approx

import (
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Value, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 9, version 1
//	18     Protects, as package budget encodes it
//	1      Noise, the one that was used
//	4      Queries
//	8      Epsilon
//	8      Sensitivity
//	8      Error
//	8      Moment
//	8      Max
//	8      scale of the noise
//	8      step of the grid, a power of two
//	8      released value in steps, two's complement
const (
	valueVersion = 1
	valueSize    = wire.HeaderSize + 18 + 1 + 4 + 8*8
)

// fields are what lies between Protects and the released value.
func (v *Value) fields() []wire.Field {
	p := &v.params
	return []wire.Field{
		wire.Byte(&p.Noise), wire.Int(&p.Queries, mostQueries), wire.Float(&p.Epsilon), wire.Float(&p.Sensitivity), wire.Float(&p.Error),
		wire.Float(&p.Moment), wire.Float(&p.Max), wire.Float(&v.noise.scale), wire.Float(&v.noise.step),
	}
}

// AppendBinary appends the encoding to dst. The error wraps [ErrFormat] if the Value is neither
// released nor decoded.
func (v Value) AppendBinary(dst []byte) ([]byte, error) {
	if !v.released() {
		return dst, check.FormatError("approx", "a Value that was not released has no encoding")
	}
	dst = wire.AppendHeader(dst, wire.KindApprox, valueVersion)
	dst, _ = v.params.Protects.AppendBinary(dst) // it has no errors
	return binary.LittleEndian.AppendUint64(wire.AppendFields(dst, v.fields()), uint64(v.steps)), nil
}

// MarshalBinary returns the encoding.
func (v Value) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (v *Value) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("approx", data)
	r.Header(wire.KindApprox, valueVersion)
	var d Value
	d.params.Protects = readUnit(r)
	r.Fields(d.fields())
	d.steps = r.Int64()
	d.noise.noise, d.noise.shape = d.params.Noise, d.params.Moment
	switch {
	case r.Err() != nil:
	case d.params.validate() != nil:
		r.Fail("invalid Params")
	case !d.noise.valid(d.params):
		r.Fail("invalid noise")
	case d.steps < -mostReleased || d.steps > mostReleased:
		r.Fail("a value that no estimate and noise make")
	}
	return wire.Decoded(r, v, d)
}

// readUnit reads a Unit.
func readUnit(r *wire.Reader) (u budget.Unit) {
	if data := r.Bytes(budget.UnitSize); data != nil && u.UnmarshalBinary(data) != nil {
		r.Fail("no Unit")
	}
	return u
}

// The encoding of an Advised, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 10, version 1
//	18     Protects, as package budget encodes it
//	1      distribution of the noise in the value
//	4      Runs
//	4      rounds the search took
//	8      Epsilon
//	8      Sensitivity
//	8      Min
//	8      Max
//	8      Moment
//	8      Failure
//	8      Accuracy
//	8      the advice found
//	8      Error that the value's noise is made for
//	8      scale of that noise
//	8      step of the grid, a power of two
//	8      released value in steps, two's complement
const adviceVersion = 1

// fields are what lies between Protects and the released value.
func (a *Advised) fields() []wire.Field {
	p, last := &a.params, &a.last
	return []wire.Field{
		wire.Byte(&last.noise.noise), wire.Int(&p.Advice.Runs, mostRuns), wire.Int(&a.rounds, mostRounds), wire.Float(&p.Epsilon), wire.Float(&p.Sensitivity),
		wire.Float(&p.Advice.Min), wire.Float(&p.Max), wire.Float(&p.Moment), wire.Float(&p.Advice.Failure), wire.Float(&p.Advice.Accuracy), wire.Float(&a.advice),
		wire.Float(&last.params.Error), wire.Float(&last.noise.scale), wire.Float(&last.noise.step),
	}
}

// AppendBinary appends the encoding to dst. The error wraps [ErrFormat] if the Advised is neither
// released nor decoded.
func (a Advised) AppendBinary(dst []byte) ([]byte, error) {
	if !a.last.released() {
		return dst, check.FormatError("approx", "an Advised that was not released has no encoding")
	}
	dst = wire.AppendHeader(dst, wire.KindAdvised, adviceVersion)
	dst, _ = a.params.Protects.AppendBinary(dst) // it has no errors
	return binary.LittleEndian.AppendUint64(wire.AppendFields(dst, a.fields()), uint64(a.last.steps)), nil
}

// MarshalBinary returns the encoding.
func (a Advised) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (a *Advised) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("approx", data)
	r.Header(wire.KindAdvised, adviceVersion)
	var d Advised
	d.params.Protects = readUnit(r)
	r.Fields(d.fields())
	d.last.steps = r.Int64()
	switch {
	case r.Err() != nil:
	case d.params.validateSearch() != nil || d.params != d.params.ofSearch():
		r.Fail("invalid Params")
	case !d.reached():
		r.Fail("an advice that no search comes to")
	case !d.finish(d.last.params.Error):
		r.Fail("invalid noise")
	case d.last.steps < -mostReleased || d.last.steps > mostReleased:
		r.Fail("a value that no estimate and noise make")
	}
	return wire.Decoded(r, a, d)
}

// reached reports whether a search can end with this advice after these rounds: it is halved after
// each but the last, and after that too if it was the last one possible.
func (a Advised) reached() bool {
	if a.rounds < 1 || a.rounds > a.params.rounds() {
		return false
	}
	stopped := math.Ldexp(a.params.Max, 1-a.rounds)
	return a.advice == stopped || a.advice == stopped/2 && a.rounds == a.params.rounds()
}

// finish sets the Params of the last release, which follow from those of the search except for the
// Error, and reports whether all is as a release makes it. The Error comes from exponentials, which
// machines may round differently.
func (a *Advised) finish(bound float64) bool {
	p, accuracy := a.params, a.params.Advice.Accuracy
	if accuracy == 0 {
		accuracy = 1 // that of the search is at most 1
	}
	const rounding = 0x1p-40
	moment, most, err := MedianMoment(p.Moment, finalReach*a.advice*accuracy, p.Advice.Runs)
	if err != nil || !(bound > 0 && bound <= most*(1+rounding)) || p.Advice.Accuracy != 0 && bound < most*(1-rounding) {
		return false
	}
	a.last.params = Params{Epsilon: p.Epsilon / 2, Sensitivity: p.Sensitivity, Error: bound, Moment: moment, Noise: a.last.noise.noise, Max: finalReach * a.advice, Protects: p.Protects}
	a.last.noise.shape = moment
	return a.last.params.validate() == nil && a.last.noise.valid(a.last.params)
}

// shown is what JSON has in addition to the member data.
type shown struct {
	Guarantee budget.Guarantee `json:"guarantee"`
	wire.Estimated
}

// MarshalJSON returns the guarantee and the estimate with its interval at .95. Its member data is
// the binary encoding, the only part that UnmarshalJSON reads.
func (v Value) MarshalJSON() ([]byte, error) {
	low, high := v.Interval(wire.Confidence)
	return wire.MarshalJSON(&v, shown{v.Guarantee(), wire.EstimatedOf(v.Estimate(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (v *Value) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, v) }

// MarshalJSON returns the guarantee and the estimate with its interval at .95. Its member data is
// the binary encoding, the only part that UnmarshalJSON reads.
func (a Advised) MarshalJSON() ([]byte, error) {
	low, high := a.Interval(wire.Confidence)
	return wire.MarshalJSON(&a, shown{a.Guarantee(), wire.EstimatedOf(a.Estimate(), low, high)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (a *Advised) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, a) }

// MarshalText returns the name of the constant, for JSON and flags.
func (n Noise) MarshalText() ([]byte, error) { return check.EnumText(n, noiseNames, "Noise") }

// UnmarshalText reads the name of a constant.
func (n *Noise) UnmarshalText(text []byte) error {
	return check.ParseEnum(n, text, noiseNames, "Noise")
}
