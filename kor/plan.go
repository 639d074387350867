package kor

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
)

// The error of a sketch in closed form. With n cells a level, levels of ratio 2 and c = 1 − 2p of
// all noise together, the Fisher information about ln W is
//
//	I = n·Li₂(c²)/(4·ln 2),   so   RSE = √(4·ln 2/(n·Li₂(c²))),   Li₂(y) = Σ yᵏ/k²,
//
// averaged over the position of W between two levels. Proof. A level of rate λ keys a cell, with a
// = c·e^{−2λ}, has the information n·4λ²·a²/(1−a²) (see [law.information], in ln W); levels follow
// each other at distance ln 2 in ln λ, so the mean of their sum is (1/ln 2)·∫₀^∞ 4λ·a²/(1−a²) dλ =
// (1/ln 2)·Σ_{k≥1} c^{2k}·∫ 4λ·e^{−4kλ} dλ = (1/ln 2)·Σ c^{2k}/(4k²). ∎ The sum differs from its
// mean by less than 1e-4. For a stream a = c·e^{−λ}, which only moves the position, and the formula
// is the same.
//
// RSE²·(bits in all) is therefore 4·ln(range)/Li₂(c²) for levels of any ratio. Ratio 4 would halve
// the number of levels at equal bits and equal mean error, but then the error rises and falls by 2
// % with W, and by 13 to 15 % at ratio 8. It would save nothing that counts, as the cost of all
// operations is in the bits; so the ratio is that of the thesis, 2.
//
// The sum over all levels is what StdErr uses, and what an estimate can attain; the closed form
// holds where the sum is complete. For sizes from 2n (4n for a stream) to 2^L·n/16 the sum gives at
// most 1 to 3 % more (less at small ε), at 2^L·n/8 it gives 2.4 to 7.7 %. Below 2n keys the levels
// that would know most, of one key in two cells or more, do not exist: the error in keys stays at
// what it is for the empty set, √(¾·n·(1−c²))/c, and the relative error rises. In units of the
// closed form, for keys of a Poisson number | for N keys of weight 1, N fixed:
//
//	ε    one set: N = n/4  n/2          n            2n
//	0.5  2.53 | 2.52       1.56 | 1.54  1.13 | 1.12  1.01 | 1.00
//	1    2.44 | 2.38       1.53 | 1.47  1.12 | 1.09  1.01 | 0.99
//	2    2.19 | 1.95       1.45 | 1.26  1.11 | 0.99  1.01 | 0.94
//	4    1.83 | 1.16       1.34 | 0.89  1.08 | 0.82  1.01 | 0.87
//
//	ε    A∆B: N = n/4  n/2          n            2n
//	0.5  2.57 | 2.56   1.57 | 1.57  1.13 | 1.13  1.01 | 1.01
//	1    2.54 | 2.53   1.56 | 1.55  1.13 | 1.12  1.01 | 1.00
//	2    2.37 | 2.25   1.50 | 1.41  1.12 | 1.06  1.01 | 0.97
//	4    1.91 | 1.38   1.36 | 0.99  1.09 | 0.87  1.01 | 0.89
//
// So no estimate from these levels has the error of the closed form at n/4 keys; with fewer Cells
// it would, as the error depends on N/n.

// releaseLaw returns the law of the XOR of that many releases of sets, or of the union of that many
// releases of streams.
func (p Params) releaseLaw(sketches int, stream bool) (law, error) {
	of, flips := setLaw, p.flips
	if stream {
		of, flips = streamLaw, p.streamFlips
	}
	f, err := flips()
	return of(float64(sketches)*logSign(f.K()), p.Cells, p.Levels), err
}

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params   Params  // filled in
	FlipProb float64 // with which a release of a set flips each bit: 1/(e^ε + 1), rounded up
	// RelativeError is the relative standard error of the size of one set, from
	// 2·Cells to Largest/2 keys. For others see [Plan.StdErr].
	RelativeError float64
	// Largest is the size 2^L·n/8. There the error is 2.4 to 7.7 % larger than
	// RelativeError, at four times that size 1.3 to 1.5 times RelativeError.
	Largest float64
	Bytes   int // of the encoding of one release
}

// Plan returns the Plan. It needs no Seed. The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	p = p.normal()
	flips, err := Plan{Params: p}.seeded().flips()
	if err != nil {
		return Plan{}, err
	}
	l := setLaw(logSign(flips.K()), p.Cells, p.Levels)
	return Plan{p, flips.Prob(), math.Sqrt(l.variance()), p.largest(), p.size()}, nil
}

// StdErr returns the standard error, in keys, for the XOR of that number of releases, if the number
// of keys is Poisson. For N keys of weight 1, N fixed, it is √(StdErr² − N), which matters if N is
// below 2n and ε is large. NaN for an argument out of range and for the zero Plan.
func (p Plan) StdErr(size float64, sketches int) float64 { return p.stdErr(size, sketches, false) }

// StreamStdErr is StdErr for the union of that number of streams.
func (p Plan) StreamStdErr(size float64, sketches int) float64 { return p.stdErr(size, sketches, true) }

func (p Plan) stdErr(size float64, sketches int, stream bool) float64 {
	l, err := p.seeded().releaseLaw(sketches, stream)
	if err != nil || sketches < 1 || !(size >= 0) {
		return math.NaN()
	}
	return l.stdErr(size)
}

// seeded returns the Params with a Seed.
func (p Plan) seeded() Params {
	if p.Params.Seed.IsZero() {
		p.Params.Seed = hashing.Seed{1}
	}
	return p.Params
}

// String returns the size and the error, in one line.
func (p Plan) String() string {
	return fmt.Sprintf("%d levels of %d cells, %d bytes a release: error %.2g %%, up to %.3g keys",
		p.Params.Levels, p.Params.Cells, p.Bytes, 100*p.RelativeError, p.Largest)
}

// largest returns Plan.Largest.
func (p Params) largest() float64 { return math.Ldexp(float64(p.Cells), p.Levels-3) }

// Fit returns the Params with the fewest Cells, a multiple of 64, and the fewest Levels for a
// relative standard error of at most relative for the XOR of that number of releases of sets, at
// sizes from about 2·Cells to largest. It reads only Epsilon and CountShare. The error wraps
// [ErrParams] if a number is out of range or no such sketch is accurate enough.
func (p Params) Fit(relative, largest float64, sketches int) (Params, error) {
	return p.fit(relative, largest, sketches, false)
}

// FitStream is Fit for the union of that number of streams, from about 4·Cells.
func (p Params) FitStream(relative, largest float64, sketches int) (Params, error) {
	return p.fit(relative, largest, sketches, true)
}

func (p Params) fit(relative, largest float64, sketches int, stream bool) (Params, error) {
	least := p // the fields that planning does not read are valid
	least.Cells, least.Levels, least.Seed = 1, 1, hashing.Seed{1}
	l, err := least.releaseLaw(sketches, stream)
	if err != nil {
		return Params{}, err
	}
	if err := check.SketchPlan("kor", relative, largest, sketches, maxParts); err != nil {
		return Params{}, err
	}
	cells := 64 * math.Ceil(l.variance()/(relative*relative)*(1+1e-12)/64)
	levels := max(1, math.Ceil(math.Log2(8*largest/cells)))
	if !(cells <= maxCells && cells*levels <= maxBits) {
		return Params{}, bad("relative error", relative, fmt.Sprintf("one that less than 2³¹ cells a level and 2³³ bits in all can have: "+
			"this takes %.4g cells in each of %g levels, %.4g bytes", cells, levels, cells*levels/8))
	}
	l = law{l.logSign, cells, maxLevels, l.unit * cells}
	if e := l.stdErr(largest) / largest; e > relative*1.1 {
		return Params{}, bad("relative error", relative, fmt.Sprintf("one that %g keys can have: the %g cells that it takes are many for them, "+
			"and their error would be %.2g", largest, cells, e))
	}
	p.Cells, p.Levels = int(cells), int(levels)
	return p, nil
}
