package ranges

import (
	"math"
	"slices"
)

// Shares of the budget that the four steps take.
const (
	shareMagnitudes = 0.02
	shareScales     = 0.08
	shareRadius     = 0.08
	shareSums       = 1 - shareMagnitudes - shareScales - shareRadius
)

// Users yields the values of each user in the keys that are public, which are numbered from 0: keys
// and values of equal length, no key twice. It is read four times. Neither the order of users nor
// that of a user's keys matters.
type Users func(yield func(keys []uint32, values []float64) bool)

// Noise returns what draws normal noise of the given standard deviation, rounded to integers.
type Noise func(sd float64) func() int64

// Sums are what a release tells of the values of keys: of key k Scales[k]·(n +
// Values[k]·Radius/Unit) is the sum, n being the number of its users.
type Sums struct {
	Scales []float64 // 0 where nothing can be said
	Radius float64   // R: a user's vector of v/scale − 1 counts up to this length
	Values []int64   // Σ(v/scale − 1), in steps of Radius/Unit
	Lost   float64   // an estimate of what clipping took of Σ‖v/scale − 1‖₂ over all users
	Most   Bound     // of the same
}

// step returns the standard deviation, in steps of Δ/S, of the noise of a step with this share and
// Δ, where U is that of the whole for Δ = 1: rounded up.
func step(u, share, delta float64) float64 {
	return u / math.Sqrt(share) * delta * Unit * (1 + 0x1p-40)
}

// Largest returns the largest standard deviation that a release draws, in steps.
func Largest(u float64) float64 { return step(u, shareScales, 2*widest) }

// Blind returns how many users have to have values of one size, in the same half octave, for a
// release to say anything: about.
func Blind(u float64) float64 { return 5 * step(u, shareMagnitudes, 1) / Unit }

// StdDev returns the standard deviation of the noise of Σ(v/scale − 1), for a radius of 1.
func StdDev(u float64) float64 { return step(u, shareSums, 1) / Unit }

// Radius reports whether x can be the radius of a release.
func Radius(x float64) bool { return x == edge(bin(x)) }

// Release runs the four steps. counts are the noisy numbers of users of the keys, u is U, and index
// is that of the tail which Sums.Most assumes.
func Release(users Users, counts []float64, u, index float64, draw Noise) Sums {
	s := Sums{Scales: make([]float64, len(counts)), Values: make([]int64, len(counts))}
	sd := step(u, shareMagnitudes, 1)
	middle, reach, ok := bulk(noisy(magnitudes(users), draw(sd)), sd/Unit)
	if !ok {
		return s
	}
	sd = step(u, shareScales, 2*float64(reach))
	for k, given := range noisy(moves(users, len(counts), middle, reach), draw(sd)) {
		s.Scales[k] = scale(given, counts[k], middle, reach, sd/Unit)
	}
	sd = step(u, shareRadius, 1)
	norms := noisy(lengths(users, s.Scales), draw(sd))
	at, lost, ok := radius(norms, sd/Unit, balance(counts), StdDev(u))
	if !ok {
		clear(s.Scales)
		return s
	}
	s.Radius, s.Lost, s.Most = edge(at), lost, mostLost(norms, sd/Unit, at, index)
	s.Values = clipped(users, s.Scales, s.Radius)
	noise := draw(step(u, shareSums, 1)) // in steps of R/S
	for k := range s.Values {
		s.Values[k] += noise()
	}
	return s
}

// noisy adds noise to integers in steps, and returns them as numbers.
func noisy(sums []int64, noise func() int64) []float64 {
	all := make([]float64, len(sums))
	for i, n := range sums {
		all[i] = float64(n+noise()) / Unit
	}
	return all
}

// magnitudes returns step A before its noise. A value of 0 has no magnitude.
func magnitudes(users Users) []int64 {
	sums, own := make([]int64, bins), make([]int64, bins)
	var met []int // the bins that the user has
	var counts []int64
	for _, values := range users {
		met, counts = met[:0], counts[:0]
		for _, v := range values {
			if v != 0 {
				b := bin(math.Abs(v))
				if own[b]++; own[b] == 1 {
					met = append(met, b)
				}
			}
		}
		slices.Sort(met)
		for _, b := range met {
			counts = append(counts, own[b])
			own[b] = 0
		}
		histogram(counts)
		for i, n := range counts {
			sums[met[i]] += n
		}
	}
	return sums
}

// moves returns step B before its noise.
func moves(users Users, keys, middle, reach int) []int64 {
	sums := make([]int64, keys)
	for own, values := range users {
		gives := share(len(values))
		for i, v := range values {
			if v != 0 {
				sums[own[i]] += gives * int64(min(max(bin(math.Abs(v))-middle, -reach), reach))
			}
		}
	}
	return sums
}

// lengths returns step C before its noise.
func lengths(users Users, scales []float64) []int64 {
	sums := make([]int64, bins)
	var squares []float64
	for keys, values := range users {
		if len(keys) == 0 {
			continue
		}
		squares = squares[:0]
		for i, v := range values {
			z := v/scales[keys[i]] - 1
			squares = append(squares, z*z)
		}
		slices.Sort(squares) // the order of keys is that in which others had them first
		squared := 0.0
		for _, x := range squares {
			squared += x
		}
		sums[bin(math.Sqrt(squared))] += Unit
	}
	return sums
}

// clipped returns step D before its noise, in steps of R/S.
func clipped(users Users, scales []float64, radius float64) []int64 {
	sums := make([]int64, len(scales))
	var q []int64
	var z []float64
	for keys, values := range users {
		z, q = z[:0], q[:0]
		for i, v := range values {
			z, q = append(z, v/scales[keys[i]]-1), append(q, 0)
		}
		top := level(q, z, radius)
		for i, k := range keys {
			n := min(q[i], top)
			if z[i] < 0 {
				n = -n
			}
			sums[k] += n
		}
	}
	return sums
}
