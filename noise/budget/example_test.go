package budget_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// A ledger for users pays for a count of distinct users: each user is one key of it.
func ExampleGuarantee_Stable() {
	user := budget.User(0, budget.AddRemove)
	ledger, err := budget.NewLedger(2, 1e-6, user)
	if err != nil {
		panic(err)
	}
	visitors, err := distinct.New(distinct.Params{Epsilon: 0.5, Seed: hashing.NewSeed()})
	if err != nil {
		panic(err)
	}
	for visit := range uint64(100_000) {
		visitors.Add(visit % 5000) // private data
	}
	cost, err := visitors.Guarantee().Stable(user, 1)
	if err != nil {
		panic(err)
	}
	count, err := budget.ReleaseFunc(ledger, cost, visitors.Release)
	if err != nil {
		panic(err)
	}
	fmt.Println(count.Estimate() > 4500 && count.Estimate() < 5500)
	fmt.Println(cost)
	fmt.Println(ledger)
	// Output:
	// true
	// ε = 0.5 for one user, added or removed, if each user has at most 1 key, as the caller promises
	// ε = 0.5 of 2 at δ = 1e-6, 1 release, for one user, added or removed
}

// What a guarantee for one row says of a row that is replaced, and of people with five rows each.
func ExampleGuarantee_For() {
	g := budget.PureDP(0.5, budget.Row(budget.AddRemove))
	replaced, err := g.For(budget.Row(budget.Replace))
	if err != nil {
		panic(err)
	}
	five, err := g.Group(5)
	if err != nil {
		panic(err)
	}
	fmt.Println(replaced)
	fmt.Println(five.Epsilon())
	_, err = g.For(budget.User(0, budget.AddRemove))
	fmt.Println("of users nothing is known:", err != nil)
	// Output:
	// ε = 1 for one row, replaced
	// 2.5
	// of users nothing is known: true
}

// What is left, and how much each of twelve equal releases may cost.
func ExampleLedger_Split() {
	unit := budget.Row(budget.AddRemove)
	ledger, err := budget.NewLedger(1, 1e-6, unit)
	if err != nil {
		panic(err)
	}
	monthly, err := ledger.Split(12, budget.GDP(1, unit))
	if err != nil {
		panic(err)
	}
	for month := 1; month <= 12; month++ {
		if err := ledger.Spend(monthly); err != nil {
			panic(err)
		}
		if month%6 == 0 {
			fmt.Printf("after %d months: ε = %.2f\n", month, ledger.Epsilon())
		}
	}
	fmt.Println(ledger.Accepts(monthly), ledger.Err(), ledger.Records(), ledger.Spent().Equal(monthly.Times(12)), ledger.Unit())
	epsilon, delta := ledger.Budget()
	fmt.Printf("of %g at δ = %g; Gaussian noise of σ = %.1f each time\n", epsilon, delta, 1/monthly.Mu())
	// Output:
	// after 6 months: ε = 0.69
	// after 12 months: ε = 1.00
	// false <nil> 0 true one row, added or removed
	// of 1 at δ = 1e-06; Gaussian noise of σ = 14.6 each time
}

// Where the cost of a release may depend on what earlier ones showed, the ledger has a rule.
func ExampleMuRule() {
	unit := budget.Row(budget.AddRemove)
	for _, rule := range []budget.Rule{budget.SumRule(), budget.RhoRule(0), budget.MuRule(), budget.MixedRule(0.5, 0)} {
		ledger, err := budget.NewLedger(1, 1e-6, unit, rule)
		if err != nil {
			panic(err)
		}
		small, n := budget.GDP(0.01, unit), 0
		if !ledger.Accepts(small) { // SumRule takes no releases by μ
			small = budget.Laplace(0.01, unit)
		}
		for n < 1000 && ledger.Spend(small) == nil {
			n++
		}
		fmt.Printf("%v: %d\n", rule, n)
	}
	// Output:
	// ε and δ add up, whatever they depend on: 100
	// ρ adds up, whatever it depends on: 487
	// μ² adds up, whatever it depends on: 560
	// μ² adds up to 0.5 of the budget and ρ to the rest, whatever they depend on: 501
}

// The laws of noise, of one release at ε = 1 of a count, and what a hundred of them cost.
func ExampleGaussian() {
	unit := budget.Row(budget.AddRemove)
	for _, g := range []budget.Guarantee{
		budget.PureDP(1, unit), budget.Laplace(1, unit), budget.DiscreteLaplace(1, 1, unit),
		budget.Gaussian(1, 1e-9, unit), budget.DiscreteGaussian(2, 1, unit), budget.GDP(0.5, unit),
		// a mechanism that was asked for (1, 1e-9), and what is known of it
		budget.ApproxDP(1, 1e-9, unit).WithPair(budget.GDP(0.25, unit).WithEscape(1e-10)),
	} {
		fmt.Printf("%v: %.2f\n", g, g.Times(100).EpsilonAt(1e-6))
	}
	// Output:
	// ε = 1 for one row, added or removed: 83.53
	// ε = 1 for one row, added or removed: 71.56
	// ε = 1 for one row, added or removed: 83.53
	// ε = 1, δ = 1e-9 for one row, added or removed: 9.82
	// ρ = 0.125 (zCDP) for one row, added or removed: 35.57
	// μ = 0.5 (GDP) for one row, added or removed: 35.57
	// ε = 1, δ = 1e-9 for one row, added or removed: 14.46
}

// Whom a guarantee protects: what neighbouring inputs differ in.
func ExampleUserWithin() {
	for _, u := range []budget.Unit{
		budget.User(20, budget.AddRemove), budget.UserElements(20, budget.AddRemove), budget.UserWithin(7, 20, budget.AddRemove), budget.Party(budget.Replace),
		budget.OwnElement(), budget.L1(1), budget.L2(0.5), budget.User(-1, budget.AddRemove),
	} {
		g := budget.ZCDP(0.5, u)
		fmt.Println(u.Valid(), u, u.Max(), u.Relation(), g.Promises(), g.Rho(), g.Delta())
	}
	// Output:
	// true one user (at most 20 keys), added or removed 20 AddRemove true 0.5 0
	// true one user (at most 20 elements), added or removed 20 AddRemove true 0.5 0
	// true one user within any 7 steps (at most 20 elements), added or removed 20 AddRemove true 0.5 0
	// true one party, replaced 0 Replace true 0.5 0
	// true one element, replaced by another of the same user 0 Replace true 0.5 0
	// true vectors at ℓ₁ distance 1 0 Relation(0) true 0.5 0
	// true vectors at ℓ₂ distance 0.5 0 Relation(0) true 0.5 0
	// false no unit 0 Relation(0) false +Inf 1
}

// Each release carries the number of its record. After a restored backup, which knows less, the
// newest number that was published refuses it.
func ExampleLedger_AtLeast() {
	folder, err := os.MkdirTemp("", "budget")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	user := budget.User(0, budget.AddRemove)
	ledger, err := budget.OpenFile(filepath.Join(folder, "journal"), 1, 1e-6, user)
	if err != nil {
		panic(err)
	}
	if err := ledger.Spend(budget.PureDP(0.5, user)); err != nil {
		panic(err)
	}
	published := ledger.Records() // with the release
	fmt.Println("this one is new enough:", ledger.AtLeast(published) == nil)
	if err := ledger.Close(); err != nil {
		panic(err)
	}

	restored, err := budget.OpenFile(filepath.Join(folder, "restored"), 1, 1e-6, user)
	if err != nil {
		panic(err)
	}
	fmt.Println("an old copy:", errors.Is(restored.AtLeast(published), budget.ErrFormat))
	fmt.Println("spends nothing:", restored.Spend(budget.PureDP(0.5, user)) != nil)
	// Output:
	// this one is new enough: true
	// an old copy: true
	// spends nothing: true
}
