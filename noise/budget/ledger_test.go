package budget

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func newLedger(t *testing.T, epsilon, delta float64, r Relation) *Ledger {
	t.Helper()
	l, err := NewLedger(epsilon, delta, r)
	require.NoError(t, err)
	return l
}

// spendAll spends g until it is refused, and returns how often it was accepted.
func spendAll(t *testing.T, l *Ledger, g Guarantee) int {
	t.Helper()
	for n := 0; ; n++ {
		before := l.Spent()
		if err := l.Spend(g); err != nil {
			require.ErrorIs(t, err, ErrBudget)
			require.Equal(t, before, l.Spent(), "a refusal takes nothing")
			return n
		}
	}
}

func TestNewLedgerRejects(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, epsilon := range []float64{-1, nan, inf, -inf, 5e-324, 0x1p-901, 0x1p901} {
		_, err := NewLedger(epsilon, 0, AddRemove)
		require.ErrorIs(t, err, ErrParams)
		require.Contains(t, err.Error(), "epsilon")
	}
	for _, delta := range []float64{-1e-9, nan, inf, 5e-324, 1, 2} {
		_, err := NewLedger(1, delta, AddRemove)
		require.ErrorIs(t, err, ErrParams)
		require.Contains(t, err.Error(), "delta")
	}
	for _, r := range []Relation{0, 6} {
		_, err := NewLedger(1, 0, r)
		require.ErrorIs(t, err, ErrParams)
	}
	for _, epsilon := range []float64{0, math.Copysign(0, -1), 0x1p-900, 1, 0x1p900} {
		for _, delta := range []float64{0, math.Copysign(0, -1), 0x1p-1022, 1 - 0x1p-53} {
			l := newLedger(t, epsilon, delta, L2)
			require.Equal(t, PureDP(0, L2), l.Spent())
			require.NoError(t, l.Spend(l.Remaining()), "%v", l)
		}
	}
}

func TestLedgerRefuses(t *testing.T) {
	l := newLedger(t, 1, 1e-6, AddRemove)
	require.NoError(t, l.Spend(ApproxDP(0.25, 1e-7, AddRemove)))
	before := l.Spent()
	for _, r := range []Relation{0, Replace, L1} {
		require.ErrorIs(t, l.Spend(PureDP(0, r)), ErrMismatch)
		require.False(t, l.Accepts(PureDP(0, r)))
	}
	for _, g := range []Guarantee{{relation: AddRemove}, PureDP(-1, AddRemove), PureDP(2, AddRemove), ApproxDP(0, 1e-6, AddRemove), ZCDP(1, AddRemove), PureDP(math.MaxFloat64, AddRemove)} {
		err := l.Spend(g)
		require.ErrorIs(t, err, ErrBudget)
		require.Contains(t, err.Error(), g.String()+" asked, (0.75, 9e-07)-DP under AddRemove remains")
		require.False(t, l.Accepts(g))
	}
	require.Equal(t, before, l.Spent())
	require.Equal(t, "(0.25, 1e-07)-DP under AddRemove of (1, 1e-06)-DP under AddRemove spent", l.String())

	var zero Ledger // of no relation: nothing fits
	require.ErrorIs(t, zero.Spend(PureDP(0, L1)), ErrMismatch)
	require.ErrorIs(t, zero.Spend(Guarantee{}), ErrBudget)
	require.Equal(t, Guarantee{}, zero.Remaining())
	require.Equal(t, Guarantee{}, zero.Spent())
}

// A budget cut into n equal float64 parts is spent by all n, and not by one part more.
func TestLedgerPaysForEqualParts(t *testing.T) {
	for _, epsilon := range []float64{1, 0.7, 3.3, 0} {
		for _, delta := range []float64{1e-6, 0.3, 0} {
			for _, n := range []int{1, 2, 3, 7, 10, 49, 1000, full(20_000, 2_000)} {
				l := newLedger(t, epsilon, delta, L1)
				part := ApproxDP(epsilon/float64(n), delta/float64(n), L1)
				for i := range n {
					require.NoError(t, l.Spend(part), "%d of %d of (%g, %g)", i, n, epsilon, delta)
				}
				if epsilon > 0 || delta > 0 {
					require.False(t, l.Accepts(part), "%d of (%g, %g) and one more", n, epsilon, delta)
				}
			}
		}
	}
	l := newLedger(t, 1, 1e-6, AddRemove)
	require.Equal(t, 10, spendAll(t, l, ApproxDP(0.1, 1e-7, AddRemove)))
	// What is reported is the true sum, rounded up: ten times the float64 0.1 is above 1.
	require.Equal(t, math.Nextafter(1, 2), l.Spent().EpsilonAt(1e-6))
}

func TestLedgerKeepsExactSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := newLedger(t, 1e9, 0.9, L1)
	sums := [4]*big.Rat{new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)}
	for range 3000 {
		g := ApproxDP(math.Exp(-20*rng.Float64()), 1e-5*rng.Float64(), L1)
		if rng.IntN(2) == 0 {
			g = ZCDP(math.Exp(-20*rng.Float64()), L1)
		}
		require.NoError(t, l.Spend(g))
		for i, x := range []float64{g.epsilon, g.halfSquares, g.delta, g.rho} {
			sums[i].Add(sums[i], new(big.Rat).SetFloat64(x))
		}
	}
	spent := l.Spent()
	for i, x := range []float64{spent.epsilon, spent.halfSquares, spent.delta, spent.rho} {
		require.GreaterOrEqual(t, new(big.Rat).SetFloat64(x).Cmp(sums[i]), 0)
		require.Negative(t, new(big.Rat).SetFloat64(math.Nextafter(x, 0)).Cmp(sums[i]), "the least float64 that is not below")
	}
}

// An amount beyond the last of the 200 digits that are kept is not lost.
func TestLedgerSumsAreRoundedUp(t *testing.T) {
	l := newLedger(t, 3, 0, AddRemove)
	require.NoError(t, l.Spend(PureDP(1, AddRemove)))
	require.NoError(t, l.Spend(PureDP(0x1p-300, AddRemove)))
	require.Equal(t, math.Nextafter(1, 2), l.Spent().epsilon)
}

func TestLedgerConcurrentSpending(t *testing.T) {
	for _, c := range []struct {
		g    Guarantee
		want int
	}{{ApproxDP(0.01, 1e-8, AddRemove), 100}, {ZCDP(1e-4, AddRemove), 0}, {PureDP(0.01, AddRemove), 0}} {
		if c.want == 0 { // by one goroutine
			c.want = spendAll(t, newLedger(t, 1, 1e-6, AddRemove), c.g)
		}
		l := newLedger(t, 1, 1e-6, AddRemove)
		accepted := make([]int, 64)
		var group sync.WaitGroup
		for i := range accepted {
			group.Go(func() {
				for range 12 {
					if err := l.Spend(c.g); err == nil {
						accepted[i]++
					} else if !errors.Is(err, ErrBudget) {
						t.Error(err)
					}
					l.Accepts(c.g)
					_ = l.Spent()
				}
			})
		}
		group.Wait()
		total := 0
		for _, n := range accepted {
			total += n
		}
		require.Equal(t, c.want, total, "%v", c.g)
		require.Less(t, c.want, 64*12)
	}
}

func TestLedgerPaysByAdvancedComposition(t *testing.T) {
	l := newLedger(t, 1, 1e-6, AddRemove)
	n := spendAll(t, l, PureDP(0.01, AddRemove))
	// Σε²/2 ≤ the greatest ρ with ε(ρ, 1e-6) ≤ 1, where it was basic composition that paid for the first hundred.
	rho := 0.0
	for step := 0.5; step > 1e-12; step /= 2 {
		if ZCDP(rho+step, AddRemove).EpsilonAt(1e-6) <= 1 {
			rho += step
		}
	}
	require.Equal(t, int(rho/0.00005), n)
	require.Greater(t, n, 350)

	zcdp := newLedger(t, 1, 1e-6, L2)
	require.Equal(t, int(rho/1e-5), spendAll(t, zcdp, ZCDP(1e-5, L2)))

	pure := newLedger(t, 1, 0, AddRemove)
	require.Equal(t, 100, spendAll(t, pure, PureDP(0.01, AddRemove)))
	require.ErrorIs(t, pure.Spend(ZCDP(1e-300, AddRemove)), ErrBudget, "zCDP needs a δ")
}

// One large release and many Gaussian ones: basic composition of the large one with the zCDP of the others.
func TestLedgerMixtures(t *testing.T) {
	l := newLedger(t, 2, 1e-6, L2)
	require.NoError(t, l.Spend(ApproxDP(1, 1e-7, L2)))
	n := spendAll(t, l, ZCDP(1e-4, L2))
	require.Greater(t, n, 50)
	whole := compose(t, ApproxDP(1, 1e-7, L2), ZCDP(1e-4*float64(n), L2))
	require.LessOrEqual(t, whole.EpsilonAt(1e-6), 2*(1+1e-12))
	require.Greater(t, compose(t, whole, ZCDP(1e-4, L2)).EpsilonAt(1e-6), 2.0)
}

func TestLedgerRemaining(t *testing.T) {
	l := newLedger(t, 1, 1e-6, AddRemove)
	require.Equal(t, ApproxDP(1, 1e-6, AddRemove), l.Remaining())
	require.NoError(t, l.Spend(ApproxDP(0.25, 0, AddRemove)))
	require.Equal(t, ApproxDP(0.75, 1e-6, AddRemove), l.Remaining())
	require.NoError(t, l.Spend(ApproxDP(0, 0.5e-6, AddRemove)))
	require.Equal(t, ApproxDP(0.75, 0.5e-6, AddRemove), l.Remaining())

	// After zCDP, the δ is for its conversion.
	l = newLedger(t, 1, 1e-6, AddRemove)
	require.NoError(t, l.Spend(ZCDP(0.001, AddRemove)))
	left := l.Remaining()
	require.Zero(t, left.delta)
	require.InEpsilon(t, 1-ZCDP(0.001, AddRemove).EpsilonAt(1e-6), left.epsilon, 1e-9)

	// After many small releases, basic composition has less to offer than the conversion of all.
	l = newLedger(t, 1, 1e-6, AddRemove)
	for range 90 {
		require.NoError(t, l.Spend(PureDP(0.01, AddRemove)))
	}
	left = l.Remaining()
	require.Zero(t, left.delta)
	require.Greater(t, left.epsilon, 0.15)

	require.Equal(t, PureDP(3, L1), newLedger(t, 3, 0, L1).Remaining())
	require.Equal(t, ApproxDP(0, 1e-3, L1), newLedger(t, 0, 1e-3, L1).Remaining())
}

// Whatever is spent in whatever order: the whole is within the budget, what remains can be spent, and nothing but dust after it.
func TestLedgerProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	logUniform := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rng.Float64()*math.Log(hi/lo)) }
	runs, kinds := full(300, 60), map[bool]int{}
	for range runs {
		epsilon, delta := logUniform(1e-3, 30), logUniform(1e-15, 0.5)
		if rng.IntN(6) == 0 {
			delta = 0
		}
		l := newLedger(t, epsilon, delta, Replace)
		var accepted []Guarantee
		small := rng.IntN(2) == 0
		mixed := rng.IntN(2) == 0
		for range 1 + rng.IntN(60) {
			each := logUniform(1e-4, 1) * epsilon
			if small {
				each = 0.02 * epsilon
			}
			g := PureDP(each, Replace)
			switch pick := rng.IntN(4); {
			case pick == 0:
				g = ApproxDP(each, delta*logUniform(1e-4, 0.5), Replace)
			case pick == 1 && mixed:
				g = ZCDP(each*each/2, Replace)
			}
			accepts := l.Accepts(g)
			err := l.Spend(g)
			require.Equal(t, accepts, err == nil)
			if err == nil {
				accepted = append(accepted, g)
			}
			require.LessOrEqual(t, l.Spent().EpsilonAt(delta), epsilon*(1+0x1p-50))
		}
		left := l.Remaining()
		kinds[left.delta > 0]++
		require.NoError(t, l.Spend(left), "%v, %v remains", l, left)
		accepted = append(accepted, left)
		whole := compose(t, accepted...)
		require.LessOrEqual(t, whole.EpsilonAt(delta*(1+1e-13)), epsilon*(1+1e-12))
		require.LessOrEqual(t, whole.DeltaAt(epsilon*(1+1e-12)), delta*(1+1e-9))

		dust := l.Remaining()
		// Where zCDP decides, ε″²/2 fits into the roundings of ρ, some 2⁻⁴⁸·ρ, and ρ < ε + √ε at these δ.
		require.LessOrEqual(t, dust.epsilon, 0x1p-22*(epsilon+math.Sqrt(epsilon)), "%v after %v", l, left)
		require.LessOrEqual(t, dust.delta, 0x1p-30*delta)
		for _, more := range []Guarantee{PureDP(1e-3*epsilon, Replace), ApproxDP(0, 1e-3*delta+1e-300, Replace), ZCDP(1e-5*epsilon*epsilon, Replace)} {
			require.False(t, l.Accepts(more), "%v accepts %v after %v", l, more, left)
		}
	}
	require.Greater(t, min(kinds[true], kinds[false]), runs/15, "both kinds of remainder")
}

func BenchmarkLedger(b *testing.B) {
	l, err := NewLedger(1, 1e-6, AddRemove)
	if err != nil {
		b.Fatal(err)
	}
	for range 100 {
		if err := l.Spend(PureDP(0.005, AddRemove)); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("accepted", func(b *testing.B) {
		for b.Loop() {
			_ = l.Spend(PureDP(1e-12, AddRemove))
		}
	})
	b.Run("refused", func(b *testing.B) {
		for b.Loop() {
			_ = l.Spend(PureDP(2, AddRemove))
		}
	})
}

func ExampleLedger() {
	budget, err := NewLedger(1, 1e-6, AddRemove)
	if err != nil {
		fmt.Println(err)
		return
	}
	histogram := ApproxDP(0.5, 5e-7, AddRemove)
	fmt.Println(budget.Spend(histogram))
	fmt.Println(budget.Remaining())
	fmt.Println(budget.Spend(PureDP(0.75, AddRemove)))
	// Output:
	// <nil>
	// (0.5, 5e-07)-DP under AddRemove
	// noise: 0.75-DP under AddRemove asked, (0.5, 5e-07)-DP under AddRemove remains: privacy budget exceeded
}
