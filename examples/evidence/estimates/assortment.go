package estimates

import (
	"bufio"
	"cmp"
	"embed"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
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

// write prints the assortment as load reads it.
func (a assortment) write(out io.Writer) error {
	for _, g := range a {
		line := fmt.Sprint(g.articles)
		for _, x := range g.apart {
			line += fmt.Sprintf(" %.3g", x)
		}
		line += " " + strings.Trim(fmt.Sprint(g.sold), "[]")
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
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

// article is what an article of a file sold in each slot. Its features are √ of that in all of the
// time, in each half, quarter and so on to the blocks: numbers that vary by chance by about ½,
// however large they are.
type article struct {
	sold     [slots]int
	features []float64
}

// in returns what was sold in a part of the time.
func (a *article) in(from, width int) int {
	sum := 0
	for _, n := range a.sold[from : from+width] {
		sum += n
	}
	return sum
}

// bunched returns the mean, over the sales of the article, of how many of them stand in one block.
func (a *article) bunched(width int) float64 {
	sum, squares := 0, 0
	for from := 0; from < slots; from += width {
		n := a.in(from, width)
		sum, squares = sum+n, squares+n*n
	}
	return float64(squares) / float64(sum)
}

// bursts returns the sum of squares of what was sold in each slot: large if the article sold much
// in all, or much in a short time: a sketch may show it.
func (a *article) bursts() int {
	sum := 0
	for _, n := range a.sold {
		sum += n * n
	}
	return sum
}

// fit returns the assortment of a stream in so many groups. The articles of the largest bursts, as
// many as alone says, are each a group. The others begin as one group; then, again and again, the
// group and feature with the largest sum of squares beyond chance is split at the mean of the
// feature. What an article alone in its group sold is kept in so many blocks, doubled while its
// sales stand in blocks of at least 2·fine on average, unless fine is 0; the others have a quarter
// of the blocks, as how far they are apart says the rest.
func fit(stream []uint64, groups, alone, blocks, fine int) assortment {
	each := map[uint64]*article{}
	var all []*article
	for i, key := range stream {
		if each[key] == nil {
			each[key] = new(article)
			all = append(all, each[key])
		}
		each[key].sold[i*slots/len(stream)]++
	}
	for _, a := range all {
		for width := slots; width >= slots/blocks; width /= 2 {
			for from := 0; from < slots; from += width {
				a.features = append(a.features, math.Sqrt(float64(a.in(from, width))))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *article) int { return cmp.Compare(b.bursts(), a.bursts()) })
	var leaves []leaf
	for _, a := range all[:min(alone, groups-1, len(all)-1)] {
		leaves = append(leaves, newLeaf([]*article{a}))
	}
	leaves = append(leaves, newLeaf(all[len(leaves):]))
	for len(leaves) < groups {
		worst := 0
		for i := range leaves {
			if leaves[i].excess > leaves[worst].excess {
				worst = i
			}
		}
		l := leaves[worst]
		if l.excess <= 0 {
			break
		}
		low, high := l.split()
		leaves[worst] = newLeaf(low)
		leaves = append(leaves, newLeaf(high))
	}
	slices.SortStableFunc(leaves, func(a, b leaf) int { return cmp.Compare(b.mean(), a.mean()) })
	list := make(assortment, len(leaves))
	for i, l := range leaves {
		width := max(blocks/4, 1)
		if len(l.articles) == 1 {
			for width = blocks; fine > 0 && width < slots && l.articles[0].bunched(slots/width) >= float64(2*fine); {
				width *= 2
			}
		}
		list[i] = l.group(width)
	}
	return list
}

// leaf is a group with the feature it is to be split at.
type leaf struct {
	articles   []*article
	feature    int
	at, excess float64
}

func newLeaf(articles []*article) leaf {
	l := leaf{articles: articles}
	n := float64(len(articles))
	for f := range articles[0].features {
		sum, squares := 0.0, 0.0
		for _, a := range articles {
			x := a.features[f]
			sum, squares = sum+x, squares+x*x
		}
		if excess := squares - sum*sum/n - (n-1)/4; excess > l.excess {
			l.feature, l.at, l.excess = f, sum/n, excess
		}
	}
	return l
}

func (l leaf) split() (low, high []*article) {
	for _, a := range l.articles {
		if a.features[l.feature] < l.at {
			low = append(low, a)
		} else {
			high = append(high, a)
		}
	}
	return low, high
}

// mean returns what an article sold.
func (l leaf) mean() float64 {
	sum := 0
	for _, a := range l.articles {
		sum += a.in(0, slots)
	}
	return float64(sum) / float64(len(l.articles))
}

// group returns what is kept of the articles. How far they are apart is by moments: the variance of
// what one sells is mean + apart·mean², and that of the first half of n is n·p·(1−p)·(1+(n−1)·ρ).
// It is 0 unless it is beyond twice its standard deviation by chance.
func (l leaf) group(blocks int) group {
	g := group{articles: len(l.articles), sold: make([]int, blocks)}
	per := slots / blocks
	for _, a := range l.articles {
		for b := range g.sold {
			g.sold[b] += a.in(b*per, per)
		}
	}
	n := float64(len(l.articles))
	mean, excess := l.mean(), 0.0
	for _, a := range l.articles {
		off := float64(a.in(0, slots)) - mean
		excess += off*off - mean
	}
	if excess > 2*mean*math.Sqrt(2*n) {
		g.apart[0] = excess / (mean * mean * n)
	}
	for level, width := 1, slots/2; level <= levels; level, width = level+1, width/2 {
		excess, chance, scale := 0.0, 0.0, 0.0
		for from := 0; from < slots; from += 2 * width {
			p := g.first(from, width)
			for _, a := range l.articles {
				n := float64(a.in(from, 2*width))
				off := float64(a.in(from, width)) - n*p
				excess += off*off - n*p*(1-p)
				chance += 2 * math.Pow(n*p*(1-p), 2)
				scale += n * (n - 1) * p * (1 - p)
			}
		}
		if excess > 2*math.Sqrt(chance) && scale > 0 {
			g.apart[level] = min(excess/scale, 0.999)
		}
	}
	return g
}
