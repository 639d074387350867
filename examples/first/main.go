package main

import "fmt"
import "github.com/dpsketch/dpsketch/misragries"

func main() {
	sketch, err := misragries.New[string](misragries.Params{Counters: 256, Epsilon: 1, Delta: 1e-9})
	if err != nil {
		panic(err)
	}
	for i := range 9000 {
		sketch.Add([]string{"tea", "tea", "water"}[i%3]) // private data goes in here
	}
	list, err := sketch.Release()
	if err != nil {
		panic(err)
	}
	for key, estimate := range list.All() {
		lo, hi := list.Interval(key, 0.95)
		fmt.Println(key, estimate, "true count between", lo, "and", hi)
	}
}
