package distinct

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// tiny is the smallest sketch there is: one level of 16 cells.
var tiny = Params{Epsilon: 1, Cells: 16, Levels: 1, Seed: hashing.Seed{1}}

// keysOf returns three keys for each of the cells 0, 1 and 2.
func keysOf(p Params) (keys [3][]uint64) {
	place := newPlacement(p.Seed, p.Cells, p.stride(), p.Levels)
	for key := uint64(0); len(keys[0]) < 3 || len(keys[1]) < 3 || len(keys[2]) < 3; key++ {
		if _, bit := place.at(key); bit < 8 {
			cell := bits.TrailingZeros64(bit)
			keys[cell] = append(keys[cell], key)
		}
	}
	return keys
}

// output is what is seen of a release of cells 0, 1 and 2; the other cells are 0 in all tables
// here, and their flips independent of everything.
type output struct {
	bits  uint64
	count int64
}

const reach = 60 // of the noise that is enumerated

// outputs returns the joint law of the bits and the count of a release of the table.
func outputs(table uint64, l laws, published bool) map[output]float64 {
	law := map[output]float64{}
	for z := int64(-reach); z <= reach; z++ {
		count := int64(bits.OnesCount64(table)) + z
		if !published {
			law[output{0, count}] = l.count.Prob(float64(z))
			continue
		}
		q := l.flips.Prob()
		for flips := range uint64(8) {
			k := float64(bits.OnesCount64(flips))
			law[output{table ^ flips, count}] = l.count.Prob(float64(z)) * math.Pow(q, k) * math.Pow(1-q, 3-k)
		}
	}
	return law
}

// loss returns the largest |ln p/q| over the outputs that both laws have.
func loss(p, q map[output]float64) (most float64) {
	for o, mass := range p {
		if other := q[o]; other > 0 {
			most = max(most, math.Abs(math.Log(mass/other)))
		}
	}
	return most
}

// tables returns the pairs of tables, made by Builders, of all sets of up to two keys in all
// placements in three cells, and of the same sets with one more key.
func tables(t *testing.T, p Params) (pairs [][2]uint64) {
	keys := keysOf(p)
	made := func(set ...uint64) uint64 {
		b := dptest.OK(New(p))(t)
		b.Add(set...)
		return held(b.secret).table[0]
	}
	for placement := range 27 {
		cells := [3]int{placement % 3, placement / 3 % 3, placement / 9}
		all := []uint64{keys[cells[0]][0], keys[cells[1]][1], keys[cells[2]][2]}
		for set := range 4 {
			var with []uint64
			for i, key := range all[:2] {
				if set>>i&1 != 0 {
					with = append(with, key, key) // twice
				}
			}
			pairs = append(pairs, [2]uint64{made(with...), made(append(slices.Clone(with), all[2], all[2], all[2])...)})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(pairs)
}

// Bits and count together: over all placements of up to three keys in three cells, all neighbours
// and all outputs the loss is at most ε, and ε is attained; with flips of 0.001 less, or noise of a
// scale of 99 %, it is more. Each law is a product of a few factors: relative errors are below
// 1e-14.
func TestExactPrivacy(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 3} {
		for _, share := range []float64{0, 0.05, 0.5, 1} {
			p := tiny
			p.Epsilon, p.CountShare = epsilon, share
			p = p.normal()
			l := dptest.OK(p.laws())(t)
			weakCount := dptest.OK(noise.NewDiscreteLaplace(0.99 * l.count.Scale()))(t)
			weak := []laws{{l.flips, weakCount}}
			if p.published() {
				weak = append(weak, laws{noise.NewBernoulli(l.flips.K() - 1<<54), l.count})
			}
			most, exposed := 0.0, make([]float64, len(weak))
			for _, pair := range tables(t, p) {
				a, b := outputs(pair[0], l, p.published()), outputs(pair[1], l, p.published())
				most = max(most, loss(a, b))
				for i, l := range weak {
					exposed[i] = max(exposed[i], loss(outputs(pair[0], l, p.published()), outputs(pair[1], l, p.published())))
				}
				if pair[0] == pair[1] {
					require.Equal(t, a, b)
				}
			}
			require.InDelta(t, epsilon, most, 1e-9*epsilon)
			require.LessOrEqual(t, most, epsilon*(1+1e-13))
			for _, e := range exposed {
				require.Greater(t, e, epsilon*(1+1e-4), "less noise must not be private")
			}
		}
	}
}

// What Release draws has the enumerated law: the noise of the count by χ², each bit flipped with
// its probability, and both independent. False-reject probability 4e-9.
func TestReleaseHasTheLaw(t *testing.T) {
	p := tiny
	p.Epsilon, p.CountShare = 2, 0.5
	l := dptest.OK(p.laws())(t)
	keys := keysOf(p)
	const runs = 20000
	law := outputs(3, l, true)
	var names []output
	for count := int64(-6); count <= 10; count++ {
		for b := range uint64(8) {
			names = append(names, output{b, count})
		}
	}
	observed, expected := make([]int64, len(names)+1), make([]float64, len(names))
	for i, o := range names {
		expected[i] = law[o]
	}
	var flipped int64
	for range runs {
		b := dptest.OK(New(p))(t)
		b.Add(keys[0][0], keys[1][0], keys[0][0])
		s := dptest.OK(b.Release())(t)
		flipped += int64(bits.OnesCount64(s.bits[0] &^ 7))
		at := slices.Index(names, output{s.bits[0] & 7, s.numbers[0]})
		if at < 0 {
			at = len(names)
		}
		observed[at]++
	}
	dptest.ChiSquare(t, "bits and count", observed, expected, 2e-9)
	q := l.flips.Prob()
	dptest.ChiSquare(t, "cells that no key belongs to", []int64{flipped, 13*runs - flipped}, []float64{q, 1 - q}, 2e-9)
}

// occupied returns the law of T for N keys in the cells, by the recursion over the keys on the
// numbers of ones of each level.
func occupied(cells int, levels, keys int) []float64 {
	type vector [4]int
	law := map[vector]float64{{}: 1}
	for range keys {
		next := map[vector]float64{}
		for v, mass := range law {
			for level := range levels {
				r := rate(level, levels)
				full := float64(v[level]) / float64(cells)
				next[v] += mass * r * full
				w := v
				w[level]++
				next[w] += mass * r * (1 - full)
			}
		}
		law = next
	}
	t := make([]float64, keys+1)
	for v, mass := range law {
		t[v[0]+v[1]+v[2]+v[3]] += mass
	}
	return t
}

// μ is exact, and V is within 8 % of the exact variance: against the sum over all vectors of
// occupied cells.
func TestMomentsOfTheCount(t *testing.T) {
	for _, levels := range []int{1, 2, 4} {
		p := tiny
		p.Levels = levels
		c := bareCurve(p)
		for _, keys := range []int{0, 1, 2, 5, 12, 20} {
			mean, square := 0.0, 0.0
			for ones, mass := range occupied(p.Cells, levels, keys) {
				mean += mass * float64(ones)
				square += mass * float64(ones) * float64(ones)
			}
			mu, slope, bend, v := c.at(float64(keys))
			require.InDelta(t, mean, mu, 1e-12*max(1, mean))
			exact := square - mean*mean
			require.InDelta(t, exact, v, 0.08*exact+0.001, "%d levels, %d keys", levels, keys)
			const h = 1e-4
			up, slopeUp, _, _ := c.at(float64(keys) + h)
			down, slopeDown, _, _ := c.at(float64(keys) - h)
			require.InDelta(t, (up-down)/(2*h), slope, 1e-6)
			require.InDelta(t, (slopeUp-slopeDown)/(2*h), bend, 1e-6)
		}
	}
}

// The tail is that of a normal number and discrete Laplace noise at half-integers: against a sum
// over all values of the noise.
func TestTail(t *testing.T) {
	for _, scale := range []float64{0.03, 0.5, 1, 5, 40} {
		law := dptest.OK(noise.NewDiscreteLaplace(scale))(t)
		for _, v := range []float64{0, 1e-14, 0.3, 4, 900, 1e6} {
			c := curve{scale: scale, noise: [2]draws{{1, 1}}}
			for _, y := range []float64{0.5, 1.5, 7.5, 60.5, 1000.5} {
				want := 0.0
				sum := int64(2000 + 60*scale)
				for z := -sum; z <= sum; z++ {
					tail := 0.0
					if v > 0 {
						tail = math.Erfc((y-float64(z))/math.Sqrt(2*v)) / 2
					} else if float64(z) > y {
						tail = 1
					}
					want += law.Prob(float64(z)) * tail
				}
				// With v between 0 and 1 the mixture, which is exact at half-integers, is an
				// approximation for a continuous number in place of T.
				slack := 1e-7*want + 1e-13
				if v > 0 {
					slack = 0.02
				}
				require.InDelta(t, want, c.tail(y, v), slack, "scale %v, variance %v, y = %v", scale, v, y)
			}
		}
	}
	require.InEpsilon(t, 1, mills(25-1e-9)/mills(25), 1e-8)
}

// The closed form for the union of k releases is the quadrature of the information; for one bit
// sketch it is J = tanh(ε/2)·Li₂(1−e^{−ε}) − ε²/(2(e^ε+1)), whose values are 1.76/√n at ε = 1 and
// so on.
func TestUnionVariance(t *testing.T) {
	dilog := func(x float64) (sum float64) {
		for k := 1.0; k < 4000; k++ {
			sum += math.Pow(x, k) / (k * k)
		}
		return sum
	}
	for epsilon, want := range map[float64]float64{0.5: 3.38, 1: 1.76, 2: 1.005, 4: 0.716} {
		j := math.Tanh(epsilon/2)*dilog(-math.Expm1(-epsilon)) - epsilon*epsilon/(2*(math.Exp(epsilon)+1))
		got := unionVariance(1/(math.Exp(epsilon)+1), 1)
		require.InEpsilon(t, math.Ln2/j, got, 1e-5)
		require.InDelta(t, want, math.Sqrt(got), 0.006)
	}
}
