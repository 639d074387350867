package quantile

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// law returns the law of [Sampler.Quantile] from the numbers that it uses, to a relative 1e-15.
func law(c Column, base []Region, w *Weights) []float64 {
	var masses []float64
	sum, target := 0.0, w.Target(c.Size())
	for _, r := range base {
		for k := r.Start; k < r.End; k++ {
			lo, hi := c.ranks(uint32(k))
			mass := float64(w.At(w.Score(target, lo, hi))) * float64(r.Weight)
			sum += mass
			masses = append(masses, mass)
		}
	}
	for i := range masses {
		masses[i] /= sum
	}
	return masses
}

// divergence returns the largest of the Rényi divergences D_α(p‖q)/α, α = 1.1, 2, 8, 64.
func divergence(p, q []float64) float64 {
	worst := 0.0
	for _, alpha := range []float64{1.1, 2, 8, 64} {
		sum := 0.0
		for i := range p {
			sum += math.Exp(alpha*math.Log(p[i]) - (alpha-1)*math.Log(q[i]))
		}
		worst = max(worst, math.Log(sum)/(alpha-1)/alpha)
	}
	return worst
}

// multisets yields all multisets of n keys below keys, in ascending order.
func multisets(keys uint32, n int) [][]uint32 {
	if n == 0 {
		return [][]uint32{nil}
	}
	var all [][]uint32
	for _, m := range multisets(keys, n-1) {
		first := uint32(0)
		if len(m) > 0 {
			first = m[len(m)-1]
		}
		for k := first; k < keys; k++ {
			all = append(all, append(append([]uint32{}, m...), k))
		}
	}
	return all
}

// neighbours yields the multisets that the change leads to.
func neighbours(m []uint32, keys uint32, ch Change) (all [][]uint32) {
	for k := range keys {
		all = append(all, append(append([]uint32{}, m...), k))
	}
	if ch == Added {
		return all
	}
	if ch == Replaced {
		all = nil
	}
	for i := range m {
		for k := range keys {
			other := append([]uint32{}, m...)
			other[i] = k
			all = append(all, other)
		}
	}
	return all
}

var exactBases = map[string][]Region{"plain": {{0, 6, 1}}, "window": {{0, 2, 1}, {2, 4, 31}, {4, 6, 1}}}

// worstPair returns the largest divergence, over ρ, of all neighbouring pairs of up to three values
// on six candidates, for weights made for calibrated.
func worstPair(rho, level float64, base []Region, ch, calibrated Change) float64 {
	worst := 0.0
	for n := range 4 {
		// a table that serves both neighbours, as for one that is longer
		w := NewWeights(rho, level, calibrated, n+1)
		for _, m := range multisets(6, n) {
			p := law(Column{Keys: m}, base, w)
			for _, other := range neighbours(m, 6, ch) {
				q := law(Column{Keys: other}, base, w)
				worst = max(worst, divergence(p, q)/rho, divergence(q, p)/rho)
			}
		}
	}
	return worst
}

// The quantile is ρ-zCDP for every neighbouring pair, level and base measure, and calibrations for
// less than the change of the scores are not.
func TestQuantileIsPrivate(t *testing.T) {
	for name, base := range exactBases {
		for _, rho := range []float64{0.02, 0.5} {
			for _, level := range []float64{0, 0.25, 0.5, 0.8, 1} {
				for _, ch := range []Change{Replaced, Added, Either} {
					if testing.Short() && (rho != 0.5 || ch == Either || level == 0.25 || level == 1 || name == "plain") {
						continue
					}
					require.LessOrEqual(t, worstPair(rho, level, base, ch, ch), 1+1e-9, "%s ρ = %v level = %v change = %v", name, rho, level, ch)
				}
			}
		}
	}
	require.Greater(t, worstPair(0.5, 0.5, exactBases["plain"], Replaced, Added), 1.5, "add/remove weights are not enough under replacement")
}

// C is ρ-zCDP for every neighbouring pair, also where a row becomes 0 and its value goes, and at
// twice the exponent it is not.
func TestCountAboveIsPrivate(t *testing.T) {
	worst := func(rho, calibrated float64, k int64) float64 {
		worst, base := 0.0, exactBases["window"]
		for n := range 4 {
			w := NewAbove(calibrated, k, int64(n+1))
			for _, m := range multisets(6, n) {
				p := law(Column{Keys: m}, base, w)
				for _, other := range neighbours(m, 6, Either) {
					q := law(Column{Keys: other}, base, w)
					worst = max(worst, divergence(p, q)/rho, divergence(q, p)/rho)
				}
			}
		}
		return worst
	}
	for _, rho := range []float64{0.02, 0.5} {
		for k := int64(1); k <= 3; k++ {
			if testing.Short() && (rho != 0.5 || k != 2) {
				continue
			}
			require.LessOrEqual(t, worst(rho, rho, k), 1+1e-9, "ρ = %v, k = %d", rho, k)
		}
	}
	require.Greater(t, worst(0.5, 2, 1), 1.5, "half the noise is not enough")
}

// (1) of weights.go, for all tables: the ratio of neighbouring weights is at most e^c.
func TestWeightsFallOffSlowly(t *testing.T) {
	for _, rho := range []float64{1e-12, 1e-4, 0.3, 20, 1e6} {
		for _, ch := range []Change{Replaced, Added, Either} {
			w := NewWeights(rho, 0.8, ch, 1000)
			// 0.8 is 52429/65536
			u := map[Change]float64{Replaced: 1, Added: 52429, Either: levels}[ch]
			c := math.Sqrt(2*rho) / u
			require.Equal(t, uint64(topWeight), w.At(0))
			for s := int64(0); s < 3000; s++ {
				a, b := new(big.Float).SetUint64(w.At(s)), new(big.Float).SetUint64(w.At(s+1))
				ratio, _ := new(big.Float).Quo(a, b).Float64()
				require.True(t, ratio >= 1 && math.Log(ratio) <= c*(1+1e-12)+4e-16, "s = %d: ratio %v, c = %v", s, ratio, c)
				require.Positive(t, w.At(s))
			}
		}
	}
}

// The draws follow the exact law, for columns that make pieces split, with zeros that are only
// counted, and a window, and for columns of which some keys say where most of the others are: a
// quarter of them lies outside.
func TestSamplerFollowsTheLaw(t *testing.T) {
	crowd := Column{Zeros: 300, Zero: 40}
	for i := range uint32(900) {
		crowd.Keys = append(crowd.Keys, 30+(i*i)%25)
	}
	few := Column{Keys: []uint32{5, 5, 90, 17}}
	var wide, narrow Column
	for i := range uint32(narrowKeys) {
		at, near := i*i%25, i*i%9
		if j := i % (narrowKeys / narrowSample); j == 3 || j == 8 {
			at, near = 60, 55
		} else if j == 5 || j == 13 {
			at, near = 0, 0
		}
		wide.Keys, narrow.Keys = append(wide.Keys, 30+at), append(narrow.Keys, 38+near)
	}
	draws := 20_000
	if dptest.Long() {
		draws = 60_000
	}
	for name, base := range map[string][]Region{"plain": {{0, 97, 1}}, "window": {{0, 35, 1}, {35, 50, 31}, {50, 97, 1}}} {
		for _, c := range []Column{crowd, few, {}, wide, narrow} {
			var s Sampler
			rho, draws := 0.1, draws
			if len(c.Keys) >= narrowKeys {
				rho, draws = 10, draws/2
				_, main := s.narrowed(c.Keys, base)
				require.Equal(t, name == "window" && c.Keys[0] == 30, main < 0)
			}
			w := NewWeights(rho/float64(100+c.Size()*c.Size()), 0.5, Added, int(c.Size()))
			expected := law(c, base, w)
			observed := make([]int64, len(expected))
			for range draws {
				observed[s.Quantile(c, base, w)]++
			}
			dptest.ChiSquare(t, name, observed, expected, 1e-10)
		}
	}
}

// The same where pieces hold many candidates of very different weights, so that most draws are
// rejected and pieces split.
func TestSamplerRejectsAsItShould(t *testing.T) {
	c, w := Column{Keys: []uint32{5, 5, 700, 701, 900, 1400}}, NewWeights(1, 0.5, Replaced, 6)
	for name, base := range map[string][]Region{"plain": {{0, 1500, 1}}, "window": {{0, 600, 1}, {600, 950, 31}, {950, 1500, 1}}} {
		expected := law(c, base, w)
		observed, bins := make([]int64, 60), make([]float64, 60)
		for k, p := range expected {
			bins[k/25] += p
		}
		var s Sampler
		for range 20000 {
			observed[s.Quantile(c, base, w)/25]++
		}
		dptest.ChiSquare(t, name, observed, bins, 1e-10)
	}
}

// The binary search: one step's count is off by the noise that its budget asks for, and neighbours'
// counts by no more than u.
func TestSearchIsCalibrated(t *testing.T) {
	for _, ch := range []Change{Replaced, Added, Either} {
		for _, level := range []float64{0.25, 0.5, 0.8} {
			w := NewWeights(1, level, ch, 10)
			u := UnitChange(level, ch)
			if ch == Added { // levels are multiples of 2⁻¹⁶ there
				u = max(math.Round(level*levels), levels-math.Round(level*levels)) / levels
			}
			noisy := dptest.OK(w.SearchNoise(0.3, 7, ch))(t)
			require.GreaterOrEqual(t, noisy.Sigma()/float64(w.den), u*math.Sqrt(7/(2*0.3)))
			require.InEpsilon(t, u*math.Sqrt(7/(2*0.3)), noisy.Sigma()/float64(w.den), 1e-9)
			for _, m := range multisets(4, 3) {
				for _, other := range neighbours(m, 4, ch) {
					a, b := Column{Keys: m}, Column{Keys: other}
					for k := range uint32(4) {
						lo, _ := a.ranks(k)
						to, _ := b.ranks(k)
						change := (lo*w.den - w.Target(a.Size())) - (to*w.den - w.Target(b.Size()))
						require.LessOrEqual(t, math.Abs(float64(change))/float64(w.den), u+1e-12)
					}
				}
			}
		}
	}
}
