package noise

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
)

const (
	// bufferWords is the number of words that a Source draws at a time, under one key. Larger
	// buffers are hardly faster and would keep more unused noise in memory.
	bufferWords = 1024
	bufferBytes = 8 * bufferWords
	// fillWords is the largest number of words that Fill makes under one key, chunkWords that
	// it makes at a time: a piece of the buffer that stays in the first-level cache.
	fillWords  = 16 * bufferWords
	chunkWords = bufferWords / 4
)

// counter is where the counter of every key starts. It is zero: no key is used twice.
var counter [aes.BlockSize]byte

// zeros is what is encrypted.
var zeros [bufferBytes]byte

// Source is the secret randomness of every mechanism. The zero Source is ready for use. It takes no
// seed, and no caller can replace it by something weaker. It serves one goroutine at a time; go vet
// reports a copy. Public randomness is in package hashing.
//
// It is AES-256 in counter mode under keys from the operating system (in FIPS 140-3 mode from Go's
// DRBG), not from crypto/rand.Reader, one for each 8 KiB, or 128 KiB in bulk. Each word is wiped as
// it is handed out: a memory image shows the rest of one buffer, and no past draws after the
// garbage collector has overwritten the last keys. After a fork or a snapshot of a virtual machine
// both sides may repeat up to 1,024 words: use a new Source.
type Source struct {
	_ noCopy
	// twice removed: whatever prints a Source by reflection gets no further than an address
	state **state
}

// What the generator rests on:
//
//   - Trusted: crypto/aes, crypto/cipher and the generator that Go's cryptography draws from
//     itself. Each key is 32 of the 36 random bytes in three nonces of
//     cipher.NewGCMWithRandomNonce, which takes no reader. Only testing/cryptotest, which refuses
//     to work outside of a test, replaces that generator. (A toolchain with
//     GOEXPERIMENT=boringcrypto has no such nonces; the first draw ends the program there.)
//   - Prediction: to tell the output from random bits is to break AES-256 or that generator. No key
//     encrypts more than 2¹³ blocks, so counter mode adds an advantage of at most 2⁻¹⁰³.
//   - Forward secrecy: no key outlives the refill that drew it, and keys are independent.
//   - Copying: the copy of a Source in use draws from the same buffer, so two copies never repeat
//     each other's noise.
//
// Chosen by measurement (BenchmarkKeystream; 8 KiB under a fresh key, one core at 2.5 GHz):
// crypto/rand makes 0.57 GB/s, ChaCha8 of math/rand/v2 1.1 GB/s, AES-256-CTR 2.2 GB/s. ChaCha8
// would leave no expanded key behind, but it is half as fast, and 8 rounds are a thinner margin
// than AES-256 has. A new key costs two small allocations, a draw none.

// state is a buffer of randomness.
type state struct {
	left   int // unread bytes at the end of buf, a multiple of 8
	buf    [bufferBytes]byte
	nonces [2*nonceSize + sealedSize]byte // room for drawing a key; 0 otherwise
}

const (
	nonceSize  = 12             // of GCM, all of it random
	sealedSize = nonceSize + 16 // with the tag of an empty message
)

// noCopy makes go vet report copies.
type noCopy struct{}

// Format never prints the state.
func (s *Source) Format(f fmt.State, _ rune) { fmt.Fprint(f, "noise.Source (secret)") }

// Uint64 returns 64 uniform random bits.
func (s *Source) Uint64() uint64 {
	if s.state == nil || (*s.state).left == 0 {
		s.refill()
	}
	st := *s.state
	offset := (bufferBytes - uint(st.left)) & (bufferBytes - 8) // the mask spares a check of bounds
	word := st.buf[offset : offset+8 : offset+8]
	st.left -= 8
	x := binary.NativeEndian.Uint64(word)
	binary.NativeEndian.PutUint64(word, 0)
	return x
}

// pair returns 128 uniform random bits.
func (s *Source) pair() (a, b uint64) {
	if s.state == nil || (*s.state).left < 16 {
		return s.Uint64(), s.Uint64()
	}
	st := *s.state
	offset := (bufferBytes - uint(st.left)) & (bufferBytes - 8)
	if offset > bufferBytes-16 { // never, but this spares two checks of bounds
		return s.Uint64(), s.Uint64()
	}
	words := st.buf[offset : offset+16 : offset+16]
	st.left -= 16
	a, b = binary.NativeEndian.Uint64(words), binary.NativeEndian.Uint64(words[8:])
	clear(words)
	return a, b
}

// Uint64N returns a uniform integer in [0, n); n = 0 stands for 2⁶⁴.
func (s *Source) Uint64N(n uint64) uint64 {
	// Lemire, Fast Random Integer Generation in an Interval (ACM TOMACS 2019): of the 2⁶⁴ products
	// n·w, those whose low word is at least 2⁶⁴ mod n have ⌊2⁶⁴/n⌋ in each class of equal high
	// words. The others are drawn again.
	w := s.Uint64()
	if n == 0 {
		return w
	}
	hi, lo := bits.Mul64(w, n)
	if lo < n { // else it is at least 2⁶⁴ mod n for certain
		for excess := -n % n; lo < excess; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Fill sets every element to 64 uniform random bits.
func (s *Source) Fill(dst []uint64) {
	for len(dst) > 0 {
		var n int
		if s.state != nil && (*s.state).left == 0 && len(dst) >= bufferWords {
			n = min(len(dst), fillWords)
			(*s.state).bulk(dst[:n])
		} else {
			raw := s.reserve(1)
			n = min(len(dst), len(raw)/8)
			words(dst[:n], raw)
			s.drop(n)
		}
		dst = dst[n:]
	}
}

// reserve returns the unread words as bytes, at least n ≤ bufferWords words. The caller that reads
// them drops them.
func (s *Source) reserve(n int) []byte {
	if s.state == nil || (*s.state).left < 8*n {
		s.refill()
	}
	st := *s.state
	return st.buf[bufferBytes-st.left:]
}

// drop wipes the first n words of what reserve returned.
func (s *Source) drop(n int) {
	st := *s.state
	clear(st.buf[bufferBytes-st.left:][:8*n])
	st.left -= 8 * n
}

// refill fills the buffer anew.
func (s *Source) refill() {
	if s.state == nil {
		st := new(state)
		s.state = &st
	}
	st := *s.state
	st.newKey().XORKeyStream(st.buf[:], zeros[:])
	st.left = bufferBytes
}

// bulk sets dst to the beginning of the keystream of a new key. It uses the buffer, of which
// nothing is left.
func (st *state) bulk(dst []uint64) {
	stream := st.newKey()
	for len(dst) > 0 {
		n := min(len(dst), chunkWords)
		raw := st.buf[:8*n]
		stream.XORKeyStream(raw, zeros[:8*n])
		words(dst[:n], raw)
		dst = dst[n:]
	}
	clear(st.buf[:8*chunkWords])
}

// fillBytes sets raw, as long as a multiple of 8, to the beginning of the keystream of a new key,
// or of several.
func (s *Source) fillBytes(raw []byte) {
	if s.state == nil {
		s.refill()
	}
	for len(raw) > 0 {
		stream := (*s.state).newKey()
		piece := raw[:min(len(raw), 8*fillWords)]
		raw = raw[len(piece):]
		for len(piece) > 0 {
			n := min(len(piece), len(zeros))
			stream.XORKeyStream(piece[:n], zeros[:n])
			piece = piece[n:]
		}
	}
}

// words sets dst to the first words of raw.
func words(dst []uint64, raw []byte) {
	for len(dst) >= 8 && len(raw) >= 64 { // unrolled: a word a cycle
		d, r := (*[8]uint64)(dst), (*[64]byte)(raw)
		d[0] = binary.NativeEndian.Uint64(r[0:])
		d[1] = binary.NativeEndian.Uint64(r[8:])
		d[2] = binary.NativeEndian.Uint64(r[16:])
		d[3] = binary.NativeEndian.Uint64(r[24:])
		d[4] = binary.NativeEndian.Uint64(r[32:])
		d[5] = binary.NativeEndian.Uint64(r[40:])
		d[6] = binary.NativeEndian.Uint64(r[48:])
		d[7] = binary.NativeEndian.Uint64(r[56:])
		dst, raw = dst[8:], raw[64:]
	}
	for i := range dst {
		dst[i] = binary.NativeEndian.Uint64(raw[8*i:])
	}
}

// newKey draws a key and returns its keystream.
func (st *state) newKey() cipher.Stream {
	system := randomNonces()
	for i := range 3 {
		system.Seal(st.nonces[i*nonceSize:i*nonceSize], nil, nil, nil)
	}
	block, err := aes.NewCipher(st.nonces[:32])
	clear(st.nonces[:])
	if err != nil {
		panic("noise: crypto/aes rejects a 32-byte key") // unreachable
	}
	return cipher.NewCTR(block, counter[:])
}

// randomNonces returns an AEAD whose Seal begins with nonceSize bytes of the system's randomness.
// Its key has no part in them: it is 0, and what it seals is empty.
var randomNonces = sync.OnceValue(func() cipher.AEAD {
	block, err := aes.NewCipher(make([]byte, 16))
	if err == nil {
		var system cipher.AEAD
		if system, err = cipher.NewGCMWithRandomNonce(block); err == nil && system.Overhead() == sealedSize {
			return system
		}
	}
	panic("noise: this toolchain has no source of randomness that cannot be replaced (GOEXPERIMENT=boringcrypto?)")
})
