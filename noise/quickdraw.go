package noise

import (
	"encoding/binary"
	"math"
)

// This file has the usual draw of a Laplace and of a DiscreteLaplace in one piece, without a call.
// It looks at the next words of the Source, and takes them only if a quick logarithm decides the
// draw. It decides all but about 1 in 10,000 draws; the exact sampler makes those from the same
// words. What is decided quickly is what the exact sampler would decide (see quickLog), so a draw
// is the same, word for word, on both ways.

// Bits of a float64, and the fixed point of quickSteps.
const (
	mantissaBits = 52
	fraction     = 1<<mantissaBits - 1
	bias         = 1023
	fixed        = 30      // digits behind the point
	fixedMargin  = 1 << 14 // bounds the error, in units of the last digit
)

// draw returns a draw in steps, and step; NaN for a step that Sample refuses.
//
// With 2b = 2·scale/step in [2²⁰, 2⁴⁷], G is drawn as geometric draws it for 2b: the exponent of 2b
// is that of the quotient, which is exact, as step is a power of two. For the digits that are left,
// c = 2b/2^m in [2¹⁹, 2²⁰) and t = c·(−ln U), the logarithm is within quickMargin·.66 and so t·2³⁰
// within 2¹⁴·.66; its product, below 2⁵⁵, is rounded by 2 at most, and its floor is off by less
// than 1. So ⌊t⌋ is right where the digits behind the point are at least fixedMargin from both
// ends. Where t comes out negative they are not.
func (d Laplace) draw(src *Source, step float64) (k int64, unit float64) {
	unitBits := math.Float64bits(step)
	// Of 2b. If step is negative or no power of two, that is seen by its sign and fraction; if step
	// is 0 or infinite, or scale 0, or 2b out of range, by the exponent, which is modulo 2¹².
	b := math.Float64bits(d.law.scale) - unitBits + (bias+1)<<mantissaBits
	if unitBits&(1<<63|fraction) != 0 || b-(bias+20)<<mantissaBits > 27<<mantissaBits {
		return d.exactSteps(src, step)
	}
	if src.state == nil {
		return d.exactSteps(src, step)
	}
	st := *src.state
	at := bufferBytes - uint(st.left)
	if at > bufferBytes-16 {
		return d.exactSteps(src, step)
	}
	words := st.buf[at : at+16 : at+16]
	w, next := binary.NativeEndian.Uint64(words), binary.NativeEndian.Uint64(words[8:])
	m := (b>>mantissaBits - bias - 19) & 63
	const ones = 1<<19 - 1
	if w<<m >= ones<<45 || next < leastQuick { // see geometric
		return d.exactSteps(src, step)
	}
	c := math.Float64frombits(b&fraction | (bias+19+fixed)<<mantissaBits) // c·2³⁰
	t := int64(c * quickLog(next&^3))
	if uint64(t)&(1<<fixed-1)-fixedMargin >= 1<<fixed-2*fixedMargin {
		return d.exactSteps(src, step)
	}
	st.left -= 16
	clear(words)
	g := int64(w>>(64-m)) + t>>fixed<<m
	return withSign((g+1)>>1, next), step
}

// SampleInt draws X. Every integer k has probability exactly tanh(1/(2·scale))·e^{−|k|/scale}, for
// the scale given as a float64. For the zero DiscreteLaplace, which is no law, the draw is uniform
// over all int64.
func (d DiscreteLaplace) SampleInt(src *Source) int64 {
	// as in quickFloor
	if src.state == nil || !(d.law.valid() && d.law.scale < 0x1p20) {
		return d.exactInt(src)
	}
	st := *src.state
	at := bufferBytes - uint(st.left)
	if at > bufferBytes-8 {
		return d.exactInt(src)
	}
	word := st.buf[at : at+8 : at+8]
	w := binary.NativeEndian.Uint64(word)
	if w < leastQuick {
		return d.exactInt(src)
	}
	t, err := d.law.scale*(quickLog(w&^3)+d.law.shift), d.law.scale*quickMargin
	k := int64(t - err)
	if k != int64(t+err) {
		return d.exactInt(src)
	}
	st.left -= 8
	binary.NativeEndian.PutUint64(word, 0)
	return withSign(k, w)
}
