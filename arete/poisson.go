package arete

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// rate is the mean of a Poisson distribution as an exact real number: factor/parts, times
// [logSeries] of scale if that is not 0. A share of one in n has n parts, so the rates of n shares
// add up to the whole with no rounding.
type rate struct {
	factor float64
	scale  float64
	parts  uint64
}

// enclose returns the rate as an interval.
func (r rate) enclose(prec uint) exact.Interval {
	quotient := new(big.Rat).SetFloat64(r.factor)
	quotient.Quo(quotient, new(big.Rat).SetFrac(new(big.Int).SetUint64(r.parts), big.NewInt(1)))
	x := exact.Enclose(quotient, prec)
	if r.scale != 0 {
		x = x.Mul(logSeries(r.scale, prec), prec)
	}
	return x
}

// poisson draws from the Poisson distribution of a rate, exactly. A draw is the number of k with
// F(k) ≤ U, for U uniform and F the distribution function. Nearly always one random word w tells:
// with words[k] = ⌊2⁶⁴·F(k)⌋, U < F(k) for certain if w < words[k], and U > F(k) if w > words[k].
// On a tie, one draw in some 2⁵⁸, more digits of U and of F decide.
type poisson struct {
	rate  rate
	words []uint64
	first [256]uint8 // the least k that U can give, by the first eight digits of U
}

// newPoisson makes the table. The rates of this package are at most 96, so that it has some 200
// words at most.
func newPoisson(r rate) *poisson {
	p := &poisson{rate: r}
	for prec := uint(128); ; prec += 64 {
		if words, ok := tableWords(r, prec); ok {
			p.words = words
			break
		}
	}
	k := 0
	for i := range p.first {
		for k < len(p.words)-1 && p.words[k] < uint64(i)<<56 {
			k++
		}
		p.first[i] = uint8(k)
	}
	return p
}

// tableWords returns ⌊2⁶⁴·F(k)⌋ up to the first that has only ones, or false if the precision does
// not decide one of them.
func tableWords(r rate, prec uint) (words []uint64, ok bool) {
	for f := range cumulative(r, prec) {
		lo, hi := new(big.Int).Rsh(f.Lo, prec-64), new(big.Int).Rsh(f.Hi, prec-64)
		if hi.BitLen() > 64 { // F(k) may be 1 as far as we see
			hi.Sub(exact.One(64), big.NewInt(1))
		}
		if lo.Cmp(hi) != 0 {
			return nil, false
		}
		words = append(words, lo.Uint64())
		if lo.Uint64() == math.MaxUint64 {
			return words, true
		}
	}
	return nil, false
}

// cumulative yields enclosures of F(0), F(1), … without end. F decreases as the rate grows.
func cumulative(r rate, prec uint) func(yield func(exact.Interval) bool) {
	return func(yield func(exact.Interval) bool) {
		work := prec + 64
		least, most := pointMasses(r, work)
		sum := exact.Interval{Lo: new(big.Int), Hi: new(big.Int)}
		for {
			sum = sum.Add(exact.Interval{Lo: most.next(), Hi: least.next()})
			exact.Increment(least.mass)
			if !yield(exact.Interval{Lo: new(big.Int).Rsh(sum.Lo, work-prec), Hi: exact.Increment(new(big.Int).Rsh(sum.Hi, work-prec))}) {
				return
			}
		}
	}
}

// masses makes e^{−λ}·λ^k/k! for k = 0, 1, … and one end of the enclosure of λ.
type masses struct {
	lambda, mass *big.Int
	k            int64
	work         uint
}

// pointMasses returns the masses at the lower end of the rate, to be rounded up, and at the upper
// end, to be rounded down.
func pointMasses(r rate, work uint) (least, most *masses) {
	x, one := r.enclose(work), exact.One(work)
	return &masses{x.Lo, exact.ExpNegQuo(x.Lo, one, work).Hi, 0, work}, &masses{x.Hi, exact.ExpNegQuo(x.Hi, one, work).Lo, 0, work}
}

// next returns the next mass, rounded down.
func (m *masses) next() *big.Int {
	current := new(big.Int).Set(m.mass)
	m.k++
	m.mass.Mul(m.mass, m.lambda).Rsh(m.mass, m.work)
	m.mass.Quo(m.mass, big.NewInt(m.k))
	return current
}

// draw draws a number of events.
func (p *poisson) draw(src *noise.Source) int {
	w := src.Uint64()
	k := int(p.first[w>>56])
	for w > p.words[k] { // the last word is the largest there is
		k++
	}
	if w < p.words[k] {
		return k
	}
	return p.drawExactly(src, w)
}

// drawExactly is draw for a U of which the first 64 digits are known.
func (p *poisson) drawExactly(src *noise.Source, first uint64) int {
	u := new(big.Int).SetUint64(first)
	for digits := uint(64); ; digits += 64 {
		if k, ok := p.decide(u, digits); ok {
			return k
		}
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(src.Uint64()))
	}
}

// decide returns the least k with U < F(k) for U in [u, u+1)/2^digits, if that is one and the same
// k for all U.
func (p *poisson) decide(u *big.Int, digits uint) (k int, ok bool) {
	const guard = 64
	least := new(big.Int).Lsh(u, guard)
	end := new(big.Int).Add(least, exact.One(guard))
	limit := exact.One(digits + guard)
	for f := range cumulative(p.rate, digits+guard) {
		switch {
		case end.Cmp(f.Lo) <= 0:
			return k, true
		case least.Cmp(f.Hi) < 0 || f.Hi.Cmp(limit) >= 0:
			return 0, false
		}
		k++
	}
	return 0, false
}
