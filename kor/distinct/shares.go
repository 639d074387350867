package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Frequencies are the number of distinct keys, and the fractions of them that came once, twice, and
// so on: public, immutable, safe for concurrent readers. The zero Frequencies answer NaN.
type Frequencies struct {
	release // the numbers of cells without a key, with one that came once, …; then of ones
	most    int
}

// Guarantee returns the guarantee of the release, ε-differential privacy for one key with all its
// occurrences, added or removed.
func (f *Frequencies) Guarantee() budget.Guarantee { return f.params.frequencyGuarantee() }

// Most returns the number m of the last class: keys that came m times or more.
func (f *Frequencies) Most() int { return f.most }

// Users returns the number of distinct keys.
func (f *Frequencies) Users() kor.Cardinality {
	if !f.valid() {
		return kor.Cardinality{}
	}
	half, _ := f.params.frequencies() // of a release, so no error
	return kor.Cardinality{Source: &count{newCurve(half), float64(f.numbers[f.most+1])}}
}

// ratio is what the cells say of a class: of kept cells with a key, held are of the class.
//
// A kept key is one of a simple random sample of the users, so held has mean t·kept if t is the
// share of the class, and held − t·kept has the variance t·(1−t)·kept·(1 − kept/users), of a sample
// without replacement, and the noise v·(k/(k+1)·(1 + t²) − 2t/(k+1)) of k classes and the empty
// one, once the excess is taken out (classes_proof.md).
type ratio struct {
	held, kept, users, noise float64
	k                        float64
}

// ratio returns what is known of the class of keys that came times times.
func (f *Frequencies) ratio(times int) (r ratio, ok bool) {
	if !f.valid() || times < 1 || times > f.most {
		return r, false
	}
	half, _ := f.params.frequencies() // of a release, so no error
	law, _ := half.classLaw()
	excess, cells := 0.0, float64(cellsEach*f.params.Cells)
	for _, x := range f.numbers[:f.most+1] {
		excess += float64(x)
	}
	excess = (excess - cells) / float64(f.most+1)
	kept := cells - (float64(f.numbers[0]) - excess)
	return ratio{float64(f.numbers[times]) - excess, kept, f.Users().Estimate(), law.Variance(), float64(f.most)}, true
}

// deviation returns by how many standard errors held is above t·kept.
func (r ratio) deviation(t float64) float64 {
	kept := max(r.kept, 0)
	sample := t * (1 - t) * kept * (1 - min(kept/max(r.users, kept, 1), 1))
	return (r.held - t*r.kept) / math.Sqrt(sample+r.noise*(r.k*(1+t*t)-2*t)/(r.k+1))
}

// Share returns the fraction of the keys that came exactly times times; in the last class, times or
// more. NaN for other classes, and if there are so few keys that the number of cells with a key is
// below 4 standard deviations of its noise: then see [Frequencies.ShareInterval].
func (f *Frequencies) Share(times int) float64 {
	r, ok := f.ratio(times)
	if !ok || r.kept <= 4*math.Sqrt(r.noise*r.k/(r.k+1)) {
		return math.NaN()
	}
	return min(max(r.held/r.kept, 0), 1)
}

// ShareInterval returns the fractions in [0, 1] that the noisy cells do not reject (Fieller's set
// for a ratio). It is never empty, and it is all of [0, 1] if there is only noise. NaN for other
// classes and a confidence outside [0, 1).
func (f *Frequencies) ShareInterval(times int, confidence float64) (lo, hi float64) {
	r, ok := f.ratio(times)
	if !ok || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	best := 0.0
	for _, t := range []float64{1, min(max(r.held/r.kept, 0), 1)} {
		if math.Abs(r.deviation(t)) < math.Abs(r.deviation(best)) {
			best = t
		}
	}
	return accepted(0, best, 1, normalQuantile(confidence), r.deviation)
}

// String says what was released under which guarantee.
func (f *Frequencies) String() string {
	return f.text("distinct.Frequencies", f.Guarantee(), "keys by how often they came, up to %d times or more", f.most)
}

// The encoding of Frequencies, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 23, version 1
//	40     Epsilon, CountShare (1), Cells, Levels, Seed, as in a Sketch
//	4      most, at least 2
//	8·k    noisy numbers of cells without a key, with one that came once, …, most times or more,
//	       then the noisy number of ones; two's complement
//
// No other bytes decode to the same Frequencies.
func (f *Frequencies) layout() layout {
	law := func(p Params) (law noise.DiscreteLaplace, err error) {
		if p, err = p.frequencies(); err != nil {
			return law, err
		}
		return p.classLaw()
	}
	return layout{wire.KindFrequencies, 1, &f.release, []wire.Field{wire.Int(&f.most, math.MaxUint8)}, law, func() int {
		if f.most < 2 {
			return 0
		}
		return f.most + 2
	}}
}

// AppendBinary appends the encoding to dst. The error, which wraps [ErrFormat], is for Frequencies
// that are neither released nor decoded.
func (f *Frequencies) AppendBinary(dst []byte) ([]byte, error) { return f.layout().append(dst) }

// MarshalBinary returns the encoding.
func (f *Frequencies) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (f *Frequencies) UnmarshalBinary(data []byte) error { return decode(f, data) }
