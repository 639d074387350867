package hashing

import (
	"fmt"
	"strings"
	"testing"
)

var sink uint64

func BenchmarkFingerprint(b *testing.B) {
	b.Run("key=uint64", func(b *testing.B) {
		var x uint64
		for b.Loop() {
			x++
			sink += Fingerprint(testSeed, x)
		}
	})
	b.Run("key=defined", func(b *testing.B) {
		var x myUint64
		for b.Loop() {
			x++
			sink += Fingerprint(testSeed, x)
		}
	})
	for _, n := range []int{8, 32, 200} {
		b.Run(fmt.Sprintf("key=string/len=%d", n), func(b *testing.B) {
			key := strings.Repeat("k", n)
			for b.Loop() {
				sink += Fingerprint(testSeed, key)
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	r := mustRange(b, testSeed, 1000)
	var x uint64
	b.Run("family=range", func(b *testing.B) {
		for b.Loop() {
			x++
			sink += r.Hash(x)
		}
	})
	for _, k := range []int{2, 4, 16} {
		p := mustPolynomial(b, testSeed, k)
		b.Run(fmt.Sprintf("family=polynomial/k=%d", k), func(b *testing.B) {
			for b.Loop() {
				x++
				sink += p.Hash(x)
			}
		})
		b.Run(fmt.Sprintf("family=polynomial/k=%d/keys=1024", k), func(b *testing.B) {
			dst := make([]uint64, 1024)
			for b.Loop() {
				x += 1024
				p.Fill(dst, x)
			}
		})
	}
}
