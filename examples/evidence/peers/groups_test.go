package peers

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/differential-privacy/go/v3/dpagg"
	google "github.com/google/differential-privacy/go/v3/noise"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/internal/audit/baskets"
	ours "github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// peerGroups is what Google's library makes of baskets, by the way its documentation recommends: m
// random keys of each user, its selection of partitions by half of ε and δ, and counts with
// Gaussian noise by the other half; for keys alone the selection by all of it.
func peerGroups(users [][]int, m int, keysOnly bool) map[int]float64 {
	counts := map[int]int64{}
	for _, keys := range users {
		for i, j := range rand.Perm(len(keys)) {
			if i < m {
				counts[keys[j]]++
			}
		}
	}
	epsilon, delta := 0.5, 0.5e-6
	if keysOnly {
		epsilon, delta = 1, 1e-6
	}
	shown := map[int]float64{}
	for key, n := range counts {
		if !selected(epsilon, delta, m, n) {
			continue
		}
		shown[key] = math.NaN()
		if !keysOnly {
			count := cli.Must(dpagg.NewCount(&dpagg.CountOptions{Epsilon: epsilon, Delta: delta, MaxPartitionsContributed: int64(m), Noise: google.Gaussian()}))
			cli.OK(count.IncrementBy(n))
			shown[key] = float64(cli.Must(count.Result()))
		}
	}
	return shown
}

// selected reports whether Google's selection shows a key of n users.
func selected(epsilon, delta float64, m int, n int64) bool {
	s := cli.Must(dpagg.NewPreAggSelectPartition(&dpagg.PreAggSelectPartitionOptions{Epsilon: epsilon, Delta: delta, MaxPartitionsContributed: int64(m)}))
	cli.OK(s.IncrementBy(n))
	return cli.Must(s.ShouldKeepPartition())
}

// The rows of the table in ../figures/README.md, which has a column for each bound m on the keys of
// a user.
const (
	keysOnly = iota
	twoPasses
	weighted
	peerKeys
	withCounts
	peerCounts
	bounded
)

var (
	groupsRows = [...]string{"`groupby`, keys only: threshold, keys", "the same in two passes: keys", "weighted Gaussian: threshold, keys", "Google's library, keys only: keys",
		"`groupby` with counts: threshold, keys, error", "Google's library with counts: keys, error", "m random keys, `threshold.NewBounded`: threshold, keys, error"}
	bounds = [...]int{10, 30, 40, 100, 1000}
)

// groupsTable is that table.
type groupsTable [len(groupsRows)][len(bounds)]string

func (g *groupsTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| m | %s |\n%s|\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(bounds), " ", " | "), "[]"), strings.Repeat("|---", 1+len(bounds)))
	for i, row := range g {
		fmt.Fprintf(&b, "| %s | %s |\n", groupsRows[i], strings.Join(row[:], " | "))
	}
	return b.String()
}

// weightedGaussian returns the threshold of the mechanism of Gopi et al. at its exact δ and the
// number of keys that it is expected to show: users give 1/√l to l ≤ m keys, σ is that of a
// Gaussian mechanism, and l new keys escape with probability δ.
func weightedGaussian(users [][]int, m int, epsilon, delta float64) (threshold, keys float64) {
	sigma := cli.Must(ours.GaussianSigma(epsilon, delta, 1))
	law := cli.Must(ours.NewGaussian(sigma))
	for l := 1; l <= m; l++ {
		each := -math.Expm1(math.Log1p(-delta) / float64(l))
		threshold = max(threshold, 1/math.Sqrt(float64(l))-law.Quantile(each))
	}
	weights := map[int]float64{}
	for _, keys := range users {
		k := min(len(keys), m)
		for _, j := range rand.Perm(len(keys))[:k] {
			weights[keys[j]] += 1 / math.Sqrt(float64(k))
		}
	}
	for _, w := range weights {
		keys += law.Survival(threshold - w)
	}
	return threshold, keys
}

// boundedKeys releases the counts of m random keys of each user with Gaussian noise.
func boundedKeys(users [][]int, m int) *threshold.Vector[int] {
	b := cli.Must(threshold.NewBounded[int](threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: m, MaxValue: 1, Integers: true}))
	for _, keys := range users {
		for i, j := range rand.Perm(len(keys)) {
			if i < m {
				b.Add(keys[j], 1)
			}
		}
	}
	return cli.Must(b.Release())
}

// GROUP BY over baskets at ε = 1, δ = 1e-6: keys that are shown, and the mean error of the 100
// largest counts, where one that is not shown counts as 0. For each bound m on the keys of a user,
// groupby shows more keys, and at its defaults it is nearer to the truth with more keys than the
// peer at its best m. It prints the table of ../figures/README.md:
//
//	go test -run GroupsBeside -v -long [-update]
//
// With -update it draws keys.svg anew.
func TestGroupsBesideGoogle(t *testing.T) {
	needsLong(t)
	users := baskets.Retail()
	truth := map[int]float64{}
	for _, keys := range users {
		for _, key := range keys {
			truth[key]++
		}
	}
	top := make([]int, 0, len(truth))
	for key := range truth {
		top = append(top, key)
	}
	slices.SortFunc(top, func(a, b int) int { return cmp.Or(cmp.Compare(truth[b], truth[a]), cmp.Compare(a, b)) })
	top = top[:100]
	off := func(estimate func(int) float64) (sum float64) {
		for _, key := range top {
			sum += math.Abs(estimate(key)-truth[key]) / float64(len(top))
		}
		return sum
	}
	release := func(p groupby.Params) *groupby.Groups[int] {
		b := cli.Must(groupby.New[int](p))
		for _, keys := range users {
			b.AddUser(keys)
		}
		return cli.Must(b.Release())
	}
	var table groupsTable
	plain := groupby.Params{Epsilon: 1, Delta: 1e-6}
	counted := release(plain)
	nearest := off(counted.Estimate)
	two := release(groupby.Params{Epsilon: 1, Delta: 1e-6, Passes: 2, KeysOnly: true}).Len()
	onlyKeys := groupby.Params{Epsilon: 1, Delta: 1e-6, KeysOnly: true}
	keys := release(onlyKeys).Len()
	bestPeer, bestWeighted := 0, 0.0
	for i, m := range bounds {
		if m == 100 {
			table[keysOnly][i] = fmt.Sprintf("%.1f, %d", thresholdOf(onlyKeys), keys)
		}
		if m == 100 {
			table[twoPasses][i] = fmt.Sprintf("%d", two)
		}
		least, others := weightedGaussian(users, m, 1, 1e-6)
		bestWeighted = max(bestWeighted, others)
		table[weighted][i] = fmt.Sprintf("%.1f, %.0f", least, others)
		if m > 100 {
			continue
		}
		peer := len(peerGroups(users, m, true))
		bestPeer = max(bestPeer, peer)
		table[peerKeys][i] = fmt.Sprintf("%d", peer)
		if m == 100 {
			table[withCounts][i] = fmt.Sprintf("%.1f, %d, %.0f", thresholdOf(plain), counted.Len(), nearest)
		}
		with := peerGroups(users, m, false)
		far := off(func(key int) float64 { return with[key] })
		table[peerCounts][i] = fmt.Sprintf("%d, %.0f", len(with), far)
		random := boundedKeys(users, m)
		bounds := cli.Must(random.Params().Plan())
		table[bounded][i] = fmt.Sprintf("%.0f, %d, %.0f", bounds.Threshold, random.Len(), off(random.Estimate))
		clitest.Not(t, keys < 6*peer/5 || two < peer || counted.Len() < len(with) || nearest > far, "m = %d: the peer is better", m)
	}
	t.Log(&table)
	if *update {
		picture := keysPicture([]bar{{"Google's library, at its best bound", bestPeer}, {"weighted Gaussian, at its best bound", int(bestWeighted)},
			{"groupby, users one by one", keys}, {"groupby, users kept: Rows", two}})
		cli.OK(os.WriteFile("keys.svg", []byte(picture), 0o644))
	}
}

type bar struct {
	name string
	keys int
}

// keysPicture draws a bar for each, the last one in colour.
func keysPicture(bars []bar) string {
	const left, scale, row = 305, 290.0, 34
	most := 0
	for _, b := range bars {
		most = max(most, b.keys)
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 670 %d" font-family="sans-serif" font-size="15">`+"\n", row*len(bars)+52)
	s.WriteString(`<rect width="100%" height="100%" fill="#fff"/><text x="12" y="27" font-size="17" font-weight="bold">Keys shown, of 16,462 that users have: ε = 1, δ = 1e-6</text>` + "\n")
	for i, b := range bars {
		y, colour := 44+row*i, "#b6bcc6"
		if i == len(bars)-1 {
			colour = "#2456c4"
		}
		width := scale * float64(b.keys) / float64(most)
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.0f" height="22" fill="%s"/><text x="%.0f" y="%d">%d</text>`+"\n",
			left-10, y+16, b.name, left, y, width, colour, left+width+8, y+16, b.keys)
	}
	return s.String() + "</svg>\n"
}

func thresholdOf(p groupby.Params) float64 {
	return cli.Must(p.Plan()).Threshold
}
