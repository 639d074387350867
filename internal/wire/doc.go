// Package wire is the bounded codec under every released object of the library, its JSON, and how
// lists of keys are read out.
//
// An encoding is little-endian and made of integers only; a float travels as its IEEE 754 bits. It
// starts with this header, and what follows is laid down by the package that owns the kind:
//
//	offset  bytes  field
//	0       4      magic "dpsk"
//	4       1      kind, see [Kind]
//	5       1      version of the kind's layout
//
// FORMAT.md says it all for readers in other languages, and decode.py is one.
//
// The writing side is [AppendHeader] followed by the appends of encoding/binary.LittleEndian. The
// reading side is [Reader], whose contract makes a decoder hard to get wrong:
//
//   - an error sticks. The first failure is kept, all later reads return zero and consume nothing,
//     so a decoder reads straight through and asks [Reader.Done] once, before it touches its
//     receiver;
//   - nothing is allocated for a length that the rest of the input cannot hold: see [Reader.Count];
//   - every error wraps [check.ErrFormat] and names the package on whose behalf the bytes are read.
//
// The reader checks structure only. That a number lies in its range, that keys are sorted, that a
// float is finite: this is the decoder's own duty, and [Reader.Fail] its way to say so.
//
// In JSON an object is what a web page shows, and beside it the binary encoding, from which alone
// the object is read back; see [MarshalJSON]:
//
//	{"guarantee": {…}, "estimate": 12.5, "low": 9, "high": null, "data": "ZHBzawE…"}
//
// An object so has one format, that of its MarshalBinary, and its decoder is the only one that
// bytes from outside meet. A number that JSON cannot hold, NaN or an infinity, is shown as null.
package wire
