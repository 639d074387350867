package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Field is a number at a fixed place in an encoding, bound to the variable that it is written from
// and read into. One list of them is the head of an encoding: [AppendFields] writes it and
// [Reader.Fields] reads it, so the two cannot differ.
type Field struct {
	write func(dst []byte) []byte
	read  func(r *Reader)
}

// AppendFields appends the fields, one after the other, to dst.
func AppendFields(dst []byte, fields []Field) []byte {
	for _, f := range fields {
		dst = f.write(dst)
	}
	return dst
}

// Fields reads the fields into their variables, which are 0 after a failure.
func (r *Reader) Fields(fields []Field) {
	for _, f := range fields {
		f.read(r)
	}
}

// Byte is one byte: a constant, say.
func Byte[T ~uint8](x *T) Field {
	return Field{
		func(dst []byte) []byte { return append(dst, byte(*x)) },
		func(r *Reader) { *x = T(r.Uint8()) },
	}
}

// Flags is one byte with a bit for each of at most eight variables, the first being bit 0. Reading
// fails on other bits.
func Flags(xs ...*bool) Field {
	return Field{
		func(dst []byte) []byte {
			bits := byte(0)
			for i, x := range xs {
				if *x {
					bits |= 1 << i
				}
			}
			return append(dst, bits)
		},
		func(r *Reader) {
			bits := r.Uint8()
			if int(bits)>>len(xs) != 0 {
				r.Fail("unknown flags")
				bits = 0
			}
			for i, x := range xs {
				*x = bits>>i&1 == 1
			}
		},
	}
}

// Short is an integer in [0, most] in two bytes. Reading fails above most.
func Short(x *int, most int) Field {
	return Field{
		func(dst []byte) []byte { return binary.LittleEndian.AppendUint16(dst, uint16(*x)) },
		func(r *Reader) {
			n := int(r.Uint8())
			n |= int(r.Uint8()) << 8
			if n > most {
				r.Fail(fmt.Sprintf("the number %d, want at most %d", n, most))
				n = 0
			}
			*x = n
		},
	}
}

// Int is an integer in [0, most] in four bytes. Reading fails above most.
func Int(x *int, most int) Field {
	return Field{
		func(dst []byte) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(*x)) },
		func(r *Reader) {
			n := r.Uint32()
			if uint64(n) > uint64(most) {
				r.Fail(fmt.Sprintf("the number %d, want at most %d", n, most))
				n = 0
			}
			*x = int(n)
		},
	}
}

// Whole is an integer in [least, most] in four bytes, two's complement. Reading fails outside.
func Whole(x *int, least, most int32) Field {
	return Field{
		func(dst []byte) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(*x)) },
		func(r *Reader) {
			n := int32(r.Uint32())
			if n < least || n > most {
				r.Fail(fmt.Sprintf("the number %d, want one in [%d, %d]", n, least, most))
				n = 0
			}
			*x = int(n)
		},
	}
}

// Long is an integer in [0, most] in eight bytes. Reading fails above most, and above the largest
// int, which is less on some machines.
func Long(x *int, most uint64) Field {
	return Field{
		func(dst []byte) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(*x)) },
		func(r *Reader) {
			n := r.Uint64()
			if n > min(most, math.MaxInt) {
				r.Fail(fmt.Sprintf("the number %d, want at most %d", n, min(most, math.MaxInt)))
				n = 0
			}
			*x = int(n)
		},
	}
}

// Uint is eight bytes.
func Uint(x *uint64) Field {
	return Field{
		func(dst []byte) []byte { return binary.LittleEndian.AppendUint64(dst, *x) },
		func(r *Reader) { *x = r.Uint64() },
	}
}

// Signed is eight bytes, two's complement.
func Signed(x *int64) Field {
	return Field{
		func(dst []byte) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(*x)) },
		func(r *Reader) { *x = r.Int64() },
	}
}

// Float is eight bytes of IEEE 754. Reading fails on NaN and −0, which Params never hold.
func Float(x *float64) Field {
	return Field{
		func(dst []byte) []byte { return binary.LittleEndian.AppendUint64(dst, math.Float64bits(*x)) },
		func(r *Reader) {
			y := r.Float64()
			if math.IsNaN(y) || NegativeZero(y) {
				r.Fail("NaN or a negative zero")
				y = 0
			}
			*x = y
		},
	}
}

// Bytes is as many bytes as x has.
func Bytes(x []byte) Field {
	return Field{
		func(dst []byte) []byte { return append(dst, x...) },
		func(r *Reader) { copy(x, r.Bytes(len(x))) },
	}
}
