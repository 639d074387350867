package budget_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// The day of a shop: four questions about the same users, asked by two processes, and one budget
// for each user, in a file. TUTORIAL.md explains it.
func Example_day() {
	folder, err := os.MkdirTemp("", "shop")
	check(err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "users") // the ledger of both processes

	user := budget.User(0, budget.AddRemove) // a user with all rows
	spend := func(name string, g budget.Guarantee) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ledger, err := budget.OpenFileContext(ctx, path, 1, 1e-6, user) // ε = 1 for the day
		if err != nil {
			return err
		}
		return errors.Join(ledger.SpendOnce(name, g), ledger.Close())
	}

	// Process 1: users by page; revenue by product.
	pages, err := groupby.NewRows[int, string](groupby.Params{Epsilon: 0.2, Delta: 1e-8})
	check(err)
	products, err := groupby.NewRows[int, string](groupby.Params{Epsilon: 0.3, Delta: 1e-8, Max: 100})
	check(err)
	for id := range 20_000 { // private: who opened what, and bought for how much
		pages.Add(id, []string{"home", "search", fmt.Sprint("order ", id)}[id%3])
		if id%4 == 0 {
			products.AddValue(id, "tea", 5+float64(id%16))
		}
	}
	check(spend("pages", pages.Guarantee())) // first the budget, then the release
	byPage, err := pages.Release()
	check(err)
	check(spend("revenue", products.Guarantee()))
	byProduct, err := products.Release()
	check(err)
	fmt.Printf("pages: %d of 6668; home within 10 %%: %v\n", byPage.Len(), near(byPage.Estimate("home"), 6667, 0.1))
	fmt.Printf("revenue of tea within 20 %%: %v\n", near(byProduct.Sum("tea"), 57_500, 0.2))

	// Process 2: the p95 of latency by endpoint; distinct and returning users.
	latency, err := groupby.NewRows[int, string](groupby.Params{Epsilon: 0.3, Delta: 1e-8, Min: 1, Max: 60_000, Levels: [8]float64{0.95}})
	check(err)
	week, err := distinct.NewWindowBuilder(distinct.Params{Epsilon: 0.1, Seed: hashing.Seed{1, 2, 3}}, 20)
	check(err)
	for id := range 20_000 {
		latency.AddValue(id, "/buy", 50+float64(id%100))
		if id%2 == 0 {
			distinct.AddKey(week, id)
		}
	}
	asUser, err := week.Guarantee().Stable(user, 1) // keys are users here: each of them is one key
	check(err)
	check(week.Advance(21))
	for id := range 8000 {
		distinct.AddKey(week, id)
	}
	check(spend("latency", latency.Guarantee()))
	slow, err := latency.Release()
	check(err)
	check(spend("users", asUser))
	users, err := week.Release()
	check(err)
	low, high := slow.QuantileInterval("/buy", 0.95, 1-1e-9)
	fmt.Printf("p95 is between the ends: %v\n", low <= 144 && 144 <= high)
	fmt.Printf("what nobody knows is NaN: %v\n", math.IsNaN(slow.Quantile("/sell", 0.95)))
	fmt.Printf("today and in the week within 20 %%: %v, %v\n", near(users.Estimate(1), 8000, 0.2), near(users.Estimate(7), 14_000, 0.2))

	// What is left, and what is refused.
	ledger, err := budget.OpenFile(path, 1, 1e-6, user)
	check(err)
	defer ledger.Close()
	fmt.Printf("spent less than the sum, %.1f: %v\n", 0.2+0.3+0.3+0.1, ledger.Spent().EpsilonAt(1e-6) < 0.9)
	fmt.Println("the same name again is refused:", errors.Is(ledger.SpendOnce("users", asUser), budget.ErrSpent))
	fmt.Println("too much is refused:", errors.Is(ledger.Spend(budget.PureDP(1, user)), budget.ErrBudget))
	fmt.Println("another unit is refused:", errors.Is(ledger.Spend(budget.PureDP(0.01, budget.Row(budget.AddRemove))), budget.ErrMismatch))
	// Output:
	// pages: 2 of 6668; home within 10 %: true
	// revenue of tea within 20 %: true
	// p95 is between the ends: true
	// what nobody knows is NaN: true
	// today and in the week within 20 %: true, true
	// spent less than the sum, 0.9: true
	// the same name again is refused: true
	// too much is refused: true
	// another unit is refused: true
}

// check stops the program at an error, none of which tells anything of private data.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func near(x, truth, share float64) bool { return math.Abs(x-truth) <= share*truth }

// The page shows lines of the Example, in its order, and no others.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile("../../.github/TUTORIAL.md")
	require.NoError(t, err)
	program, err := os.ReadFile("example_day_test.go")
	require.NoError(t, err)
	left, lines := string(program), 0
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 0 {
			continue
		}
		for line := range strings.Lines(strings.TrimPrefix(block, "go\n")) {
			_, after, found := strings.Cut(left, line)
			require.True(t, found, "%s", line)
			left, lines = after, lines+1
		}
	}
	require.Greater(t, lines, 9)
}
