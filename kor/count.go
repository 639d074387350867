package kor

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// members are the keys of a Builder that counts, with their weights in steps of the grid. Only the
// noisy sum of the weights is released.
type members map[uint64]int32

const (
	countBits = 20 // weights are rounded to multiples of 2⁻²⁰ for the count
	maxCount  = 1 << 62
)

// toggle adds the key, or removes it if it is present.
func (m members) toggle(key uint64, w float64) {
	m.flip(key, int32(math.RoundToEven(math.Ldexp(w, countBits))))
}

func (m members) flip(key uint64, steps int32) {
	if _, present := m[key]; present {
		delete(m, key)
		return
	}
	m[key] = steps
}

// countLaw returns the noise of the count in steps: discrete Laplace noise for the ε of the count.
//
// The sum of the steps is an integer, below 2⁵³ as there are fewer than 2³² keys in memory, and one
// key more or less changes it by at most 2²⁰. So the noisy sum is ε₂-private, the bits are
// ε₁-private, and both together ε-private, with ε₁ + ε₂ ≤ ε by [Params.split].
func (p Params) countLaw() (noise.DiscreteLaplace, error) {
	_, epsilon := p.split()
	scale, err := noise.LaplaceScale(epsilon, 1<<countBits)
	if err != nil {
		return noise.DiscreteLaplace{}, err
	}
	return noise.NewDiscreteLaplace(scale) // at most 2⁵⁰, as ε₂ ≥ 2⁻³⁰
}

// sum returns the sum of the weights in steps, without noise.
func (m members) sum() (steps int64) {
	for _, s := range m {
		steps += int64(s)
	}
	return steps
}
