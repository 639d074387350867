package arete

import (
	"fmt"
	"math"
	"math/big"
	"sync"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// falseReject is the probability with which one assertion on samples fails though all is right.
const falseReject = 1e-10

// masses returns the probabilities of −reach … reach, and of what lies beyond on either side.
func (l *Lattice) massesAround(reach int) []float64 {
	p := make([]float64, 2*reach+3)
	for k := -reach; k <= reach; k++ {
		p[k+reach+1] = l.Prob(float64(k))
	}
	p[0] = l.Survival(float64(reach))
	p[len(p)-1] = p[0]
	return p
}

// observe counts n draws likewise.
func observe(n, reach int, draw func() int64) []int64 {
	counts := make([]int64, 2*reach+3)
	for range n {
		counts[min(max(draw(), int64(-reach-1)), int64(reach+1))+int64(reach)+1]++
	}
	return counts
}

// lawsToTest are calibrated laws of all kinds.
var lawsToTest = sync.OnceValue(func() (all []*Lattice) {
	for _, p := range []Params{
		{Epsilon: 3}, {Epsilon: 6}, {Epsilon: 3.5, Law: Jump, Parties: 5}, {Epsilon: 5, Law: DiscreteArete}, {Epsilon: 3, Integers: true, Sensitivity: 5}, {Epsilon: 3, Integers: true, Sensitivity: 10},
		{Epsilon: 2, Integers: true}, {Epsilon: 0.5, Integers: true, Sensitivity: 2}, {Epsilon: 6, Law: DiscreteArete, Integers: true, Sensitivity: 7},
	} {
		l, err := lattice(p)
		if err != nil {
			panic(err)
		}
		all = append(all, l)
	}
	return all
})

// The sum of n shares has the law of the whole, which is exact: against the masses, for n = 1, 2,
// 17 and 1000. Shares made for another n are noticed.
func TestSharesAddUpToTheLaw(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	for _, l := range lawsToTest() {
		for _, n := range []int{0, 1, 2, 17, 1000} { // 0: drawn in one piece
			draws := 40_000
			if n > 1 {
				draws = 160_000 / n
			}
			switch {
			case dptest.Long() && n == 0:
				draws = 4_000_000
			case dptest.Long():
				draws = draws * 5 / 2
			case testing.Short():
				draws = draws * 5 / 8
			}
			draws = max(draws, 400)
			law := dptest.OK(l.noise.sampler(uint64(max(n, 1))))(t)
			var src noise.Source
			sum := func(n int) func() int64 {
				return func() (z int64) {
					for range max(n, 1) {
						z += law.SampleInt(&src)
					}
					return z
				}
			}
			reach := 2*int(l.noise.size) + 60
			expected := l.massesAround(reach)
			name := fmt.Sprintf("%v at ε = %v, n = %d", l.noise.law, l.params.Epsilon, n)
			dptest.ChiSquare(t, name, observe(draws, reach, sum(n)), expected, falseReject)
			if n == 17 {
				dptest.Alarm(t, falseReject)
				require.Less(t, dptest.ChiSquarePValue(observe(draws, reach, sum(12)), expected), falseReject, "%s: 12 of 17 shares must be noticed", name)
			}
		}
	}
}

// The masses add up to 1, to CDF and to the moments; quantiles invert.
func TestLatticeLaw(t *testing.T) {
	for _, l := range lawsToTest() {
		if testing.Short() && l.noise.size > 130 {
			continue
		}
		sum, abs, square := l.Prob(0), 0.0, 0.0
		most := float64(30*l.noise.size + 100)
		for k := 1.0; k < most; k++ {
			p := l.Prob(k)
			require.Equal(t, p, l.Prob(-k))
			sum, abs, square = sum+2*p, abs+2*k*p, square+2*k*k*p
		}
		require.InDelta(t, 1, sum, 1e-12)
		require.InEpsilon(t, l.MeanAbs(), abs, 1e-11)
		require.InEpsilon(t, l.Variance(), square, 1e-11)
		for _, k := range []float64{0, 1, 2, 5, float64(l.noise.size), float64(3 * l.noise.size)} {
			require.InEpsilon(t, l.Survival(k-1)-l.Survival(k), l.Prob(k), 1e-6)
			require.InDelta(t, 1, l.CDF(k)+l.Survival(k), 1e-12)
			require.InEpsilon(t, l.CDF(-k-1), l.Survival(k), 1e-12)
			require.Equal(t, []float64{k, -k}, []float64{l.Quantile(l.CDF(k) * (1 - 1e-14)), l.Quantile(l.CDF(-k) * (1 - 1e-14))}, "%+v", l.params)
		}
		require.Equal(t, []float64{0, 1, 0, 0}, []float64{l.CDF(math.Inf(-1)), l.CDF(math.Inf(1)), l.Prob(0.5), l.Prob(math.Inf(1))})
		require.True(t, math.IsNaN(l.Prob(math.NaN())) && math.IsNaN(l.CDF(math.NaN())) && math.IsNaN(l.Quantile(2)) && math.IsNaN(l.Quantile(math.NaN())))
		require.Equal(t, []float64{math.Inf(-1), math.Inf(1)}, []float64{l.Quantile(0), l.Quantile(1)})
	}
	for _, x := range []float64{0, 1, math.NaN()} {
		zero := &Lattice{}
		for _, y := range []float64{zero.Prob(x), zero.CDF(x), zero.Survival(x), zero.Quantile(x), zero.Variance(), zero.MeanAbs()} {
			require.True(t, math.IsNaN(y))
		}
	}
}

// The words of a table are ⌊2⁶⁴·F(k)⌋, by sums of rational numbers that enclose e^λ.
func TestPoissonWords(t *testing.T) {
	for _, r := range []rate{{20, 0, 1}, {0.0625, 0, 1000}, {1e-13, 0, 7}, {64, 0, 1}, {0.34, 0, 17}} {
		p := newPoisson(r)
		lambda := new(big.Rat).Quo(new(big.Rat).SetFloat64(r.factor), new(big.Rat).SetInt64(int64(r.parts)))
		const prec = 600
		x := new(big.Float).SetPrec(prec).SetRat(lambda)
		term := new(big.Float).SetPrec(prec).SetInt64(1)
		exp := new(big.Float).SetPrec(prec)
		var partial []*big.Float
		for k := int64(1); k < 700; k++ {
			exp.Add(exp, term)
			partial = append(partial, new(big.Float).Copy(exp))
			term.Mul(term, x).Quo(term, new(big.Float).SetInt64(k))
		}
		for k, word := range p.words {
			f := new(big.Float).SetPrec(prec).Quo(partial[k], exp)
			n, _ := f.SetMantExp(f, 64).Int(nil)
			require.Equal(t, n.String(), new(big.Int).SetUint64(word).String(), "%v: F(%d)", r, k)
		}
		require.Equal(t, uint64(math.MaxUint64), p.words[len(p.words)-1])
	}
	// −ln(1 − e^{−1/s}) against float64.
	for _, s := range []float64{leastScale, 0.1, 1, 30, 1e6, 0x1p50} {
		got, _ := new(big.Float).Quo(new(big.Float).SetInt(logSeries(s, 160).Lo), new(big.Float).SetInt(exact.One(160))).Float64()
		require.InDelta(t, -math.Log1p(-math.Exp(-1/s)), got, 1e-9*(1+got))
		if s > 0.05 {
			require.InEpsilon(t, -math.Log(-math.Expm1(-1/s)), got, 1e-12)
		}
		x := logSeries(s, 160)
		require.Less(t, new(big.Int).Sub(x.Hi, x.Lo).Int64(), int64(3))
	}
}

// Where 64 digits of U tie with the table, more decide, and rightly: of U with the digits of
// words[k] and 64 more, those below the next digits of F(k) give k.
func TestPoissonTies(t *testing.T) {
	p := newPoisson(rate{20, 0, 3})
	for k, word := range p.words[:len(p.words)-1] {
		prec := uint(192)
		i, next := 0, new(big.Int)
		for f := range cumulative(p.rate, prec) {
			if i == k {
				next.Rsh(f.Lo, prec-128)
				break
			}
			i++
		}
		require.Equal(t, word, new(big.Int).Rsh(next, 64).Uint64())
		_, ok := p.decide(new(big.Int).SetUint64(word), 64)
		require.False(t, ok, "64 digits leave it open")
		below, ok := p.decide(new(big.Int).Sub(next, big.NewInt(1)), 128)
		require.True(t, ok)
		require.Equal(t, k, below)
		above, ok := p.decide(new(big.Int).Add(next, big.NewInt(1)), 128)
		require.True(t, ok)
		require.Greater(t, above, k)
	}
	// Beyond the table too: a U of 64 ones and 64 zeros.
	u := new(big.Int).Lsh(new(big.Int).SetUint64(math.MaxUint64), 64)
	k, ok := p.decide(u, 128)
	require.True(t, ok)
	require.GreaterOrEqual(t, k, len(p.words)-1)
	var src noise.Source
	for range 100 {
		require.GreaterOrEqual(t, p.drawExactly(&src, math.MaxUint64), len(p.words)-1)
	}
}

// The logarithmic law, for scales of all sizes.
func TestLogarithmic(t *testing.T) {
	for _, s := range []float64{leastScale, 0.3, 0.71, 0.72, 1, 4, 30, 300} {
		l := dptest.OK(newLogarithmic(s))(t)
		var src noise.Source
		expected := make([]float64, int(8*s)+3)
		for k := 1; k < len(expected); k++ {
			expected[k] = math.Exp(-float64(k)/s) / float64(k) / -math.Log1p(-math.Exp(-1/s))
		}
		counts := make([]int64, len(expected)+1)
		for range 100_000 {
			counts[min(l.draw(&src), int64(len(expected)))]++
		}
		if s < 0.05 {
			require.Equal(t, int64(100_000), counts[1])
			continue
		}
		dptest.ChiSquare(t, fmt.Sprint("logarithmic, s = ", s), counts, expected, falseReject)
	}
}

// The continuous law on coarse and fine grids; scales that are a fifth off are noticed.
func TestAreteSampler(t *testing.T) {
	const controlled = 60_000 // the p-value of the last control is below 1e-20
	n := 20_000
	if dptest.Long() {
		n = controlled
	}
	pValue := func(n int, d, law Arete, step float64) float64 {
		const reach = 150
		var src noise.Source
		expected := make([]float64, 2*reach+3)
		beyond := law.Survival(step / 2)
		expected[reach+1] = 1 - 2*beyond
		for k := 1; k <= reach; k++ {
			next := law.Survival((float64(k) + 0.5) * step)
			expected[reach+1+k], expected[reach+1-k] = beyond-next, beyond-next
			beyond = next
		}
		expected[0], expected[len(expected)-1] = beyond, beyond
		return dptest.ChiSquarePValue(observe(n, reach, func() int64 { return int64(d.Sample(&src, step) / step) }), expected)
	}
	for i, d := range []Arete{{0.0198, 0.803, 0.0257}, {0.6, 0.35, 0.07}, {1, 1, 0.5}, {1e-7, 1, 0.3}, {0.3, 2, 5}} {
		for _, step := range []float64{1, 1.0 / 16} {
			if testing.Short() && i > 1 {
				continue
			}
			dptest.Alarm(t, falseReject)
			require.Greater(t, pValue(n, d, d, step), falseReject, "%v, step %v", d, step)
		}
		if testing.Short() && i > 0 {
			break
		}
		wrong := Arete{d.alpha, d.theta * 1.2, d.lambda * 1.2}
		dptest.Alarm(t, falseReject)
		require.Less(t, pValue(controlled, wrong, d, 1.0/64), falseReject, "%v", d)
	}
	d := Arete{0.2, 0.5, 0.1}
	for _, step := range []float64{0x1p-30, 0x1p-46} {
		var src noise.Source
		samples := make([]float64, n/20)
		for i := range samples {
			samples[i] = d.Sample(&src, step)
			require.Equal(t, samples[i], math.Round(samples[i]/step)*step)
		}
		dptest.KS(t, "fine grid", samples, d.CDF, falseReject)
	}
	var src noise.Source
	for _, step := range []float64{0, -1, 3, math.NaN(), math.Inf(1), 0x1p-48} {
		require.True(t, math.IsNaN(d.Sample(&src, step)))
	}
	require.True(t, math.IsNaN((Arete{}).Sample(&src, 1)))
	tiny := Arete{0x1p-100, 1, 0x1p-40} // the gamma variables are far below any float64
	for range 100 {
		require.Zero(t, tiny.Sample(&src, 0.5))
	}
}

// The slow path decides as the quick one does: with digits refined, values and comparisons stay
// within the float64 bounds.
func TestSlowPathAgrees(t *testing.T) {
	var src noise.Source
	for _, d := range []Arete{{0.02, 0.8, 0.026}, {0.6, 0.35, 0.07}, {1, 1, 0.5}} {
		s := draw{d, 0x1p-20, &src}
		for range 100 {
			g := gammaDraw{above: s.above()}
			g.e = s.exponential()
			other := s.exponential()
			lo, hi := s.valueFloat(&g)
			quick, decided := s.acceptsFloat(&g, &other)
			up, down, laplace := s.gamma(), s.gamma(), s.exponential()
			rounded, sure := s.roundFloat(&up, &down, &laplace, -1)
			s.refine(&g.e)
			s.refine(&other)
			v := s.value(&g, g.e.bits)
			unit := new(big.Float).SetInt(exact.One(g.e.bits))
			least, _ := new(big.Float).Quo(new(big.Float).SetInt(v.Lo), unit).Float64()
			most, _ := new(big.Float).Quo(new(big.Float).SetInt(v.Hi), unit).Float64()
			require.True(t, least <= hi && most >= lo && most-least < 1e-15, "[%v, %v] and [%v, %v]", least, most, lo, hi)
			if decided && !(g.above && d.alpha == 1) {
				require.Equal(t, quick, s.acceptsExactly(&g, &other))
			}
			if sure {
				require.Equal(t, rounded, s.roundExactly(&up, &down, &laplace, -1))
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var src noise.Source
	for _, l := range lawsToTest() {
		share := dptest.OK(l.noise.sampler(1000))(t)
		// a new key every 1024 words averages to 0
		require.Zero(t, testing.AllocsPerRun(500, func() { l.whole.SampleInt(&src) }), "%v", l.noise.law)
		require.Zero(t, testing.AllocsPerRun(500, func() { share.SampleInt(&src) }), "%v", l.noise.law)
	}
	m := dptest.OK(New(Params{Epsilon: 8}))(t)
	require.LessOrEqual(t, testing.AllocsPerRun(500, func() { m.Release(3) }), 1.0, "the Value")
}
