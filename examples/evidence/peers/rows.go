package peers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// grouped compares groupby.Rows, filled and released, with a Go map of the distinct pairs of a user
// and a key, from which a program could count and which has no privacy. Users have ten rows each,
// in no order, and keys are Zipf(1.1) over 2^16. A unit is a row.
func grouped(n int) []comparison {
	var all []comparison
	for _, n := range []int{n / 10, n} {
		users, keys := make([]uint64, n), zipf(n, 1<<16)
		rng := rand.New(rand.NewPCG(5, 6))
		for i := range users {
			users[i] = mix(uint64(rng.IntN(n / 10)))
		}
		all = append(all, rowsOf("integers", users, keys), rowsOf("strings", spell(users), spell(keys)))
	}
	return all
}

func rowsOf[K hashing.Key](kind string, users, keys []K) comparison {
	ours := func() *groupby.Groups[K] {
		rows := cli.Must(groupby.NewRows[K, K](groupby.Params{Epsilon: 1, Delta: 1e-6}))
		for i, user := range users {
			rows.Add(user, keys[i])
		}
		return cli.Must(rows.Release())
	}
	theirs := func() map[[2]K]struct{} {
		pairs := map[[2]K]struct{}{}
		for i, user := range users {
			pairs[[2]K{user, keys[i]}] = struct{}{}
		}
		return pairs
	}
	return comparison{
		work: fmt.Sprintf("groupby.Rows, %d rows of %s, Add and Release", len(keys), kind), peer: "map of the pairs", target: 1, units: len(keys),
		ours:   repeat(func() { ours() }),
		theirs: repeat(func() { theirs() }),
		check: func() error {
			counts, most := map[K]float64{}, keys[0]
			for pair := range theirs() {
				if counts[pair[1]]++; counts[pair[1]] > counts[most] {
					most = pair[1]
				}
			}
			groups := ours()
			// of users of many keys a part may be lost
			tolerance := sure*cli.Must(groups.Params().Plan()).StdDev + counts[most]/20
			return near("groupby", groups.Estimate(most), counts[most], math.Min(tolerance, counts[most]/2))
		},
	}
}
