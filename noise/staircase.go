package noise

import (
	"cmp"
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Staircase is the noise of the staircase mechanism: with q = e^{−ε} and D = γ + (1−γ)·q its
// density is
//
//	(1−q)/(2ΔD)·q^j where (j−1+γ)Δ ≤ |x| < (j+γ)Δ, j = 0, 1, 2, …
//
// For one number no other ε-DP noise has a smaller E|X| ([StaircaseGamma]) or variance
// ([StaircaseGammaVariance]). Unlike Laplace noise it promises nothing better to inputs that differ
// by less than Δ, and beyond Δ the loss jumps to 2ε. For large ε the relative error of Quantile at
// the end of a step is up to 1e-13·e^ε.
type Staircase struct{ symmetric[staircaseFormulas] }

// The range of ε in which neither a step of the staircase nor the number of its steps leaves
// float64.
const (
	leastStairEpsilon = 0x1p-30
	mostStairEpsilon  = 0x1p9
)

// NewStaircase returns the distribution for epsilon in [2⁻³⁰, 2⁹] and gamma in [0, 1].
func NewStaircase(epsilon, sensitivity, gamma float64) (Staircase, error) {
	err := cmp.Or(checkStairEpsilon(epsilon), checkParam("sensitivity", sensitivity),
		within("gamma", gamma, 0, 1, "a number in [0, 1]"))
	d := staircaseFormulas{epsilon: epsilon, sensitivity: sensitivity, gamma: gamma + 0}
	_, rest, sum := d.weights()
	d.coreProb = d.gamma * rest / sum
	return made(Staircase{symmetric[staircaseFormulas]{d}}, err)
}

func checkStairEpsilon(epsilon float64) error {
	return within("epsilon", epsilon, leastStairEpsilon, mostStairEpsilon, "a number in [2⁻³⁰, 2⁹]")
}

// StaircaseGamma returns the γ with the least E|X|, 1/(1 + e^{ε/2}), for epsilon in [2⁻³⁰, 2⁹].
func StaircaseGamma(epsilon float64) (float64, error) {
	if err := checkStairEpsilon(epsilon); err != nil {
		return math.NaN(), err
	}
	return 1 / (1 + math.Exp(epsilon/2)), nil
}

// StaircaseGammaVariance returns the γ with the least variance, ((q(1+q)/2)^{1/3} − q)/(1−q), q =
// e^{−ε}, for epsilon in [2⁻³⁰, 2⁹].
func StaircaseGammaVariance(epsilon float64) (float64, error) {
	if err := checkStairEpsilon(epsilon); err != nil {
		return math.NaN(), err
	}
	q, rest := math.Exp(-epsilon), -math.Expm1(-epsilon)
	log := -epsilon + math.Log1p(-rest/2) // ln(q(1+q)/2), as (1+q)/2 = 1 − (1−q)/2
	if epsilon < 1 {
		return (math.Expm1(log/3) + rest) / rest, nil // (D − 1) + (1 − q), both small
	}
	return (math.Exp(log/3) - q) / rest, nil
}

// Parameters returns ε, Δ and γ.
func (d Staircase) Parameters() (epsilon, sensitivity, gamma float64) {
	return d.formulas.epsilon, d.formulas.sensitivity, d.formulas.gamma
}

// Sample draws X, NaN unless max(Δ, Δ/ε)/step ≤ 2⁴⁶. Δ need not be a multiple of step.
func (d Staircase) Sample(src *Source, step float64) float64 {
	// |X| is uniform in [0, γΔ) with probability γ(1−q)/D, else Δ·(G + γ + U) with Pr[G ≥ g] = q^g
	// and U uniform in [0, 1).
	if !d.draws(step) {
		return math.NaN()
	}
	b := d.formulas.sensitivity / step
	line := segment{units: b, slope: d.formulas.gamma}
	if !d.inCore(src) {
		line = segment{units: b, whole: float64(geometricRate(src, d.formulas.epsilon)), start: d.formulas.gamma, slope: 1}
	}
	return float64(withSign(line.round(src), src.Uint64())) * step
}

func (d Staircase) draws(step float64) bool {
	b, ok := gridScale(d.formulas.sensitivity, step)
	return ok && b/d.formulas.epsilon <= maxGridScale
}

// inCore returns true with probability γ(1−q)/D.
func (d Staircase) inCore(src *Source) bool {
	w := src.Uint64()
	// Exp and Expm1 are within 1 ulp, so coreProb is within 2⁻⁵⁰, and the float64 of w within 2⁻⁵³.
	if u := float64(w>>11) * 0x1p-53; u < d.formulas.coreProb-margin || u > d.formulas.coreProb+margin {
		return u < d.formulas.coreProb
	}
	return d.inCoreExactly(src, newLazy(w, 64))
}

// inCoreExactly decides V < γ(1−q)/D for the uniform V: as D = q + γ(1−q), it holds if q <
// γ(1−V)/(V + γ(1−V)), which falls in V.
func (d Staircase) inCoreExactly(src *Source, v *lazy) bool {
	gamma, epsilon := exact.Rat(d.formulas.gamma), exact.Rat(d.formulas.epsilon)
	bound := func(v *big.Rat) *big.Rat { // 0 for V = 1
		x := new(big.Rat).Sub(big.NewRat(1, 1), v)
		x.Mul(x, gamma)
		v = new(big.Rat).Add(v, x)
		if v.Sign() == 0 { // V = 0 and γ = 0: the limit along V > 0
			return v
		}
		return x.Quo(x, v)
	}
	return settle(src, func() (bool, bool) {
		const guard = 1100 // q is at least e^{−512}
		prec := v.bits + guard
		q := exact.ExpNeg(epsilon, prec)
		unit := exact.One(prec)
		if new(big.Rat).SetFrac(q.Hi, unit).Cmp(bound(v.upper())) < 0 {
			return true, true
		}
		return false, new(big.Rat).SetFrac(q.Lo, unit).Cmp(bound(v.lower())) >= 0
	}, v)
}

// segment is the line units·(whole + start + slope·U) for a uniform U. whole is an integer, and if
// it or start is not 0 slope is 1.
type segment struct{ units, whole, start, slope float64 }

// round draws U and returns the point rounded to an integer.
func (s segment) round(src *Source) int64 {
	w := src.Uint64()
	if k, decided := s.roundQuick(w); decided {
		return k
	}
	return s.roundExactly(src, newLazy(w, 64))
}

// roundQuick rounds in pairs of float64, for U in [w, w+1)/2⁶⁴, if all of these round to the same
// integer.
//
// The sums and products below are exact (Dekker, FMA) except those of the lower parts, which are
// within 2⁻¹⁰³ of the point. It is below 2⁵² or left to roundExactly, so that is 2⁻⁵¹, and the sum
// at the end has two roundings of 2⁻⁵² more; U adds units·2⁻⁶⁴.
func (s segment) roundQuick(w uint64) (k int64, decided bool) {
	u, uLow := float64(w>>11)*0x1p-53, float64(w&(1<<11-1))*0x1p-64
	var hi, lo float64
	if s.slope == 1 {
		start, startLow := exactSum(s.whole, s.start)
		hi, lo = exactSum(start, u)
		lo += startLow + uLow
	} else {
		hi, lo = exactProduct(s.slope, u)
		lo += s.slope * uLow
	}
	v, low := exactProduct(s.units, hi)
	low += s.units * lo
	if !(v < 1<<52) {
		return 0, false
	}
	floor := math.Floor(v)
	rest := (v - floor) + (low + 0.5)
	err := 0x1p-46 + s.units*0x1p-63
	a, b := math.Floor(rest-err), math.Floor(rest+err)
	return int64(floor + a), a == b
}

// roundExactly is roundQuick in rational arithmetic, drawing more digits of U until the rounding is
// decided.
func (s segment) roundExactly(src *Source, u *lazy) int64 {
	return u.rounded(src, func(u *big.Rat) *big.Int {
		x := u.Mul(u, exact.Rat(s.slope))
		x.Add(x, exact.Rat(s.whole)).Add(x, exact.Rat(s.start))
		return roundRat(x.Mul(x, exact.Rat(s.units)))
	})
}

// staircaseFormulas are those of a Staircase.
type staircaseFormulas struct {
	epsilon, sensitivity, gamma float64
	coreProb                    float64 // Pr[|X| < γΔ] = γ(1−q)/D, to 2⁻⁵⁰
}

func (d staircaseFormulas) valid() bool { return d.epsilon > 0 }

// weights returns q, 1 − q and D.
func (d staircaseFormulas) weights() (q, rest, sum float64) {
	q, rest = math.Exp(-d.epsilon), -math.Expm1(-d.epsilon)
	return q, rest, q + float64(d.gamma*rest)
}

// step returns the j of the step that holds |x|, and how far |x| is from its outer end in units of
// Δ.
//
// For z = |x|/Δ = n + fraction + lo the distance is γ + j − z. n and the fraction are exact, and
// near the outer end so is the sum of the first two terms (Sterbenz): the distance has a small
// relative error however short it is.
func (d staircaseFormulas) step(x float64) (j, distance float64) {
	hi, lo := divide(math.Abs(x), d.sensitivity)
	if !(hi < 1<<53) {
		return hi, 0
	}
	n := math.Floor(hi)
	fraction := hi - n
	if inner := (d.gamma - fraction) - lo; inner > 0 {
		return n, inner
	}
	return n + 1, ((1 - fraction) + d.gamma) - lo
}

// power returns q^n = e^{−nε} for an integer n ≥ 0, +Inf allowed.
func (d staircaseFormulas) power(n float64) float64 {
	if n*d.epsilon > 2000 {
		return 0
	}
	return expNeg(exactProduct(n, d.epsilon))
}

// upper returns Pr[X > x] = q^j·(q + (1−q)·distance)/(2D).
func (d staircaseFormulas) upper(x float64) float64 {
	q, rest, sum := d.weights()
	j, distance := d.step(x)
	if j == 0 {
		return (q + float64(rest*distance)) / (2 * sum)
	}
	return d.power(j-1) * (q / sum) * (q + float64(rest*distance)) / 2
}

func (d staircaseFormulas) logUpper(x float64) float64 {
	if tail := d.upper(x); tail > 1e-300 {
		return math.Log(tail)
	}
	q, rest, sum := d.weights()
	j, distance := d.step(x)
	return -j*d.epsilon + (math.Log(q+float64(rest*distance)) - math.Log(2*sum))
}

// upperQuantile returns the x ≥ 0 with Pr[X > x] = p, for p in [0, ½].
func (d staircaseFormulas) upperQuantile(p float64) float64 {
	q, rest, sum := d.weights()
	if p == 0 {
		return math.Inf(1)
	}
	if above := 2 * p * sum; above >= q {
		return min((1-2*p)*sum/rest, d.gamma) * d.sensitivity
	}
	// p = q^j·m/(2D) with m = q + (1−q)·distance in (q, 1].
	log := exact.Log(p) + math.Log(2*sum) + d.epsilon // ln(q^{j−1}·m) < 0
	j := math.Floor(-log/d.epsilon) + 1
	m := math.Exp(log + (j-1)*d.epsilon)
	distance := min(max((m-q)/rest, 0), 1)
	return (j + d.gamma - distance) * d.sensitivity
}

// meanAbs returns Δ(D + q/D)/(2(1−q)).
//
// With c = 1−q, γ = (D−q)/c and G geometric of mean q/c, it is Δ/D times cγ²/2 + q(q/c + γ + ½), in
// which the terms linear in D cancel.
func (d staircaseFormulas) meanAbs() float64 {
	q, rest, sum := d.weights()
	return (sum + q/sum) / (2 * rest) * d.sensitivity
}

// variance returns Δ²(D² + 3q + q(1+q)/D)/(3(1−q)²).
//
// It is Δ²/D times cγ³/3 + q·E(G+γ+U)², with U uniform in [0, 1): a cubic in D without a square.
func (d staircaseFormulas) variance() float64 {
	q, rest, sum := d.weights()
	unit := (float64(sum*sum) + float64(3*q) + q*(1+q)/sum) / 3 / rest / rest
	return unit * d.sensitivity * d.sensitivity
}

func (d staircaseFormulas) density(x float64) float64 {
	_, rest, sum := d.weights()
	j, _ := d.step(x)
	return d.power(j) * rest / (2 * sum) / d.sensitivity
}

func (d staircaseFormulas) logDensity(x float64) float64 {
	_, rest, sum := d.weights()
	j, _ := d.step(x)
	return -j*d.epsilon + math.Log(rest/(2*sum)) - math.Log(d.sensitivity)
}
