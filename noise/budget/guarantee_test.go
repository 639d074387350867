package budget

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// Units of the tests.
var (
	one   = Element(AddRemove)
	rowed = Row(Replace)
	at1   = L1(1)
	at2   = L2(1)
)

func TestGuaranteeExactValues(t *testing.T) {
	inf := math.Inf(1)
	pure := PureDP(1, one)
	assert.Equal(t, 1.0, pure.EpsilonAt(0))
	assert.Zero(t, pure.DeltaAt(1))
	assert.Zero(t, pure.DeltaAt(inf))
	// the total variation of randomized response
	assert.InEpsilon(t, math.Tanh(0.5), pure.DeltaAt(0), 1e-14)
	assert.Zero(t, pure.EpsilonAt(math.Tanh(0.5)*(1+1e-12)))
	assert.Less(t, pure.EpsilonAt(1e-3), 1.0)
	assert.InEpsilon(t, 1+math.Log1p(-1e-3*(1+math.Exp(-1))), pure.EpsilonAt(1e-3), 1e-14)

	approx := ApproxDP(1, 1e-6, rowed)
	assert.Equal(t, 1.0, approx.EpsilonAt(1e-6))
	assert.Equal(t, inf, approx.EpsilonAt(1e-7))
	assert.Equal(t, inf, approx.EpsilonAt(0))
	assert.Equal(t, 1e-6, approx.DeltaAt(1))
	assert.Equal(t, 1e-6, approx.DeltaAt(5))
	assert.Less(t, approx.EpsilonAt(2e-6), 1.0)
	assert.InEpsilon(t, 1e-6+(1-1e-6)*(math.E-math.Exp(0.5))/(1+math.E), approx.DeltaAt(0.5), 1e-14)
	assert.Equal(t, rowed, approx.Unit())

	zcdp := ZCDP(0.5, at2)
	assert.Equal(t, inf, zcdp.EpsilonAt(0))
	assert.Greater(t, zcdp.DeltaAt(1000), 0.0) // never 0, also where it underflows
	assert.Equal(t, 1.0, ZCDP(1e6, at2).DeltaAt(0))
	for _, g := range []Guarantee{pure, approx, zcdp} {
		assert.Zero(t, g.EpsilonAt(1))
		assert.Zero(t, g.EpsilonAt(inf))
	}
	for _, g := range []Guarantee{PureDP(0, at1), ZCDP(0, at1), ApproxDP(0, 0, at1)} {
		// releases nothing
		assert.Zero(t, g.EpsilonAt(0))
		assert.Zero(t, g.DeltaAt(0))
	}
	assert.Equal(t, PureDP(1, at1), ApproxDP(1, 0, at1))
	assert.Equal(t, PureDP(0, at1), PureDP(math.Copysign(0, -1), at1))
}

func TestGuaranteeVoid(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	void := []Guarantee{
		{}, PureDP(-1, at1), PureDP(nan, at1), PureDP(inf, at1), PureDP(-5e-324, at1), PureDP(1, Unit{}), PureDP(1, L1(0)), ApproxDP(-1, 1e-6, at1), ApproxDP(nan, 1e-6, at1),
		ApproxDP(1, -1e-6, at1), ApproxDP(1, nan, at1), ApproxDP(1, 1, at1), ApproxDP(1, inf, at1), ApproxDP(1, 1e-6, Unit{}), ApproxDP(inf, 1e-6, at1),
		ZCDP(-1, at1), ZCDP(nan, at1), ZCDP(inf, at1), ZCDP(1, Element(77)), GDP(-1, at1), GDP(nan, at1), GDP(inf, at1), GDP(1e200, at1), GDP(1, Unit{}),
		dptest.OK(Compose(PureDP(nan, at1), PureDP(1, at1)))(t), dptest.OK(Compose(PureDP(1, at1), ZCDP(-1, at1)))(t), dptest.OK(Compose(ApproxDP(1, 0.5, at1), ApproxDP(1, 0.5, at1)))(t), dptest.OK(Compose(Guarantee{}))(t),
		PureDP(0.1, one).Times(0), PureDP(0.1, one).Times(-1), ApproxDP(0, 1e-3, one).Times(1000),
	}
	for i, g := range void {
		for _, x := range []float64{0, 1e-300, 0.5, 0.999} {
			assert.Equal(t, inf, g.EpsilonAt(x), "%d", i)
			assert.Equal(t, 1.0, g.DeltaAt(x), "%d", i)
		}
		assert.Equal(t, 1.0, g.DeltaAt(inf))
		assert.Contains(t, g.String(), "no privacy promised")
	}
	for _, g := range []Guarantee{PureDP(1, at1), ApproxDP(1, 1e-6, at1), ZCDP(1, at1), dptest.OK(Compose(PureDP(1, at1), ZCDP(1, at1)))(t)} {
		for _, x := range []float64{nan, -1, -inf, -5e-324} {
			assert.Equal(t, inf, g.EpsilonAt(x))
			assert.Equal(t, 1.0, g.DeltaAt(x))
		}
	}
}

func TestComposeErrors(t *testing.T) {
	require.ErrorIs(t, dptest.Err(Compose()), ErrParams)
	for _, a := range allUnits {
		for _, b := range allUnits {
			g, err := Compose(PureDP(1, a), ZCDP(1, b))
			if a == b {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, ErrMismatch)
			assert.Contains(t, err.Error(), a.String())
			assert.Contains(t, err.Error(), b.String())
			assert.Equal(t, Guarantee{}, g)
		}
	}
	void := dptest.OK(Compose(PureDP(1, at1), Guarantee{}))(t)
	require.Equal(t, Guarantee{}, void)
}

func TestComposeSums(t *testing.T) {
	assert.Equal(t, ApproxDP(1, 1e-6, at1), dptest.OK(Compose(ApproxDP(1, 1e-6, at1)))(t))
	assert.Equal(t, 3.0, dptest.OK(Compose(PureDP(1, at1), PureDP(2, at1)))(t).EpsilonAt(0))
	assert.Equal(t, 0x3p-20, dptest.OK(Compose(ApproxDP(1, 0x1p-20, at1), ApproxDP(2, 0x1p-19, at1)))(t).DeltaAt(3))
	assert.Equal(t, ZCDP(3, at2), dptest.OK(Compose(ZCDP(1, at2), ZCDP(2, at2)))(t))
	// Pure and zCDP: not worse than basic composition, nor than zCDP of both.
	g := dptest.OK(Compose(PureDP(0.1, at2), ZCDP(0.3, at2)))(t)
	assert.LessOrEqual(t, g.EpsilonAt(1e-6), (0.1+ZCDP(0.3, at2).EpsilonAt(1e-6))*(1+1e-14))
	assert.LessOrEqual(t, g.EpsilonAt(1e-6), ZCDP(0.305, at2).EpsilonAt(1e-6)*(1+1e-14))
	// μ-GDP is Gaussian noise, exactly: four of μ are one of 2μ.
	for _, mu := range []float64{1e-3, 0.1, 1, 3} {
		g := GDP(mu, at2).Times(4)
		for _, epsilon := range []float64{0, 0.01, 0.5, 1, 5} {
			exact := dptest.OK(noise.GaussianDelta(1, epsilon, 2*mu))(t)
			assert.InEpsilon(t, exact, g.DeltaAt(epsilon), 1e-9)
			assert.GreaterOrEqual(t, g.DeltaAt(epsilon), exact*(1-1e-11))
		}
	}
}

// The exact δ of k randomized responses at ε₀ is Σ_j C(k, j)·max(0, p^{k−j}q^j − e^ε·p^j q^{k−j}),
// and no claim may be lower.
func TestComposeNeverBelowRandomizedResponse(t *testing.T) {
	for _, k := range []int{1, 2, 5, 40} {
		for _, each := range []float64{0.05, 0.4, 1.5} {
			for _, leak := range []float64{0, 1e-4} {
				gs := make([]Guarantee, k)
				for i := range gs {
					gs[i] = ApproxDP(each, leak, rowed)
				}
				g := dptest.OK(Compose(gs...))(t)
				p := 1 / (1 + math.Exp(-each))
				for epsilon := 0.0; epsilon < each*float64(k)*1.1; epsilon += each * float64(k) / 37 {
					exact, choose := 0.0, 1.0
					for j := 0; j <= k; j++ {
						i := float64(j)
						up := math.Pow(p, float64(k)-i) * math.Pow(1-p, i)
						down := math.Pow(p, i) * math.Pow(1-p, float64(k)-i)
						exact += choose * max(0, up-math.Exp(epsilon)*down)
						choose *= float64(k-j) / (i + 1)
					}
					hidden := math.Pow(1-leak, float64(k))
					exact = 1 - hidden + hidden*exact
					assert.GreaterOrEqual(t, g.DeltaAt(epsilon), exact-1e-13, "%d of (%g, %g) at %g", k, each, leak, epsilon)
					if k == 1 && epsilon < each {
						assert.InEpsilon(t, exact, g.DeltaAt(epsilon), 1e-9)
					}
				}
			}
		}
	}
}

func TestGuaranteeString(t *testing.T) {
	for want, g := range map[string]Guarantee{
		"ε = 1 for one element, added or removed":                                                PureDP(1, one),
		"ε = 0 for one key with all its occurrences, added or removed":                           ZCDP(0, Key(AddRemove)),
		"ε = 0.5, δ = 1e-6 for one row, replaced":                                                ApproxDP(0.5, 1e-6, rowed),
		"ρ = 0.5 (zCDP) for vectors at ℓ₂ distance 1":                                            ZCDP(0.5, at2),
		"μ = 0.1 (GDP) for vectors at ℓ₂ distance 1":                                             GDP(0.1, at2),
		"ε = 1, ρ = 0.5 (zCDP) for vectors at ℓ₁ distance 1":                                     dptest.OK(Compose(ZCDP(0.5, at1), PureDP(1, at1)))(t),
		"ε = 0, δ = 0.25, ρ = 0.5 (zCDP) (hardly any protection) for vectors at ℓ₁ distance 2.5": dptest.OK(Compose(ZCDP(0.5, L1(2.5)), ApproxDP(0, 0.25, L1(2.5))))(t),
		"ε = 1, δ = 1e-6 for one user (at most 20 keys), added or removed":                       ApproxDP(1, 1e-6, User(20, AddRemove)),
		"ε = 1e300 (hardly any protection) for one user (at most 1 key), replaced":               PureDP(1e300, User(1, Replace)),
		"ε = 3 for 3 users (at most 5 keys each), added or removed":                              dptest.OK(PureDP(1, User(5, AddRemove)).Group(3))(t),
		"ε = 2 for 2 parties, replaced":                                                          dptest.OK(PureDP(1, Party(Replace)).Group(2))(t),
		"ε = 2 for 2 keys with all their occurrences, added or removed":                          dptest.OK(PureDP(1, Key(AddRemove)).Group(2))(t),
		"ε = 2 for 2 elements, replaced":                                                         dptest.OK(PureDP(1, Element(Replace)).Group(2))(t),
		"ε = 1 for one user, added or removed":                                                   PureDP(1, User(0, AddRemove)),
		"no privacy promised":                                                                    PureDP(-1, at1),
	} {
		assert.Equal(t, want, g.String())
	}
}

func FuzzCompose(f *testing.F) {
	f.Add(1.0, 1e-6, 0.5, 0.3, 0.0, 1e-9)
	f.Add(0.0, 0.5, 0.0, 5e-324, 0.4, 0.9)
	f.Add(1e300, 0.0, 1e-300, 1e-5, 1e-5, 1e-300)
	f.Fuzz(func(t *testing.T, e1, d1, rho, e2, d2, at float64) {
		a, b, c := ApproxDP(e1, d1, at1), ZCDP(rho, at1), ApproxDP(e2, d2, at1)
		ab := dptest.OK(Compose(a, b))(t)
		left, right, flat := dptest.OK(Compose(ab, c))(t), dptest.OK(Compose(a, dptest.OK(Compose(b, c))(t)))(t), dptest.OK(Compose(c, b, a))(t)
		for _, g := range []Guarantee{a, b, c, ab, left} {
			epsilon, delta := g.EpsilonAt(at), g.DeltaAt(at)
			if !(epsilon >= 0) || !(delta >= 0 && delta <= 1) {
				t.Fatalf("%v at %g: ε = %g, δ = %g", g, at, epsilon, delta)
			}
			// Composing more is never better than its parts, beyond rounding; but for the
			// conversion of ρ alone, which is not convex in e^ε, so that the accountant's averages
			// over losses are below it at small ε.
			if g.asked.Rho > 0 && left.releases().Composes() {
				continue
			}
			if left.DeltaAt(at) < delta*(1-1e-9)-1e-300 {
				t.Fatalf("%v at %g: δ = %g, but its part %v has %g", left, at, left.DeltaAt(at), g, delta)
			}
		}
		// Associative and commutative up to the rounding of the sums.
		for _, g := range []Guarantee{right, flat} {
			if math.Abs(g.DeltaAt(at)-left.DeltaAt(at)) > 1e-9*left.DeltaAt(at)+1e-300 {
				t.Fatalf("%v and %v differ at %g: %g, %g", g, left, at, g.DeltaAt(at), left.DeltaAt(at))
			}
		}
	})
}

func ExampleCompose() {
	user := User(3, AddRemove)
	histogram := PureDP(0.5, user)
	mean := ZCDP(0.05, user)
	both, err := Compose(histogram, mean)
	if err != nil {
		panic(err)
	}
	fmt.Println(both)
	fmt.Printf("ε = %.3f at δ = 1e-6\n", both.EpsilonAt(1e-6))
	// Output:
	// ε = 0.5, ρ = 0.05 (zCDP) for one user (at most 3 keys), added or removed
	// ε = 1.939 at δ = 1e-6
}

// Asking at the float64 sum of the parts' δ, however it was rounded, is asking at Σδ.
func TestEpsilonAtTheSumOfTheParts(t *testing.T) {
	for i := range 200 {
		deltas := []float64{1e-6, 1e-7 * float64(i+1), 3e-9 / float64(i+1), 1e-10}
		var gs []Guarantee
		forwards, backwards := 0.0, 0.0
		for j, delta := range deltas {
			gs = append(gs, ApproxDP(0.25, delta, one))
			forwards += delta
			backwards += deltas[len(deltas)-1-j]
		}
		g := dptest.OK(Compose(gs...))(t)
		assert.Equal(t, 1.0, g.EpsilonAt(forwards))
		assert.Equal(t, 1.0, g.EpsilonAt(backwards))
		assert.Equal(t, math.Inf(1), g.EpsilonAt(forwards*(1-1e-12)))
	}
}

// The text of a Guarantee says where there is hardly any.
func TestHardlyAnyProtection(t *testing.T) {
	for g, hardly := range map[Guarantee]bool{
		PureDP(20, one): false, PureDP(20.1, one): true, ApproxDP(1, 0.01, one): false, ApproxDP(1, 0.011, one): true,
		ZCDP(4, one): false, ZCDP(5, one): true, GDP(3, one): false, GDP(5, one): true, PureDP(1, one): false, Laplace(1000, one): true,
	} {
		require.Equal(t, hardly, strings.Contains(g.String(), " (hardly any protection) for one "), g.String())
	}
	// So does that of a Ledger whose δ is so large, before anything is spent.
	for delta, hardly := range map[float64]bool{0.9: true, 0.011: true, 0.01: false, 1e-6: false, 0: false} {
		l := dptest.OK(NewLedger(1, delta, one))(t)
		require.Equal(t, hardly, strings.Contains(l.String(), "at δ = "+number(delta)+" (hardly any protection), 0 releases"), l.String())
		require.Equal(t, hardly, strings.Contains(string(dptest.OK(l.MarshalJSON())(t)), "hardly any protection"))
	}
}
