package distinct

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
)

// ReleasePair releases the sets A and B of two Builders together. It spends ε once, [Plan].Pair of
// a ledger: neighbours differ in one key, in one set or both.
func ReleasePair(a, b *Builder) (*Pair, error) {
	a, b = sets.OrZero(a), sets.OrZero(b)
	p := &Pair{release{params: a.params}}
	err := private.Merge(a.secret, b.secret, "distinct: ReleasePair", "Builder", func(s, o *state) error {
		law, err := s.params.classLaw()
		if err == nil {
			err = check.Equal("distinct", s.params, o.params)
		}
		if err != nil {
			return err
		}
		p.numbers = classesOf(s.table, o.table, s.params)
		p.numbers.addNoise(law, &s.src)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err = private.Take(a.secret, "distinct: ReleasePair: the Builder"); err != nil {
		return nil, err // another goroutine released A, or is at it
	}
	return p, nil
}

// The classes of a cell, by the tables in which it is set.
const (
	inA = iota
	inB
	inBoth
	inNone
	allClasses
)

// classesOf returns the numbers of cells of each class. What is behind the cells of a level is 0.
func classesOf(a, b []uint64, p Params) numbers {
	n := make(numbers, allClasses)
	for i, x := range a {
		y := b[i]
		n[inA] += int64(bits.OnesCount64(x &^ y))
		n[inB] += int64(bits.OnesCount64(y &^ x))
		n[inBoth] += int64(bits.OnesCount64(x & y))
	}
	n[inNone] = int64(p.Cells)*int64(p.Levels) - n[inA] - n[inB] - n[inBoth]
	return n
}

// Pair is the release of two sets: no part is below 0 or above the whole, and parts add up.
type Pair struct{ release }

func ofA(class int) bool      { return class == inA || class == inBoth }
func ofB(class int) bool      { return class == inB || class == inBoth }
func ofEither(class int) bool { return class != inNone }

// parts returns how many keys are in A alone, in B alone and in both: of the sizes of A, B and
// either, which are unbiased, the nearest that can be.
func (p *Pair) parts() vector {
	if !p.valid() {
		return vector{}
	}
	s := p.params.sumOf(p.numbers, nil, noise.DiscreteLaplace{}, []term{{1, ofA, 0}, {1, ofB, 0}, {1, ofEither, 0}})
	var x, slope [4]float64
	for i, t := range s.terms {
		x[2] = max(x[2], t.x)
		x[i] = max(t.x, 0)
	}
	x[2] = min(x[2], -30/s.log[s.levels-1]) // where no cell is empty
	for i := range s.terms {
		x[i] = min(x[i], x[2])
		_, slope[i], _, _ = s.curve.at(x[i])
	}
	var sizes, covariance matrix // of A, B, either, and of the parts
	for i := range 3 {
		for j := range i + 1 {
			placed, drawn := s.covariance(i, j, x, slope)
			sizes[i][j] = placed + drawn
			sizes[j][i] = sizes[i][j]
		}
	}
	a, b, either := s.terms[0].x, s.terms[1].x, s.terms[2].x
	of := matrix{{0, -1, 1}, {-1, 0, 1}, {1, 1, -1}}
	for i := range of {
		for j := range of {
			covariance[i][j] = sizes.times(of[j]).dot(of[i])
		}
	}
	return nonNegativeFit(vector{either - b, either - a, a + b - either}, covariance)
}

// pairSize is one of the sizes: the count of a set, or a sum of the counts of A, B and either.
type pairSize struct {
	in      func(class int) bool
	weights [3]float64
	within  []func(class int) bool // none of a ratio to either
	parts   vector                 // what it has of the parts
}

var (
	sizeA      = pairSize{in: ofA, parts: vector{1, 0, 1}}
	sizeB      = pairSize{in: ofB, parts: vector{0, 1, 1}}
	sizeEither = pairSize{in: ofEither, parts: vector{1, 1, 1}}
	sizeBoth   = pairSize{nil, [3]float64{1, 1, -1}, []func(int) bool{ofA, ofB}, vector{0, 0, 1}}
	sizeOnlyA  = pairSize{nil, [3]float64{0, -1, 1}, []func(int) bool{ofA}, vector{1, 0, 0}}
	sizeOnlyB  = pairSize{nil, [3]float64{-1, 0, 1}, []func(int) bool{ofB}, vector{0, 1, 0}}
	jaccard    = pairSize{nil, [3]float64{1, 1, -1}, nil, vector{0, 0, 1}}
)

// size returns a size, given the parts.
func (p *Pair) size(s pairSize, parts vector) kor.Cardinality {
	if !p.valid() {
		return kor.Cardinality{}
	}
	estimate := parts.dot(s.parts)
	if s.in != nil {
		return kor.Cardinality{Source: fitted{p.params.union(p.numbers, s.in), estimate}}
	}
	var terms []term
	for i, in := range [...]func(int) bool{ofA, ofB, ofEither} {
		if s.weights[i] != 0 {
			terms = append(terms, term{s.weights[i], in, 0})
		}
	}
	sum := p.params.sumOf(p.numbers, nil, noise.DiscreteLaplace{}, terms, s.within...)
	if sum.ratio = s.within == nil; sum.ratio {
		estimate /= parts.sum()
	}
	return kor.Cardinality{Source: fitted{sum, estimate}}
}

// A returns |A|.
func (p *Pair) A() kor.Cardinality { return p.size(sizeA, p.parts()) }

// B returns |B|.
func (p *Pair) B() kor.Cardinality { return p.size(sizeB, p.parts()) }

// Either returns |A∪B|.
func (p *Pair) Either() kor.Cardinality { return p.size(sizeEither, p.parts()) }

// Both returns |A∩B|.
func (p *Pair) Both() kor.Cardinality { return p.size(sizeBoth, p.parts()) }

// OnlyA returns |A∖B|.
func (p *Pair) OnlyA() kor.Cardinality { return p.size(sizeOnlyA, p.parts()) }

// OnlyB returns |B∖A|.
func (p *Pair) OnlyB() kor.Cardinality { return p.size(sizeOnlyB, p.parts()) }

// Jaccard returns |A∩B| / |A∪B|, NaN if there seem to be no keys.
func (p *Pair) Jaccard() kor.Cardinality { return p.size(jaccard, p.parts()) }

// String describes the release.
func (p *Pair) String() string {
	return p.text("distinct.Pair", p.Guarantee(), "the keys of two sets")
}

// The encoding of a Pair, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 22, version 1
//	40     Epsilon, CountShare (1), Cells, Levels, Seed, as in a Sketch
//	8·4    noisy numbers of cells set in A alone, in B alone, in both, in none; two's complement
//
// No other bytes decode to the same Pair.
func (p *Pair) layout() layout {
	return layout{wire.KindPair, 1, &p.release, nil, Params.classLaw, func() int {
		if p.params == (Params{}) {
			return 0
		}
		return allClasses
	}}
}

// AppendBinary appends the encoding.
func (p *Pair) AppendBinary(dst []byte) ([]byte, error) { return p.layout().append(dst) }

// MarshalBinary encodes.
func (p *Pair) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary decodes.
func (p *Pair) UnmarshalBinary(data []byte) error { return decode(p, data) }
