package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const topCompactor = 1 << 15

// rankSketch keeps some of the elements of a stream, those of level h standing for 2^h each
// (Karnin, Lang, Liberty 2016, without the sampler for the lowest levels). A full level is sorted,
// and every other element, from the first or the second as a coin falls, goes one level up. The
// lower a level, the smaller it is, by a factor of ⅔ each: its compactions err by less.
type rankSketch struct {
	levels [][]string
	sizes  []int // even; the last level takes all that comes
	src    noise.Source
}

// compactorSizes returns the sizes of the levels for up to n elements: so many that the last one,
// of the size topCompactor, never fills up.
func compactorSizes(n float64) (sizes []int) {
	levels := 1
	for n > topCompactor*math.Ldexp(1, levels-1) {
		levels++
	}
	for h := range levels {
		sizes = append(sizes, 2*int(math.Ceil(topCompactor/2*math.Pow(2.0/3, float64(levels-1-h)))))
	}
	return sizes
}

func newRankSketch(n float64) *rankSketch {
	sizes := compactorSizes(n)
	return &rankSketch{levels: make([][]string, len(sizes)), sizes: sizes}
}

func (s *rankSketch) add(x string) {
	s.levels[0] = append(s.levels[0], x)
	for h := 0; h+1 < len(s.levels) && len(s.levels[h]) >= s.sizes[h]; h++ {
		slices.Sort(s.levels[h])
		for i := int(s.src.Uint64() & 1); i < s.sizes[h]; i += 2 {
			s.levels[h+1] = append(s.levels[h+1], s.levels[h][i])
		}
		s.levels[h] = append(s.levels[h][:0], s.levels[h][s.sizes[h]:]...)
	}
}

// rank estimates the number of elements up to x.
func (s *rankSketch) rank(x string) float64 {
	sum := 0.0
	for h, level := range s.levels {
		for _, y := range level {
			if y <= x {
				sum += math.Ldexp(1, h)
			}
		}
	}
	return sum
}

// rankDiameter returns a subexponential diameter of the error of a rank, of up to n elements.
//
// A compaction of level h with r elements up to x is exact for even r, and off by ±2^h, as the coin
// falls, for odd r: the errors are a martingale with such steps. A compaction of level h takes
// sizes[h] elements that stand for 2^h each, so there are at most n/(sizes[h]·2^h) of them, and the
// squares of the steps sum to at most v = Σ_h 2^h·n/sizes[h] over the levels but the last. By
// Azuma's inequality Pr[|R| ≥ t] ≤ 2e^{−t²/(2v)}. That is at most 2e^{−t/Δ} from t = 2v/Δ on, and
// below t = Δ·ln 2 the claim is empty: Δ = √(2v/ln 2).
func rankDiameter(n float64) float64 {
	v := 0.0
	sizes := compactorSizes(n)
	for h, size := range sizes[:len(sizes)-1] {
		v += math.Ldexp(n, h) / float64(size)
	}
	return math.Sqrt(2 * v / math.Ln2)
}

// beginnings is the list that questions are taken from: aa, ab, …, zz. It is public; the vocabulary
// of the text is not, as one token can hold the only use of a word.
func beginnings() (list []string) {
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z'; b++ {
			list = append(list, string([]rune{a, b}))
		}
	}
	return list
}

// ranks releases how many tokens come up to some places in the alphabet, all from one sketch. The
// median is found by bisection: each question depends on the released answers so far, which the
// guarantee allows for.
func ranks(text *kjv.Text, opts options) (*result, error) {
	const questions = 8
	sketch := newRankSketch(mostTokens)
	var sorted []string
	for word := range text.Tokens() {
		sketch.add(word)
		sorted = append(sorted, word)
	}
	slices.Sort(sorted)
	a, err := approx.New(approx.Params{Epsilon: opts.epsilon, Sensitivity: 1, Error: rankDiameter(mostTokens), Queries: questions, Max: mostTokens, Protects: budget.Element(budget.AddRemove)})
	if err != nil {
		return nil, err
	}
	r := &result{
		title: fmt.Sprintf("Tokens up to a place in the alphabet, of %d; hidden is one token; each question depends on the answers before", len(sorted)),
		method: fmt.Sprintf("Compactors of up to %d tokens; subexponential diameter %.3g; %d questions to one sketch; %v of scale %.3g", topCompactor, a.Params().Error, questions,
			a.Params().Noise, scaleOf(a)),
		guarantee: a.Guarantee(),
	}
	places := beginnings()
	lo, hi := 0, len(places)
	target := float64(mostTokens) / 2 * 0.75 // public: about the middle
	for range questions {
		middle := (lo + hi) / 2
		after, _ := slices.BinarySearch(sorted, places[middle]+"\x00")
		one, err := answerOf(places[middle], float64(after), sketch.rank(places[middle]), float64(len(sorted)), a, opts.confidence)
		if err != nil {
			return nil, err
		}
		r.answers = append(r.answers, one)
		if one.value < target {
			lo = middle
		} else {
			hi = middle
		}
	}
	return r, nil
}
