package arete

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// prio3 is the prime of the field of Prio3Count and Prio3Sum.
const prio3 = 1<<64 - 1<<32 + 1

// moduli are small and large, odd and even, below and above 2⁶³.
var moduli = []uint64{3, 4, 5, 7, 97, 1 << 32, 1<<63 - 25, 1 << 63, 1<<63 + 29, prio3, math.MaxUint64}

// Words are residues, and are read as the residues nearest to 0, by arithmetic of whole numbers.
func TestWordsAreResidues(t *testing.T) {
	for _, m := range moduli {
		modulus := new(big.Int).SetUint64(m)
		numbers := []int64{0, 1, 2, 3, 4, 5, 48, 49, 96, 97, 98, 1 << 31, 1 << 32, 1<<32 + 1, 1 << 61, 1<<62 + 3, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64}
		for _, k := range numbers {
			for _, k := range []int64{k, -k, ^k} {
				residue := new(big.Int).Mod(big.NewInt(k), modulus)
				w := word(k, m)
				require.Equal(t, residue.Uint64(), uint64(w), "%d modulo %d", k, m)
				nearest := new(big.Int).Set(residue)
				if nearest.Cmp(new(big.Int).Rsh(modulus, 1)) > 0 {
					nearest.Sub(nearest, modulus)
				}
				require.Equal(t, nearest.Int64(), signed(w, m), "%d modulo %d", k, m)
				if uint64(k) >= m { // no word
					require.Equal(t, nearest.Int64(), signed(k, m), "%d modulo %d", k, m)
				}
			}
		}
	}
	least := uint64(prio3 - 5)
	require.EqualValues(t, -5, signed(int64(least), prio3), "which int64 shows as −4294967300")
	require.EqualValues(t, -5, signed(-5, prio3))
	require.Equal(t, int64(math.MinInt64), signed(word(math.MinInt64, 0), 0))
}

// scripted is noise that a test says.
type scripted struct{ values []int64 }

func (s *scripted) SampleInt(*noise.Source) int64 {
	z := s.values[0]
	s.values = s.values[1:]
	return z
}

// say has a Share draw the given noise, and returns what it would have drawn with.
func say(s *Share, values ...int64) sampler {
	d := private.Enter(s.secret)
	defer private.Leave(s.secret)
	before := d.noise
	d.noise = &scripted{values}
	return before
}

// Three parties of which each two share a uniform mask modulo a small prime: for all numbers, all
// noise and all masks, what they send is uniform over all triples of words with their sum, jointly
// with the sum, and the sum is that of numbers and noise, read as signed. The noise of a party
// takes few values here, with unlike weights: the enumeration counts.
func TestSharesInAPrimeField(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Integers: true, Modulus: 7}, {Epsilon: 1, Integers: true, Modulus: 11}} {
		for _, x := range [][3]float64{{0, 0, 0}, {1, 0, -1}, {1, 1, 1}, {-1, -1, 0}} {
			require.NoError(t, fieldLeaks(t, p, x, p.Modulus, p.Modulus), "%d: %v", p.Modulus, x)
		}
	}
	p := Params{Epsilon: 1, Integers: true, Modulus: 7}
	require.Error(t, fieldLeaks(t, p, [3]float64{1, 0, -1}, 7, 6), "masks below another number")
	p.Modulus = 0
	require.Error(t, fieldLeaks(t, p, [3]float64{1, 0, -1}, 7, 7), "words modulo 2⁶⁴")
}

// fieldLeaks enumerates the joint law of the three words and of the sum, in a field of m elements,
// with masks below masks.
func fieldLeaks(t *testing.T, p Params, x [3]float64, m, masks uint64) error {
	// beyond the field, too
	noises := []struct{ value, weight int64 }{{-8, 1}, {-1, 2}, {0, 4}, {1, 2}, {8, 1}}
	s := dptest.OK(dptest.OK(New(p))(t).Share(3, 0))(t)
	joint, sums, want := map[[3]uint64]int64{}, map[float64]int64{}, map[float64]int64{}
	for i := range 125 {
		a, b, c := noises[i%5], noises[i/5%5], noises[i/25]
		weight := a.weight * b.weight * c.weight
		z := (int64(x[0]+x[1]+x[2])+a.value+b.value+c.value)%int64(m) + int64(m)
		if z %= int64(m); z > int64(m)/2 {
			z -= int64(m)
		}
		want[float64(z)] += weight * int64(masks*masks*masks)
		say(s, a.value, b.value, c.value)
		var parts [3]uint64
		for j := range parts {
			parts[j] = uint64(s.Mask(x[j])) % m
		}
		for i := range masks * masks * masks {
			q, r, u := i%masks, i/masks%masks, i/masks/masks
			joint[[3]uint64{(parts[0] + q + r) % m, (parts[1] + m - q + u) % m, (parts[2] + 2*m - r - u) % m}] += weight
		}
	}
	byTotal := make([]float64, m)
	for total := range m {
		byTotal[total] = dptest.OK(s.Sum(int64(total), 3))(t).Estimate()
	}
	for w, weight := range joint {
		sums[byTotal[(w[0]+w[1]+w[2])%m]] += weight
	}
	if !maps.Equal(sums, want) {
		return fmt.Errorf("the sum has the law %v, not %v", sums, want)
	}
	for w, weight := range joint { // m² triples have one sum
		if total := sums[byTotal[(w[0]+w[1]+w[2])%m]]; weight*int64(m*m) != total {
			return fmt.Errorf("%v has weight %d of %d", w, weight, total)
		}
	}
	return nil
}

// Whatever the modulus, parties draw from the same law and round alike: their words are those
// modulo 2⁶⁴, reduced. So the law of the sum, its certificate and its guarantee are the same.
func TestModulusChangesNoNoise(t *testing.T) {
	for _, p := range paramsOfShares() {
		plain := dptest.OK(New(p))(t)
		for _, p.Modulus = range []uint64{prio3, 1<<61 - 1, 1 << 63} {
			reduced := dptest.OK(New(p))(t)
			require.Equal(t, plain.Lattice().String(), reduced.Lattice().String())
			require.True(t, plain.Guarantee().Equal(reduced.Guarantee()))
			a, b := dptest.OK(plain.Share(17, 3))(t), dptest.OK(reduced.Share(17, 3))(t)
			noises := []int64{0, 5, -5, 1 << 40, -1 << 40, 3, 7, -1, 1, -2, 2, 9, -9, 4, -4, 1 << 30, -7}
			require.Equal(t, say(a, append(noises, noises...)...), say(b, append(noises, noises...)...))
			total, field, modulus := int64(0), new(big.Int), new(big.Int).SetUint64(p.Modulus)
			for i := range 17 {
				k, w := a.Mask(p.sensitivity()*float64(i%3-1)), b.Mask(p.sensitivity()*float64(i%3-1))
				require.Equal(t, word(k, p.Modulus), w)
				require.Less(t, uint64(w), p.Modulus)
				total += k
				field.Mod(field.Add(field, new(big.Int).SetUint64(uint64(w))), modulus)
			}
			for range 17 {
				require.Equal(t, word(a.Noise(), p.Modulus), b.Noise())
			}
			want, got := dptest.OK(a.Sum(total, 17))(t), dptest.OK(b.Sum(int64(field.Uint64()), 17))(t)
			require.Equal(t, want.Estimate(), got.Estimate())
			require.Equal(t, budget.Party(budget.AddRemove), got.Guarantee().Unit())
			lo, hi := want.Interval(0.9)
			low, high := got.Interval(0.9)
			require.Equal(t, []float64{lo, hi}, []float64{low, high})
			dptest.RoundTrip(t, got)
		}
	}
}

// A Modulus that does not hold the sum of all numbers is refused, whatever the numbers are; where
// noise may wrap around, the interval is all that there is, and so still covers.
func TestIntervalsKnowOfTheModulus(t *testing.T) {
	p := Params{Epsilon: 1, Integers: true, Modulus: 31}
	m := dptest.OK(New(p))(t)
	require.ErrorIs(t, dptest.Err(m.Share(16, 0)), ErrParams)
	for _, p.Modulus = range []uint64{1, 2} {
		require.ErrorIs(t, dptest.Err(New(p)), ErrParams)
		require.Equal(t, budget.Guarantee{}, p.Guarantee())
	}
	s := dptest.OK(m.Share(15, 0))(t)
	v := dptest.OK(s.Sum(29, 15))(t)
	lo, hi := v.Interval(0.9)
	require.Equal(t, []float64{-2, -4, 0}, []float64{v.Estimate(), lo, hi})
	v = dptest.OK(s.Sum(14, 15))(t)
	lo, hi = v.Interval(0.9)
	require.Equal(t, []float64{14, -15, 15}, []float64{v.Estimate(), lo, hi}, "in truth it may be −15")
	misses := int64(0)
	const n = 4000
	for range n {
		total := int64(0)
		for range 15 {
			total += s.Mask(1)
		}
		v := dptest.OK(s.Sum(total, 15))(t)
		if lo, hi := v.Interval(0.9); !(lo <= 15 && 15 <= hi) {
			misses++
		}
	}
	lower, _ := dptest.ClopperPearson(misses, n, 1-falseReject)
	dptest.Alarm(t, falseReject)
	require.LessOrEqual(t, lower, 0.1)
}

// A Share that was used by two goroutines sends uniform words of its field.
func TestPoisonedSharesAreUniformInTheField(t *testing.T) {
	m := dptest.OK(New(Params{Epsilon: 1, Integers: true, Modulus: 7}))(t)
	s := dptest.OK(m.Share(3, 0))(t)
	private.Poison(s.secret, "was used by two goroutines at once")
	var counts [7]int
	const n = 7000
	for range n {
		counts[s.Mask(1)]++
		counts[s.Noise()]++
	}
	dptest.Alarm(t, 2e-12)
	for _, c := range counts { // 8 standard deviations: 2·e^−30 each (Bernstein)
		require.InDelta(t, 2*n/7.0, c, 8*math.Sqrt(2*n/7.0*6/7))
	}
}
