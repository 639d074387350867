package groupby

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// The encoding of Groups, little-endian, version 6; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 16, version 6
//	1      key class: 0 string, 1 signed integer, 2 unsigned integer, 3 array of 16 bytes
//	1      Relation
//	1      flags: 1 KeysOnly, 2 Others, 4 the keys are listed, 8 Values, 16 Average
//	8      Epsilon
//	8      Delta, 0 only for listed keys
//	8      CountShare, 0 with KeysOnly or a list
//	8      Min
//	8      Max
//	2      Passes
//	4      Releases
//	4      the most keys of a user: 1000, or of a list its length, at most 4096
//	4      FullKeys, −1 where it is chosen, 0 with KeysOnly
//	8      Resolution
//	8      QuantileShare, 0 without Levels
//	8      TailIndex, 0 without Values
//	8·8    Levels
//	2      the number of the clip that was chosen, 0 where FullKeys is not
//	2      how many clips were asked about, likewise
//	8      the threshold of the weights, 0 with KeysOnly, a list or two passes
//	8      shortfall, 0 with KeysOnly and for a list of at most FullKeys
//	8      others, 0 without Others
//	1      1 where rows without a user are counted: not under Replace
//	8      how many there are, else 0
//	8      with Values: the radius, √2ⁿ for an n in [−60, 160], or 0 where nothing was learned
//	8      with Values: how much clipping took, at least 0
//	2·8    with Values: a bound on that and the deviation of its noise; 0 where there is none
//	4      number of keys that are shown
//	then for each, in strictly ascending order of the keys:
//	8      key, two's complement if signed; for strings 4 bytes of length and the bytes
//	8      weight, unless KeysOnly, a list or with two passes
//	8      rest of the count, unless KeysOnly
//	8      sum of values, if Min or Max is not 0; with Values of v/scale − 1
//	3·4    for each level: the cells of the cut below, the quantile, and the cut above
//	8      4·levels + 1 times, with Levels: weights between the edges
//	8      with Values: the scale, above 0, or 0 where nothing was learned
//
// Sums are in steps of 2⁻²⁰, with Values of 2⁻²⁶ times the radius, rests of 2⁻²⁴, weights of 2⁻¹⁰,
// with their noise, two's complement. Nothing depends on the order of arrival, and no other bytes
// decode to the same groups.
const (
	version   = 6
	fixedSize = wire.HeaderSize + 3 + 16*8 + 2 + 3*4 + 2*2 + 3*8 + 9 + 4
)

// fields are the numbers of the Params.
func (p *Params) fields() []wire.Field {
	fields := []wire.Field{
		wire.Byte(&p.Relation), wire.Flags(&p.KeysOnly, &p.Others, &p.listed, &p.Values, &p.Average), wire.Float(&p.Epsilon), wire.Float(&p.Delta), wire.Float(&p.CountShare),
		wire.Float(&p.Min), wire.Float(&p.Max), wire.Short(&p.Passes, 2), wire.Int(&p.Releases, mostReleases), wire.Int(&p.most, mostKeys), wire.Whole(&p.FullKeys, AutoFullKeys, mostFull),
		wire.Float(&p.Resolution), wire.Float(&p.QuantileShare), wire.Float(&p.TailIndex),
	}
	for i := range p.Levels {
		fields = append(fields, wire.Float(&p.Levels[i]))
	}
	return fields
}

// fields are the numbers before those of the groups, except what was learned.
func (g *Groups[K]) fields(class *wire.KeyClass) []wire.Field {
	fields := append([]wire.Field{wire.Byte(class)}, g.params.fields()...)
	return append(fields, wire.Short(&g.chosen.clip, mostKeys), wire.Short(&g.chosen.asked, mostKeys), wire.Signed(&g.threshold), wire.Signed(&g.shortfall), wire.Signed(&g.others), wire.Flags(&g.named), wire.Signed(&g.nameless))
}

// learnedFields are those with Values.
func (g *Groups[K]) learnedFields() []wire.Field {
	return []wire.Field{wire.Float(&g.radius), wire.Float(&g.lost), wire.Float(&g.mostLost.Mean), wire.Float(&g.mostLost.StdDev)}
}

// sums returns which numbers of a group are released, as group.sum counts them.
func (p Params) sums() (which []int) {
	for i, released := range [...]bool{p.weighs(), !p.KeysOnly, p.values()} {
		if released {
			which = append(which, i)
		}
	}
	return which
}

// sum returns number i: the weight, the rest or the value.
func (e *group[K]) sum(i int) *int64 { return [...]*int64{&e.weight, &e.rest, &e.value}[i] }

// AppendBinary appends the encoding to dst. The error wraps [ErrFormat], for zero Groups.
func (g *Groups[K]) AppendBinary(dst []byte) ([]byte, error) {
	if !g.valid() {
		return dst, check.FormatError("groupby", "groups that were not released have no encoding")
	}
	keys, p := wire.KeysOf[K](), g.params
	class := keys.Class()
	dst = wire.AppendFields(wire.AppendHeader(dst, wire.KindGroups, version), g.fields(&class))
	if p.Values {
		dst = wire.AppendFields(dst, g.learnedFields())
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(g.groups)))
	sums := p.sums()
	for i := range g.groups {
		e := &g.groups[i]
		dst = keys.Append(dst, e.key)
		for _, i := range sums {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(*e.sum(i)))
		}
		for _, cell := range e.cells {
			dst = binary.LittleEndian.AppendUint32(dst, cell)
		}
		dst = appendSums(dst, e.weights)
		if p.Values {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(e.scale))
		}
	}
	return dst, nil
}

// MarshalBinary returns the encoding.
func (g *Groups[K]) MarshalBinary() ([]byte, error) { return g.AppendBinary(nil) }

// UnmarshalBinary decodes the encoding, for the same key type or one of its class that holds all
// keys. For other bytes the error wraps [ErrFormat], and the receiver is unchanged.
func (g *Groups[K]) UnmarshalBinary(data []byte) error {
	r, keys := wire.NewReader("groupby", data), wire.KeysOf[K]()
	r.Header(wire.KindGroups, version)
	var d Groups[K]
	var class wire.KeyClass
	if r.Fields(d.fields(&class)); d.params.Values {
		r.Fields(d.learnedFields())
	}
	if r.Err() != nil {
		return r.Err()
	}
	switch {
	case class != keys.Class():
		r.Fail("keys of another type")
	case d.params != d.params.normal() || d.params.validate() != nil:
		r.Fail("invalid Params")
	case !d.params.shortens() && d.shortfall != 0 || !d.params.Others && d.others != 0 || !d.named && d.nameless != 0 || d.named && d.params.Relation == budget.Replace:
		r.Fail("a number that is not released")
	case beyond(d.shortfall) || beyond(d.others) || beyond(d.nameless):
		r.Fail("a number that no sum and noise make")
	case d.radius != 0 && !ranges.Radius(d.radius) || !(d.lost >= 0 && d.lost <= check.MaxReal) || d.radius == 0 && d.lost != 0:
		r.Fail("a radius or a loss that is none")
	case !(min(d.mostLost.Mean, d.mostLost.StdDev) >= 0 && max(d.mostLost.Mean, d.mostLost.StdDev) <= check.MaxReal) || min(d.radius, d.mostLost.StdDev) == 0 && d.mostLost != ranges.Bound{}:
		r.Fail("a bound that is none")
	case d.params.weighs() != (d.threshold > 0) || beyond(d.threshold) || d.threshold < 0:
		r.Fail("a threshold that is none")
	}
	sums := d.params.sums()
	levels := len(d.params.levels())
	if levels > 0 {
		d.noises.scale = d.params.scale()
	}
	size := keys.MinSize() + 8*len(sums) + 44*levels + 8*min(levels, 1)
	if d.params.Values {
		size += 8
	}
	n := r.Count(math.MaxInt32, size)
	if d.params.listed && d.params.most != min(n, mostKeys) {
		r.Fail("not all listed keys")
	}
	if r.Err() != nil {
		return r.Err()
	}
	if n > 0 {
		d.groups = make([]group[K], n)
	}
	cells, weights := make([]uint32, 3*levels*n), make([]int64, (4*levels+min(levels, 1))*n)
	for i := range d.groups {
		e := &d.groups[i]
		e.key = keys.Read(r)
		for _, i := range sums {
			*e.sum(i) = r.Int64()
		}
		cells, weights = e.readQuantiles(r, levels, d.noises.scale.cells, cells, weights)
		if d.params.Values {
			e.scale = r.Float64()
		}
		switch {
		case i > 0 && keys.Compare(d.groups[i-1].key, e.key) >= 0:
			r.Fail("keys not in ascending order")
		case !(e.scale >= 0 && e.scale <= check.MaxReal) || math.Signbit(e.scale) || d.params.Values && (e.scale > 0) != (d.radius > 0) || e.scale == 0 && d.params.Values && e.value != 0:
			r.Fail("a scale that is none")
		case e.weight < d.threshold || beyond(e.weight) || beyond(e.rest) || beyond(e.value):
			r.Fail("a number that no sum and noise make")
		}
		if r.Err() != nil {
			return r.Err()
		}
	}
	if err := r.Done(); err != nil {
		return err
	}
	calibrated, err := d.params.sizes()
	switch {
	case err != nil:
		r.Fail("invalid Params")
	case !calibrated.possible(d.chosen):
		r.Fail("a choice of FullKeys that is none")
	case calibrated.rest(d.chosen) == 0 && slices.ContainsFunc(d.groups, func(e group[K]) bool { return e.rest != 0 }):
		r.Fail("a number that no sum and noise make")
	}
	if r.Err() != nil {
		return r.Err()
	}
	d.noises = d.params.noises(calibrated, d.chosen)
	d.addUp()
	*g = d
	return nil
}

// readQuantiles reads the cells, each below last, and the weights of that many levels into the
// front of the two slices, and returns their unused ends.
func (e *group[K]) readQuantiles(r *wire.Reader, levels int, last int64, cells []uint32, weights []int64) ([]uint32, []int64) {
	if levels == 0 {
		return nil, nil
	}
	n, m := 3*levels, 4*levels+1
	e.cells, e.weights = cells[:n:n], weights[:m:m]
	for i := range e.cells {
		if e.cells[i] = r.Uint32(); int64(e.cells[i]) >= last || i > 0 && e.cells[i] < e.cells[i-1] {
			r.Fail("quantiles out of range or order")
		}
	}
	for i := range e.weights {
		if e.weights[i] = r.Int64(); beyond(e.weights[i]) {
			r.Fail("a number that no sum and noise make")
		}
	}
	return cells[n:], weights[m:]
}

// beyond reports whether no sum with its noise is that large.
func beyond(x int64) bool { return x > 2*limit || x < -2*limit }

// keyView is a key of the view: what is not released is left out.
type keyView struct {
	wire.KeyEstimate
	Sum  *wire.Estimated `json:"sum,omitempty"`
	Mean *wire.Estimated `json:"mean,omitempty"`
	// with Values: see [Groups.Lost]
	Lost *wire.Number `json:"lost,omitempty"`
	// unknown ones are null
	Quantiles []quantileView `json:"quantiles,omitempty"`
}

// quantileView is a quantile of the view.
type quantileView struct {
	Level float64 `json:"level"`
	wire.Estimated
	LowRank  wire.Number `json:"lowRank"`
	HighRank wire.Number `json:"highRank"`
}

// MarshalJSON returns the guarantee and the keys with estimates and intervals at .95, of sums and
// means too, and Others and RowsWithoutUser if released. A key that is not UTF-8, or begins with
// \x, is \x and its bytes in hexadecimal. The member data is the binary encoding.
func (g Groups[K]) MarshalJSON() ([]byte, error) {
	rows := []keyView{}
	for key, count := range g.All() {
		low, high := g.Interval(key, wire.Confidence)
		r := keyView{KeyEstimate: wire.KeyEstimate{Key: wire.KeyText(key), Estimated: wire.EstimatedOf(count, low, high)}}
		if g.params.values() {
			low, high = g.SumInterval(key, wire.Confidence)
			r.Sum = new(wire.EstimatedOf(g.Sum(key), low, high))
			low, high = g.MeanInterval(key, wire.Confidence)
			if r.Mean = new(wire.EstimatedOf(g.Mean(key), low, high)); g.params.Values {
				r.Lost = new(wire.Number(g.Lost(key)))
			}
		}
		for _, q := range g.params.levels() {
			low, high := g.QuantileInterval(key, q, wire.Confidence)
			least, most := g.RankInterval(key, q, wire.Confidence)
			r.Quantiles = append(r.Quantiles, quantileView{q, wire.EstimatedOf(g.Quantile(key, q), low, high), wire.Number(least), wire.Number(most)})
		}
		rows = append(rows, r)
	}
	shown := struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Keys      []keyView        `json:"keys"`
		Others    *wire.Estimated  `json:"others,omitempty"`
		Nameless  *wire.Estimated  `json:"rowsWithoutUser,omitempty"`
	}{Guarantee: g.Guarantee(), Keys: rows}
	if g.valid() && g.params.Others {
		half := g.reach(g.noises.others, (1-wire.Confidence)/2) + 1/float64(unit)
		shown.Others = new(wire.EstimatedOf(g.Others(), max(g.Others()-half, 0), max(g.Others()+half, 0)))
	}
	if low, high := g.RowsWithoutUser(wire.Confidence); g.named {
		shown.Nameless = new(wire.EstimatedOf(float64(g.nameless), low, high))
	}
	return wire.MarshalJSON(&g, shown)
}

// UnmarshalJSON decodes the member data, as UnmarshalBinary.
func (g *Groups[K]) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, g) }
