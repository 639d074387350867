package exact

import (
	"math"
	"math/big"
	"math/bits"
)

// Int128 is an integer of 128 bits in two's complement. Arithmetic wraps.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Int128Of returns x.
func Int128Of(x int64) Int128 { return Int128{x >> 63, uint64(x)} }

// Int128OfFloat returns the x of an integer x with |x| < 2¹²⁷.
func Int128OfFloat(x float64) Int128 {
	if math.Abs(x) < 0x1p63 {
		return Int128Of(int64(x))
	}
	_, exp := math.Frexp(x)
	shift := exp - 53
	return Int128Of(int64(math.Ldexp(x, -shift))).Shl(uint(shift))
}

// Int128OfBig returns x, which must fit.
func Int128OfBig(x *big.Int) Int128 {
	// two's complement, as for all of math/big
	lo := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64))
	return Int128{new(big.Int).Rsh(x, 64).Int64(), lo.Uint64()}
}

// Product128 returns x·y, exactly.
func Product128(x, y int64) Int128 {
	hi, lo := bits.Mul64(uint64(x), uint64(y)) // of the residues modulo 2⁶⁴
	return Int128{int64(hi) - (x>>63)&y - (y>>63)&x, lo}
}

// Plus returns w + x.
func (w Int128) Plus(x Int128) Int128 {
	lo, carry := bits.Add64(w.Lo, x.Lo, 0)
	return Int128{w.Hi + x.Hi + int64(carry), lo}
}

// Minus returns w − x.
func (w Int128) Minus(x Int128) Int128 {
	lo, borrow := bits.Sub64(w.Lo, x.Lo, 0)
	return Int128{w.Hi - x.Hi - int64(borrow), lo}
}

// Times returns w·x for x ≥ 0.
func (w Int128) Times(x int64) Int128 {
	hi, lo := bits.Mul64(w.Lo, uint64(x))
	return Int128{int64(hi) + w.Hi*x, lo}
}

// Shl returns w·2ⁿ for n < 128.
func (w Int128) Shl(n uint) Int128 {
	// of the two, one is 0 unless n = 64
	return Int128{w.Hi<<n | int64(w.Lo>>(64-n)|w.Lo<<(n-64)), w.Lo << n}
}

// Shr returns ⌊w/2ⁿ⌋ for n < 64.
func (w Int128) Shr(n uint) Int128 { return Int128{w.Hi >> n, w.Lo>>n | uint64(w.Hi)<<(64-n)} }

// Less reports whether w < x.
func (w Int128) Less(x Int128) bool { return w.Hi < x.Hi || w.Hi == x.Hi && w.Lo < x.Lo }

// Big returns w.
func (w Int128) Big() *big.Int {
	x := new(big.Int).Lsh(big.NewInt(w.Hi), 64)
	return x.Add(x, new(big.Int).SetUint64(w.Lo))
}

// Float64 returns w rounded to a float64.
func (w Int128) Float64() float64 {
	if w.Hi == int64(w.Lo)>>63 {
		return float64(int64(w.Lo))
	}
	x, _ := new(big.Float).SetInt(w.Big()).Float64()
	return x
}
