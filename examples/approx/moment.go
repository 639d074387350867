package main

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// What is public of every stream of tokens: its greatest length, and that no word makes up more
// than a tenth of that. So F₂ = Σx² ≤ n²/10, and a token more or less changes F₂ by at most 2·n/10
// + 1. (Section 5.2 has n for the sensitivity; without a bound on the words it is 2n − 1.)
const (
	mostTokens = 1 << 20
	mostOfWord = mostTokens / 10
	mostMoment = float64(mostTokens) * mostOfWord
	momentStep = 2*mostOfWord + 1
)

const (
	amsRows    = 5
	amsColumns = 1 << 20
)

// amsRow is one row of an AMS sketch in the form of Thorup and Zhang: each key adds its sign to one
// of the columns. The sum of the squares has the mean F₂ and a variance of at most 2F₂²/columns,
// for signs that are 4-wise and columns that are pairwise independent.
type amsRow struct {
	sign, column hashing.Polynomial
	sums         []int32
}

// newAMSRow returns a row with hash functions from a fresh seed, which stays secret: the privacy of
// one release rests on it too.
func newAMSRow() (*amsRow, error) {
	seed := hashing.NewSeed()
	sign, err := hashing.NewPolynomial(seed.Derive(1), 4)
	if err != nil {
		return nil, err
	}
	column, err := hashing.NewPolynomial(seed.Derive(2), 2)
	return &amsRow{sign, column, make([]int32, amsColumns)}, err
}

func (r *amsRow) add(key uint64) {
	r.sums[r.column.Into(key, amsColumns)] += int32(r.sign.Sign(key))
}

func (r *amsRow) moment() float64 {
	sum := 0.0
	for _, s := range r.sums {
		sum += float64(s) * float64(s)
	}
	return sum
}

// frequencyMoment releases F₂ of the words of the text: the median of five rows.
func frequencyMoment(text *kjv.Text, opts options) (*result, error) {
	index := map[string]uint64{}
	for i, word := range text.Words() {
		index[word] = uint64(i)
	}
	var rows []float64
	var stream []uint64
	counts := make([]int64, len(index))
	for word := range text.Tokens() {
		stream = append(stream, index[word])
		counts[index[word]]++
	}
	for len(rows) < amsRows {
		row, err := newAMSRow()
		if err != nil {
			return nil, err
		}
		for _, key := range stream {
			row.add(key)
		}
		rows = append(rows, row.moment())
	}
	truth := 0.0
	for _, n := range counts {
		truth += float64(n) * float64(n)
	}

	// Two moments of a row are six of the median. A part in 10⁶ is for the columns, which are
	// uniform to far less than that.
	deviation := math.Sqrt(2.0/amsColumns) * mostMoment * (1 + 1e-6)
	moment, bound, err := approx.MedianMoment(2, deviation, amsRows)
	if err != nil {
		return nil, err
	}
	a, err := approx.New(approx.Params{Epsilon: opts.epsilon, Sensitivity: momentStep, Error: bound, Moment: moment, Max: mostMoment, Protects: budget.Element(budget.AddRemove)})
	if err != nil {
		return nil, err
	}
	next := 0
	estimate := approx.Median(amsRows, func() float64 { next++; return rows[next-1] })
	one, err := answerOf("F₂", truth, estimate, truth, a, opts.confidence)
	return &result{
		title:     fmt.Sprintf("Second frequency moment of %d tokens; hidden is one token", text.Len()),
		method:    fmt.Sprintf("AMS sketch, %d rows of %d columns; error ‖·‖_%g ≤ %.3g; %v of scale %.3g", amsRows, amsColumns, moment, bound, a.Params().Noise, scaleOf(a)),
		guarantee: a.Guarantee(),
		answers:   []answer{one},
	}, err
}
