package quantile

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// spreadOf returns the Spread of values with these weights by cell, each cell of so many places.
func spreadOf(places int64, weights []int64) *Spread {
	s, cells := new(Spread), []Cell(nil)
	for i, w := range weights {
		if w > 0 {
			cells = append(cells, Cell{uint32(i), w})
		}
	}
	s.Set(cells, places)
	return s
}

// weights returns that of each place of a part, as the code has it.
func (s *Spread) weights(c Choice) []float64 {
	all := make([]float64, 0, c.To-c.From)
	for x := c.From; x < c.To; x++ {
		all = append(all, s.Weight(c, x))
	}
	return all
}

// flaw is what a planted flaw changes in the law of a draw.
type flaw struct {
	loss      float64 // factor of κ; 0: 1
	halves    bool    // ½ in the place of max(q, 1 − q)
	allBefore bool    // a cell that is cut counts in full in each of its parts
	steep     bool    // the slope on the level's side is steeper, and the other no less steep
	base      bool    // the base measure falls from where the values are
}

// reference returns the weights of the places of a part from the definition, in float64.
func reference(places int64, weights []int64, c Choice, f flaw) (all []float64) {
	of := func(cell int64) float64 { // of a place of the cell
		inside := places
		if f.allBefore {
			inside = min(c.To, (cell+1)*places) - max(c.From, cell*places)
		}
		return float64(weights[cell]) / float64(inside)
	}
	sum := func(from, to int64) (sum float64) {
		for x := from; x < to; x++ {
			sum += of(x / places)
		}
		return sum
	}
	share := max(c.Level, 1-c.Level)
	steep := min(max(c.Steep, 1), 2*share)
	above, below := steep, 2-steep
	if f.steep {
		below = 1
	}
	if c.Level < 0.5 {
		above, below = below, above
	}
	if f.halves {
		share = 0.5
	}
	kappa := max(f.loss, 1) * c.Loss / 2 / share
	want := c.Level*sum(c.From, c.To) + float64(c.Shift)
	if f.base && c.Fall.Every != 0 {
		for c.Fall.From = c.From; c.Fall.From < c.To-1 && sum(c.From, c.Fall.From) <= want; c.Fall.From++ {
		}
	}
	for x := c.From; x < c.To; x++ {
		from, to := x, x+1
		if c.Whole {
			from, to = max(c.From, x/places*places), min(c.To, (x/places+1)*places)
		}
		b, end := sum(c.From, from), sum(c.From, to)
		if f.allBefore && c.Whole {
			end = b + float64(weights[x/places])
		}
		fall := 1.0
		if d := x - c.Fall.From; c.Fall.Every > 0 && d >= 0 {
			fall = math.Pow(0.5, float64(min(d/c.Fall.Every+1, mostFalls)))
		} else if d := c.Fall.From - 1 - x; c.Fall.Every < 0 && d >= 0 {
			fall = math.Pow(0.5, float64(min(d/-c.Fall.Every+1, mostFalls)))
		}
		all = append(all, fall*math.Exp(-kappa*max(0, above*(b-want), below*(want-end))))
	}
	return all
}

// outcomes returns the law of all quantiles of one key: the probability of each tuple of places.
func outcomes(end int64, levels []float64, loss float64, how Choice, weights func(Choice) []float64) map[string]float64 {
	parts := Parts(levels)
	law := map[string]float64{}
	var explore func(script []int64, mass float64)
	explore = func(script []int64, mass float64) {
		at := 0
		var open []float64
		var from int64
		found := Quantiles(end, levels, loss, func(i int, c Choice) int64 {
			c.Whole, c.Fall, c.Steep = how.Whole && Leaf(parts, i), how.Fall, how.Steep
			if at++; at <= len(script) {
				return script[at-1]
			}
			if at == len(script)+1 {
				from, open = c.From, weights(c)
				if c.From == c.To {
					open = []float64{1}
				}
			}
			return c.From
		})
		if open == nil {
			law[fmt.Sprint(found)] += mass
			return
		}
		total := 0.0
		for _, w := range open {
			total += w
		}
		for i, w := range open {
			explore(append(slices.Clone(script), from+int64(i)), mass*w/total)
		}
	}
	explore(nil, 1)
	return law
}

// gaussianDelta is that of Gaussian noise of ratio mu, the convex bound of the composition.
func gaussianDelta(mu, epsilon float64) float64 {
	q := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	return q(epsilon/mu-mu/2) - math.Exp(epsilon)*q(epsilon/mu+mu/2)
}

// twins are two inputs of an adversary: the weights of each key, and what one user adds.
type twins struct {
	others, with [][]int64
	levels       []float64
	loss         float64
	how          Choice // Whole, for levels without others on their sides; Fall and Steep
}

// beyond returns the largest quotient of the privacy loss of a release of all keys and that of
// Gaussian noise of ratio mu, over both orders and ten ε.
func (n twins) beyond(places int64, mu float64, f *flaw) (worst float64) {
	ps, qs := []float64{1}, []float64{1}
	for key := range n.others {
		var laws [2]map[string]float64
		for i, weights := range [][]int64{n.others[key], n.with[key]} {
			of := spreadOf(places, weights).weights
			if f != nil {
				of = func(c Choice) []float64 { return reference(places, weights, c, *f) }
			}
			laws[i] = outcomes(places*int64(len(weights)), n.levels, n.loss, n.how, of)
		}
		var nextP, nextQ []float64
		for tuple, p := range laws[0] {
			for i := range ps {
				nextP, nextQ = append(nextP, ps[i]*p), append(nextQ, qs[i]*laws[1][tuple])
			}
		}
		ps, qs = nextP, nextQ
	}
	for i := range 10 {
		epsilon := mu * float64(i) / 4
		exact := max(dptest.HockeyStickSlices(ps, qs, epsilon), dptest.HockeyStickSlices(qs, ps, epsilon))
		worst = max(worst, (exact-1e-13)/gaussianDelta(mu, epsilon))
	}
	return worst
}

// One user, added or removed, with one or two keys, among up to five others in each: in the code's
// integers, at S = 6 and J = 3, all draws of all keys together lose at most what Gaussian noise
// does for which StepEpsilon calibrates them. With each of the flaws they lose more. Sums of up to
// 10⁵ probabilities, each to 1e-14.
func TestSpreadIsPrivate(t *testing.T) {
	const unit, places = 6, 3
	type kind struct {
		keys, squared int // of the user; C²
		levels        []float64
		mu            float64
	}
	kinds := []kind{
		{1, 1, []float64{0.5}, 0.8}, {1, 1, []float64{0.9}, 0.4}, {1, 1, []float64{0.9}, 1.2}, {1, 1, []float64{0.75}, 0.3}, {2, 1, []float64{0.5}, 0.5},
		{2, 2, []float64{0.9}, 0.5}, {1, 1, []float64{0.5, 0.9}, 0.8}, {1, 1, []float64{0.25, 0.5, 0.75}, 0.8}, {2, 2, []float64{0.5, 0.9}, 0.8}, {2, 1, []float64{0.5, 0.9}, 1.5},
	}
	// most returns the largest quotient of so many random pairs of each kind, as changed; of a flaw
	// the first that shows it.
	most := func(rng *rand.Rand, pairs int, f *flaw, change func(kind, *twins, int64)) (worst float64) {
		for _, k := range kinds {
			x := int64(math.Floor(unit * min(1, math.Sqrt(float64(k.squared)/float64(k.keys)))))
			epsilon := StepEpsilon(k.mu, k.squared*Rounds(len(k.levels)))
			cells := map[int]int{1: 60, 2: 12, 3: 4, 4: 3}[k.keys*len(k.levels)]
			for range pairs {
				n := twins{levels: k.levels, loss: Loss(epsilon/unit, x)}
				if rng.IntN(2) == 0 {
					n.how = Choice{Whole: rng.IntN(2) == 0, Steep: 1 + rng.Float64()}
					n.how.Fall = Fall{rng.Int64N(places * int64(cells)), []int64{-2, 1, 5, 0}[rng.IntN(4)]}
				}
				for range k.keys {
					w := make([]int64, 2+rng.IntN(cells-1))
					for range rng.IntN(4) {
						w[rng.IntN(len(w))] += 1 + rng.Int64N(unit)
					}
					at := rng.IntN(len(w))
					if rng.IntN(2) == 0 {
						// One weight lies between many empty places, with the user behind them, and
						// some of it is above the quantile also with the user.
						w = make([]int64, cells)
						q := k.levels[len(k.levels)-1]
						w[rng.IntN(cells-1)] = int64(float64(x)*q/(1-q)) + 1 + rng.Int64N(3)
						at = cells - 1
					}
					n.others = append(n.others, slices.Clone(w))
					w[at] += x
					n.with = append(n.with, w)
				}
				if change != nil {
					change(k, &n, x)
				}
				if worst = max(worst, n.beyond(places, k.mu, f)); worst > 1.1 {
					return worst
				}
			}
		}
		return worst
	}
	rng := rand.New(rand.NewPCG(37, 1))
	pairs := 25
	if dptest.Long() {
		pairs = 1000
	}
	worst := most(rng, pairs, nil, nil)
	t.Logf("%d pairs of each of %d kinds: worst %.4f of the bound", pairs, len(kinds), worst)
	require.LessOrEqual(t, worst, 1.0)
	require.Greater(t, worst, 0.95, "the pairs must come close")
	require.InDelta(t, worst, most(rand.New(rand.NewPCG(37, 1)), pairs, &flaw{}, nil), 1e-7,
		"the code has the law of the definition, but for levels, which are rounded by up to 2⁻²⁵")

	for name, f := range map[string]*flaw{
		"κ doubled": {loss: 2}, "½ for max(q, 1 − q)": {halves: true}, "one slope steeper": {steep: true}, "a base measure of the values": {base: true},
	} {
		worst := most(rand.New(rand.NewPCG(37, 2)), pairs, f, nil)
		t.Logf("%s: %.4f", name, worst)
		require.Greater(t, worst, 1.001, name)
	}
	for name, change := range map[string]func(kind, *twins, int64){
		"x is 1 for two keys": func(k kind, n *twins, x int64) { n.loss *= unit / float64(x) },
		"c is 1 for one step": func(k kind, n *twins, x int64) {
			n.loss *= 2 * k.mu / math.Sqrt(float64(k.squared*Rounds(len(k.levels)))) / StepEpsilon(k.mu, k.squared*Rounds(len(k.levels)))
		},
		"Replace": func(k kind, n *twins, x int64) {
			for _, w := range n.others {
				w[0] += x
			}
		},
	} {
		worst := most(rand.New(rand.NewPCG(37, 3)), pairs, nil, change)
		t.Logf("%s: %.4f", name, worst)
		require.Greater(t, worst, 1.001, name)
	}
}

// All draws of a round together are one step: the windows of the parts' ratios add up to ε₀x at
// most, also where the user's cell is cut, and come to that. Where both parts of the cell count the
// user in full they are wider. Quotients of float64 weights, to 1e-12.
func TestRoundIsOneStep(t *testing.T) {
	const places, loss = 3, 0.1
	rng := rand.New(rand.NewPCG(37, 6))
	window := func(p, q []float64) float64 {
		least, most := math.Inf(1), math.Inf(-1)
		for i := range p {
			ratio := math.Log(p[i] / q[i])
			least, most = min(least, ratio), max(most, ratio)
		}
		return most - least
	}
	worst, flawed := 0.0, 0.0
	for range dptest.Full(20_000, 2000) {
		w := make([]int64, 1+rng.IntN(4))
		for i := range w {
			w[i] = rng.Int64N(30) * rng.Int64N(2)
		}
		x := 1 + rng.Int64N(6)
		v := slices.Clone(w)
		v[rng.IntN(len(w))] += x
		end := places * int64(len(w))
		cuts := []int64{0, rng.Int64N(end + 1), rng.Int64N(end + 1), rng.Int64N(end + 1), end}
		slices.Sort(cuts)
		sum, full := 0.0, 0.0
		whole, steep := rng.IntN(2) == 0, 1+rng.Float64()*float64(rng.IntN(2))
		for i, from := range cuts[:4] {
			if c := (Choice{From: from, To: cuts[i+1], Level: rng.Float64(), Shift: rng.Int64N(21) - 10, Loss: loss, Whole: whole, Steep: steep}); from < c.To {
				sum += window(spreadOf(places, w).weights(c), spreadOf(places, v).weights(c))
				full += window(reference(places, w, c, flaw{allBefore: true}), reference(places, v, c, flaw{allBefore: true}))
			}
		}
		worst, flawed = max(worst, sum/loss/float64(x)), max(flawed, full/loss/float64(x))
	}
	t.Logf("worst window %.6f of ε₀x; where both parts count in full %.3f", worst, flawed)
	require.LessOrEqual(t, worst, 1+1e-12)
	require.Greater(t, worst, 0.999)
	require.Greater(t, flawed, 1.2)
}

// A place is in one part of a round at most: in no more parts than the rounds that are paid for.
func TestPartsAreDisjoint(t *testing.T) {
	var src noise.Source
	s := spreadOf(4, []int64{2, 0, 0, 1, 0, 3, 1, 2})
	for m := 1; m <= 12; m++ {
		var levels []float64
		for i := range m {
			levels = append(levels, float64(i+1)/float64(m+1))
		}
		var parts []Choice
		found := Quantiles(32, levels, 2, func(_ int, c Choice) int64 {
			parts = append(parts, c)
			return s.Draw(c, &src)
		})
		require.True(t, slices.IsSorted(found))
		for x := range int64(32) {
			holders := 0
			for _, c := range parts {
				if c.From <= x && x < c.To {
					holders++
				}
			}
			require.LessOrEqual(t, holders, Rounds(m))
		}
	}
}

// What is off by more than Most has at most the probability that it is asked for.
func TestMost(t *testing.T) {
	const loss = 0.5
	for _, weights := range [][]int64{{0, 0, 50, 0, 0, 50, 0}, {1, 1, 1, 1, 1, 1, 90}, {0, 0, 0}, {9, 9, 9, 9, 9}} {
		for _, level := range []float64{0.5, 0.02, 0.93} {
			s, c := spreadOf(3, weights), Choice{To: 3 * int64(len(weights)), Level: level, Loss: loss}
			for _, miss := range []float64{0.1, 1e-3, 1e-9} {
				far, sum, d := 0.0, 0.0, s.target(c)
				for x, w := range s.weights(c) {
					b := s.before(int64(x))
					if sum += w; d.outside(b, s.before(int64(x)+1).Minus(b))/(d.above*3*whole) > Most(c.To, level, loss, miss) {
						far += w
					}
				}
				require.LessOrEqual(t, far, miss*sum)
			}
		}
	}
}

// Of real size, at a part's ends and about its target: S = 2¹⁰, J = 2²⁰, millions of users.
func TestWindowOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 7))
	for range 300 {
		w := make([]int64, 40)
		for i := range w {
			w[i] = int64(math.Exp(rng.Float64() * 30))
		}
		v, x, at := slices.Clone(w), 1+rng.Int64N(1024), rng.IntN(len(w))
		v[at] += x
		end := int64(len(w) * Places)
		c := Choice{From: rng.Int64N(end / 2), Level: rng.Float64(), Loss: math.Exp(-rng.Float64()*20) / 1024}
		c.To = end - rng.Int64N(end/2)
		a, b := spreadOf(Places, w), spreadOf(Places, v)
		least, most := math.Inf(1), math.Inf(-1)
		look := func(x int64) {
			if x < c.From || x >= c.To {
				return
			}
			var ds [2]float64
			for i, s := range []*Spread{a, b} {
				before := s.before(x)
				t := s.target(c)
				ds[i] = min(t.outside(before, s.before(x+1).Minus(before)), leastBits*math.Ln2)
			}
			least, most = min(least, ds[0]-ds[1]), max(most, ds[0]-ds[1])
		}
		for i := range 400 {
			look(c.From + int64(i)*(c.To-c.From-1)/399)
			look(int64(at*Places + i*Places/400))
		}
		d := a.target(c)
		a.divide(&d, c.From, c.To, a.before(c.From), a.before(c.To))
		for _, g := range a.segments {
			look(g.from)
			look(g.from + g.length - 1)
		}
		require.LessOrEqual(t, most-least, c.Loss*float64(x)+0x1p-42)
	}
}

// Segments cover a part once, no place weighs more than its bound, and one proposal in four or more
// is kept.
func TestDivide(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 4))
	for range dptest.Full(3000, 300) {
		weights := make([]int64, 1+rng.IntN(12))
		for i := range weights {
			if rng.IntN(3) > 0 {
				weights[i] = int64(math.Exp(rng.Float64() * 12))
			}
		}
		const places = 64
		s := spreadOf(places, weights)
		end := places * int64(len(weights))
		c := Choice{From: rng.Int64N(end), To: end, Level: rng.Float64(), Loss: math.Exp(rng.Float64()*14 - 10)}
		c.To = c.From + 1 + rng.Int64N(end-c.From)
		if rng.IntN(3) == 0 {
			c.Shift = rng.Int64N(2001) - 1000
		}
		if rng.IntN(2) == 0 {
			c.Whole, c.Steep = rng.IntN(2) == 0, 1+rng.Float64()
			c.Fall = Fall{rng.Int64N(end), []int64{1, 3, 100, -1, -7}[rng.IntN(5)]}
		}
		exact := s.weights(c)
		target := s.target(c)
		s.cut(&target)
		next, bound, sum := c.From, 0.0, 0.0
		for i, g := range s.segments {
			require.Equal(t, next, g.from)
			for x := g.from; x < g.from+g.length; x++ {
				w := exact[x-c.From]
				require.LessOrEqual(t, w, g.bound*c.Fall.base(x))
				require.Equal(t, c.Fall.falls(g.from), c.Fall.falls(x))
				sum += w
			}
			bound += g.bound * float64(g.length) * c.Fall.base(g.from)
			next += g.length
			before := mass{}
			if i > 0 {
				before = s.segments[i-1].sum
			}
			own := massOf(g.bound, g.length)
			if c.Fall.Every != 0 {
				own = own.times(mostFalls - c.Fall.falls(g.from))
			}
			require.Equal(t, g.sum, before.plus(own))
		}
		require.Equal(t, c.To, next)
		require.Less(t, bound, 4*sum, "three in four proposals must not be in vain")
		for i, w := range reference(places, weights, c, flaw{}) {
			level := math.Round(c.Level*whole) / whole
			if c.Level == level && c.Fall.Every == 0 {
				require.InEpsilon(t, max(w, least), exact[i], 1e-9)
			}
		}
	}
}

// A draw has the law of the weights: in a heavy atom that is cut, among cells and empty stretches.
func TestDraw(t *testing.T) {
	var src noise.Source
	for name, c := range map[string]struct {
		weights []int64
		choice  Choice
	}{
		"cells":           {[]int64{0, 3, 0, 0, 9, 1}, Choice{From: 1, To: 22, Level: 0.4, Loss: 0.7}},
		"atom":            {[]int64{1, 5000, 0, 7}, Choice{From: 1, To: 14, Level: 0.5, Loss: 0.0005}},
		"nobody":          {[]int64{0, 0, 0}, Choice{To: 12, Level: 0.9, Loss: 1}},
		"shift":           {[]int64{10, 10, 10}, Choice{To: 12, Level: 1, Shift: -7, Loss: 0.3}},
		"whole":           {[]int64{1, 50, 0, 7}, Choice{From: 2, To: 14, Level: 0.5, Loss: 0.05, Whole: true}},
		"falls":           {[]int64{10, 0, 3, 0, 0, 0}, Choice{To: 24, Level: 0.9, Loss: 0.2, Fall: Fall{9, 2}, Steep: 1.6}},
		"falls downwards": {[]int64{0, 0, 3, 10, 0, 0}, Choice{To: 24, Level: 0.1, Loss: 0.2, Fall: Fall{9, -2}, Steep: 1.6}},
	} {
		s := spreadOf(4, c.weights)
		law, sum := s.weights(c.choice), 0.0
		for _, w := range law {
			sum += w
		}
		require.True(t, name != "nobody" || sum == float64(len(law)), "uniform where nobody has a value, so that no error tells")
		for i := range law {
			law[i] *= (1 - 1e-12) / sum
		}
		observed := make([]int64, len(law))
		for range 20_000 {
			observed[s.Draw(c.choice, &src)-c.choice.From]++
		}
		dptest.ChiSquare(t, name, observed, law, 1e-9)
	}
	require.EqualValues(t, 5, spreadOf(4, []int64{1}).Draw(Choice{From: 5, To: 5}, &src), "a part without places draws nothing")
}

// Where weight is spread smoothly the error in rank has the law of the results: its mean is 1/κ
// within 5 %, exactly computed.
func TestMeanError(t *testing.T) {
	for _, level := range []float64{0.5, 0.9, 0.99} {
		const users, cells, loss = 4000, 400, 0.08
		s := spreadOf(8, slices.Repeat([]int64{users / cells}, cells))
		sum, errors := 0.0, 0.0
		c := Choice{To: 8 * cells, Level: level, Loss: loss}
		for i, w := range s.weights(c) {
			sum += w
			errors += w * math.Abs((float64(i)+0.5)*users/cells/8-level*users)
		}
		if (1-level)*users*loss/2 < 5 {
			continue // above everything
		}
		require.InEpsilon(t, MeanError(level, loss), errors/sum, 0.05, "level %v", level)
	}
	// Of several levels the first has its own, and each other adds shares of its twins'.
	of := func(float64) float64 { return 1 }
	sum := func(a, b float64) float64 { return a + b }
	require.Equal(t, []float64{1}, Errors([]float64{0.5}, of, sum))
	require.InDeltaSlice(t, []float64{1 + 5./9, 1, 1.1}, Errors([]float64{0.5, 0.9, 0.99}, of, sum), 1e-12)
	for n, rounds := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 7: 3, 8: 4, 32: 6} {
		require.Equal(t, rounds, Rounds(n))
	}
}

// An atom answers every level within it: p40, p50 and p60 of an atom at the ranks .3 to .7, in one
// release; and p50 beside p90 in an atom at .85 to 1 is off by no more than its own error.
func TestAtoms(t *testing.T) {
	const places, users, kappa = 32, 5000, 0.02 // 100/κ
	within := func(weights []int64, levels []float64, right func(found []int64) bool) (mass float64) {
		s := spreadOf(places, weights)
		for tuple, p := range outcomesOf(s, places*int64(len(weights)), levels, 2*kappa*0.5, func(_ int, c Choice) Choice { return c }, 1e-9) {
			if right(tuple.places[:len(levels)]) {
				mass += p
			}
		}
		return mass
	}
	atom := []int64{users * 3 / 20, users * 3 / 20, users * 4 / 10, users * 3 / 20, users * 3 / 20}
	mass := within(atom, []float64{0.4, 0.5, 0.6}, func(found []int64) bool { return found[0] >= 2*places && found[2] < 3*places })
	require.Greater(t, mass, 0.99)
	last := append(slices.Repeat([]int64{users * 85 / 2000}, 20), users*15/100)
	mass = within(last, []float64{0.5, 0.9}, func(found []int64) bool {
		at := float64(found[0]) / places * users * 85 / 2000
		return found[1] >= 20*places && math.Abs(at-users/2) < users*85./2000+2/kappa+5./9*2*1.8/kappa
	})
	require.Greater(t, mass, 0.8)
}

// tuple are the places of up to three levels.
type tuple struct{ places [3]int64 }

// outcomesOf is outcomes with the weights of the code, for one to three levels.
func outcomesOf(s *Spread, end int64, levels []float64, loss float64, how func(int, Choice) Choice, least float64) map[tuple]float64 {
	law := map[tuple]float64{}
	var order []int
	halve(levels, func(i int, _ Part) { order = append(order, i) })
	var explore func(n int, t tuple, mass float64)
	explore = func(n int, at tuple, mass float64) {
		if n == len(order) || mass < least {
			law[at] += mass
			return
		}
		k := 0
		var c Choice
		Quantiles(end, levels, loss, func(_ int, choice Choice) int64 {
			if k++; k == n+1 {
				c = how(order[k-1], choice)
			}
			return at.places[order[k-1]]
		})
		weights, sum := s.weights(c), 0.0
		for _, w := range weights {
			sum += w
		}
		for i, w := range weights {
			next := at
			next.places[order[n]] = c.From + int64(i)
			explore(n+1, next, mass*w/sum)
		}
	}
	explore(0, tuple{}, 1)
	return law
}

// Sums and comparisons of 256 bits are those of package big, at every exponent there is.
func TestMass(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 5))
	large := func(m mass) *big.Int {
		x := new(big.Int)
		for i := len(m) - 1; i >= 0; i-- {
			x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(m[i]))
		}
		return x
	}
	var src noise.Source
	last := mass{}
	for i := range 2000 {
		weight := max(math.Ldexp(1+rng.Float64(), -i%131), least)
		length := 1 + rng.Int64N(1<<(rng.IntN(62)+1))
		m := massOf(weight, length)
		exact, _ := new(big.Float).SetMantExp(big.NewFloat(weight), unitBits).Int(nil)
		require.Equal(t, exact.Mul(exact, big.NewInt(length)).String(), large(m).String())
		require.Equal(t, new(big.Int).Add(large(m), large(last)).String(), large(m.plus(last)).String())
		require.Equal(t, large(m).Cmp(large(last)) < 0, m.less(last))
		if up := uint(rng.IntN(mostFalls + 1)); large(m).BitLen()+int(up) <= 256 {
			require.Equal(t, new(big.Int).Lsh(large(m), up).String(), large(m.times(up)).String())
		}
		require.True(t, m.below(&src).less(m))
		last = m
	}
}

// What the arithmetic is off by is paid for, for every contributor of the least weight or more.
func TestLoss(t *testing.T) {
	for _, epsilon := range []float64{0x1p-30, 0.01, 3} {
		for _, smallest := range []int64{1, 64, 1024} {
			for _, x := range []int64{smallest, 3 * smallest} {
				loss := Loss(epsilon, smallest)
				require.LessOrEqual(t, loss*float64(x)+0x1p-42, epsilon*float64(x))
				require.Greater(t, loss, epsilon*(1-0x1p-10))
			}
		}
	}
	require.Zero(t, Loss(0x1p-43, 1))
}

// How often a base measure has fallen, from the definition, and where that changes; and its sums
// beyond a target, by adding up.
func TestFall(t *testing.T) {
	for _, f := range []Fall{{}, {5, 1}, {5, 3}, {0, 2}, {-4, 2}, {12, -1}, {12, -3}, {70, -2}, {100, 1}} {
		for x := int64(0); x < 90; x++ {
			n := 0.0
			switch d := float64(x - f.From); {
			case f.Every > 0 && d >= 0:
				n = math.Floor(d/float64(f.Every)) + 1
			case f.Every < 0 && d < 0:
				n = math.Floor((-d-1)/float64(-f.Every)) + 1
			}
			require.EqualValues(t, min(n, mostFalls), f.falls(x), "%v at %d", f, x)
			if x > 0 {
				require.Equal(t, f.falls(x) != f.falls(x-1), f.end(x-1) == x)
			}
		}
		for _, c := range [][4]int64{{0, 0, 40, 41}, {3, 7, 20, 60}, {0, 10, 10, 80}, {2, 2, 30, 85}} {
			above, below := 1.0, 1.0
			for x := c[1]; x <= c[2]; x++ {
				up, down := 0.0, 0.0
				for y := c[0]; y < c[3]; y++ {
					if y >= x {
						up += f.base(y)
					}
					if y <= x {
						down += f.base(y)
					}
				}
				above, below = max(above, up/f.base(x)), max(below, down/f.base(x))
			}
			require.InDelta(t, math.Log(above), f.Above(c[1], c[2], c[3]), 1e-12)
			require.InDelta(t, math.Log(below), f.Below(c[0], c[1], c[2]), 1e-12)
		}
	}
}
