package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

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
		require.Less(t, n, 20_000, "no test has so many")
	}
}

func TestNewLedgerRejects(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, epsilon := range []float64{-1, nan, inf, -inf, 5e-324, 0x1p-901, 0x1p901} {
		dptest.Refused(t, dptest.Err(NewLedger(epsilon, 0, one)), ErrParams, "epsilon")
	}
	for _, delta := range []float64{-1e-9, nan, inf, 5e-324, 1, 2} {
		dptest.Refused(t, dptest.Err(NewLedger(1, delta, one)), ErrParams, "delta")
	}
	for _, u := range []Unit{{}, Element(3), L1(math.NaN())} {
		require.ErrorIs(t, dptest.Err(NewLedger(1, 0, u)), ErrParams)
	}
	for _, epsilon := range []float64{0, math.Copysign(0, -1), 0x1p-900, 1, 0x1p900} {
		for _, delta := range []float64{0, math.Copysign(0, -1), 0x1p-1022, 1 - 0x1p-53} {
			l := dptest.OK(NewLedger(epsilon, delta, at2))(t)
			require.Equal(t, PureDP(0, at2), l.Spent())
			require.NoError(t, l.Spend(l.Remaining()), "%v", l)
		}
	}
}

func TestLedgerRefuses(t *testing.T) {
	l := dptest.OK(NewLedger(1, 1e-6, one))(t)
	require.NoError(t, l.Spend(ApproxDP(0.25, 1e-7, one)))
	before := l.Spent()
	for _, g := range []Guarantee{{}, PureDP(-1, one)} {
		require.ErrorIs(t, l.Spend(g), ErrBudget)
		require.ErrorContains(t, l.Spend(g), "the guarantee promises nothing")
		require.False(t, l.Accepts(g))
	}
	for _, g := range []Guarantee{PureDP(2, one), ApproxDP(0, 1e-6, one), ZCDP(1, one), PureDP(math.MaxFloat64, one)} {
		dptest.Refused(t, l.Spend(g), ErrBudget, g.String()+" asked, ε = 0.75, δ = 9e-7 for one element, added or removed remains")
		require.False(t, l.Accepts(g))
	}
	require.Equal(t, before, l.Spent())
	require.Equal(t, "ε = 0.25 of 1 at δ = 1e-6, 1 release, for one element, added or removed", l.String())

	var zero Ledger // of no relation: nothing fits
	require.ErrorIs(t, zero.Spend(PureDP(0, at1)), ErrMismatch)
	require.ErrorIs(t, zero.Spend(Guarantee{}), ErrBudget)
	require.Equal(t, Guarantee{}, zero.Remaining())
	require.Equal(t, Guarantee{}, zero.Spent())
}

// A budget cut into n equal float64 parts is spent by all n, and not by one part more.
func TestLedgerPaysForEqualParts(t *testing.T) {
	for _, epsilon := range []float64{1, 0.7, 3.3, 0} {
		for _, delta := range []float64{1e-6, 0.3, 0} {
			for _, n := range []int{1, 2, 3, 7, 10, 49, dptest.Full(20_000, 1_000)} {
				l := dptest.OK(NewLedger(epsilon, delta, at1))(t)
				part := ApproxDP(epsilon/float64(n), delta/float64(n), at1)
				for i := range n {
					require.NoError(t, l.Spend(part), "%d of %d of (%g, %g)", i, n, epsilon, delta)
				}
				if epsilon > 0 || delta > 0 {
					require.False(t, l.Accepts(part), "%d of (%g, %g) and one more", n, epsilon, delta)
				}
			}
		}
	}
	l := dptest.OK(NewLedger(1, 1e-6, one))(t)
	require.Equal(t, 10, spendAll(t, l, ApproxDP(0.1, 1e-7, one)))
	// What is reported is the true sum, rounded up: ten times the float64 0.1 is above 1.
	require.Equal(t, math.Nextafter(1, 2), l.Spent().EpsilonAt(1e-6))
}

func TestLedgerKeepsExactSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := dptest.OK(NewLedger(1e9, 0.9, at1))(t)
	sums := [4]*big.Rat{new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)}
	for n := range 3000 {
		g := ApproxDP(math.Exp(-20*rng.Float64()), 1e-5*rng.Float64(), at1)
		if rng.IntN(2) == 0 {
			g = ZCDP(math.Exp(-20*rng.Float64()), at1)
		}
		if n == 0 {
			g = PureDP(0x1p-900, at1) // far beyond the last digit of a float64
		}
		require.NoError(t, l.Spend(g))
		for i, x := range []float64{g.asked.Epsilon, g.asked.ResponseRho, g.asked.Delta, g.asked.Rho} {
			sums[i].Add(sums[i], new(big.Rat).SetFloat64(x))
		}
	}
	spent := l.Spent()
	for i, x := range []float64{spent.asked.Epsilon, spent.asked.ResponseRho, spent.asked.Delta, spent.asked.Rho} {
		require.GreaterOrEqual(t, new(big.Rat).SetFloat64(x).Cmp(sums[i]), 0)
		require.Negative(t, new(big.Rat).SetFloat64(math.Nextafter(x, 0)).Cmp(sums[i]), "the least float64 that is not below")
	}
}

func TestLedgerPaysByAdvancedComposition(t *testing.T) {
	l := dptest.OK(NewLedger(1, 1e-6, one))(t)
	n := spendAll(t, l, PureDP(0.01, one))
	// By the sums of binomials 562 releases have ε ≤ 1 and 563 more; basic composition paid for the
	// first hundred.
	require.Equal(t, 562, n)
	pure := dptest.OK(NewLedger(1, 0, one))(t)
	require.Equal(t, 100, spendAll(t, pure, PureDP(0.01, one)))
	require.ErrorIs(t, pure.Spend(ZCDP(1e-300, one)), ErrBudget, "zCDP needs a δ")
}

func TestLedgerRemaining(t *testing.T) {
	l := dptest.OK(NewLedger(1, 1e-6, one))(t)
	require.Equal(t, ApproxDP(1, 1e-6, one), l.Remaining())
	require.NoError(t, l.Spend(ApproxDP(0.25, 0, one)))
	require.Equal(t, ApproxDP(0.75, 1e-6, one), l.Remaining())
	require.NoError(t, l.Spend(ApproxDP(0, 0.5e-6, one)))
	require.Equal(t, ApproxDP(0.75, 0.5e-6, one), l.Remaining())

	// After zCDP, the δ is for its conversion.
	l = dptest.OK(NewLedger(1, 1e-6, one))(t)
	require.NoError(t, l.Spend(ZCDP(0.001, one)))
	left := l.Remaining()
	require.Zero(t, left.asked.Delta)
	require.InEpsilon(t, 1-ZCDP(0.001, one).EpsilonAt(1e-6), left.asked.Epsilon, 1e-2)
	require.GreaterOrEqual(t, left.asked.Epsilon, 1-ZCDP(0.001, one).EpsilonAt(1e-6))

	require.Equal(t, PureDP(3, at1), dptest.OK(NewLedger(3, 0, at1))(t).Remaining())
	require.Equal(t, ApproxDP(0, 1e-3, at1), dptest.OK(NewLedger(0, 1e-3, at1))(t).Remaining())
}

// Whatever is spent in whatever order: the whole is within the budget, and what remains can be
// spent. Without a δ nothing but dust is left then.
func TestLedgerProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	logUniform := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rng.Float64()*math.Log(hi/lo)) }
	runs, kinds := dptest.Full(200, 14), map[bool]int{}
	for range runs {
		epsilon, delta := logUniform(1e-3, 30), logUniform(1e-15, 0.5)
		if rng.IntN(6) == 0 {
			delta = 0
		}
		l := dptest.OK(NewLedger(epsilon, delta, rowed))(t)
		var accepted []Guarantee
		small := rng.IntN(2) == 0
		mixed := rng.IntN(2) == 0
		for step := range 1 + rng.IntN(60) {
			each := logUniform(1e-4, 1) * epsilon
			if small {
				each = 0.02 * epsilon
			}
			g := PureDP(each, rowed)
			switch pick := rng.IntN(4); {
			case pick == 0:
				g = ApproxDP(each, delta*logUniform(1e-4, 0.5), rowed)
			case pick == 1 && mixed:
				g = ZCDP(each*each/2, rowed)
			}
			accepts := l.Accepts(g)
			err := l.Spend(g)
			require.Equal(t, accepts, err == nil)
			if err == nil {
				accepted = append(accepted, g)
			}
			if step%8 == 0 || dptest.Long() { // most of the time of this test
				require.LessOrEqual(t, l.Spent().EpsilonAt(delta), epsilon*(1+0x1p-50))
			}
		}
		left := l.Remaining()
		kinds[left.asked.Delta > 0]++
		require.NoError(t, l.Spend(left), "%v, %v remains", l, left)
		accepted = append(accepted, left)
		whole := dptest.OK(Compose(accepted...))(t)
		require.LessOrEqual(t, whole.EpsilonAt(delta*(1+1e-13)), epsilon*(1+1e-12))
		require.LessOrEqual(t, whole.DeltaAt(epsilon*(1+1e-12)), delta*(1+1e-9))

		if delta > 0 {
			continue // what Remaining leaves then is not claimed to be dust
		}
		dust := l.Remaining()
		require.LessOrEqual(t, dust.asked.Epsilon, 0x1p-40*epsilon, "%v after %v", l, left)
		require.LessOrEqual(t, dust.asked.Delta, 0x1p-30*delta)
		for _, more := range []Guarantee{PureDP(1e-3*epsilon, rowed), ApproxDP(0, 1e-3*delta+1e-300, rowed), ZCDP(1e-5*epsilon*epsilon, rowed)} {
			require.False(t, l.Accepts(more), "%v accepts %v after %v", l, more, left)
		}
	}
	require.Positive(t, min(kinds[true], kinds[false]), "both kinds of remainder")
}

func ExampleLedger() {
	user := User(3, AddRemove)
	budget, err := NewLedger(1, 1e-6, user)
	if err != nil {
		panic(err)
	}
	histogram := ApproxDP(0.5, 5e-7, user)
	fmt.Println(budget.Spend(histogram))
	fmt.Println(budget.Remaining())
	fmt.Println(budget)
	fmt.Println(errors.Is(budget.Spend(PureDP(0.75, user)), ErrBudget))
	// Output:
	// <nil>
	// ε = 0.5, δ = 5e-7 for one user (at most 3 keys), added or removed
	// ε = 0.5 of 1 at δ = 1e-6, 1 release, for one user (at most 3 keys), added or removed
	// true
}

// A copy of a Ledger is the same Ledger: together they spend no more than one.
func TestCopiesOfALedgerShare(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	copied := *l
	require.NoError(t, l.Spend(PureDP(0.75, one)))
	require.ErrorIs(t, copied.Spend(PureDP(0.75, one)), ErrBudget)
	require.NoError(t, copied.Spend(PureDP(0.25, one)))
	require.ErrorIs(t, l.Spend(PureDP(0.01, one)), ErrBudget)
	require.Equal(t, l.String(), fmt.Sprint(copied))
	a := dptest.OK(json.Marshal(l))(t)
	b := dptest.OK(json.Marshal(copied))(t)
	require.JSONEq(t, string(a), string(b))
	// One that reads another ledger is another from then on.
	data := dptest.OK(dptest.OK(NewLedger(5, 0, rowed))(t).MarshalBinary())(t)
	require.NoError(t, copied.UnmarshalBinary(data))
	require.NoError(t, copied.Spend(PureDP(5, rowed)))
	require.Equal(t, "ε = 1 of 1 at δ = 0, 2 releases, for "+one.String(), l.String())

	shared := dptest.OK(NewLedger(1, 0, one))(t)
	var all sync.WaitGroup
	var mutex sync.Mutex
	spent := 0
	for range 8 {
		own := *shared
		all.Go(func() {
			for range 50 {
				_, _ = own.Accepts(PureDP(0x1p-5, one)), own.Spent()
				if own.Spend(PureDP(0x1p-5, one)) == nil {
					mutex.Lock()
					spent++
					mutex.Unlock()
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, 32, spent)

	var zero Ledger
	require.ErrorIs(t, zero.Spend(PureDP(1, one)), ErrMismatch)
	require.ErrorIs(t, zero.SpendOnce("name", PureDP(1, one)), ErrMismatch)
	require.False(t, zero.Accepts(PureDP(0, one)) || zero.Accepts(Guarantee{}))
	require.Zero(t, zero.Records())
	require.NoError(t, zero.Err())
	require.False(t, zero.Spent().Promises() || zero.Remaining().Promises())
	require.ErrorIs(t, dptest.Err(zero.Split(3, PureDP(1, one))), ErrMismatch)
}

// A refusal says what remained when it was made, and computes that when it is read.
func TestRefusalSaysWhatRemained(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	require.NoError(t, l.Spend(PureDP(0.5, one)))
	err := l.Spend(PureDP(0.75, one))
	require.ErrorIs(t, err, ErrBudget)
	require.NoError(t, l.Spend(PureDP(0.5, one)))
	require.EqualError(t, err, "budget: ε = 0.75 for "+one.String()+" asked, ε = 0.5 for "+one.String()+" remains: privacy budget exceeded")
	// Where it takes long, an unread refusal allocates next to nothing.
	dear := dptest.OK(NewLedger(3, 1e-6, one))(t)
	for range 40 {
		require.NoError(t, dear.Spend(ApproxDP(0.1, 1e-9, one)))
	}
	g := ApproxDP(5, 1e-9, one)
	refused := func() { _ = dear.Spend(g) }
	refused()
	quick := testing.AllocsPerRun(10, refused)
	read := testing.AllocsPerRun(1, func() { _ = dear.Spend(g).Error() })
	require.Less(t, 20*quick, read)
}
