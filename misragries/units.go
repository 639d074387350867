package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// units has what is the same for all mechanisms that release reduced sketches.
//
// They release besides the units r_i of the sketches their length N = Σ(S_i + (k+1)·D_i), for a
// share of ε. For every key, stored or not,
//
//	Σr_i ≤ f ≤ Σr_i + N/(k+1).
//
// Proof. Per sketch, in counts, r = (c − S/(k+1))₊ ≤ c ≤ f. If c ≥ S/(k+1), then r + N/(k+1) = c +
// D ≥ f; else N/(k+1) ≥ c + D ≥ f. ∎ For one stream N is the number of its elements; of merged
// sketches it is less, as D is (see sketch.merge). With a private shift r is lower by (N₀ +
// o)⁺/(k+1) at most, so that is added on the right.
type units[K hashing.Key] struct{ counted[K] }

func (units[K]) prepare(_ *noise.Source, c calibration, s *sketch.Sketch[K]) contents[K] {
	return contents[K]{counters: sketch.Reduced(s.Positive(), c.counters()), lost: s.Length(c.counters())}
}

// calibrateReduced calibrates a release of reduced sketches at ε − e and that of their length at e:
// a neighbour moves it by at most moves, so noise of scale moves/e is e-private, and both together
// are ε-private with the δ of the first.
//
// The upper end r + N/(k+1) has a variance of about (u/(1−s))² + (moves/s)², where s = e/ε and u/ε
// is the scale of the noise of r. It is least at s/(1−s) = (moves/u)^⅔. The length gets a quarter
// at most, which it would exceed for k ≤ 2: a threshold half as high again is no price for bounds.
func (p Params) calibrateReduced(m Method, in Input, unknown bool, epsilon, moves float64, calibrate func(epsilon float64) (sumLaw, bool)) (calibration, error) {
	law, ok := calibrate(epsilon)
	c := calibration{method: m, input: in, per: float64(p.Counters) + 1, sumLaw: law}
	if ok && !unknown {
		ratio := min(math.Pow(moves/(law.scale*epsilon), 2./3), 1./3)
		spent := epsilon * ratio / (1 + ratio)
		var err error
		if c.lost, err = noise.LaplaceScale(spent, moves); err == nil {
			c.sumLaw, ok = calibrate((epsilon - spent) * (1 - 0x1p-50))
		}
		if ok = ok && err == nil; ok {
			_, err = noise.NewDiscreteLaplace(c.lost)
			ok = err == nil
		}
	}
	if !ok || !c.sumLaw.valid() {
		return calibration{}, p.refuseNoise(m)
	}
	return c, nil
}

// releaseLength releases N, or nothing where it is unknown.
func (h *Histogram[K]) releaseLength(src *noise.Source, held contents[K]) {
	if held.unknown {
		h.law.lost = 0
	}
	if h.law.lost > 0 {
		h.lost = cutSum(held.lost, discreteLaplace(h.law.lost).SampleInt(src))
	}
}

// lengthBound returns a bound on N/(k+1) that holds but for a probability of tail.
func (h *Histogram[K]) lengthBound(tail float64) float64 {
	bound := h.promisedLength()
	if h.law.lost > 0 {
		bound = min(bound, max(0, (float64(h.lost)+float64(noiseBound(h.law.lost, tail)))/h.law.per))
	}
	return bound
}

// share is what the length gets of the probability by which a bound may fail: its noise is smaller.
const share = 1. / 16

// split divides the probability by which a bound may fail among noise, private shifts and length.
func (c calibration) split(fails float64) (noise, shifts, length float64) {
	noise = fails
	if c.lost > 0 {
		length = share * fails
		noise -= length
	}
	if c.shift > 0 {
		noise /= 2
		shifts = noise
	}
	return noise, shifts, length
}

// offsets returns what the offsets of private shifts take off a count.
func (h *Histogram[K]) offsets() float64 { return float64(h.sketches) * h.law.counts(h.law.offset) }

func (units[K]) reading(h *Histogram[K], v float64, s Side) float64 {
	if h.law.lost == 0 {
		return v
	}
	return v + s.weight()*(h.law.counts(h.lost)+h.offsets())
}

// estimate takes the upper reading for one sketch. With several, that counts N_i/(k+1) too much for
// every sketch that has cut the key off. So it is taken that the key is spread evenly: see
// evenSpread.
func (m units[K]) estimate(h *Histogram[K], v float64) float64 {
	if h.law.lost == 0 || h.sketches < 2 {
		return m.reading(h, v, Upper)
	}
	sketches := float64(h.sketches)
	lost := (max(h.law.counts(h.lost), 0) + h.offsets()) / sketches
	return sketches * evenSpread(v/sketches, lost)
}

// evenSpread returns the mean μ of a Poisson number X with E(X − ν)₊ = r, by the normal
// approximation (μ−ν)·Φ(z) + √μ·φ(z), z = (μ−ν)/√μ, which rises in μ. It is in [r, r + ν] (by
// Jensen, and for the approximation by a clamp).
func evenSpread(r, lost float64) float64 {
	excess := func(mu float64) float64 {
		root := math.Sqrt(mu)
		z := (mu - lost) / root
		return (mu-lost)*math.Erfc(-z/math.Sqrt2)/2 + root*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
	}
	lo, hi := r, r+lost
	for range 64 {
		if mu := lo + (hi-lo)/2; mu <= 0 || excess(mu) < r {
			lo = mu
		} else {
			hi = mu
		}
	}
	return lo + (hi-lo)/2
}

// stdDev has the noise of the shifts too, as a key has it that no shift cuts off.
func (units[K]) stdDev(h *Histogram[K], s Side) float64 {
	variance := h.law.noise().Variance() + h.shiftVariance()
	if h.law.lost > 0 {
		variance += s.weight() * s.weight() * discreteLaplace(h.law.lost).Variance()
	}
	return math.Sqrt(variance) / h.law.per
}

// shiftVariance returns that of the private shifts of all sketches together.
func (h *Histogram[K]) shiftVariance() float64 {
	if h.law.shift == 0 {
		return 0
	}
	return float64(h.sketches) * discreteLaplace(h.law.shift).Variance()
}

// reach takes a sum of the own noise and shifts for Laplace noise of its variance: at 5 %, Laplace
// noise reaches ln 10/√2 = 1.63 standard deviations, a sum of many 1.65. A variance below the range
// of float64 is 0.
func (units[K]) reach(h *Histogram[K], tail float64) float64 {
	own, variance := h.law.own(tail), h.law.noise().Variance()
	if variance == 0 {
		return own
	}
	return own * math.Sqrt(1+h.shiftVariance()/variance)
}

func (units[K]) undercount(h *Histogram[K], confidence float64) float64 {
	fails, shifts, length := 1-confidence, 0.0, 1-confidence
	if h.law.shift > 0 {
		length *= share
		shifts = fails - length
	}
	return h.lengthBound(length) + h.law.shifts(float64(h.sketches), shifts)
}

// around returns Histogram.Interval for a value v, or for one below that is hidden.
func (h *Histogram[K]) around(v float64, found bool, confidence float64) (lo, hi float64) {
	tail := (1 - confidence) / 2
	if found {
		lo = max(0, v-h.law.own(tail))
	}
	noise, shifts, length := h.law.split(tail)
	return lo, max(lo, v+h.law.own(noise)+h.law.shifts(float64(h.sketches), shifts)+h.lengthBound(length))
}

// slackOf is mechanism.slack where so many keys have noise.
func (h *Histogram[K]) slackOf(keys, confidence float64) float64 {
	noise, shifts, length := h.law.split(1 - confidence)
	return h.law.ownOfAll(keys, noise, func(int64) float64 { return 0 }) + h.law.shifts(float64(h.sketches), shifts) + h.lengthBound(length)
}

// errors returns bounds on the noise of so many keys, and on what shifts and the noise of the
// length add to it, which all hold with the given confidence.
func (h *Histogram[K]) errors(keys, confidence float64) (noise, others float64) {
	noise, shifts, length := h.law.split(1 - confidence)
	others = h.law.shifts(float64(h.sketches), shifts)
	if h.law.lost > 0 {
		others += h.law.counts(noiseBound(h.law.lost, length/2))
	}
	return h.law.own(noise / (2 * keys)), others
}

// decodeReduced reads numbers in units that keep the promise, and the counts.
func (h *Histogram[K]) decodeReduced(r *wire.Reader, rounded, shifted bool, step func() (epsilon, delta float64, ok bool), moves float64, keeps func(epsilon, wantLogDelta float64) bool) {
	c := h.decodeNumbers(r, float64(h.params.Counters)+1)
	epsilon, delta, ok := step()
	epsilon *= 1 + 1e-9
	if c.lost > 0 {
		epsilon -= moves / c.lost
		ok = ok && epsilon > 0 && c.input != GivenCounters
	}
	ok = ok && c.has(false, rounded, rounded, shifted) && (h.lost == 0 || c.lost > 0) && keeps(epsilon, outward(math.Log(delta)))
	least, most := 0, int(min(uint64(h.params.Counters)*uint64(h.sketches), math.MaxInt32))
	if !rounded { // the k largest of all keys
		ok = ok && h.params.Dim > 0
		least = int(min(uint64(h.params.Counters), h.params.Dim))
		most = least
	}
	h.decodeCounts(r, ok, least, most)
}
