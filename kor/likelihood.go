package kor

import "math"

// law is the distribution of the numbers of ones of the levels of a sketch, as a function of the
// size W of the set.
//
// Theorem. Let every key have a level and a cell by fully random hash functions, and the number of
// keys in a cell be Poisson with the mean that a total weight W gives it at level i, W/(2^{i+1}·n).
// Then each of the n bits of the level is 1 independently with probability
//
//	qᵢ = ½·(1 − c·e^{−x/2ⁱ}),   x = W/n for a set, W/2n for a stream,   c = 1 − 2p.
//
// Proof. E[(−1)^k] = e^{−2λ} for a Poisson number k of mean λ, a flip multiplies by 1 − 2p, and a
// bit b is 1 with probability ½·(1 − E[(−1)^b]). In the sketch of a stream a cell with a key holds
// a fair coin (see stream.go), so E[(−1)^b] is the probability e^{−λ} of a cell without one. ∎
//
// For a set of N keys of weight 1, N fixed, e^{−x/2ⁱ} is (1 − 1/(2ⁱn))^N instead (thesis, Lemma
// 3.3), which is the same up to a relative 1/(2·2ⁱ·n) of x, and the bits are no longer independent:
// what this changes stands at [Params.StdErr].
type law struct {
	logSign float64 // ln c ≤ 0
	cells   float64 // n
	levels  int     // L
	unit    float64 // W at x = 1
}

func setLaw(logSign float64, cells, levels int) law {
	return law{logSign, float64(cells), levels, float64(cells)}
}

func streamLaw(logSign float64, cells, levels int) law {
	return law{logSign, float64(cells), levels, 2 * float64(cells)}
}

// rate returns rᵢ = 2⁻ⁱ, by which x is multiplied at level i.
func rate(i int) float64 { return math.Float64frombits(uint64(1023-i) << 52) }

// nothing reports whether the noise is so large (c < 1e-130) that the bits are fair coins.
func (l *law) nothing() bool { return l.logSign < -300 }

// signs are a = c·e^{−r·x}, which is E[(−1)^b] of the bits b of a level, and 1 − a.
type signs struct{ a, rest [maxLevels]float64 }

// signs returns them for the levels of the law.
//
// m = e^{−r·x} − 1 comes from the deepest level by m ← m·(2 + m), which makes it e^{−2r·x} − 1 and
// does not enlarge a relative error for x ≥ 0.
func (l *law) signs(s *signs, x float64) {
	c, rest := math.Exp(l.logSign), -math.Expm1(l.logSign)
	m := math.Expm1(-x * rate(l.levels-1))
	for i := l.levels - 1; i >= 0; i-- {
		s.a[i], s.rest[i] = c*(1+m), rest-c*m
		m *= 2 + m
	}
}

// information returns the Fisher information about x, and the drift Σ rᵢ·Iᵢ/(2·Σ Iᵢ) with Iᵢ the
// information from level i.
//
// A level of n bits of probability q has information n·q′²/(q·(1−q)) = n·r²·a²/(1−a²) about x, as q
// = ½·(1−a) and q′ = ½·r·a.
//
// The drift is the information times the bias of the maximum likelihood estimate of x, up to higher
// orders: a likelihood Σ zᵢ·ηᵢ(x) − nᵢ·ψᵢ(x) has the bias −½·Σ n·q′·q″/(q(1−q)) / I² (Cox and Snell
// 1968; the third cumulants cancel as the zᵢ enter linearly), and q″ = −r·q′.
func (l *law) information(x float64) (info, drift float64) {
	var s signs
	l.signs(&s, x)
	return l.informationOf(&s)
}

func (l *law) informationOf(s *signs) (info, drift float64) {
	weighted := 0.0
	for i := range l.levels {
		r, a := rate(i), s.a[i]
		t := r * r * a * a / (s.rest[i] * (1 + a))
		info += t
		weighted += r * t
	}
	if info == 0 {
		return 0, 0
	}
	return l.cells * info, weighted / info / 2
}

// stdErr returns the standard error of an estimate of the size, in the units of the weights, where
// the size is w.
func (l *law) stdErr(w float64) float64 {
	if l.logSign == 0 {
		return 0 // no noise: a sketch of nothing
	}
	info, _ := l.information(w / l.unit)
	return l.unit / math.Sqrt(info)
}

// likelihood is the law with the ones that were seen.
type likelihood struct {
	law
	ones [maxLevels]int // of the first levels
}

// log returns the log-likelihood of x up to a constant, with 0 as the limit for x → ∞.
func (l *likelihood) log(x float64) (sum float64) {
	var s signs
	l.signs(&s, x)
	for i := range l.levels {
		if s.a[i] < 1e-17 {
			continue
		}
		z := float64(l.ones[i])
		if z > 0 {
			sum += z * math.Log(s.rest[i])
		}
		sum += (l.cells - z) * math.Log1p(s.a[i])
	}
	return sum
}

// score returns the derivative of log at x, Σ r·a·(2z − n·(1 − a))/(1 − a²).
func (l *likelihood) score(x float64) float64 {
	var s signs
	l.signs(&s, x)
	return l.scoreOf(&s)
}

func (l *likelihood) scoreOf(s *signs) (sum float64) {
	for i := range l.levels {
		a, rest := s.a[i], s.rest[i]
		sum += rate(i) * a * (2*float64(l.ones[i]) - l.cells*rest) / (rest * (1 + a))
	}
	return sum
}
