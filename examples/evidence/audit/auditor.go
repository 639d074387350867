package audit

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// The auditor is DP-Sniper's idea (Bichsel, Steffen, Bogunovic and Vechev, IEEE S&P 2021) in a
// hundred lines: a logistic regression learns which of two neighbouring inputs a release is of, so
// its value is about a likelihood ratio, and the event to look at is that it is above a threshold.
// The event is chosen on releases of its own, and then counted on fresh ones.

// source makes releases of input 0 or 1, one slice of features each; NaN stands for a key that is
// hidden.
type source func(side int, emit func(features []float64))

// samples returns n releases of a side.
func samples(s source, side, n int) [][]float64 {
	all := make([][]float64, 0, n)
	for len(all) < n {
		s(side, func(features []float64) {
			if len(all) < n {
				all = append(all, expand(features))
			}
		})
	}
	return all
}

// expand splits a feature that may be missing into two.
func expand(x []float64) []float64 {
	out := make([]float64, 2*len(x))
	for i, v := range x {
		if math.IsNaN(v) {
			out[2*i+1] = 1
		} else {
			out[2*i] = v
		}
	}
	return out
}

// classifier is a logistic regression on features of mean 0 and variance 1. Each number comes with
// itself cut off at the medians of both sides, which for Laplace noise is the likelihood ratio.
type classifier struct {
	centre, half        []float64 // of the cut; half is 0 where there is none
	mean, scale, weight []float64
}

// median returns that of feature i, of releases that have it.
func median(side [][]float64, i int) float64 {
	var values []float64
	for _, x := range side {
		if x[i+1] == 0 {
			values = append(values, x[i])
		}
	}
	if len(values) < 100 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// features appends the cut features to x.
func (c *classifier) features(x []float64) []float64 {
	out := x[:len(x):len(x)]
	for i, half := range c.half {
		if half > 0 {
			out = append(out, (1-x[2*i+1])*min(max(x[2*i]-c.centre[i], -half), half))
		}
	}
	return out
}

// learn trains on releases of both sides.
func learn(r *rand.Rand, sides [2][][]float64) *classifier {
	c := &classifier{}
	for i := 0; i < len(sides[0][0]); i += 2 {
		a, b := median(sides[0], i), median(sides[1], i)
		c.centre, c.half = append(c.centre, (a+b)/2), append(c.half, math.Abs(a-b)/2)
	}
	d := len(c.features(sides[0][0]))
	c.mean, c.scale, c.weight = make([]float64, d), make([]float64, d), make([]float64, d)
	var wide [2][][]float64
	n := 0.0
	for i, side := range sides {
		for _, x := range side {
			n++
			x = c.features(x)
			wide[i] = append(wide[i], x)
			for i, v := range x {
				c.mean[i] += v
				c.scale[i] += v * v
			}
		}
	}
	for i := range c.mean {
		c.mean[i] /= n
		if v := c.scale[i]/n - c.mean[i]*c.mean[i]; v > 1e-12 {
			c.scale[i] = 1 / math.Sqrt(v)
		} else {
			c.scale[i] = 0 // constant
		}
	}
	const epochs = 6
	for epoch := range epochs {
		rate := 0.1 / (1 + float64(d)/8) / float64(1+epoch*epoch)
		for range 2 * len(sides[0]) {
			side := r.IntN(2)
			x := wide[side][r.IntN(len(wide[side]))]
			error := float64(1-side) - 1/(1+math.Exp(-c.sum(x)))
			for i, v := range x {
				c.weight[i] += rate * error * (v - c.mean[i]) * c.scale[i]
			}
		}
	}
	return c
}

// value grows with how much likelier input 0 is.
func (c *classifier) value(x []float64) float64 { return c.sum(c.features(x)) }

func (c *classifier) sum(x []float64) (sum float64) {
	for i, v := range x {
		sum += c.weight[i] * (v - c.mean[i]) * c.scale[i]
	}
	return sum
}

// lower and upper are the Clopper–Pearson bounds of a probability, each with the given miss. (The
// inverse that gonum has is wrong far out, where nothing was hit.)
func lower(hits, n int, miss float64) float64 { return 1 - upper(n-hits, n, miss) }

func upper(hits, n int, miss float64) float64 {
	if hits == n {
		return 1
	}
	lo, hi := 0.0, 1.0
	for range 50 { // Pr[at most so many hits] falls with p
		if p := (lo + hi) / 2; mathext.RegIncBeta(float64(n-hits), float64(hits+1), 1-p) > miss {
			lo = p
		} else {
			hi = p
		}
	}
	return hi
}

// verdict is what an audit found: with probability 1 − miss no more than the truth.
type verdict struct {
	excess  float64 // by how much δ is exceeded at epsilon; negative: not at all
	epsilon float64 // the claim that was looked at
	lost    float64 // a lower bound on ε at δ = 0 of the same event
}

// miss is the probability that an audit of a true claim finds it exceeded.
const miss = 1e-6

// audit looks for an event that exceeds the claim delta(ε) at one of the given ε.
func audit(seed uint64, s source, epsilons []float64, delta func(epsilon float64) float64, n int) verdict {
	r := rand.New(rand.NewPCG(seed, 1))
	train := n / 4
	var learning [2][][]float64
	for side := range learning {
		learning[side] = samples(s, side, train)
	}
	c := learn(r, learning)
	score := func(n int) (sides [2][]float64) {
		for side := range sides {
			for _, x := range samples(s, side, n) {
				sides[side] = append(sides[side], c.value(x))
			}
			slices.Sort(sides[side])
		}
		return sides
	}
	above := func(values []float64, t float64) int {
		i, _ := slices.BinarySearch(values, t)
		return len(values) - i
	}
	// Which event, which order, which ε?
	choosing := score(n / 2)
	type event struct {
		threshold, epsilon float64
		swapped            bool
	}
	bounds := map[[2]int][2]float64{}
	bound := func(hits, n int) (lo, hi float64) {
		b, ok := bounds[[2]int{hits, n}]
		if !ok {
			b = [2]float64{lower(hits, n, miss/2), upper(hits, n, miss/2)}
			bounds[[2]int{hits, n}] = b
		}
		return b[0], b[1]
	}
	// exceeds returns the excess for an event: the side that is likelier against e^ε times the
	// other.
	exceeds := func(sides [2][]float64, e event) (excess, lost float64) {
		hits := [2]int{above(sides[0], e.threshold), above(sides[1], e.threshold)}
		m := len(sides[0])
		if e.swapped { // input 1 is likely where the value is low
			hits = [2]int{m - hits[1], m - hits[0]}
		}
		p, _ := bound(hits[0], m)
		_, q := bound(hits[1], m)
		return p - math.Exp(e.epsilon)*q - delta(e.epsilon), math.Log(p / q)
	}
	best, most := event{}, math.Inf(-1)
	likeliest, largest := event{}, math.Inf(-1)
	for _, epsilon := range epsilons {
		for _, quantile := range []float64{0.0005, 0.002, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.998, 0.9995} {
			for side := range 2 {
				t := choosing[side][int(quantile*float64(n/2))]
				for _, swapped := range []bool{false, true} {
					for _, t := range []float64{t, math.Nextafter(t, math.Inf(1))} {
						e := event{t, epsilon, swapped}
						x, lost := exceeds(choosing, e)
						if x > most {
							best, most = e, x
						}
						if lost > largest {
							likeliest, largest = e, lost
						}
					}
				}
			}
		}
	}
	fresh := score(n)
	excess, _ := exceeds(fresh, best)
	_, lost := exceeds(fresh, likeliest)
	return verdict{excess, best.epsilon, lost}
}
