package sparse

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// The δ of correlated Gaussian noise with a threshold (Lebeda, arXiv 2412.10357), in units of the
// per-key bound: every stored key gets its own N_i ~ N(0, σ²) and all share Z ~ N(0, aσ²); a key is
// released from T = 1 + τ on. It needs that
//
//   - users come or go and contribute ≥ 0: all differences of neighbours have one sign, l of them
//     at most, each at most 1;
//   - a key that only one side stores has a value of at most 1 there;
//   - no data set stores more than k keys, a public bound: unchanged keys reveal Z.
//
// With u keys on one side only, E_u = Pr[Z + max_{i≤u} N_i ≥ τ] and m_u the largest shift of the
// others, (m_u·σ)² = max over 0 ≤ i ≤ l − u of i·(1 + (n−i)a)/(1 + na) with n = k − u:
//
//	δ ≤ max over 0 ≤ u ≤ l of  L(u) = E_u + BW(ε, m_u)                 the larger side first
//	                      and  S(u) = min_{z≥0} { e^ε·Pr[Z > z]        the smaller side first
//	                                  + BW(ε + u·ln Φ((τ−z)/σ), m_u) }
//
// and S(0) = L(0) = BW(ε, m_0). A number of weight ω beside the keys, of own noise N(0, σ²/ω) and
// the same Z with the opposite sign, moves against them: it is a coordinate more, and (m_u·σ)² the
// largest y − y²/(1/a + n + ω) of y = i and i + ω. E_u and −u·ln Φ grow with u, m_u falls: with the
// former at u₂ and m at u₁, L and S bound all of [u₁, u₂]. The proof is in correlated_proof.md.

// correlatedLaw is one set of parameters. S values below enough need not be accurate.
type correlatedLaw struct {
	k, l                                   int
	weight, a, epsilon, sigma, tau, enough float64
	*memory
}

// memory is what was computed for a correlatedLaw: the E_u, by quadrature with that many nats, and
// the best z of the last S, which is next to that of the next.
type memory struct {
	escapes map[int]float64
	nats    float64
	z       float64
}

func remember() *memory { return &memory{escapes: map[int]float64{}, nats: exactNats} }

// roughly is remember for a search, which leaves more room than the E_u are off by.
func roughly() *memory { return &memory{escapes: map[int]float64{}, nats: roughNats} }

// term returns a bound on L(u) and S(u) for all u in [u₁, u₂].
func (c correlatedLaw) term(u1, u2 int) float64 {
	m := correlatedSensitivity(c.k, c.l, u1, c.weight, c.a)
	shift := shiftDelta(c.epsilon, c.sigma, m)
	if u2 == 0 {
		return shift
	}
	escape, ok := c.escapes[u2]
	if !ok {
		escape = math.Exp(logEscape(u2, c.a, c.tau/c.sigma, c.nats)) * (1 + 0x1p-52)
		c.escapes[u2] = escape
	}
	larger := (escape + shift) * (1 + 0x1p-52)
	return min(1, max(larger, c.smaller(u2, m, max(larger, c.enough))))
}

// smaller returns a bound on S(u) for the shift m, about the least unless it is below enough. Any z
// gives a bound.
//
// In units of Z the first summand falls like e^{−z²/2} and the second grows: the best z is next to
// where they are equal, and next to that of the last u.
func (c correlatedLaw) smaller(u int, m, enough float64) float64 {
	root := math.Sqrt(c.a)
	parts := func(z float64) (tail, shift float64) {
		if c.a > 0 {
			tail = math.Exp(c.epsilon+unit.LogSurvival(z)*(1-0x1p-46)) * (1 + 0x1p-40)
		}
		s := -float64(u) * unit.LogSurvival(root*z*(1+0x1p-50)-c.tau/c.sigma*(1-0x1p-50)) * (1 + 0x1p-44)
		return tail, shiftDelta(math.Nextafter(c.epsilon-s, math.Inf(-1)), c.sigma, m)
	}
	if c.a == 0 {
		_, shift := parts(0)
		return shift
	}
	lo, hi := 0.0, math.Sqrt(2*(c.epsilon+720))
	best, at := math.Inf(1), 0.0
	try := func(z float64) (excess, sum float64) {
		tail, shift := parts(z)
		sum = (tail + shift) * (1 + 0x1p-52)
		if sum < best {
			best, at = sum, z
		}
		return tail - shift, sum
	}
	defer func() { c.z = at }()
	if c.z > 0.25 && nearby(c.z, func(z float64) float64 {
		_, sum := try(z)
		return sum
	}) || best <= enough {
		return best
	}
	for range 10 {
		mid := (lo + hi) / 2
		if excess, _ := try(mid); excess > 0 {
			lo = mid
		} else {
			hi = mid
		}
		if best <= enough {
			return best
		}
	}
	lowest(lo, lo+2, 4, 10, func(z float64) float64 {
		_, sum := try(z)
		return sum
	})
	return best
}

// nearby looks for the least of f, which falls and then rises, a few steps about z: it walks to
// three points of which the one between is the least, and takes f where the parabola through their
// logarithms is least. It returns false if it has not come there.
func nearby(z float64, f func(float64) float64) bool {
	const step = 0x1p-4
	below, here, above := f(z-step), f(z), f(z+step)
	for range 16 {
		switch {
		case below < here && z > 2*step:
			z, below, here, above = z-step, f(z-2*step), below, here
		case above < here:
			z, below, here, above = z+step, here, above, f(z+2*step)
		default:
			down, up := math.Log(below/here), math.Log(above/here)
			if down+up > 0 {
				f(z + step*(down-up)/(2*(down+up)))
			}
			return true
		}
	}
	return false
}

// correlatedSensitivity returns m_u·σ, rounded upwards, with a number of weight ω beside the keys.
func correlatedSensitivity(k, l, u int, weight, a float64) float64 {
	n, most, best := float64(k-u), float64(l-u), 0.0
	for moved := range 2 { // does the number move?
		own, rest := float64(moved)*weight, float64(1-moved)*weight
		square := func(i float64) float64 { return (i + own) * (1 + (n-i+rest)*a) / (1 + (n+weight)*a) }
		if top := math.Floor((1+(n+weight)*a)/(2*a) - own); top < most { // not for a = 0
			best = max(best, square(max(top, 0)), square(max(top, -1)+1))
		} else {
			best = max(best, square(most))
		}
		if weight == 0 {
			break
		}
	}
	return math.Sqrt(best) * (1 + 0x1p-50)
}

// The nats of logEscape where a bound is verified, with an error of 1e-13, and where a law is
// searched for, with 1e-6 and half the work.
const (
	exactNats = 32
	roughNats = 16
)

// logEscape returns ln Pr[Z + max_{i≤u} N_i ≥ c] for σ = 1 and 0 ≤ a ≤ 1e6. With exactNats it is
// rounded upwards, by 2e-11 + 2e-14·|ln Pr|·(1 + a) at most.
//
// With t = Z/√a it is the integral over all t of f(t) = φ(t)·g(c − √a·t), g(y) = 1 − Φ(y)^u, by the
// trapezoidal rule with step h. Its relative error is below 7.4·exp(d²/2 − 2πd/h), which is
// 7.4·e^{−nats} here, for d = min(3, q/√a) and q = min(½, 1/√(2 ln 2u)). f has one peak, and what
// is cut off beyond a term is at most a geometric series. All is in units of the peak, so nothing
// underflows. The proofs are in correlated_proof.md.
func logEscape(u int, a, c, nats float64) float64 {
	many, root := float64(u), math.Sqrt(a)
	switch total := math.Sqrt(1 + a); {
	case math.IsNaN(c):
		return 0
	case c > 64*total: // below e^{−2000}: the union bound
		return roundLogUp(math.Log(many)+unit.LogSurvival(c/total), a)
	}
	logG := func(y float64) float64 {
		if y > 37 { // 1 − Φ^u ≤ u·Q, and Q < 1e-298
			return math.Log(many) + unit.LogSurvival(y)
		}
		return math.Log(-math.Expm1(many * unit.LogSurvival(-y)))
	}
	if a == 0 {
		return roundLogUp(logG(c), a)
	}
	d := min(3, min(0.5, 1/math.Sqrt(2*math.Log(2*many)))/root)
	h := 2 * math.Pi * d / (nats + d*d/2)
	logF := func(i float64) float64 { return -(i*h)*(i*h)/2 + logG(c-root*i*h) }

	// The peak. f falls for t > √a·(0.8 + max(c, 0)), since −(ln g)′ ≤ 1/R(y) ≤ 0.8 + max(y,
	// 0).
	peak, beyond := 0.0, math.Ceil(root*(0.8+max(c, 0))/h)
	for peak < beyond {
		if mid := math.Floor((peak + beyond) / 2); logF(mid) < logF(mid+1) {
			peak = mid + 1
		} else {
			beyond = mid
		}
	}
	scale := logF(peak)
	sum := 1.0
	for _, step := range []float64{1, -1} {
		previous := 1.0
		for i := peak + step; ; i += step {
			f := math.Exp(logF(i) - scale)
			sum += f
			if f <= 0x1p-50*sum && f <= previous/2 { // the rest is at most f
				sum += f
				break
			}
			previous = f
		}
	}
	return roundLogUp(scale+math.Log(sum*h)-logSqrt2Pi, a)
}

const logSqrt2Pi = 0.91893853320467274178032973640561764 // ln √(2π)

// roundLogUp returns an upper bound on ln E, x ≤ 0 being computed from tails with a relative error
// of 1e-14 in their logarithm.
func roundLogUp(x, a float64) float64 {
	return min(0, x*(1-(1+a)*0x1p-46)+0x1p-36)
}

// correlatedSlack is the relative slack in correlatedDelta. It is some 1e-5 of the threshold, up to
// .4 % where δ is .01 and more.
const correlatedSlack = 0x1p-11

// correlatedDelta returns an upper bound on the larger of floor and δ(σ, τ), the bound above, for
// 1 ≤ l ≤ k and 0 ≤ a ≤ 1e6. How far small terms are below floor does not matter to it.
func correlatedDelta(k, l int, weight, a, epsilon, sigma, tau, floor float64) float64 {
	law := correlatedLaw{k, l, weight, a, epsilon, sigma, tau, floor, remember()}
	_, bound := largest(l, floor, correlatedSlack, law.term)
	return bound
}

// leastCorrelated returns what no threshold is below: σ is at least that of u = 0, and τ the
// quantile of the noise of one key, at the a where both together ask for the least.
func leastCorrelated(k, l int, weight, epsilon, delta float64) float64 {
	one, err := noise.GaussianSigma(epsilon, delta, 1)
	if err != nil {
		return math.Inf(1)
	}
	spread := func(a float64) float64 { return correlatedSensitivity(k, l, 0, weight, a) * math.Sqrt(1+a) }
	center := -math.Log(float64(k)) / 2
	_, best := lowest(center-7, center+4.2, 33, 18, func(logA float64) float64 { return spread(math.Exp(logA)) })
	return 1 + max(0, -unit.Quantile(delta))*one*min(best, spread(0))
}

// calibrateCorrelated returns a, σ and τ ≥ 0 with about the least threshold 1 + τ at which the
// bound on δ is at most δ; that holds for the numbers returned, as [correlatedDelta] computes them
// to within its slack. It returns false unless 1 ≤ l ≤ k ≤ 2⁵³, ε in [2⁻³⁰, 2¹⁰] and δ in [1e-300,
// 1).
//
// For given a there are two necessary conditions: u = 0 for σ alone, BW(ε, m_0) ≤ δ, and u = l,
// where m_l ≥ 0, for τ/σ alone, in effect E_l ≤ δ. They choose a. For ε around 1 and δ ≤ 1e-5 they
// are sufficient as well, and the threshold is the least to 1e-3. For ε far below 1 or δ above 1e-3
// other u ask for more, and another a may save a few percent. For l = k the best a is about 1/√k,
// for l far below k next to zero, which is independent noise.
func calibrateCorrelated(k, l int, weight, epsilon, delta float64) (a, sigma, tau float64, ok bool) {
	if l > k || float64(k) > 0x1p53 || !calibrable(l, epsilon, delta) {
		return 0, 0, 0, false
	}
	// The search leaves room for the slack of what is verified, else that would raise τ step by
	// step.
	aim := max(delta/(1+correlatedSlack)/(1+correlatedSlack), 0x1p-1020)
	one, err := noise.GaussianSigma(epsilon, aim, 1)
	if err != nil {
		return 0, 0, 0, false
	}
	last := 0.0 // the ratio for the a before, which is near
	leastRatio := func(a, tolerance float64) float64 {
		excess := func(c float64) float64 {
			// m_l = 0 at least
			law := correlatedLaw{l, l, 0, a, epsilon, 1, c, aim, roughly()}
			return math.Log(max(law.term(l, l), 0x1p-1022)) - math.Log(aim)
		}
		start, step := 0.0, 1.0
		if last > 0 && excess(0.97*last) > 0 {
			start, step = 0.97*last, last
		}
		last = root(start, step, tolerance, excess)
		return last
	}
	threshold := func(a float64) float64 {
		return one * correlatedSensitivity(k, l, 0, weight, a) * leastRatio(a, 1e-7)
	}
	center := -math.Log(float64(k)) / 2
	logA, best := lowest(center-7, center+4.2, 17, 12, func(logA float64) float64 { return threshold(math.Exp(logA)) })
	if a = math.Exp(logA); threshold(0) <= best*(1+1e-6) {
		a = 0
	}
	least, err := noise.GaussianSigma(epsilon, aim, correlatedSensitivity(k, l, 0, weight, a))
	if err != nil {
		return 0, 0, 0, false
	}
	terms := func(sigma, tau float64) func(u1, u2 int) float64 {
		return correlatedLaw{k, l, weight, a, epsilon, sigma, tau, aim, roughly()}.term
	}
	valid := func(sigma, tau float64) bool {
		const floor = 1 / (1 + correlatedSlack)
		return correlatedDelta(k, l, weight, a, epsilon, sigma, tau, floor*delta) <= delta
	}
	sigma, tau, ok = effort{correlatedSlack, 0x1p-7, 3, 2, 1 << 13}.leastThresholdOverSigma(l, aim, least, leastRatio(a, 1e-12), terms, valid)
	return a, sigma, tau, ok
}
