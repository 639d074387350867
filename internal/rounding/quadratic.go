package rounding

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Quadratic is the kernel for users who give each of up to m keys a weight, of ℓ₂ norm at most S: a
// value v ≥ R stays, and a value 0 < v < R counts as R with probability v²/R² and else as nothing.
// Then normal noise is added, and what reaches T is shown. A value of 0 is never shown.
//
// Without rounding, m keys that only one user has are m chances to cross T. Rounding by the square
// makes the chance of each proportional to the square of its weight, and the squares sum to at most
// S², however many keys there are. [Quadratic.Delta] is the theorem; quadratic_proof.md has its
// proof.
type Quadratic struct {
	Scale     float64 // σ, in steps
	From      int64   // R in [1, 2³¹), in steps; 1 rounds nothing
	Threshold int64   // T > R, in steps
}

// Show draws what is shown of v, or false for nothing. normal draws the noise rounded to an
// integer, and below(n) is uniform on 0, …, n−1; each call is independent of all others.
func (k Quadratic) Show(v int64, normal func() int64, below func(n uint64) uint64) (shown int64, ok bool) {
	if v <= 0 || v < k.From && below(uint64(k.From)*uint64(k.From)) >= uint64(v)*uint64(v) {
		return 0, false
	}
	shown = max(v, k.From) + normal()
	return shown, shown >= k.Threshold
}

// Users says how two inputs differ that Quadratic releases.
type Users struct {
	Unit    int64   // S: the largest ℓ₂ norm of one user's weights, in steps
	MaxKeys int     // m: the most keys that have a weight of his
	Replace bool    // he is replaced, instead of added or removed
	Beside  float64 // Σ(Δ/σ)² of what is released beside the keys, with Gaussian noise
}

// norm returns the largest squared norm of what a user changes, in units of S².
func (u Users) norm() float64 {
	if u.Replace {
		return 2
	}
	return 1
}

// Delta returns a δ ≤ 1 such that the release of all keys by k, together with all that Users.Beside
// stands for, is (ε, δ)-private in both orders of two neighbours. Where the theorem has nothing to
// say it is 1.
func (k Quadratic) Delta(epsilon float64, u Users) float64 {
	if !k.sound(epsilon, u) {
		return 1
	}
	form := k.shape(epsilon, u)
	return form.delta()
}

// sound reports whether the theorem is about these numbers at all.
func (k Quadratic) sound(epsilon float64, u Users) bool {
	return k.Scale > 0 && k.From >= 1 && k.From < 1<<31 && k.Threshold > k.From && u.Unit >= 1 && u.MaxKeys >= 1 && u.Beside >= 0 && epsilon > 0
}

// shape returns the numbers of the theorem. The noise is rounded after it is added: it reaches T
// where it is T − ½ before.
func (k Quadratic) shape(epsilon float64, u Users) shape {
	s := float64(u.Unit)
	return newShape(k.Scale/s, float64(k.From)/s, (float64(k.Threshold)-0.5)/s, k.From > 1, epsilon, u)
}

// slack covers the errors of float64 in a sum of tails.
const slack = 1 + 1e-9

// shape holds the numbers of the theorem in units of S.
type shape struct {
	Users
	sigma, r, t, epsilon float64
	rounds               bool
	eta, h, lambda       float64
	// after bounds, for the larger input first, the δ of all that is not keys
	// below R, where those have had a loss and the others have the distance mu.
	after func(loss, mu float64) float64
}

// newShape computes η, h and λ; h is +Inf where the conditions of the theorem fail.
func newShape(sigma, r, t float64, rounds bool, epsilon float64, u Users) shape {
	s := shape{Users: u, sigma: sigma, r: r, t: t, epsilon: epsilon, rounds: rounds}
	s.after = func(loss, mu float64) float64 { return gap(epsilon-loss, mu) }
	if !rounds {
		s.lambda = s.silence() * slack
		return s
	}
	s.eta = tail((t-r)/sigma) * slack
	s.lambda = s.drift() * slack
	s.h = s.jump()
	return s
}

// jump returns h, a bound on η(c)/(η·(1 + c/R)²) for 0 ≤ c ≤ c₀, from blocks of c; +Inf unless c₀ ≥
// 1 exists with σ²ε/c₀ + c₀/2 ≤ T − R, T − R > c₀ and (T − R)(T − R − c₀) ≥ σ².
func (s *shape) jump() float64 {
	reach := s.t - s.r
	root := reach*reach - 2*s.sigma*s.sigma*s.epsilon
	if !(reach > 1 && root > 0) {
		return math.Inf(1)
	}
	c0 := max(1, 2*s.sigma*s.sigma*s.epsilon/(reach+math.Sqrt(root))*slack)
	if !(s.sigma*s.sigma*s.epsilon/c0+c0/2 <= reach && reach > c0 && reach*(reach-c0) >= s.sigma*s.sigma) {
		return math.Inf(1)
	}
	const blocks, wide = 512, 16
	most := func(i, j int) float64 { // from block i to block j
		from, to := c0*float64(i)/blocks, c0*float64(j)/blocks
		rise := tail((reach-to)/s.sigma) / (s.eta / slack)
		return rise / ((1 + from/s.r) * (1 + from/s.r))
	}
	h := 1.0
	for i := 0; i < blocks; i += wide {
		if most(i, i+wide) <= h { // and so are those within
			continue
		}
		for j := i; j < i+wide; j++ {
			h = max(h, most(j, j+1))
		}
	}
	return h * slack
}

// drift returns Λ(1), where Λ(y) = √y·Λ(1) bounds the loss of the keys below R of the smaller
// input.
func (s *shape) drift() float64 {
	reach := s.t - s.r
	up := tail((reach - 1) / s.sigma)
	if !(reach > 1 && up < 0.5) {
		return math.Inf(1)
	}
	x := (reach - 1) / s.sigma
	slope := math.Exp(-x*x/2)/(math.Sqrt(2*math.Pi)*s.sigma) + 2*s.eta/s.r
	return slope * math.Sqrt(float64(s.MaxKeys)) / (1 - up)
}

// silence returns the largest −l·ln F of l ≤ m keys that only one user has, F the probability that
// one of them stays hidden without rounding.
func (s *shape) silence() (most float64) {
	of := func(l, keys int) float64 {
		return -float64(l) * math.Log1p(-tail((s.t-1/math.Sqrt(float64(keys)))/s.sigma))
	}
	most = of(s.MaxKeys, s.MaxKeys)
	for l := 1; l < s.MaxKeys; l++ {
		if to := min(l+l/8, s.MaxKeys); to > l && of(to, l) <= most { // F grows with l
			l = to
			continue
		}
		most = max(most, of(l, l))
	}
	return most
}

// fails reports whether the theorem has nothing to say.
func (s *shape) fails() bool { return s.rounds && math.IsInf(s.h, 1) || !(s.lambda < math.Inf(1)) }

// delta returns the bound.
func (s *shape) delta() (worst float64) {
	if s.fails() {
		return 1
	}
	for i := range len(cuts) - 1 {
		worst = max(worst, s.block(cuts[i], cuts[i+1])*slack)
	}
	return min(worst, 1)
}

// block bounds δ of both orders for shares in [from, to].
func (s *shape) block(from, to float64) float64 {
	mu := s.distance(from)
	return max(s.larger(to, mu, s.choice(to, mu, exactKappa)), s.smaller(to, mu))
}

// within reports whether the bound is at most delta. A κ that shows it for one share mostly shows
// it for the next one, so few are searched for.
func (s *shape) within(delta float64) bool {
	if s.fails() {
		return false
	}
	kappa, wide := 0.0, 1
	for to := len(cuts) - 1; to > 0; {
		// Several blocks are within where the last one's share is, at the first one's distance.
		from := max(to-wide, 0)
		y, mu := cuts[to], s.distance(cuts[from])
		smaller := s.smaller(y, mu)*slack <= delta
		larger := smaller && s.larger(y, mu, kappa)*slack <= delta
		if smaller && !larger && wide == 1 {
			kappa = s.choice(y, mu, exactKappa)
			larger = s.larger(y, mu, kappa)*slack <= delta
		}
		switch {
		case larger:
			to, wide = from, 2*wide
		case wide == 1:
			return false
		default:
			wide = 1
		}
	}
	return true
}

// cuts divide [0, 1], the share of one user's squared weight in keys below R, into blocks.
var cuts = blocks(0x1p-18, 1.2, 0x1p-12, math.Sqrt2)

// blocks returns points from 0 to 1: from first on, by a factor each, and up to 1 − last.
func blocks(first, factor, last, closer float64) []float64 {
	c := []float64{0}
	for x := first; x < 0.45; x *= factor {
		c = append(c, x)
	}
	for x := 0.5; x > last; x /= closer {
		c = append(c, 1-x)
	}
	return append(c, 1)
}

// smaller bounds δ for the smaller input first where a share of at most y is in keys below R and
// the others have the distance mu.
func (s *shape) smaller(y, mu float64) float64 {
	switch {
	case s.Replace: // the other order is the same
		return 0
	case !s.rounds:
		return gap(s.epsilon-y*s.lambda, mu)
	}
	return gap(s.epsilon-math.Sqrt(y)*s.lambda, mu)
}

// distance returns μ where no less than a share y of the squared weight is in keys below R.
func (s *shape) distance(y float64) float64 {
	return math.Sqrt((s.norm()-y)/(s.sigma*s.sigma)+s.Beside) * (1 + 1e-12)
}

// larger bounds δ for the larger input first where a share of at most y is in keys below R and the
// others have the distance mu; for any κ in (h, e^ε], of which choice returns a good one.
func (s *shape) larger(y, mu, kappa float64) float64 {
	drift := 0.0
	if s.Replace {
		drift = s.lambda
	}
	switch {
	case !s.rounds:
		return -math.Expm1(-y*s.lambda) + math.Exp(-y*s.lambda)*s.after(drift-y*s.lambda, mu)
	case !(kappa > s.h):
		return 1
	}
	return s.with(kappa, y, mu, drift)
}

// exactKappa is how many steps a search for one κ takes where that decides alone.
const exactKappa = 12

// choice returns the κ in (h, e^ε] at which larger is about least, by a search in so many steps; 0
// if there is none.
func (s *shape) choice(y, mu float64, steps int) float64 {
	most := math.Exp(s.epsilon) - s.h
	if !s.rounds || !(most > 0) {
		return 0
	}
	at := func(x float64) float64 { return s.larger(y, mu, s.h+most*math.Exp(-x)) }
	x, least := exact.Minimum(0, 16, steps, at)
	if at(0) < least {
		x = 0
	}
	return s.h + most*math.Exp(-x)
}

// with returns y·G(κ) + E[κ^K·e^drift·after], K binomial.
func (s *shape) with(kappa, y, mu, drift float64) float64 {
	sum := y * s.eta / (s.r * s.r) * s.h * kappa / (kappa - s.h)
	m, ln := float64(s.MaxKeys), math.Log(kappa)
	mass := math.Exp(m * math.Log1p(-s.eta)) // of K = k
	rest := math.Exp(drift + m*math.Log1p(s.eta*(kappa-1)))
	for k := range s.MaxKeys + 1 {
		// The terms from k on are at most C(m, k)·(ηκ)^k·(1 + η(κ−1))^m, as after is at most 1.
		if rest < 1e-7*sum || k == 12 {
			return sum + rest
		}
		loss := float64(k)*ln + drift
		sum += mass * math.Exp(loss) * s.after(loss, mu)
		step := (m - float64(k)) / float64(k+1) * s.eta
		mass *= step / (1 - s.eta)
		rest *= step * kappa
	}
	return sum
}

// gap returns at least ∫(p − e^ε·q)₊ for the densities p and q of N(μ, 1) and N(0, 1).
func gap(epsilon, mu float64) float64 {
	switch {
	case !(mu > 0):
		return max(-math.Expm1(epsilon), 0)
	case epsilon < 0:
		return -math.Expm1(epsilon) + math.Exp(epsilon)*gap(-epsilon, mu)
	case epsilon > 700:
		return tail(epsilon/mu - mu/2)
	}
	const off = 1e-12 // above the relative errors of the tails
	return max(tail(epsilon/mu-mu/2)*(1+off)-math.Exp(epsilon)*tail(epsilon/mu+mu/2)*(1-off), 0)
}

// tail returns Pr[N(0, 1) > x].
func tail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// ForUsers returns the kernel of noise σ, in steps, with about the least T at which Delta(ε, u) ≤
// δ: with rounding where that lowers T, else without. It returns false where no threshold reaches
// δ: σ is too small.
func ForUsers(sigma, epsilon, delta float64, u Users) (Quadratic, bool) {
	return forUsers(sigma, epsilon, delta, u, 10)
}

// forUsers is ForUsers with that many steps of the search for R, at which T is flat.
func forUsers(sigma, epsilon, delta float64, u Users, steps int) (Quadratic, bool) {
	s := float64(u.Unit)
	sd := sigma / s
	// least returns a threshold at which δ holds, or +Inf: none up to most.
	least := func(r, most float64, rounds bool) float64 {
		ok := func(t float64) bool {
			form := newShape(sd, r, t, rounds, epsilon, u)
			return form.within(delta)
		}
		if !ok(most) {
			return math.Inf(1)
		}
		low := r
		for range 14 {
			if mid := (low + most) / 2; ok(mid) {
				most = mid
			} else {
				low = mid
			}
		}
		return most
	}
	// onGrid returns the kernel, raised until it holds in steps.
	onGrid := func(from int64, t float64) (Quadratic, bool) {
		k := Quadratic{sigma, from, int64(math.Ceil(t*s + 0.5))}
		for i := range 12 {
			if form := k.shape(epsilon, u); form.within(delta) {
				return k, true
			}
			k.Threshold += int64(math.Ceil(math.Ldexp(s, i-14)))
		}
		return k, false
	}
	plain, found := Quadratic{}, false
	most := 1 + 2*sd
	for range 16 {
		if t := least(0, most, false); !math.IsInf(t, 1) {
			plain, found = onGrid(1, t)
			most = t
			break
		}
		most *= 1.5
	}
	if !found {
		return plain, false
	}
	unit := sd / math.Sqrt(-2*math.Log(delta))
	x, t := exact.Minimum(-1.6, -0.3, steps, func(x float64) float64 {
		if r := -x * unit; r*s < 1<<31-1 && r*s >= 2 {
			return least(math.Floor(r*s)/s, most, true)
		}
		return math.Inf(1)
	})
	if t < most {
		if k, ok := onGrid(int64(math.Floor(-x*unit*s)), t); ok && k.Threshold < plain.Threshold {
			return k, true
		}
	}
	return plain, true
}
