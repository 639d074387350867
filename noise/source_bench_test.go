package noise

import (
	"crypto/aes"
	"crypto/cipher"
	cryptorand "crypto/rand"
	"math/rand/v2"
	"testing"
)

// BenchmarkKeystream repeats the measurement behind the choice of Source: 8 KiB of output under a
// fresh key, by what the standard library offers.
func BenchmarkKeystream(b *testing.B) {
	const size = 8 * bufferWords
	out, key := make([]byte, size), make([]byte, 32)
	run := func(name string, fill func()) {
		b.Run("by="+name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				fill()
			}
		})
	}
	run("crypto-rand-4KiB", func() {
		cryptorand.Read(out[:size/2])
		cryptorand.Read(out[size/2:])
	})
	var chacha rand.ChaCha8
	run("chacha8", func() {
		cryptorand.Read(key)
		chacha.Seed([32]byte(key))
		chacha.Read(out)
	})
	run("aes256-ctr", func() {
		cryptorand.Read(key)
		block, err := aes.NewCipher(key)
		if err != nil {
			b.Fatal(err)
		}
		clear(out)
		cipher.NewCTR(block, counter[:]).XORKeyStream(out, out)
	})
	var src Source
	run("source-refill", src.refill)
	words := make([]uint64, fillWords)
	src.Fill(words[:bufferWords])
	b.Run("by=source-bulk", func(b *testing.B) {
		b.SetBytes(8 * fillWords)
		b.ReportAllocs()
		for b.Loop() {
			(*src.state).bulk(words)
		}
	})
}
