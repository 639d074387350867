package peers

import (
	crypto "crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise"
)

// flips compares randomized response at ε = 1 over a table of bits, a unit being a bit, with the
// two loops that a program without the library would have: a word of crypto/rand for every bit, as
// exact; and math/rand/v2, whose numbers have 53 bits, and which says of itself that it is not for
// secrets.
func flips() []comparison {
	law := cli.Must(noise.RandomizedResponse(1))
	var src noise.Source
	table := make([]uint64, 1<<12)
	bulk := func() { law.Flip(&src, table) }
	exact := bitwise(table, func() bool {
		var word [8]byte
		crypto.Read(word[:])
		return binary.LittleEndian.Uint64(word[:]) < law.K()
	})
	rough := bitwise(table, func() bool { return rand.Float64() < law.Prob() })
	// flipped checks the share of the bits that the work flips.
	flipped := func(name string, work func()) error {
		clear(table)
		work()
		ones, n, p := 0, float64(64*len(table)), law.Prob()
		for _, word := range table {
			ones += bits.OnesCount64(word)
		}
		return near(name, float64(ones)/n, p, sure*math.Sqrt(p*(1-p)/n))
	}
	against := func(peer string, theirs func()) comparison {
		return comparison{
			work: "randomized response, a bit of a table", peer: peer, units: 64 * len(table),
			ours: repeat(bulk), theirs: repeat(theirs),
			check: func() error { return errors.Join(flipped("noise", bulk), flipped(peer, theirs)) },
		}
	}
	return []comparison{against("crypto/rand, a word", exact), against("math/rand/v2 Float64", rough)}
}

// bitwise flips each bit of the table for which it is told to.
func bitwise(table []uint64, flip func() bool) func() {
	return func() {
		for i := range table {
			for bit := range 64 {
				if flip() {
					table[i] ^= 1 << bit
				}
			}
		}
	}
}
