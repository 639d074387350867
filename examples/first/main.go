package main

import "fmt"
import "github.com/dpsketch/dpsketch/threshold/groupby"

func main() {
	pages, err := groupby.NewRows[int, string](groupby.Params{Epsilon: 1, Delta: 1e-9})
	if err != nil {
		panic(err)
	}
	for row := range 9000 { // private, in any order: who opened what
		pages.Add(row%3000, []string{"home", fmt.Sprint("page ", row%2), fmt.Sprint("diary ", row%3000)}[row/3000])
	}
	list, err := pages.Release()
	if err != nil {
		panic(err)
	}
	for page, users := range list.All() {
		low, high := list.Interval(page, 0.95)
		fmt.Printf("%s: %.0f users, between %.0f and %.0f\n", page, users, low, high)
	}
}
