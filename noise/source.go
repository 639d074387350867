package noise

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"unsafe"
)

const (
	// bufferWords is the number of words that a Source draws at a time, under one key. Larger buffers
	// are hardly faster and would keep more unused noise in memory.
	bufferWords = 1024
	// fillWords is the largest number of words that Fill makes under one key.
	fillWords = 4 * bufferWords
)

// nonce is zero: no key is used twice.
var nonce [aes.BlockSize]byte

// Source is the secret randomness of every mechanism. Its zero value is ready for use, it takes no
// seed, and no caller can replace it by something weaker. A Source serves one goroutine at a time.
//
// It is AES-256 in counter mode under a key that the operating system draws afresh for every
// 8 KiB of output (32 KiB in bulk). What that means:
//
//   - Prediction: telling the output from random bits is breaking AES-256 or the system's generator.
//     No key encrypts more than 2¹¹ blocks, so counter mode adds an advantage of at most 2⁻¹⁰⁷.
//   - Forward secrecy: no key outlives the refill that drew it, keys are independent of one another,
//     and a word is wiped from the buffer as it is handed out. A memory image therefore shows draws of
//     the future (the rest of one buffer) and none of the past, with one exception: the garbage collector
//     decides when the expanded key of the last refills, unreachable by then, is overwritten.
//   - Copying: go vet reports it. The copy of a Source in use draws from the same buffer, so two copies never
//     repeat each other's noise.
//   - Fork or snapshot of a virtual machine: both sides may repeat what is left of one buffer, 1,024
//     words at most, and part at the next key. A service that resumes from snapshots should use a new Source.
//
// Chosen by measurement (BenchmarkKeystream; 8 KiB under a fresh key, one core at 2.5 GHz): crypto/rand makes 0.57 GB/s,
// ChaCha8 of math/rand/v2 1.1 GB/s, AES-256-CTR 2.2 GB/s. ChaCha8 would leave no expanded key behind, but it is half as
// fast, and 8 rounds are a thinner margin than AES-256 has. A new key costs two small allocations, a draw none.
type Source struct {
	_     noCopy
	state **state // twice removed: whatever prints a Source by reflection gets no further than an address
}

// state is a buffer of randomness.
type state struct {
	left int // unread words at the end of buf
	buf  [bufferWords]uint64
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Format prints a fixed text under every verb.
func (s *Source) Format(f fmt.State, _ rune) { fmt.Fprint(f, "noise.Source (secret)") }

// Uint64 returns 64 uniform random bits.
func (s *Source) Uint64() uint64 {
	if s.state == nil || (*s.state).left == 0 {
		s.refill()
	}
	st := *s.state
	word := &st.buf[(bufferWords-st.left)%bufferWords]
	st.left--
	x := *word
	*word = 0
	return x
}

// Fill sets every element of dst to 64 uniform random bits.
func (s *Source) Fill(dst []uint64) {
	for len(dst) >= bufferWords {
		n := min(len(dst), fillWords)
		keystream(dst[:n])
		dst = dst[n:]
	}
	for len(dst) > 0 {
		n := copy(dst, s.reserve(1))
		s.drop(n)
		dst = dst[n:]
	}
}

// reserve returns the unread words, at least n ≤ bufferWords. Whoever reads them drops them.
func (s *Source) reserve(n int) []uint64 {
	if s.state == nil || (*s.state).left < n {
		s.refill()
	}
	st := *s.state
	return st.buf[bufferWords-st.left:]
}

// drop wipes the first n words of what reserve returned.
func (s *Source) drop(n int) {
	st := *s.state
	clear(st.buf[bufferWords-st.left:][:n])
	st.left -= n
}

// refill fills the buffer anew.
func (s *Source) refill() {
	if s.state == nil {
		st := new(state)
		s.state = &st
	}
	st := *s.state
	keystream(st.buf[:])
	st.left = bufferWords
}

// keystream sets dst to the beginning of the keystream of a new key.
func keystream(dst []uint64) {
	var key [32]byte
	rand.Read(key[:]) // never fails: the program ends if the system has no randomness
	block, err := aes.NewCipher(key[:])
	clear(key[:])
	if err != nil {
		panic("noise: crypto/aes rejects a 32-byte key") // unreachable
	}
	clear(dst)
	// The same memory as bytes: random words have no byte order.
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 8*len(dst))
	cipher.NewCTR(block, nonce[:]).XORKeyStream(raw, raw)
}
