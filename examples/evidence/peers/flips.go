package peers

import (
	crypto "crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/noise"
)

// flips compares randomized response at ε = 1 over a table of bits, a unit being a bit, with the
// two loops that a program without the library would have: a word of crypto/rand for every bit, as
// exact; and math/rand/v2, whose numbers have 53 bits, and which says of itself that it is not for
// secrets.
func flips() ([]comparison, error) {
	law, err := noise.RandomizedResponse(1)
	if err != nil {
		return nil, err
	}
	var src noise.Source
	table := make([]uint64, 1<<12)
	bulk := func() error {
		law.Flip(&src, table)
		return nil
	}
	exact := bitwise(table, func() (bool, error) {
		var word [8]byte
		_, err := crypto.Read(word[:])
		return binary.LittleEndian.Uint64(word[:]) < law.K(), err
	})
	rough := bitwise(table, func() (bool, error) { return rand.Float64() < law.Prob(), nil })
	// flipped checks the share of the bits that the work flips.
	flipped := func(name string, work func() error) error {
		clear(table)
		if err := work(); err != nil {
			return err
		}
		ones, n, p := 0, float64(64*len(table)), law.Prob()
		for _, word := range table {
			ones += bits.OnesCount64(word)
		}
		return near(name, float64(ones)/n, p, sure*math.Sqrt(p*(1-p)/n))
	}
	against := func(peer string, theirs func() error) comparison {
		return comparison{
			work: "randomized response, a bit of a table", peer: peer, units: 64 * len(table),
			ours: repeat(bulk), theirs: repeat(theirs),
			check: func() error { return errors.Join(flipped("noise", bulk), flipped(peer, theirs)) },
		}
	}
	return []comparison{against("crypto/rand, a word", exact), against("math/rand/v2 Float64", rough)}, nil
}

// bitwise flips each bit of the table for which it is told to.
func bitwise(table []uint64, flip func() (bool, error)) func() error {
	return func() error {
		for i := range table {
			for bit := range 64 {
				is, err := flip()
				if err != nil {
					return err
				}
				if is {
					table[i] ^= 1 << bit
				}
			}
		}
		return nil
	}
}
