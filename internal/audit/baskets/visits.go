package baskets

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Service has users, each with some pages and one value in each: log-normal, with a place and a
// spread that are the page's.
type Service struct {
	Pages  [][]int
	Values [][]float64
	ByPage [][]float64 // sorted
}

// Visits returns the users of a service of 3000 pages by Zipf's law, the same ones each time. They
// have 2.9 pages on average, or with heavy ones some have hundreds.
func Visits(users int, heavy bool) *Service {
	const pages = 3000
	rng := rand.New(rand.NewPCG(37, 1))
	cumulative, place, spread := make([]float64, pages), make([]float64, pages), make([]float64, pages)
	sum := 0.0
	for i := range cumulative {
		sum += math.Pow(float64(i+1), -1.05)
		cumulative[i], place[i], spread[i] = sum, math.Log(0.2)+rng.NormFloat64(), 0.4+0.6*rng.Float64()
	}
	v := &Service{ByPage: make([][]float64, pages)}
	for range users {
		n := 1
		if heavy {
			n = min(int(math.Pow(rng.Float64(), -1/1.1)), 220)
		} else {
			for rng.Float64() > 1/2.9 {
				n++
			}
		}
		var keys []int
		var values []float64
		for range n {
			page, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
			if !slices.Contains(keys, page) {
				x := math.Exp(place[page] + spread[page]*rng.NormFloat64())
				keys, values, v.ByPage[page] = append(keys, page), append(values, x), append(v.ByPage[page], x)
			}
		}
		v.Pages, v.Values = append(v.Pages, keys), append(v.Values, values)
	}
	for _, values := range v.ByPage {
		slices.Sort(values)
	}
	return v
}
