package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/distinct"
)

// halves returns the articles in the first and in the second half of baskets that a generator made,
// the same ones each time, with the sizes and the popularity of those of the FIMI repository's
// "retail": 88,162 baskets of 10.3 of 16,470 articles, with sizes of 1 + a Gamma of shape 2, and a
// popularity that falls as (rank + 2)^−1.05. Each article is there once: again it would change
// nothing.
func halves() (first, second []string) {
	const baskets, articles = 88_162, 16_470
	rng := rand.New(rand.NewPCG(22, baskets))
	cumulated := make([]float64, articles)
	total := 0.0
	for i := range cumulated {
		total += math.Pow(float64(i+3), -1.05)
		cumulated[i] = total
	}
	var in [2][articles + 1]bool
	for basket := range baskets {
		for range 1 + int(4.9*(rng.ExpFloat64()+rng.ExpFloat64())) {
			article, _ := slices.BinarySearch(cumulated, rng.Float64()*total)
			in[2*basket/baskets][article] = true
		}
	}
	for article := range in[0] {
		name := fmt.Sprint("article ", article)
		if in[0][article] {
			first = append(first, name)
		}
		if in[1][article] {
			second = append(second, name)
		}
	}
	return first, second
}

// What releases of two parties tell of the words of Genesis and Exodus, and of the articles in two
// halves of baskets: the error is what is stated, and intervals cover. Of 300 runs a mean square is
// off by 60 % with probability below 1e-10, a coverage of .93 is seen below .75 too; of 60 runs by
// a factor of 3, and below .6. All figures that package kor/distinct must reach are printed by
//
//	go test ./kor/distinct ./examples/distinct -run 'TestLong|TestUnions' -v -long
func TestUnions(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second: in the default run")
	}
	clitest.Seed(t)
	text := cli.Must(kjv.Load())
	genesis, exodus := slices.Collect(occurrences(text, books[0])), slices.Collect(occurrences(text, books[1]))
	early, late := halves()
	runs, epsilons := dptest.Full(300, 60), []float64{1, 2, 4}
	low, high, least := 0.3, 1.8, 0.75
	if runs < 300 {
		epsilons, low, high, least = epsilons[:1], 0.2, 3, 0.6
	}
	for _, data := range []struct {
		name          string
		first, second []string
		levels        int
	}{{"text", genesis, exodus, 12}, {"baskets", early, late, 14}} {
		unions(t, data.name, data.first, data.second, data.levels, epsilons, runs, low, high, least)
	}
}

func unions(t *testing.T, name string, first, second []string, levels int, epsilons []float64, runs int, low, high, least float64) {
	set := func(words []string) map[string]bool {
		all := map[string]bool{}
		for _, word := range words {
			all[word] = true
		}
		return all
	}
	truth := new(result)
	for _, part := range []string{"A", "B", "A∪B", "A∩B", "A∖B", "B∖A"} {
		truth.rows = append(truth.rows, row{name: part})
	}
	truth.tell(set(first), set(second))
	union := float64(truth.rows[2].truth)
	for _, epsilon := range epsilons {
		squares, stated, covered := make([]float64, 6), make([]float64, 6), make([]int, 6)
		for range runs {
			p := distinct.Params{Epsilon: epsilon, Cells: 2048, Levels: levels, CountShare: 0.05, Seed: hashing.NewSeed()}
			a := cli.Must(party(p, slices.Values(first)))
			b := cli.Must(party(p, slices.Values(second)))
			r := cli.Must(compare(a, b))
			for i, row := range r.rows {
				want := float64(truth.rows[i].truth)
				off := row.size.Estimate() - want
				squares[i] += off * off
				stated[i] += row.size.StdErr() * row.size.StdErr()
				if lo, hi := row.size.Interval(0.95); lo <= want && want <= hi {
					covered[i]++
				}
			}
		}
		n := float64(runs)
		for i, row := range truth.rows {
			t.Logf("%s, ε = %v, %s = %d: %.3g %% of the union (stated %.3g), coverage %.3f", name, epsilon, row.name, row.truth,
				100*math.Sqrt(squares[i]/n)/union, 100*math.Sqrt(stated[i]/n)/union, float64(covered[i])/n)
			if ratio := squares[i] / stated[i]; !(ratio > low && ratio < high) || float64(covered[i]) < least*n {
				t.Errorf("%s, ε = %v, %s: the mean square is %.2f of what is stated, coverage %d of %d", name, epsilon, row.name, ratio, covered[i], runs)
			}
		}
	}
}
