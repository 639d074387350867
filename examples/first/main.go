package main

import "fmt"
import "github.com/dpsketch/dpsketch/threshold/groupby"

func main() {
	pages, err := groupby.New[string](groupby.Params{Epsilon: 1, Delta: 1e-9})
	if err != nil {
		panic(err)
	}
	for user := range 3000 { // private: all pages of each user
		pages.AddUser([]string{"home", fmt.Sprint("page ", user%2), fmt.Sprint("diary ", user)})
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
