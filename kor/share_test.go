package kor

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/stretchr/testify/require"
)

func share(t *testing.T, p Params, parties int, keys ...uint64) *Share {
	b := builder(t, p, keys...)
	s := dptest.OK(b.Share(parties))(t)
	require.True(t, b.Released())
	return s
}

// p_n is the least that serves: n of them make p or a little more, and with one unit of 2⁻⁶⁴·n less
// they would not be known to.
func TestShareFlips(t *testing.T) {
	for _, epsilon := range []float64{1e-6, 0.1, 1, 4, 20, 40} {
		for _, n := range []int{1, 2, 3, 10, 1000, maxParties} {
			p := Params{Epsilon: epsilon, Cells: 1, Levels: 1, Seed: hashing.Seed{1}}
			law := dptest.OK(p.shareFlips(n))(t)
			whole := mustFlips(t, p)
			got, want := float64(n)*logSign(law.K()), logSign(whole.K())
			require.LessOrEqual(t, got, want*(1-1e-15), "ε = %v, n = %d", epsilon, n)
			require.InDelta(t, got, want, math.Abs(want)*1e-9+float64(n)*0x1p-62, "ε = %v, n = %d", epsilon, n)
		}
	}
}

// What a share promises by itself is never less than ln((1−p_n)/p_n), also where that is small, to
// 100 digits.
func TestShareGuarantee(t *testing.T) {
	for _, epsilon := range []float64{check.MinEpsilon, 1e-7, 1e-3, 1, 20} {
		for _, n := range []int{1, 2, 3, 1000} {
			p := Params{Epsilon: epsilon, Cells: 1, Levels: 1, Seed: hashing.Seed{1}}
			s := share(t, p, n)
			k := new(big.Float).SetPrec(400).SetInt(new(big.Int).SetUint64(held(s.secret).law.K()))
			ratio := new(big.Float).SetPrec(400).SetMantExp(big.NewFloat(1).SetPrec(400), 64)
			// (1−p)/p = (1+y)/(1−y) with y = 1−2p, and its logarithm is 2·Σ y^{2i+1}/(2i+1)
			ratio.Quo(ratio.Sub(ratio, k), k)
			one := big.NewFloat(1).SetPrec(400)
			y := new(big.Float).Quo(new(big.Float).Sub(ratio, one), new(big.Float).Add(ratio, one))
			sum, power := new(big.Float).SetPrec(400), new(big.Float).Set(y)
			for i := int64(0); i < 400; i++ {
				sum.Add(sum, new(big.Float).Quo(power, big.NewFloat(float64(2*i+1)).SetPrec(400)))
				power.Mul(power, y).Mul(power, y)
			}
			if y.Cmp(big.NewFloat(0.8)) > 0 {
				continue // the series is too slow; float64 is exact enough there
			}
			sum.Mul(sum, big.NewFloat(2))
			got := s.Guarantee().EpsilonAt(0)
			require.LessOrEqual(t, sum.Cmp(big.NewFloat(got)), 0, "ε = %v, n = %d", epsilon, n)
			want, _ := sum.Float64()
			require.InEpsilon(t, want, got, 1e-13)
		}
	}
}

// The aggregate of all shares has the flips of one release, exactly as it says, and the bits of the
// symmetric difference.
func TestAggregate(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 1 << 18, Levels: 4, Seed: hashing.Seed{1}}
	const n = 5
	var tables [][]byte
	for range n {
		s := share(t, p, n)
		k := float64(held(s.secret).law.K())
		require.GreaterOrEqual(t, s.Guarantee().EpsilonAt(0), math.Log((0x1p64-k)/k))
		require.Greater(t, s.Guarantee().EpsilonAt(0), p.Epsilon)
		tables = append(tables, s.Bytes())
	}
	s := dptest.OK(Aggregate(p, n, tables...))(t)
	require.Equal(t, p.Guarantee(), s.Guarantee())
	require.InEpsilon(t, planned(p).FlipProb, s.flipProb(), 1e-13)
	ones := int64(0)
	for _, word := range s.bits {
		ones += int64(bits.OnesCount64(word))
	}
	total := int64(p.Cells * p.Levels)
	dptest.Tail(t, "flips", ones, total, planned(p).FlipProb, 1e-10)
	// 18 standard deviations
	require.Less(t, dptest.TailPValue(ones, total, planned(p).FlipProb*1.03), 1e-10, "the test sees 3 %")

	q := Params{Epsilon: 30, Cells: 100, Levels: 6, Seed: hashing.Seed{2}} // hardly any noise
	one, two := share(t, q, 2, run(0, 40)...), share(t, q, 2, run(20, 60)...)
	sum := dptest.OK(Aggregate(q, 2, one.Bytes(), two.Bytes()))(t)
	masked := one.Bytes()
	for i, b := range two.Bytes() {
		masked[i] ^= b
	}
	again := dptest.OK(Aggregate(q, 2, masked))(t)
	require.Equal(t, sum.bits, again.bits)
	// the table of 40 keys in 100 cells has a standard error of 2
	require.InDelta(t, 40, sum.Estimate(), 16)
	dptest.RoundTrip(t, sum)
}

// Fewer shares than the noise is split into have too little of it, and are refused; more have more,
// and the sketch knows.
// False-reject probability 1e-10 for each of the three numbers of flips.
func TestAggregateCountsTheShares(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 1 << 16, Levels: 4, Seed: hashing.Seed{1}}
	const n = 4
	var tables [][]byte
	for range 2 * n {
		tables = append(tables, share(t, p, n).Bytes())
	}
	for few := 2; few < n; few++ {
		require.ErrorIs(t, dptest.Err(Aggregate(p, n, tables[:few]...)), ErrParams)
	}
	for _, all := range []int{n, n + 1, 2 * n} {
		s := dptest.OK(Aggregate(p, n, tables[:all]...))(t)
		require.Equal(t, p.Guarantee(), s.Guarantee())
		require.InEpsilon(t, math.Pow(1-2*planned(p).FlipProb, float64(all)/n), 1-2*s.flipProb(), 1e-12)
		ones := int64(0)
		for _, word := range s.bits {
			ones += int64(bits.OnesCount64(word))
		}
		dptest.Tail(t, "flips", ones, int64(p.Cells*p.Levels), s.flipProb(), 1e-10)
		dptest.RoundTrip(t, s)
	}
}

// A share that comes twice cancels, and with it the noise that the others count on: of one party in
// three a third would be left. It is refused where it cannot be another party's by chance.
func TestAggregateRefusesAShareTwice(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 512, Levels: 4, Seed: hashing.Seed{1}}
	one, two, three := share(t, p, 3).Bytes(), share(t, p, 3).Bytes(), share(t, p, 3).Bytes()
	err := dptest.Err(Aggregate(p, 3, one, two, bytes.Clone(one)))
	require.ErrorIs(t, err, ErrMismatch)
	require.ErrorContains(t, err, "twice")
	require.ErrorIs(t, dptest.Err(Aggregate(p, 3, one, two, three, three)), ErrMismatch)
	dptest.OK(Aggregate(p, 3, one, two, three))(t)
	p.Cells, p.Levels = 64, 1 // of which fewer than 100 cells may differ
	one, two = share(t, p, 3).Bytes(), share(t, p, 3).Bytes()
	dptest.OK(Aggregate(p, 3, one, two, two))(t)
}

func TestInvalidShares(t *testing.T) {
	p := small
	for _, n := range []int{0, -1, math.MinInt, maxParties + 1, math.MaxInt} {
		require.ErrorIs(t, dptest.Err(Aggregate(p, n, make([]byte, 80))), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(Aggregate(p, 2)), ErrParams)
	for _, size := range []int{0, 1, 79, 81} {
		require.ErrorIs(t, dptest.Err(Aggregate(p, 2, make([]byte, size))), ErrMismatch)
	}
	padding := make([]byte, 80)
	padding[15] = 1
	require.ErrorIs(t, dptest.Err(Aggregate(p, 2, padding)), ErrMismatch)
	p.CountShare = 0.1
	require.ErrorIs(t, dptest.Err(builder(t, p).Share(2)), ErrParams)
}
