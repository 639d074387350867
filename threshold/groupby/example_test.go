package groupby_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// Every user has viewed some pages, nobody knows which pages there are, and the pages with many
// viewers are published.
func Example() {
	b, err := groupby.New[string](groupby.Params{Epsilon: 1, Delta: 1e-12})
	if err != nil {
		panic(err)
	}
	for user := range 9000 {
		b.AddUser("/", fmt.Sprintf("/products/%d", user%3), fmt.Sprintf("/users/%d", user))
	}
	groups, err := b.Release()
	if err != nil {
		panic(err)
	}
	for page, viewers := range groups.All() { // the most viewed: groups.Top(10)
		fmt.Printf("%s: about %.0f000\n", page, viewers/1000)
	}
	fmt.Println(groups.Guarantee())
	// Output:
	// /: about 9000
	// /products/0: about 3000
	// /products/1: about 3000
	// /products/2: about 3000
	// ε = 1, δ = 1e-12 for one user, added or removed
}
