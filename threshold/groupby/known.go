package groupby

import "math"

// knownFrom returns, for each level, from about how many users of a key on it is known in nine
// of ten releases, where values are spread smoothly.
func (n *noises) knownFrom(p Params) (from [maxLevels]float64) {
	g := &Groups[int]{params: p, law: *n}
	for i := range p.levels() {
		low, high := 0., math.Log(0x1p50)
		for range 24 {
			users := (low + high) / 2
			if g.known(g.typical(math.Exp(users)), i) {
				high = users
			} else {
				low = users
			}
		}
		digits := math.Pow(10, math.Floor(high/math.Ln10)-1)
		from[i] = math.Ceil(math.Exp(high)/digits) * digits
	}
	return from
}

// typical returns what may be released of a key with so many users, where the noise of its count,
// and of the weights on either side, is as low as in one of ten releases.
func (g *Groups[K]) typical(users float64) (e group[K]) {
	const low = 0.9 // deviations, of each of two: 1.28 of both
	levels, s := g.params.levels(), g.law.scale
	e.rest = int64((users - low*g.law.count) * fine * unit)
	middle := float64(s.cells) / 2
	if f := s.falls(true, 1); f.Every != 0 {
		middle = float64(f.From)
	}
	ranks, last := []float64{0}, 0.0
	for i, level := range levels {
		// a quarter of an octave between the quantiles, and cells without much weight
		cell := middle + float64(i)*(1<<leading)/4
		if s.step > 0 {
			cell = level * float64(s.cells)
		}
		next := 1.0
		if i+1 < len(levels) {
			next = levels[i+1]
		}
		before := float64(g.law.spread.cutAway(i, (level-last)*users)) / spreadUnit
		behind := float64(g.law.spread.cutAway(i, (next-level)*users)) / spreadUnit
		ranks = append(ranks, level*users-before, level*users, level*users, level*users+behind)
		for _, x := range [3]float64{cell - 8, cell, cell + 8} {
			e.cells = append(e.cells, uint32(min(max(x, 0), float64(s.cells-1))))
		}
		last = level
	}
	ranks = append(ranks, users)
	for i := range ranks[1:] {
		e.weights = append(e.weights, int64((ranks[i+1]-ranks[i])*spreadUnit))
	}
	noise := int64(low * g.law.spread.weigh * math.Sqrt(float64(len(e.weights))/2))
	e.weights[0] -= noise
	e.weights[len(e.weights)-1] -= noise
	return e
}
