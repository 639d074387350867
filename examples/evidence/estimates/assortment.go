package estimates

import (
	"bufio"
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// An assortment is what is known of a set of baskets: groups of articles that sell alike, with what
// each group sold in each block of time, and how far its articles are apart. A stream drawn from it
// has about the length of the set, the popularity of its articles and their seasons, from those of
// half a year to the special offer of a day; which articles stand in one basket is lost.
type assortment []group

// group is a group of articles.
type group struct {
	articles int
	sold     []int // in blocks of equal length, as many as a power of two
	// apart is how far the articles are from the mean of the group: at 0, 1/shape of a Gamma
	// law for what an article sells in all; then for each halving of the time, ρ of a Beta law
	// for the part of it that is sold in the first half, of parameters p·(1/ρ−1) and
	// (1−p)·(1/ρ−1) if the group sells p. 0 is no difference, and ρ = 1 all in one half.
	apart [levels + 1]float64
}

const (
	levels = 9 // halvings of the time: to the blocks, and more within them, where p = ½
	slots  = 1 << levels
)

//go:embed sets
var sets embed.FS

// load returns the assortment that was fitted to the set of baskets of a name.
func load(name string) (assortment, error) {
	file, err := sets.Open("sets/" + name + ".txt")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var a assortment
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var numbers []float64
		for word := range strings.FieldsSeq(lines.Text()) {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			numbers = append(numbers, x)
		}
		n := len(numbers) - levels - 2 // blocks
		if n < 1 || n > slots || n&(n-1) != 0 {
			return nil, fmt.Errorf("%s: a line of %d numbers", name, len(numbers))
		}
		g := group{articles: int(numbers[0]), apart: [levels + 1]float64(numbers[1:]), sold: make([]int, n)}
		for i := range g.sold {
			g.sold[i] = int(numbers[levels+2+i])
		}
		a = append(a, g)
	}
	return a, lines.Err()
}

// draw returns a stream. Each article has its own popularity and seasons by the laws of its group;
// within a slot of time, 1/512 of all, the order is random.
func (a assortment) draw(seed uint64) []uint64 {
	src := rand.NewPCG(seed, 0)
	var each [slots][]uint64
	key := uint64(0)
	for i := range a {
		for range a[i].articles {
			a[i].sell(src, func(slot, n int) {
				for range n {
					each[slot] = append(each[slot], key)
				}
			})
			key++
		}
	}
	var stream []uint64
	rng := rand.New(src)
	for _, slot := range each {
		rng.Shuffle(len(slot), func(i, j int) { slot[i], slot[j] = slot[j], slot[i] })
		stream = append(stream, slot...)
	}
	return stream
}

// sell calls sold with what one article of the group sells in each slot.
func (g *group) sell(src rand.Source, sold func(slot, n int)) {
	total := 0
	for _, n := range g.sold {
		total += n
	}
	if g.articles > 1 {
		mean := float64(total) / float64(g.articles)
		if shape := 1 / g.apart[0]; g.apart[0] > 0 {
			mean = distuv.Gamma{Alpha: shape, Beta: shape / mean, Src: src}.Rand()
		}
		total = int(distuv.Poisson{Lambda: mean, Src: src}.Rand())
	}
	g.halve(src, total, 1, 0, slots, sold)
}

// halve deals what is sold in a part of the time to its halves, as often as level says.
func (g *group) halve(src rand.Source, n, level, from, width int, sold func(slot, n int)) {
	if n == 0 {
		return
	}
	if width == 1 {
		sold(from, n)
		return
	}
	width /= 2
	first := g.first(from, width)
	switch p := first; {
	case g.articles == 1 && width >= slots/len(g.sold): // what it sold, exactly
		first = math.Round(p * float64(n))
	default:
		if rho := g.apart[level]; rho > 0 && p > 0 && p < 1 {
			p = beta(src, p, rho)
		}
		first = distuv.Binomial{N: float64(n), P: p, Src: src}.Rand()
	}
	g.halve(src, int(first), level+1, from, width, sold)
	g.halve(src, n-int(first), level+1, from+width, width, sold)
}

// beta draws from the law of mean p and variance ρ·p·(1−p).
func beta(src rand.Source, p, rho float64) float64 {
	scale := 1/rho - 1
	a := distuv.Gamma{Alpha: p * scale, Beta: 1, Src: src}.Rand()
	b := distuv.Gamma{Alpha: (1 - p) * scale, Beta: 1, Src: src}.Rand()
	if a+b == 0 { // both underflow: it is 0 or 1
		return float64(distuv.Bernoulli{P: p, Src: src}.Rand())
	}
	return a / (a + b)
}

// first returns the part of what the group sells in 2·width slots that it does in the first half.
func (g *group) first(from, width int) float64 {
	per := slots / len(g.sold)
	if width < per {
		return 0.5
	}
	sum := func(from int) (sum int) {
		for _, n := range g.sold[from/per : (from+width)/per] {
			sum += n
		}
		return sum
	}
	a, b := sum(from), sum(from+width)
	if a+b == 0 {
		return 0.5
	}
	return float64(a) / float64(a+b)
}
