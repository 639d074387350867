package noise

import (
	"crypto/aes"
	"crypto/cipher"
	cryptorand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// Pairs are the same words, two at a time, also where one of them is the last of a buffer.
func TestPairsAreTheWords(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 17)
	var want []uint64
	var src Source
	for range 4*bufferWords + 3 {
		want = append(want, src.Uint64())
	}
	cryptotest.SetGlobalRandom(t, 17)
	src = Source{}
	got := []uint64{src.Uint64()}
	for len(got) < len(want) {
		a, b := src.pair()
		got = append(got, a, b)
	}
	require.Equal(t, want, got)
}

// A block of words is AES-256 in counter mode under all 32 bytes that the system gave for it, and
// the next block has a key of its own: with fewer bytes of the key everything else would look the
// same.
func TestSourceUsesAWholeKeyForEachBlock(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 11)
	var want []uint64
	for range 2 {
		key := make([]byte, 3*nonceSize) // three nonces, of which the first 32 bytes are taken
		dptest.OK(cryptorand.Read(key))(t)
		block := dptest.OK(aes.NewCipher(key[:32]))(t)
		stream := make([]byte, 8*bufferWords)
		cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(stream, stream)
		for at := 0; at < len(stream); at += 8 {
			want = append(want, binary.NativeEndian.Uint64(stream[at:]))
		}
	}
	cryptotest.SetGlobalRandom(t, 11)
	var src Source
	for i, word := range want {
		require.Equal(t, word, src.Uint64(), i)
	}
}

// crypto/rand.Reader is a variable that any package may set. Whatever it is set to, before or after
// the first draw, the words are those that the system's randomness, here fixed, gives.
func TestSourceIgnoresReplacedReader(t *testing.T) {
	draw := func(replaceBefore, replaceAfter bool) []uint64 {
		cryptotest.SetGlobalRandom(t, 13)
		if replaceBefore {
			cryptorand.Reader = constant{}
		}
		words := make([]uint64, 3*fillWords)
		var src Source
		src.Uint64()
		if replaceAfter {
			cryptorand.Reader = constant{}
		}
		src.Fill(words)
		response := dptest.OK(RandomizedResponse(1))(t)
		response.Flip(&src, words)
		return words
	}
	want := draw(false, false)
	require.Equal(t, want, draw(true, false))
	require.Equal(t, want, draw(false, true))
}

// constant is a reader that gives ones, and is seen to be the one that was read.
type constant struct{}

func (constant) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 1
	}
	return len(b), nil
}

func TestSourceNeverRepeats(t *testing.T) {
	var a, b Source
	seen := map[uint64]bool{}
	record := func(x uint64) {
		require.False(t, seen[x], "a word of 64 random bits came twice")
		seen[x] = true
	}
	big := make([]uint64, 2*fillWords+3)
	a.Fill(big)
	for _, x := range big {
		record(x)
	}
	for range 5 * bufferWords { // several keys
		record(a.Uint64())
		record(b.Uint64())
	}
	copied := new(Source)
	// go vet would report a plain assignment
	reflect.ValueOf(copied).Elem().Set(reflect.ValueOf(&a).Elem())
	for range bufferWords {
		record(a.Uint64())
		record(copied.Uint64())
	}
}

func TestSourceWipesWhatItGave(t *testing.T) {
	var src Source
	var drawn []uint64
	for range 10 {
		drawn = append(drawn, src.Uint64())
	}
	half := NewBernoulli(1<<63 | 1)
	word(half, &src)
	src.Fill(make([]uint64, 20))
	src.pair()
	used := bufferWords - (*src.state).left/8
	require.GreaterOrEqual(t, used, 30)
	for i := range bufferWords {
		word := binary.NativeEndian.Uint64((*src.state).buf[8*i:])
		if i < used {
			require.Zero(t, word)
		} else {
			require.NotContains(t, drawn, word)
		}
	}
}

func TestFillEveryLength(t *testing.T) {
	for _, n := range []int{0, 1, 7, bufferWords - 1, bufferWords, bufferWords + 1, fillWords, fillWords + 1, 2*fillWords + 600} {
		var src Source
		dst := make([]uint64, n+1)
		src.Fill(dst[:n])
		for i, x := range dst[:n] {
			require.NotZero(t, x, "word %d of %d", i, n)
		}
		require.Zero(t, dst[n], "a word after the end was written")
	}
}

// Every byte of the words is uniform, and so is the XOR of neighbouring words.
func TestSourceIsUniform(t *testing.T) {
	var src Source
	words := make([]uint64, 1<<16)
	src.Fill(words[:1<<15])
	for i := range words[1<<15:] {
		words[1<<15+i] = src.Uint64()
	}
	for shift := 0; shift < 64; shift += 8 {
		plain, xor := make([]int64, 256), make([]int64, 256)
		for i, w := range words {
			plain[byte(w>>shift)]++
			xor[byte((w^words[(i+1)%len(words)])>>shift)]++
		}
		dptest.ChiSquare(t, fmt.Sprint("byte ", shift/8), plain, equal(256), 1e-10)
		dptest.ChiSquare(t, fmt.Sprint("xor of byte ", shift/8), xor, equal(256), 1e-10)
	}
}

func TestDrawsDoNotAllocate(t *testing.T) {
	var src Source
	laplace, _ := NewLaplace(1)
	gaussian, _ := NewGaussian(1)
	discreteLaplace, _ := NewDiscreteLaplace(1)
	discreteGaussian, _ := NewDiscreteGaussian(3)
	response, _ := RandomizedResponse(1)
	geometric, _ := NewGeometric(1)
	correlated := dptest.OK(NewCorrelatedGaussian(1, 1))(t).Sampler(&src, 0x1p-20)
	table := make([]uint64, 4) // a new key, once in 1,024 words, costs two allocations
	for name, draw := range map[string]func(){
		"Uint64":           func() { src.Uint64() },
		"Fill":             func() { src.Fill(table) },
		"Laplace":          func() { laplace.Sample(&src, 0x1p-40) },
		"Gaussian":         func() { gaussian.Sample(&src, 0x1p-40) },
		"DiscreteLaplace":  func() { discreteLaplace.Sample(&src, 1) },
		"DiscreteGaussian": func() { discreteGaussian.Sample(&src, 1) },
		"Geometric":        func() { geometric.Sample(&src, 1) },
		"Correlated":       func() { correlated() },
		"Uint64N":          func() { src.Uint64N(10) },
		"SampleTail":       func() { discreteLaplace.SampleTail(&src, 2) },
		"CountTail":        func() { discreteLaplace.CountTail(&src, 1000, 3) },
		"Flip":             func() { response.Flip(&src, table) },
		"RandomizedRound":  func() { RandomizedRound(&src, 0.3, 1) },
	} {
		require.Zero(t, testing.AllocsPerRun(1000, draw), name)
	}
}

func TestSourcePrintsNothing(t *testing.T) {
	var src Source
	src.Uint64()
	next := fmt.Sprint(binary.NativeEndian.Uint64((*src.state).buf[8:]))
	dptest.Redacted(t, &src, next)
	type mechanism struct {
		Name string
		src  *Source
		Src  *Source
	}
	dptest.Redacted(t, &mechanism{"m", &src, &src}, next)
	inside := &struct{ src Source }{}
	inside.src.Uint64()
	dptest.Redacted(t, inside, fmt.Sprint(binary.NativeEndian.Uint64((*inside.src.state).buf[8:])))
}

// BenchmarkKeystream repeats the measurement behind the choice of Source: 8 KiB of output under a
// fresh key, by what the standard library offers.
func BenchmarkKeystream(b *testing.B) {
	const size = 8 * bufferWords
	out, key := make([]byte, size), make([]byte, 32)
	run := func(name string, bytes int64, fill func()) {
		b.Run("by="+name, func(b *testing.B) {
			b.SetBytes(bytes)
			b.ReportAllocs()
			for b.Loop() {
				fill()
			}
		})
	}
	run("crypto-rand-4KiB", size, func() {
		cryptorand.Read(out[:size/2])
		cryptorand.Read(out[size/2:])
	})
	var chacha rand.ChaCha8
	run("chacha8", size, func() {
		cryptorand.Read(key)
		chacha.Seed([32]byte(key))
		chacha.Read(out)
	})
	run("aes256-ctr", size, func() {
		cryptorand.Read(key)
		block, _ := aes.NewCipher(key)
		clear(out)
		cipher.NewCTR(block, counter[:]).XORKeyStream(out, out)
	})
	var src Source
	run("source-refill", size, src.refill)
	words := make([]uint64, fillWords)
	run("source-bulk", 8*fillWords, func() { (*src.state).bulk(words) })
}

// equal returns n equal probabilities.
func equal(n int) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = 1 / float64(n)
	}
	return p
}

// n = 0 is 2⁶⁴, and 2⁶⁴ − 1 leaves out one value.
func TestUint64NIsUniform(t *testing.T) {
	var src Source
	for n, cells := range map[uint64]int{2: 2, 3: 3, 10: 10, 1000: 1000, 0: 16, math.MaxUint64: 16} {
		observed := make([]int64, cells)
		for range 100_000 {
			x := src.Uint64N(n)
			if cells == 16 {
				x >>= 60
			}
			observed[x]++
		}
		dptest.ChiSquare(t, fmt.Sprint("n = ", n), observed, equal(cells), 1e-10)
	}
	for range 1000 {
		require.Zero(t, src.Uint64N(1))
	}
}

// With n = ¾·2⁶⁴ a multiplication alone maps two of four words to the same multiple of 3: half the
// results would be. And each third of the range is hit equally.
func TestUint64NRejects(t *testing.T) {
	const n, draws = 3 << 62, 30_000
	var src Source
	low, high, naive := make([]int64, 3), make([]int64, 3), make([]int64, 3)
	for range draws {
		x := src.Uint64N(n)
		require.Less(t, x, uint64(n))
		low[x%3]++
		high[x>>62]++
		product, _ := bits.Mul64(src.Uint64(), n)
		naive[product%3]++
	}
	dptest.ChiSquare(t, "residues", low, equal(3), 1e-10)
	dptest.ChiSquare(t, "thirds", high, equal(3), 1e-10)
	dptest.Alarm(t, 1e-10)
	require.Less(t, dptest.ChiSquarePValue(naive, equal(3)), 1e-10, "without rejection must be noticed")
}
