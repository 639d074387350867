package distinct

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Frequencies are the number of keys, and the fractions that came once, twice, and so on.
type Frequencies struct {
	release // the numbers of cells without a key, with one that came once, …; then of ones
	most    int
}

// Guarantee returns what was spent.
func (f *Frequencies) Guarantee() budget.Guarantee { return f.params.frequencyGuarantee() }

// Most returns m: the last class came m times or more.
func (f *Frequencies) Most() int { return f.most }

// Users returns the number of keys.
func (f *Frequencies) Users() kor.Cardinality {
	if !f.valid() {
		return kor.Cardinality{}
	}
	half, _, _ := f.params.frequencies() // of a release, so no error
	return kor.Cardinality{Source: &count{newCurve(half), float64(f.numbers[f.most+1])}}
}

// ratio is what the cells say of some classes: of kept cells with a key, held are of the classes.
//
// A kept key is one of a simple random sample of the users, so held has mean t·kept if t is the
// share of the classes, and held − t·kept has the variance t·(1−t)·kept·(1 − kept/users), of a
// sample without replacement, and that of the noise, v·(m(k+1−m) + k·t² − 2mt)/(k+1) for m of k
// classes and the empty one, once the excess is taken out (classes_proof.md).
type ratio struct {
	held, kept, users, noise float64
	m, k                     float64
}

// ratio returns what is known of the classes from one to another.
func (f *Frequencies) ratio(from, to int) (r ratio, ok bool) {
	if !f.valid() || from < 1 || to > f.most || from > to {
		return r, false
	}
	_, law, _ := f.params.frequencies() // of a release, so no error
	excess, cells := 0.0, float64(cellsEach*f.params.Cells)
	for _, x := range f.numbers[:f.most+1] {
		excess += float64(x)
	}
	excess = (excess - cells) / float64(f.most+1)
	r = ratio{0, cells - (float64(f.numbers[0]) - excess), f.Users().Estimate(), law.Variance(), float64(to - from + 1), float64(f.most)}
	for _, x := range f.numbers[from : to+1] {
		r.held += float64(x) - excess
	}
	return r, true
}

// deviation returns by how many standard errors held is above t·kept.
func (r ratio) deviation(t float64) float64 {
	kept := max(r.kept, 0)
	sample := t * (1 - t) * kept * (1 - min(kept/max(r.users, kept, 1), 1))
	return (r.held - t*r.kept) / math.Sqrt(sample+r.noise*(r.m*(r.k+1-r.m)+r.k*t*t-2*r.m*t)/(r.k+1))
}

// interval returns the t in [0, 1] that the noisy cells do not reject (Fieller's set for a ratio).
func (r ratio) interval(confidence float64) (lo, hi float64) {
	best := 0.0
	for _, t := range []float64{1, min(max(r.held/r.kept, 0), 1)} {
		if math.Abs(r.deviation(t)) < math.Abs(r.deviation(best)) {
			best = t
		}
	}
	return accepted(0, best, 1, normalQuantile(confidence), r.deviation)
}

// shares returns the share of each class; nil if there are too few keys.
func (f *Frequencies) shares() []float64 {
	r, ok := f.ratio(1, 1)
	deviation := math.Sqrt(r.noise * r.k / (r.k + 1))
	if !ok || r.kept <= 4*deviation {
		return nil
	}
	x, excess := make([]float64, f.most), float64(f.numbers[1])-r.held
	for i := range x {
		x[i] = (float64(f.numbers[i+1]) - excess) / r.kept
	}
	return posteriorShares(x, deviation/r.kept)
}

// posteriorShares returns shares that are ≥ 0 and 1 in all, given numbers x with normal noise of
// standard deviation sigma: a mean of the nearest such shares and of the means of shares of which
// most are about as large as the one before. The latter have a weight of 1/(1 + e^(6−g)), where g
// is how much better they explain x, in logarithms, than shares that tell nothing of each other.
// The nearest shares are x less one number, and so have noise in classes that nobody is in, and too
// many keys in the last classes; but where the noise hides all, nothing has smaller errors.
func posteriorShares(x []float64, sigma float64) []float64 {
	shares := nearestOfSum(x, slices.Repeat([]float64{1}, len(x)), 1)
	_, apart := meanShares(x, sigma, 1)
	means, alike := meanShares(x, sigma, 0.1)
	for i, mean := range means {
		shares[i] += (mean - shares[i]) / (1 + math.Exp(6-alike+apart))
	}
	return shares
}

// meanShares returns the means of shares given x, and the logarithm of the density of x.
//
// A share is a priori 0, or exponential with one of five means from 1 to sigma/2. The first class
// and the last have a mean by themselves. Any other has that of the class before, or the next
// larger or smaller one, each with the probability walk; or any, with the probability change. Given
// that all sum to 1, the density of each has a factor e^(tilt·share), with the tilt at which the
// means do (the saddle point). For an exponential mean s the share is normal about x + (tilt −
// 1/s)·sigma², cut off below 0: with M = √2π·mills(a) and a = −x/sigma − (tilt − 1/s)·sigma its
// density at x is sigma·M/s times that of 0, and its mean sigma·(1/M − a).
func meanShares(x []float64, sigma, change float64) (shares []float64, density float64) {
	const empty, walk = 0.35, 0.15
	prior, factors := shareStates{empty}, shareStates{1} // sigma/mean
	states := len(prior)
	for j := range prior[1:] {
		prior[j+1] = (1 - empty) / float64(states-1)
		factors[j+1] = sigma * math.Pow(2/sigma, float64(j)/float64(states-2))
	}
	n, off := len(x), 1.0
	shares = make([]float64, n)
	likelihood, weight, mean := make([]shareStates, n), make([]shareStates, n), make([]shareStates, n)
	missing := func(tilt float64) float64 {
		if math.Abs(off) < 1e-9 {
			return off // found
		}
		off, density = 1, -tilt
		for i, v := range x {
			likelihood[i][0] = 0
			for j, factor := range factors[1:] {
				a := factor - v/sigma - tilt*sigma
				likelihood[i][j+1], mean[i][j+1] = a*a/2+math.Log(2*math.Pi)/2, -a*sigma
				if a > -8 {
					m := mills(a) * math.Sqrt(2*math.Pi)
					likelihood[i][j+1], mean[i][j+1] = math.Log(m), max(sigma*(1/m-a), 0)
				}
			}
			top := slices.Max(likelihood[i][:])
			density += top
			for j, log := range likelihood[i] {
				likelihood[i][j] = math.Exp(log-top) * factors[j]
				weight[i][j] = prior[j] * likelihood[i][j]
			}
		}
		for _, step := range []int{1, -1} {
			last := prior // of the mean of a class, given all between it and the first or the last
			for i := 1 + (n-3)*(1-step)/2; i > 0 && i < n-1; i += step {
				was := last
				for j := range last {
					if j > 0 {
						last[j] += walk * (was[max(j-1, 1)] - 2*was[j] + was[min(j+1, states-1)])
					}
					last[j] += (prior[j] - last[j]) * change
					weight[i][j] *= last[j] / prior[j]
					last[j] *= likelihood[i][j]
				}
				if sum := scale(last[:]); step > 0 {
					density += math.Log(sum)
				}
			}
		}
		for i := range shares {
			if sum := scale(weight[i][:]); i == 0 || i == n-1 {
				density += math.Log(sum)
			}
			shares[i] = 0
			for j, w := range weight[i] {
				shares[i] += w * mean[i][j]
			}
			off -= shares[i]
		}
		return off
	}
	reach := (2 + max(slices.Max(x), -slices.Min(x))) / (sigma * sigma)
	exact.LeastRoot(-reach, reach, missing)
	scale(shares)
	return shares, density
}

// shareStates has a number for each a priori mean of a share, 0 first.
type shareStates [6]float64

// scale divides by the sum, which it returns.
func scale(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	for i := range x {
		x[i] /= sum
	}
	return sum
}

// Share returns the fraction of keys that came times times, in the last class or more. Where the
// noise lets this be told, it is a mean, given the noise, if most classes are about as frequent as
// the one before. NaN for other classes, and if the cells with a key number below 4 standard
// deviations of the noise.
func (f *Frequencies) Share(times int) float64 { return f.share(f.shares(), times, times) }

// AtLeast is Share for k times or more.
func (f *Frequencies) AtLeast(k int) float64 { return f.share(f.shares(), k, f.most) }

func (f *Frequencies) share(shares []float64, from, to int) (sum float64) {
	if from < 1 || from > to || to > len(shares) {
		return math.NaN()
	}
	if from == 1 && to == f.most {
		return 1
	}
	for _, x := range shares[from-1 : to] {
		sum += x
	}
	return min(sum, 1)
}

// ShareInterval returns the fractions that the noisy cells do not reject, and Share; all of [0, 1]
// if there is only noise. NaN for other classes.
func (f *Frequencies) ShareInterval(times int, confidence float64) (lo, hi float64) {
	return f.interval(f.shares(), times, times, confidence)
}

// AtLeastInterval is ShareInterval for AtLeast.
func (f *Frequencies) AtLeastInterval(k int, confidence float64) (lo, hi float64) {
	return f.interval(f.shares(), k, f.most, confidence)
}

func (f *Frequencies) interval(shares []float64, from, to int, confidence float64) (lo, hi float64) {
	r, ok := f.ratio(from, to)
	switch {
	case !ok || !check.Confidence(confidence):
		return math.NaN(), math.NaN()
	case from == 1 && to == f.most: // all keys
		return 1, 1
	}
	lo, hi = r.interval(confidence)
	if share := f.share(shares, from, to); !math.IsNaN(share) {
		lo, hi = min(lo, share), max(hi, share)
	}
	return lo, hi
}

// String describes the release.
func (f *Frequencies) String() string {
	return f.text("distinct.Frequencies", f.Guarantee(), "keys by how often they came, up to %d times or more", f.most)
}

// The encoding of Frequencies, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 23, version 1
//	40     Epsilon, CountShare (1), Cells, Levels, Seed, as in a Sketch
//	4      most, at least 2
//	8·k    noisy numbers of cells without a key, with one that came once, …, most times or more,
//	       then the noisy number of ones; two's complement
//
// No other bytes decode to the same Frequencies.
func (f *Frequencies) layout() layout {
	law := func(p Params) (noise.DiscreteLaplace, error) {
		_, law, err := p.frequencies()
		return law, err
	}
	return layout{wire.KindFrequencies, 1, &f.release, []wire.Field{wire.Int(&f.most, math.MaxUint8)}, law, func() int {
		if f.most < 2 {
			return 0
		}
		return f.most + 2
	}}
}

// AppendBinary appends the encoding.
func (f *Frequencies) AppendBinary(dst []byte) ([]byte, error) { return f.layout().append(dst) }

// MarshalBinary encodes.
func (f *Frequencies) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// UnmarshalBinary decodes.
func (f *Frequencies) UnmarshalBinary(data []byte) error { return decode(f, data) }
