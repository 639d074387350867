package arete

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// digits200 is the precision of the numbers below; 700 bits.
func digits200(x float64) *big.Float { return new(big.Float).SetPrec(700).SetFloat64(x) }

// bigJumpMasses are the masses 0 … n−1 of the upward jumps but for a constant factor, e^{(V+c)/2},
// by the plain recursion in 200 digits, from the numbers that the sampler uses.
func (j jump) bigJumpMasses(n int) []*big.Float { return j.bigShare(digits200(1), n) }

// bigShare is bigJumpMasses of a part of all rates.
func (j jump) bigShare(part *big.Float, n int) []*big.Float {
	unit := digits200(0x1p-64)
	beyond := new(big.Float).Mul(new(big.Float).SetPrec(700).SetUint64(j.beyond), unit)
	q := new(big.Float).Mul(new(big.Float).SetPrec(700).SetUint64(j.again), unit)
	one, half := digits200(1), digits200(j.jumps/2)
	levy := make([]*big.Float, n)
	block := new(big.Float).Mul(half, beyond)
	block.Mul(block, new(big.Float).Sub(one, q)).Quo(block, digits200(float64(j.steps)))
	for k := 1; k < n; k++ {
		if k <= int(j.width) {
			levy[k] = new(big.Float).Mul(half, new(big.Float).Sub(one, beyond))
			levy[k].Quo(levy[k], digits200(float64(j.width)))
			continue
		}
		past := k - int(j.width)
		if past > 1 && past%int(j.steps) == 1%int(j.steps) {
			block = new(big.Float).Mul(block, q)
		}
		levy[k] = block
	}
	if n > 1 {
		levy[1] = new(big.Float).Add(levy[1], digits200(j.core/2))
	}
	for k := 1; k < n; k++ {
		levy[k] = new(big.Float).Mul(levy[k], digits200(float64(k)))
		levy[k].Mul(levy[k], part)
	}
	g := make([]*big.Float, n)
	g[0] = one
	for m := 1; m < n; m++ {
		sum, term := digits200(0), digits200(0)
		for k := 1; k <= m; k++ {
			sum.Add(sum, term.Mul(levy[k], g[m-k]))
		}
		g[m] = sum.Quo(sum, digits200(float64(m)))
	}
	return g
}

// bigMasses are those of discrete Arete, but for a constant factor, with e^{−1/s} by its series.
func (d discrete) bigMasses(n int) []*big.Float {
	decay := func(scale float64) *big.Float { // e^{−1/scale} = (e^{−1/(scale·2^r)})^{2^r}
		x := new(big.Float).Quo(digits200(1), digits200(scale))
		const halvings = 12
		x.SetMantExp(x, -halvings)
		sum, term := digits200(1), digits200(1)
		for i := 1; i < 80; i++ {
			term.Mul(term, x).Quo(term, digits200(-float64(i)))
			sum.Add(sum, term)
		}
		for range halvings {
			sum.Mul(sum, sum)
		}
		return sum
	}
	p, r := decay(d.tail), decay(d.core)
	g := make([]*big.Float, n)
	nb, last := digits200(1), digits200(0)
	for k := range g {
		if k > 0 {
			factor := new(big.Float).Add(digits200(d.shape), digits200(float64(k-1)))
			nb.Mul(nb, p).Mul(nb, factor).Quo(nb, digits200(float64(k)))
		}
		last.Mul(last, r).Add(last, nb)
		g[k] = new(big.Float).Set(last)
	}
	return g
}

// worstLoss is the largest ln f(t)/f(t+h), t < reach: f in 200 digits from the masses of the upward
// jumps.
func worstLoss(g []*big.Float, h, reach int) float64 {
	f := make([]*big.Float, reach+h+1)
	for k := range f {
		sum, term := digits200(0), digits200(0)
		for y := 0; y+k < len(g); y++ {
			sum.Add(sum, term.Mul(g[y], g[y+k]))
		}
		f[k] = sum
	}
	worst := math.Inf(-1)
	for t := range reach {
		ratio, _ := new(big.Float).Quo(f[t], f[t+h]).Float64()
		worst = max(worst, math.Log(ratio))
	}
	return worst
}

// The certificates with another arithmetic: no floating-point recursion, no windows, no bounds on
// errors, but 200 digits. They find at most ε, and what the certificate says but for its slack.
// With -long also on finer lattices: go test ./arete -run ManyDigits -long.
func TestCertificatesInManyDigits(t *testing.T) {
	cases := []Params{
		{Epsilon: 2.5, Law: Jump}, {Epsilon: 3.3, Law: Jump}, {Epsilon: 4, Law: Jump, Integers: true, Sensitivity: 5}, {Epsilon: 8, Law: Jump, Integers: true, Sensitivity: 3},
		{Epsilon: 20, Law: Jump, Integers: true, Sensitivity: 2}, {Epsilon: 30, Law: Jump, Integers: true, Sensitivity: 7}, {Epsilon: 12, Law: Jump, Integers: true, Sensitivity: 30},
		{Epsilon: 2.5, Law: Jump, Parties: 4}, {Epsilon: 2, Law: Jump, Integers: true, Sensitivity: 2},
		{Epsilon: 3, Law: Jump, Objective: MeanSquare}, {Epsilon: 3.6, Law: DiscreteArete, Integers: true, Sensitivity: 7}, {Epsilon: 6, Law: DiscreteArete, Integers: true, Sensitivity: 20},
	}
	switch {
	case dptest.Long():
		cases = append(cases, Params{Epsilon: 4, Law: Jump}, Params{Epsilon: 6, Law: Jump}, Params{Epsilon: 8, Law: Jump}, Params{Epsilon: 5, Law: DiscreteArete}, Params{Epsilon: 3, Law: Jump, Parties: 25})
	case testing.Short():
		cases = cases[2:5]
	}
	for _, p := range cases {
		l := dptest.OK(lattice(p))(t)
		h := int(l.noise.size)
		n := 8*h + 60 + int(l.noise.jump.core)
		g := l.noise.jump.bigJumpMasses
		if p.Law == DiscreteArete {
			g, n = l.noise.arete.bigMasses, int(60*l.noise.arete.tail)
		}
		found := worstLoss(g(n), h, min(2*h+40, n/3))
		loss, ok := l.Certify()
		require.True(t, ok)
		require.LessOrEqual(t, found, p.Epsilon, "%+v", p)
		require.LessOrEqual(t, found, loss, fmt.Sprintf("%+v", p))
		if p.Epsilon <= 12 {
			require.Greater(t, found, loss-1e-4, "%+v", p)
		}
	}
}

// From maxHead masses on a certificate takes bounds for the rest of its sums. They hold, and a loss
// is raised by little: against all terms.
func TestHeadsOfSums(t *testing.T) {
	for _, p := range []Params{{Epsilon: 13, Law: DiscreteArete}, {Epsilon: 7, Law: Jump, Parties: 50}} {
		l := dptest.OK(lattice(p))(t)
		o := l.noise.oneSided(int(l.noise.reach(25)))
		require.Greater(t, len(o.g), maxHead)
		for _, k := range []int{0, 1, 10, 100, int(l.noise.size), int(l.noise.size) + 30} {
			part, whole := o.head(k), o.prob(k)
			require.LessOrEqual(t, part, whole)
			require.GreaterOrEqual(t, part+o.rest(), whole*(1-1e-12))
			require.InEpsilon(t, whole, part, 1e-2)
		}
		if testing.Short() {
			return
		}
	}
}
