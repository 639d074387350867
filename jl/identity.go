package jl

import (
	"bytes"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
)

// identity tells releases apart: 128 public random bits, which copies of a Sketch and its encoding
// carry too. The estimates subtract what independent noise adds, so a sketch is not compared with
// itself, nor with a sum that it is in: ‖Sx + φ − (Sx + φ)‖² is 0, from which the noise of two
// sketches would be taken away. Two releases have the same identity with a probability of 2⁻¹²⁸.
type identity hashing.Seed

func newIdentity() identity { return identity(hashing.NewSeed()) }

// compare orders identities.
func (a identity) compare(b identity) int { return bytes.Compare(a[:], b[:]) }

// identities returns those of the terms, ascending.
func identities(terms []term) []identity {
	all := make([]identity, len(terms))
	for i, t := range terms {
		all[i] = t.release
	}
	slices.SortFunc(all, identity.compare)
	return all
}

// shared reports whether two ascending lists have a common element.
func shared(a, b []identity) bool {
	for len(a) > 0 && len(b) > 0 {
		switch order := a[0].compare(b[0]); {
		case order < 0:
			a = a[1:]
		case order > 0:
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

// repeated reports whether an ascending list has an element twice.
func repeated(all []identity) bool { return len(slices.Compact(slices.Clone(all))) < len(all) }
