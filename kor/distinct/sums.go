package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// sum is a sum of sizes of sets, Σ w·x, from the numbers of one release: a difference, say, or the
// keys that two sets share. It is a sets.Size. The cells of each set are those of some of the
// classes; of any two sets one contains the other, or their union is the last set. sums_proof.md
// has the variance, and says why the intervals cover.
type sum struct {
	curve  // without noise
	terms  []term
	noise  [4][4]float64 // covariances of the noise of the counts
	nested [4][4]bool    // one of the two sets contains the other
	within []count       // sets in which is what is counted
	ratio  bool          // of the others to the last, less 1
}

// term is a set with its weight w.
type term struct {
	weight float64
	in     func(class int) bool
	x      float64 // the size by its count alone
}

// sumOf returns the sum, of what is in each of the sets within. The classes of the sets are those
// of n, and behind them more numbers, of cells that are in no class of the set, with other noise.
func (p Params) sumOf(n, more numbers, other noise.DiscreteLaplace, terms []term, within ...func(class int) bool) *sum {
	s := &sum{curve: bareCurve(p), terms: terms}
	for _, in := range within {
		s.within = append(s.within, *p.union(n, in))
	}
	law, _ := p.classLaw() // of a release, so no error
	var both, beyond [4][4]float64
	for class := range len(n) + len(more) {
		into := &both
		if class >= len(n) {
			into = &beyond
		}
		for i, a := range terms {
			for j := range i + 1 {
				if a.in(class) && terms[j].in(class) {
					into[i][j]++
				}
			}
		}
	}
	for i := range terms {
		c := p.union(n, terms[i].in)
		for k, x := range more {
			if terms[i].in(len(n) + k) {
				c.ones += float64(x)
			}
		}
		if len(more) > 0 {
			c.variance += other.Variance() * beyond[i][i]
		}
		terms[i].x = c.Estimate()
		for j := range i + 1 {
			s.noise[i][j] = law.Variance() * (both[i][j] - both[i][i]*both[j][j]/float64(len(n)))
			if beyond[i][j] > 0 {
				s.noise[i][j] += other.Variance() * beyond[i][j]
			}
			s.nested[i][j] = both[i][j] == min(both[i][i], both[j][j])
		}
	}
	return s
}

// Estimate is unbiased, and so it can be negative.
func (s *sum) Estimate() (e float64) {
	last := s.terms[len(s.terms)-1]
	for _, t := range s.terms {
		e += t.weight * t.x
	}
	switch {
	case !s.ratio:
		return e
	case last.x > 0:
		return (e-last.weight*last.x)/last.x - 1
	}
	return math.NaN()
}

// at returns what the sum is less t, the variance of that if the truth is t, and the part of the
// noise in it. The sizes are then those that the counts say, except the last, which t implies.
func (s *sum) at(t float64) (off, variance, noise float64) {
	var w, x, slope [4]float64
	last, full := len(s.terms)-1, -30/s.log[s.levels-1] // no cell is empty, and all is rounded to 0
	for i, term := range s.terms {
		// what is counted is in the sets that are added
		w[i], x[i] = term.weight, min(max(term.x, term.weight*t, 0), full)
		off += w[i] * term.x
	}
	if s.ratio {
		off -= w[last] * s.terms[last].x
		x[last], w[last] = max(off, 0)/(1+t), -1-t
		off += w[last] * s.terms[last].x
	} else {
		x[last] = s.terms[last].x + (t-off)/w[last]
		off -= t
	}
	for i := range s.terms {
		x[last] = max(x[last], x[i])
	}
	x[last] = min(x[last], full)
	for i := range s.terms {
		_, slope[i], _, _ = s.curve.at(x[i])
		for j := range i + 1 {
			f := w[i] * w[j]
			if i != j {
				f *= 2
			}
			placed, drawn := s.covariance(i, j, x, slope)
			variance += f * placed
			noise += f * drawn
		}
	}
	return off, max(variance, 0) + noise, noise
}

// covariance returns that of two sizes x, by where the keys lie and by the noise.
func (s *sum) covariance(i, j int, x, slope [4]float64) (placed, drawn float64) {
	union := x[len(s.terms)-1]
	if s.nested[i][j] {
		union = max(x[i], x[j])
	}
	cells := 0.0
	for _, l := range s.log[:s.levels] {
		cells += math.Exp(l*union) - math.Exp(l*(x[i]+x[j]))
	}
	f := 1 / (slope[i] * slope[j])
	return f * (s.cells*cells - max(x[i]+x[j]-union, 0)*slope[i]*slope[j]), f * s.noise[i][j]
}

// most returns the most that the sum can be: what the sets in which it is have at most, at a
// confidence of which .04 of the errors are taken on each.
func (s *sum) most(confidence float64) float64 {
	if s.ratio {
		return 1
	}
	least := math.Inf(1)
	for _, c := range s.within {
		if each := 1 - 0.08*(1-confidence); each < 1 {
			least = min(least, max(c.quantile(c.ones+0.5, (1-each)/2), c.Estimate()))
		}
	}
	return least
}

// StdErr is the square root of the variance at the estimate.
func (s *sum) StdErr() float64 {
	_, variance, _ := s.at(max(s.Estimate(), 0))
	if !s.ratio {
		return math.Sqrt(variance)
	}
	if math.IsNaN(variance) {
		return math.Inf(1)
	}
	return math.Sqrt(variance) / s.terms[len(s.terms)-1].x
}

// Interval returns the t that are not rejected. The quantile of the normal law is corrected for the
// longer tails of the noise (Cornish and Fisher).
func (s *sum) Interval(confidence float64) (lo, hi float64) {
	most, z := s.most(confidence), normalQuantile(confidence)
	if math.IsNaN(s.Estimate()) {
		return 0, most
	}
	return accepted(0, min(max(s.Estimate(), 0), most), most, z, func(t float64) float64 {
		off, variance, noise := s.at(t)
		excess := 3 * (noise / variance) * (noise / variance)
		return off / math.Sqrt(variance) / (1 + (z*z-3)*excess/24)
	})
}
