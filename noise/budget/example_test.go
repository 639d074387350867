package budget_test

import (
	"fmt"

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
	fmt.Println(ledger)
	// Output:
	// true
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
	for month := 1; ledger.Accepts(monthly); month++ {
		if err := ledger.Spend(monthly); err != nil {
			panic(err)
		}
		if month%6 == 0 {
			fmt.Printf("after %d months: ε = %.2f\n", month, ledger.Epsilon())
		}
	}
	epsilon, delta := ledger.Budget()
	fmt.Printf("of %g at δ = %g; Gaussian noise of σ = %.1f each time\n", epsilon, delta, 1/monthly.Mu())
	// Output:
	// after 6 months: ε = 0.69
	// after 12 months: ε = 1.00
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
		for ledger.Spend(small) == nil {
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
