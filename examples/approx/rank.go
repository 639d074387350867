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

const compactorSize = 1 << 14 // even

// rankSketch keeps some of the elements of a stream, those of level h standing for 2^h each
// (Karnin, Lang, Liberty, with compactors of one size). A full level is sorted, and every other
// element, from the first or the second as a coin falls, goes one level up.
type rankSketch struct {
	levels [][]string
	src    noise.Source
}

func (s *rankSketch) add(x string) {
	for h := 0; ; h++ {
		if h == len(s.levels) {
			s.levels = append(s.levels, nil)
		}
		if h == 0 {
			s.levels[0] = append(s.levels[0], x)
		}
		if len(s.levels[h]) < compactorSize {
			return
		}
		if h+1 == len(s.levels) {
			s.levels = append(s.levels, nil)
		}
		slices.Sort(s.levels[h])
		for i := int(s.src.Uint64() & 1); i < compactorSize; i += 2 {
			s.levels[h+1] = append(s.levels[h+1], s.levels[h][i])
		}
		s.levels[h] = s.levels[h][:0]
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

// rankDiameter returns a subexponential diameter of the error of a rank.
//
// A compaction of level h with r elements up to x is exact for even r, and off by ±2^h, as the coin
// falls, for odd r: the errors are a martingale with such steps. There are at most n/(size·2^h)
// compactions of level h, and none where that is below 1, so the squares of the steps sum to at
// most v = Σ_h 2^h·n/size ≤ 2n²/size², and by Azuma's inequality Pr[|R| ≥ t] ≤ 2e^{−t²/(2v)}. That
// is at most 2e^{−t/Δ} from t = 2v/Δ on, and below t = Δ·ln 2 the claim is empty: Δ = √(2v/ln 2).
func rankDiameter(n float64) float64 {
	v := 2 * n * n / compactorSize / compactorSize
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
	sketch := &rankSketch{}
	var sorted []string
	for word := range text.Tokens() {
		sketch.add(word)
		sorted = append(sorted, word)
	}
	slices.Sort(sorted)
	a, err := approx.New(approx.Params{Epsilon: opts.epsilon, Sensitivity: 1, Error: rankDiameter(mostTokens), Queries: questions, Limit: mostTokens, Unit: budget.Element(budget.AddRemove)})
	if err != nil {
		return nil, err
	}
	r := &result{
		title: fmt.Sprintf("Tokens up to a place in the alphabet, of %d; hidden is one token; each question depends on the answers before", len(sorted)),
		method: fmt.Sprintf("Compactors of %d tokens; subexponential diameter %.3g; %d questions to one sketch; %v of scale %.3g", compactorSize, a.Params().Error, questions,
			a.Params().Noise, a.Params().Scale()),
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
