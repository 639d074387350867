package loss

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

const digits = 260 // binary, of the reference: some are lost to cancellation, and 200 are asked for

func number(x float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(x) }

// exp returns e^x by halving and the series.
func exp(x *big.Float) *big.Float {
	n := 40
	if x.Sign() != 0 {
		n = max(0, x.MantExp(nil)+40)
	}
	r := new(big.Float).SetPrec(digits+80).SetMantExp(new(big.Float).SetPrec(digits+80).Set(x), -n)
	sum, term := new(big.Float).SetPrec(digits+80).SetInt64(1), new(big.Float).SetPrec(digits+80).SetInt64(1)
	for k := int64(1); k < 14; k++ { // |r| ≤ 2⁻⁴⁰: the rest is below 2⁻⁵⁶⁰
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetInt64(k))
		sum.Add(sum, term)
	}
	for range n {
		sum.Mul(sum, sum)
	}
	return sum.SetPrec(digits)
}

// atom is a loss l and its P-mass, with e^{−l}.
type atom struct{ mass, inverse *big.Float }

// response returns the two atoms of randomized response.
func response(epsilon float64) []atom {
	e := exp(number(epsilon))
	one := number(1)
	q := new(big.Float).Quo(one, new(big.Float).Add(one, e)) // 1/(1 + e^ε)
	return []atom{{new(big.Float).Sub(one, q), new(big.Float).Quo(one, e)}, {q, e}}
}

// lattice returns the atoms of discrete Laplace noise of decay e^{−each} on a number that moves by
// steps.
func lattice(each float64, steps int) (atoms []atom) {
	one := number(1)
	q := exp(number(-each))
	power := func(n int) *big.Float { return exp(new(big.Float).Mul(number(each), number(float64(-n)))) }
	sum := new(big.Float).Add(one, q)
	for x := range steps + 1 {
		mass := new(big.Float).Mul(new(big.Float).Sub(one, q), power(x))
		if x == 0 {
			mass = number(1)
		} else if x == steps {
			mass = power(x)
		}
		atoms = append(atoms, atom{mass.Quo(mass, sum), power(steps - 2*x)})
	}
	return atoms
}

// product enumerates all outcomes of independent losses.
func product(factors [][]atom) []atom {
	all := []atom{{number(1), number(1)}}
	for _, f := range factors {
		var next []atom
		for _, a := range all {
			for _, b := range f {
				next = append(next, atom{new(big.Float).Mul(a.mass, b.mass), new(big.Float).Mul(a.inverse, b.inverse)})
			}
		}
		all = next
	}
	return all
}

// profile returns the exact δ(ε).
func profile(atoms []atom, epsilon float64) *big.Float {
	e, sum := exp(number(epsilon)), number(0)
	for _, a := range atoms {
		rest := new(big.Float).Mul(e, a.inverse)
		if rest.Sub(number(1), rest); rest.Sign() > 0 {
			sum.Add(sum, rest.Mul(rest, a.mass))
		}
	}
	if sum.Cmp(number(1)) > 0 { // by the last of the 260 digits
		return number(1)
	}
	return sum
}

// random returns a list of distributions and their exact atoms.
func random(rng *rand.Rand, most int) (laws []*Measure, factors [][]atom, total float64) {
	scale := math.Exp(-5 * rng.Float64())
	for n := 1 + rng.IntN(most); n > 0; n-- {
		epsilon := scale * math.Exp(3*rng.Float64())
		if rng.IntN(4) == 0 {
			epsilon = scale // so that kinds repeat, and lattices agree
		}
		total += epsilon
		if rng.IntN(3) == 0 && most < 7 {
			steps := 2 + rng.IntN(3)
			laws, factors = append(laws, Lattice(epsilon, steps)), append(factors, lattice(epsilon/float64(steps), steps))
			continue
		}
		laws, factors = append(laws, Response(epsilon)), append(factors, response(epsilon))
	}
	return laws, factors, total
}

// checkAbove fails unless got is at least the exact profile, with no tolerance, at many ε, negative
// ones included. It returns the greatest excess at ε ≥ 0.
func checkAbove(t *testing.T, rng *rand.Rand, got func(float64) float64, atoms []atom, total float64) (worst float64) {
	t.Helper()
	for range 12 {
		epsilon := total * (2.2*rng.Float64() - 1.1)
		exact := profile(atoms, epsilon)
		bound := got(epsilon)
		if number(bound).Cmp(exact) < 0 {
			t.Fatalf("%g at ε = %g is below %.20g", bound, epsilon, exact)
		}
		if x, _ := exact.Float64(); epsilon >= 0 {
			worst = max(worst, bound-x)
		}
	}
	return worst
}

// Random lists, composed on 16 points only, against the enumeration of all outcomes in 200
// digits.
func TestNeverBelowEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 20))
	sum := 0.0
	for i := range dptest.Full(1000, 400) {
		laws, factors, total := random(rng, 4+3*(i%2))
		atoms := product(factors)
		points := 16
		if i%10 == 0 {
			points = 1024
		}
		whole := All(laws, points)
		worst := checkAbove(t, rng, whole.Delta, atoms, total)
		if points == 1024 {
			sum = max(sum, worst)
		}
		require.LessOrEqual(t, whole.Points(), points)
	}
	require.Less(t, sum, 2e-2)
}

// Powers, coarsened dozens of times on 16 points, of a distribution with a mass at ∞.
func TestPowersNeverBelowEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 20))
	for _, n := range []int{1, 2, 3, 7, 8, 60, 255} {
		for _, epsilon := range []float64{0.003, 0.1, 1, 3} {
			m := Response(epsilon)
			p := m.Power(uint64(n), 16)
			// n+1 atoms: the number of +ε is binomial.
			plus, minus := response(epsilon)[0], response(epsilon)[1]
			var atoms []atom
			choose := new(big.Int).SetInt64(1)
			for k := 0; k <= n; k++ {
				a := atom{new(big.Float).SetPrec(digits).SetInt(choose), number(1)}
				for i := range n {
					b := plus
					if i >= k {
						b = minus
					}
					a.mass.Mul(a.mass, b.mass)
					a.inverse.Mul(a.inverse, b.inverse)
				}
				atoms = append(atoms, a)
				choose.Mul(choose, big.NewInt(int64(n-k)))
				choose.Quo(choose, big.NewInt(int64(k+1)))
			}
			checkAbove(t, rng, p.Delta, atoms, float64(n)*epsilon)
			exact := m.Power(uint64(n), 1024)
			require.LessOrEqual(t, exact.Points(), n+1)
			require.Less(t, checkAbove(t, rng, exact.Delta, atoms, float64(n)*epsilon), 1e-9, "nothing is coarsened")
		}
	}
}

// A mass at ∞ beside the losses: δ + (1−δ)·profile.
func TestEscape(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 20))
	for range 100 {
		laws, factors, total := random(rng, 3)
		hidden := number(1)
		for _, m := range laws {
			w := 0.3 * rng.Float64()
			for i := range m.mass {
				m.mass[i] *= (1 - w) * (1 + 0x1p-50)
			}
			m.infinite = w
			hidden.Mul(hidden, new(big.Float).Sub(number(1), number(w)))
		}
		atoms := product(factors)
		for i := range atoms {
			atoms[i].mass.Mul(atoms[i].mass, hidden)
		}
		atoms = append(atoms, atom{new(big.Float).Sub(number(1), hidden), number(0)})
		checkAbove(t, rng, All(laws, 16).Delta, atoms, total)
	}
}

// Both weights of a mass that is moved to the lattice are rounded up, and the tails that are
// dropped are kept.
func TestStepsRoundUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 20))
	for range 300 {
		h := math.Exp(8*rng.Float64() - 7)
		// One atom at distance h from both ends of a cell of 2h.
		m := &Measure{base: 0, step: h, mass: []float64{0, 1, 0}, releases: 1}
		m.coarsen()
		e := exp(number(h))
		higher := new(big.Float).Quo(e, new(big.Float).Add(e, number(1)))
		lower := new(big.Float).Quo(number(1), new(big.Float).Add(e, number(1)))
		require.GreaterOrEqual(t, number(m.mass[1]).Cmp(higher), 0)
		require.GreaterOrEqual(t, number(m.mass[0]).Cmp(lower), 0)
		require.Less(t, m.mass[0]+m.mass[1], 1+1e-12)

		// One atom anywhere in a cell.
		step := h * (0.1 + 3*rng.Float64())
		wide := &Measure{base: 0, step: h, mass: []float64{0, 1}, releases: 1}
		on := wide.on(step)
		j := int(h / step)
		d := new(big.Float).Sub(number(h), new(big.Float).Mul(number(float64(j)), number(step)))
		rest := new(big.Float).Sub(number(step), d)
		inverse := func(x *big.Float) *big.Float { return exp(new(big.Float).Neg(x)) }
		less := func(x *big.Float) *big.Float { return new(big.Float).Sub(number(1), x) }
		higher = new(big.Float).Quo(less(inverse(d)), less(inverse(number(step))))
		lower = new(big.Float).Mul(inverse(d), new(big.Float).Quo(less(inverse(rest)), less(inverse(number(step)))))
		lower.Mul(lower, number(1-0x1p-40)) // the atom itself was moved up by an ulp
		require.GreaterOrEqual(t, number(on.mass[j+1]).Cmp(higher), 0)
		require.GreaterOrEqual(t, number(on.mass[j]).Cmp(lower), 0)
	}
	m := &Measure{base: 0, step: 1, mass: []float64{0x1p-210, 0x1p-205, 0.5, 0.5, 0x1p-206, 0x1p-203}, releases: 1}
	m.trim()
	require.Len(t, m.mass, 2)
	require.GreaterOrEqual(t, m.base, 2.0)
	require.Greater(t, m.infinite, 0x1p-203)
	require.GreaterOrEqual(t, m.mass[0], 0.5)
	m = &Measure{base: 0, step: 1, mass: []float64{0x1p-210, 0x1p-205, 0x1p-190, 1}, releases: 1}
	m.trim()
	require.GreaterOrEqual(t, m.mass[0], 0x1p-190+0x1p-205)

	// Both masses of randomized response are at least the true ones.
	for range 2000 {
		epsilon := math.Exp(20*rng.Float64() - 15)
		m, exact := Response(epsilon), response(epsilon)
		require.GreaterOrEqual(t, number(m.mass[1]).Cmp(exact[0].mass), 0)
		require.GreaterOrEqual(t, number(m.mass[0]).Cmp(exact[1].mass), 0)
	}
}

// Every sum of products is rounded up, for lengths that are and are not multiples of the block, and
// tiny masses do not underflow.
func TestConvolveRoundsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 20))
	for range 60 {
		list := func() []float64 {
			x := make([]float64, 1+rng.IntN(23))
			for i := range x {
				switch rng.IntN(4) {
				case 0:
				case 1:
					x[i] = floor
				default:
					x[i] = rng.Float64() + 0x1p-300
				}
			}
			return x
		}
		a, b := list(), list()
		c := convolve(a, b)
		require.Len(t, c, len(a)+len(b)-1)
		for k := range c {
			exact := number(0)
			for i := range a {
				if j := k - i; j >= 0 && j < len(b) {
					exact.Add(exact, new(big.Float).Mul(number(a[i]), number(b[j])))
				}
			}
			require.GreaterOrEqual(t, number(c[k]).Cmp(exact), 0)
			require.InEpsilon(t, 1+c[k], 1+func() float64 { x, _ := exact.Float64(); return x }(), 1e-13)
		}
	}
}
