package distinct

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The encoding of a Sketch, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 12, version 1
//	8      Epsilon
//	8      CountShare, in (0, 1]
//	4      Cells, n
//	4      Levels, L
//	16     Seed
//	16     identity of the release, public randomness, not 0
//	8      number of ones with its noise, two's complement
//	if CountShare < 1, for each level:
//	8·⌈n/64⌉  bits, cell j being bit j mod 64 of word ⌊j/64⌋; those behind the last cell are 0
//
// No other bytes decode to the same sketch.
const (
	version   = 1
	fixedSize = wire.HeaderSize + 2*8 + 2*4 + 16 + 16 + 8

	maxOnes = 1 << 62
)

// fields are the numbers of the Params.
func (p *Params) fields() []wire.Field {
	return []wire.Field{
		wire.Float(&p.Epsilon), wire.Float(&p.CountShare), wire.Int(&p.Cells, maxCells), wire.Int(&p.Levels, maxLevels), wire.Bytes(p.Seed[:]),
	}
}

// spanFields are the Spans.
func (p *Params) spanFields() (fields []wire.Field) {
	for i := range p.Spans {
		fields = append(fields, wire.Int(&p.Spans[i], math.MaxUint8))
	}
	return fields
}

// fields are what stands before the bits.
func (s *Sketch) fields() []wire.Field {
	return append(s.params.fields(), wire.Bytes(s.id[:]), wire.Signed(&s.numbers[0]))
}

// AppendBinary appends the encoding.
func (s *Sketch) AppendBinary(dst []byte) ([]byte, error) {
	if !s.valid() {
		return dst, check.FormatError("distinct", "a sketch that was not released has no encoding")
	}
	dst = wire.AppendHeader(slices.Grow(dst, fixedSize+8*len(s.bits)), wire.KindDistinct, version)
	return sets.AppendTable(wire.AppendFields(dst, s.fields()), s.bits), nil
}

// MarshalBinary encodes.
func (s *Sketch) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary decodes.
func (s *Sketch) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("distinct", data)
	r.Header(wire.KindDistinct, version)
	d := Sketch{total: total{release: release{numbers: make(numbers, 1)}}}
	r.Fields(d.fields())
	switch {
	case r.Err() != nil:
	case d.params.CountShare == 0 || d.params.validate() != nil:
		r.Fail("invalid Params")
	case d.id.IsZero():
		r.Fail("a release without identity")
	case d.numbers[0] > maxOnes || d.numbers[0] < -maxOnes:
		r.Fail("a count out of range")
	case d.params.published():
		d.bits = d.params.read(r)
	}
	return wire.Decoded(r, s, d)
}

// layout is the encoding of a release that is nothing but numbers: its Params, more of a head, and
// the noisy numbers of cells, whose number follows from the head.
type layout struct {
	kind    wire.Kind
	version uint8
	of      *release
	more    []wire.Field
	law     func(Params) (noise.DiscreteLaplace, error)
	classes func() int // the number of numbers, 0 for a head that no release has
}

func (l layout) head() []wire.Field { return append(l.of.params.fields(), l.more...) }

func (l layout) append(dst []byte) ([]byte, error) {
	if l.classes() == 0 {
		return dst, check.FormatError("distinct", "what was not released has no encoding")
	}
	dst = wire.AppendFields(wire.AppendHeader(dst, l.kind, l.version), l.head())
	for _, x := range l.of.numbers {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	return dst, nil
}

func (l layout) read(data []byte) error {
	r := wire.NewReader("distinct", data)
	r.Header(l.kind, l.version)
	r.Fields(l.head())
	if _, err := l.law(l.of.params); r.Err() == nil && (err != nil || l.of.params.CountShare != 1 || 8*l.classes() != r.Remaining() || l.classes() == 0) {
		r.Fail("invalid Params, or not as many numbers as they say")
	}
	for range r.Remaining() / 8 {
		x := r.Int64()
		if x > maxOnes || x < -maxOnes {
			r.Fail("a count out of range")
		}
		l.of.numbers = append(l.of.numbers, x)
	}
	return r.Done()
}

// decode reads an object by its layout.
func decode[T any, P interface {
	*T
	layout() layout
}](into P, data []byte) error {
	var d T
	if err := P(&d).layout().read(data); err != nil {
		return err
	}
	*into = d
	return nil
}

// MarshalJSON shows the estimate.
func (s Sketch) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&s, wire.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalJSON shows the slot and the total.
func (r Running) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&r, struct {
		Slot int `json:"slot"`
		wire.Count
	}{r.slots, wire.CountOf(r.Guarantee(), &r)})
}

// UnmarshalJSON decodes.
func (r *Running) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, r) }

// MarshalJSON shows the day and all windows.
func (w Windows) MarshalJSON() ([]byte, error) {
	windows := []window{}
	for _, days := range w.params.windows() {
		windows = append(windows, window{days, wire.SizeOf(w.fit(days))})
	}
	return wire.MarshalJSON(&w, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Day       int              `json:"day"`
		Windows   []window         `json:"windows"`
	}{w.Guarantee(), w.Day(), windows})
}

// UnmarshalJSON decodes.
func (w *Windows) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, w) }

// window is a line of the JSON of [Windows].
type window struct {
	Days int `json:"days"`
	wire.Size
}

// MarshalJSON shows the sizes.
func (p Pair) MarshalJSON() ([]byte, error) {
	parts := p.parts()
	of := func(s pairSize) wire.Size { return wire.SizeOf(p.size(s, parts)) }
	return wire.MarshalJSON(&p, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		A         wire.Size        `json:"a"`
		B         wire.Size        `json:"b"`
		Both      wire.Size        `json:"both"`
		Either    wire.Size        `json:"either"`
		OnlyA     wire.Size        `json:"onlyA"`
		OnlyB     wire.Size        `json:"onlyB"`
		Jaccard   wire.Size        `json:"jaccard"`
	}{p.Guarantee(), of(sizeA), of(sizeB), of(sizeBoth), of(sizeEither), of(sizeOnlyA), of(sizeOnlyB), of(jaccard)})
}

// UnmarshalJSON decodes.
func (p *Pair) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, p) }

// MarshalJSON shows the number of keys, Share and AtLeast.
func (f Frequencies) MarshalJSON() ([]byte, error) {
	type share struct {
		Times int `json:"times"`
		wire.Estimated
		AtLeast wire.Estimated `json:"atLeast"`
	}
	shares, known := []share{}, f.shares()
	for times := 1; times <= f.most; times++ {
		low, high := f.interval(known, times, times, wire.Confidence)
		least, most := f.interval(known, times, f.most, wire.Confidence)
		shares = append(shares, share{times, wire.EstimatedOf(f.share(known, times, times), low, high), wire.EstimatedOf(f.share(known, times, f.most), least, most)})
	}
	return wire.MarshalJSON(&f, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Users     wire.Size        `json:"users"`
		Shares    []share          `json:"shares"`
	}{f.Guarantee(), wire.SizeOf(f.Users()), shares})
}

// UnmarshalJSON decodes.
func (f *Frequencies) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, f) }

// MarshalJSON shows New, Returned and On.
func (c Cohorts) MarshalJSON() ([]byte, error) {
	type cohort struct {
		Day      int         `json:"day"`
		Since    wire.Size   `json:"since"`
		New      wire.Size   `json:"new"`
		Returned []wire.Size `json:"returned"`
		On       []wire.Size `json:"on"`
	}
	cohorts, fit := []cohort{}, c.agreed()
	for day := 1; day <= c.days; day++ {
		row := cohort{day, wire.SizeOf(c.since(fit, day)), wire.SizeOf(c.answer(fit, day, day, false)), []wire.Size{}, []wire.Size{}}
		for since := day + 1; since <= c.days; since++ {
			row.Returned = append(row.Returned, wire.SizeOf(c.answer(fit, day, since, false)))
			row.On = append(row.On, wire.SizeOf(c.answer(fit, day, since, true)))
		}
		cohorts = append(cohorts, row)
	}
	return wire.MarshalJSON(&c, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Cohorts   []cohort         `json:"cohorts"`
	}{c.Guarantee(), cohorts})
}

// UnmarshalJSON decodes.
func (c *Cohorts) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, c) }
