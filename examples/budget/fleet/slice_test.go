package fleet

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

var unit = budget.User(10, budget.AddRemove)

// wholes are budgets of both rules, some of which have hardly any ε or a large δ.
var wholes = []terms{
	{1, 1e-6, unit, "mu"}, {0.01, 1e-2, unit, "mu"}, {0, 1e-3, unit, "mu"}, {8, 1e-10, unit, "mu"}, {200, 1e-300, unit, "mu"},
	{1, 1e-6, unit, "rho"}, {1, 1e-6, unit, "rho 5e-7"}, {0.1, 1e-2, unit, "rho 9.9e-3"}, {30, 1e-9, unit, "rho 1e-12"},
}

// amount returns what a release of one kind adds to the sum of a rule, as ρ: for one by ε at most
// that, else exactly that.
func amount(g budget.Guarantee) float64 {
	mu := g.Mu()
	return max(exact.ProductUp(mu, mu)/2, g.Rho(), rhoOf(g)*exact.Down)
}

// n slices of one nth are booked within the whole, and not much is lost by that. What a server can
// spend of a slice, in whichever amounts, is below what is booked: in exact arithmetic, and by the
// whole's own ledger.
func TestSlicesAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 42))
	for _, whole := range wholes {
		for _, n := range []int{1, 2, 3, 7, 97, 1000, 1e9} {
			t.Run(fmt.Sprint(whole.epsilon, whole.delta, whole.rule, n), func(t *testing.T) {
				booked := cli.Must(whole.ledger())
				made, _ := whole.ledger()
				slice, book, err := whole.slice(1 / float64(n))
				clitest.Not(t, err != nil, "%v", err)
				fresh, _ := slice.MarshalBinary()
				for range min(n, 1000) {
					cli.OK(booked.Spend(book))
				}
				if left := whole.share(booked); left > 1e-8 && n <= 1000 {
					t.Errorf("%g of the whole is left", left)
				}
				escapes, rho, _ := whole.escapes()
				if escaping := budget.ApproxDP(0, book.Delta(), unit); escapes > 0 && (slice.Accepts(escaping) || !slice.Accepts(budget.ApproxDP(0, book.Delta()*(1-1e-9), unit))) {
					t.Errorf("δ = %v is booked for escapes", book.Delta())
				}
				for i := range min(n, 10) {
					cli.OK(slice.UnmarshalBinary(fresh))
					sum := new(big.Rat)
					spend := func(g budget.Guarantee) bool {
						if slice.Spend(g) != nil {
							return false
						}
						if err := made.Spend(g); err != nil {
							t.Fatalf("the whole refuses what a slice allowed: %v", err)
						}
						sum.Add(sum, new(big.Rat).SetFloat64(amount(g)))
						return true
					}
					// Most of it, then what remains as the ledger tells it, down to dust.
					for range 20 {
						part := slice.Remaining()
						x := math.Pow(rng.Float64(), 3)
						switch kind := rng.IntN(4); {
						case !rho || kind == 0 || i%2 == 0 && kind > 1: // which is exact
							spend(budget.GDP(max(part.Mu(), math.Sqrt(rhoOf(part)))*x, unit))
						case kind == 1:
							spend(budget.ZCDP(rhoOf(part)*x, unit))
						case kind == 2 && escapes > 0:
							spend(budget.ApproxDP(0, escapes/float64(n)*x/4, unit))
						default:
							spend(budget.PureDP(part.Epsilon()*x, unit))
						}
					}
					for range 60 {
						part := slice.Remaining()
						if rho && i%2 == 0 {
							part = budget.ZCDP(rhoOf(part), unit)
						}
						if amount(part) == 0 || !spend(part) {
							break
						}
					}
					most := amount(book)
					if exact := new(big.Rat).SetFloat64(most); sum.Cmp(exact) > 0 {
						got, _ := sum.Float64()
						t.Errorf("%v is spent of a slice for which %v is booked", got, most)
					} else if least := most * (1 - 1e-5); sum.Cmp(new(big.Rat).SetFloat64(least)) < 0 {
						got, _ := sum.Float64()
						t.Errorf("%v can be spent of a slice for which %v is booked", got, most)
					}
				}
			})
		}
	}
}

func TestRefusedTerms(t *testing.T) {
	for _, x := range []terms{{1, 1e-6, unit, ""}, {1, 1e-6, unit, "mu 1"}, {1, 1e-6, unit, "sums"}, {1, 1e-6, unit, "rho x"}, {1, 1e-6, unit, "rho 1e-6"}, {1, 0, unit, "mu"}, {1, 1e-6, budget.Unit{}, "mu"}} {
		if _, err := x.ledger(); err == nil {
			t.Errorf("%+v is taken", x)
		}
	}
	for _, share := range []float64{0, -1, 1.5, math.NaN(), 1e-10} {
		if _, _, err := wholes[0].slice(share); err == nil {
			t.Errorf("share %v is taken", share)
		}
	}
}
