package rounding

import (
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// TwoPasses are kernels one after the other: the second releases the keys that the first has not
// shown, of weights that the users choose knowing what it has shown. [TwoPasses.Delta] is the
// theorem; twopass_proof.md has its proof.
type TwoPasses struct{ First, Second Quadratic }

// Delta returns a δ ≤ 1 such that both releases together, with all that Users.Beside stands for,
// are (ε, δ)-private in both orders of two neighbours. Where the theorem has nothing to say it is
// 1.
func (k TwoPasses) Delta(epsilon float64, u Users) float64 {
	if !k.First.sound(epsilon, u) || !k.Second.sound(epsilon, u) {
		return 1
	}
	first, second := k.shapes(epsilon, u)
	return deltaOfTwo(&first, &second)
}

// shapes returns the numbers of the theorem for each pass; what is beside both is in the second.
func (k TwoPasses) shapes(epsilon float64, u Users) (first, second shape) {
	alone := u
	alone.Beside = 0
	return k.First.shape(epsilon, alone), k.Second.shape(epsilon, u)
}

// deltaOfTwo is Delta in units of S.
func deltaOfTwo(first, second *shape) float64 {
	if first.fails() || second.fails() {
		return 1
	}
	t := tabulate(second, first.distance(0))
	// Any κ is sound. One that is good for a second pass without small keys is good.
	own := second.distance(0)
	first.after = func(loss, mu float64) float64 { return gap(first.epsilon-loss, math.Hypot(mu, own)) }
	kappas := first.kappas()
	first.after = t.after
	return min(max(bothSmaller(first, second), first.worst(kappas))*slack, 1)
}

// bothSmaller bounds δ for the smaller input first.
func bothSmaller(first, second *shape) float64 {
	if first.Replace { // the other order is the same
		return 0
	}
	near := math.Hypot(first.distance(0), second.distance(0))
	return gap(first.epsilon-first.lambda-second.lambda, near)
}

// coarse are fewer cuts: two passes cost one pass for each entry of a table.
var coarse = blocks(0x1p-14, 1.5, 0x1p-10, 1.6)

// sameKappa is how many coarse cuts, and points of a table, a search for one κ serves, and
// roughKappa how many steps it takes: a fifth more or less of κ − h is nothing there.
const (
	sameKappa  = 4
	roughKappa = 10
)

// kappas returns a κ for each of the coarse cuts. Any is sound, and the best ones change slowly:
// some are searched for, and between these κ − h is a geometric mean.
func (s *shape) kappas() []float64 {
	kappas := make([]float64, len(coarse)-1)
	last := len(kappas) - 1
	for from := 0; from < last; from += sameKappa {
		to := min(from+sameKappa, last)
		for _, j := range []int{from, to} {
			if kappas[j] == 0 {
				kappas[j] = s.choice(coarse[j+1], s.distance(coarse[j]), roughKappa)
			}
		}
		for j := from + 1; j < to; j++ {
			part := float64(j-from) / float64(to-from)
			kappas[j] = s.h + math.Pow(kappas[from]-s.h, 1-part)*math.Pow(kappas[to]-s.h, part)
		}
	}
	return kappas
}

// worst returns the largest of the bounds between the coarse cuts.
func (s *shape) worst(kappas []float64) (worst float64) {
	for j, kappa := range kappas {
		worst = max(worst, s.larger(coarse[j+1], s.distance(coarse[j]), kappa))
	}
	return worst
}

// table bounds V(r), the most of ∫(r·P − e^ε·Q)₊ that the second pass can leave, for the ratio r =
// P/Q of what was before: by chords between the values of r at e^at[i], from below and above.
type table struct {
	at                 []float64 // ln r, ascending
	constant, multiple []float64 // V(r) ≤ constant[i] + multiple[i]·r for ln r in [at[i−1], at[i]]
}

// tabulate returns the table for ratios from a first pass in which the other keys have at most the
// distance mu: fine where ln r decides, for which both passes together are z deviations out, and
// coarse from there on.
func tabulate(s *shape, mu float64) table {
	t := table{}
	all := math.Hypot(mu, s.distance(0))
	z := max(s.epsilon/all-all/2, 0)
	for x := -5.; x < 7+z/2; x += 0.2 {
		t.at = append(t.at, x*mu)
	}
	last := t.at[len(t.at)-1]
	const steps = 16
	for i := range steps {
		t.at = append(t.at, last+(s.epsilon+s.lambda+4*mu)*float64(i+1)/steps)
	}
	n := len(t.at)
	t.constant, t.multiple = make([]float64, n+1), make([]float64, n+1)
	t.multiple[n] = 1 // V(r) ≤ r
	var group sync.WaitGroup
	for from := 0; from < n; from += sameKappa {
		group.Go(func() { t.fill(*s, from, min(from+sameKappa, n)) })
	}
	group.Wait()
	return t
}

// fill fills in the chords that end at the points from, …, to − 1, by κ that are good in their
// midst.
func (t *table) fill(s shape, from, to int) {
	ahead := t.at[min(from+sameKappa/2, len(t.at)-1)]
	s.after = func(loss, mu float64) float64 { return gap(s.epsilon-ahead-loss, mu) }
	kappas := s.kappas()
	most := func(x float64) float64 {
		s.after = func(loss, mu float64) float64 { return gap(s.epsilon-x-loss, mu) }
		return s.worst(kappas)
	}
	low := t.at[0] - 1 // below the first point the chord goes to 0
	if from > 0 {
		low = t.at[from-1]
	}
	atLow := most(low)
	for i, high := range t.at[from:to] {
		// For one κ and share, V is convex in r, and so is the most of several shares.
		atHigh := most(high)
		r, b := math.Exp(low), math.Exp(high)
		top, bottom := b*atHigh*slack, r*atLow*slack
		if i += from; i == 0 || !(atHigh < 1) {
			t.multiple[i] = min(atHigh*slack, 1)
		} else {
			t.multiple[i] = (top - bottom) / (b - r)
			t.constant[i] = bottom - t.multiple[i]*r
		}
		low, atLow = high, atHigh
	}
}

// after returns at least E[V(e^loss·p/q)]/e^loss for the densities p and q of N(μ, 1) and N(0, 1),
// of which the expectation is under q.
func (t table) after(loss, mu float64) (sum float64) {
	mu = max(mu, 0x1p-40) // a larger distance is an upper bound
	scale, size := math.Exp(-loss), 0.0
	p, q := below{}, below{}
	for i := range t.multiple {
		x := math.Inf(1)
		if i < len(t.at) {
			x = (t.at[i]-loss)/mu + mu/2
		}
		a, b := t.multiple[i]*p.upTo(x-mu), scale*t.constant[i]*q.upTo(x)
		sum, size = sum+a+b, size+math.Abs(a)+math.Abs(b)
	}
	return max(sum, 0) + 1e-11*size
}

// below is a point, at first −∞, on the way up along a normal density.
type below struct {
	lower    float64 // the probability of what is below it, until it is positive
	upper    float64 // and of what is above it, from then on
	positive bool
}

// upTo goes on to x and returns the probability of what it passes, from the side on which tails are
// small.
func (b *below) upTo(x float64) float64 {
	if b.positive {
		was := b.upper
		b.upper = tail(x)
		return was - b.upper
	}
	was := b.lower
	b.lower = tail(-x)
	if x > 0 {
		b.positive, b.upper = true, tail(x)
	}
	return b.lower - was
}

// ForTwoPasses returns kernels of noise σ₁ and σ₂, in steps, with about the least thresholds at
// which Delta(ε, u) ≤ δ, or false where none reach δ. Each is what ForUsers returns with the other
// pass's noise beside it; then both T − R are raised by the same factor.
func ForTwoPasses(first, second, epsilon, delta float64, u Users) (TwoPasses, bool) {
	s := float64(u.Unit)
	alone := func(sigma, other float64) (Quadratic, bool) {
		u := u
		u.Beside += u.norm() * s * s / (other * other)
		return forUsers(sigma, epsilon, delta, u, 5)
	}
	one, ok1, group := Quadratic{}, false, sync.WaitGroup{}
	group.Go(func() { one, ok1 = alone(first, second) })
	two, ok2 := alone(second, first)
	group.Wait()
	if !ok1 || !ok2 {
		return TwoPasses{}, false
	}
	raised := func(k Quadratic, by float64) Quadratic {
		k.Threshold = k.From + int64(math.Ceil(float64(k.Threshold-k.From)*(1+by)))
		return k
	}
	// The logarithm of Delta/δ, about linear in what T − R is raised by.
	at := func(by float64) (TwoPasses, float64) {
		k := TwoPasses{raised(one, by), raised(two, by)}
		return k, math.Log(k.Delta(epsilon, u) / delta)
	}
	low, high := 0.0, 0x1p-5
	best, over := at(low)
	if over <= 0 {
		return best, true
	}
	best, under := at(high)
	for i := 0; under > 0 && i < 5; i++ {
		low, over, high = high, under, 2*high
		best, under = at(high)
	}
	const near = 0x1p-11
	for i := 0; under < -0.02 && high-low > near && i < 8; i++ {
		middle := low + (high-low)*min(max((over+0.01)/(over-under), 0.05), 0.95)
		if k, excess := at(middle); excess <= 0 {
			best, high, under = k, middle, excess
		} else {
			low, over = middle, excess
		}
	}
	return best, under <= 0
}

// This file is about many releases of the same users, one after the other: internal/loss has the
// theorem (loss_proof.md, Keys), and here are its numbers.

// Keys returns what bounds one release by k, with all that Users.Beside stands for, among others.
func (k Quadratic) Keys(u Users) loss.Keys { return k.keys(u, all) }

// all stands for every κ; else there is a bound by the κ of that number alone.
const all = -1

func (k Quadratic) keys(u Users, kappa int) loss.Keys {
	form := k.shape(1, u)
	muSquares := (u.norm()/(form.sigma*form.sigma) + u.Beside) * (1 + 1e-12)
	if !form.rounds {
		drift := 0.0
		if u.Replace {
			drift = form.lambda
		}
		return loss.NewKeys(muSquares, 0, drift, func(float64) float64 { return -math.Expm1(-form.lambda) * slack })
	}
	lambda := -float64(u.MaxKeys) * math.Log1p(-form.eta) * slack
	mass := math.NaN() // where form.epsilon is ln κ
	return loss.NewKeys(muSquares, lambda, form.lambda, func(logKappa float64) float64 {
		if form.epsilon == logKappa && !math.IsNaN(mass) {
			return mass
		}
		form.epsilon, mass = logKappa, math.Inf(1)
		if kappa != all && logKappa != loss.LogKappa(kappa) {
			return mass
		}
		// A smaller κ is closer to h, where the mass is larger.
		if h, kappa := form.jump(), math.Exp(logKappa)*(1-1e-14); kappa > h {
			mass = form.eta / (form.r * form.r) * h * kappa / (kappa - h) * slack
		}
		return mass
	})
}

// Keys returns what bounds both passes.
func (k TwoPasses) Keys(u Users) loss.Keys { return k.keys(u, all) }

func (k TwoPasses) keys(u Users, kappa int) loss.Keys {
	second := k.Second.keys(u, kappa)
	if k.First == (Quadratic{}) { // there is no first pass
		return second
	}
	u.Beside = 0
	return k.First.keys(u, kappa).Plus(second)
}

// ForReleases returns the kernels of a release, with noise σ₁ and σ₂ in steps, of which n together
// are (ε, δ)-private: about those with the least thresholds, both as many deviations above what is
// rounded to. Where σ₁ is 0 there is one pass, the second. It returns false where none are found.
func ForReleases(first, second, n, epsilon, delta float64, u Users) (TwoPasses, bool) {
	// kernel has T − R = a·σ and R = x·σ/√(2·ln(1/δ)); at x = 0 it does not round.
	kernel := func(sigma, x, a float64) Quadratic {
		if sigma == 0 {
			return Quadratic{}
		}
		from := max(math.Floor(x*sigma/math.Sqrt(-2*math.Log(delta))), 1)
		return Quadratic{sigma, int64(min(from, 1<<31-1)), int64(from + math.Ceil(a*sigma+0.5))}
	}
	wanted := delta * (1 - 1e-7) // which another sum of the same parts does not exceed
	kernels := func(x, a float64) TwoPasses { return TwoPasses{kernel(first, x, a), kernel(second, x, a)} }
	// bound is on δ of all n, by one κ or the best, which it returns.
	bound := func(k TwoPasses, kappa int) (float64, int) {
		if !k.Second.sound(epsilon, u) {
			return 1, 0
		}
		keys := k.keys(u, kappa).Times(n)
		mu := math.Sqrt(keys.MuSquares()) * (1 + 1e-12)
		rest := func(epsilon float64) float64 { return gap(epsilon, mu) }
		if kappa == all {
			kappa = keys.Best(epsilon, rest)
		}
		return keys.DeltaBy(kappa, epsilon, rest), kappa
	}
	// least returns the last threshold, and a, of the least a ≤ most that holds, or +Inf. Far out,
	// where tails fall fast, it would not. One κ is the best where a is nearly found.
	least := func(x, most float64) (threshold, a float64) {
		low, a, kappa := 0.0, most, all
		if d, _ := bound(kernels(x, a), all); !(d <= wanted) {
			return math.Inf(1), a
		}
		for i := range 20 {
			middle := (low + a) / 2
			d, best := bound(kernels(x, middle), kappa)
			if d <= wanted {
				a = middle
			} else {
				low = middle
			}
			if i == 5 {
				kappa = best
			}
		}
		return float64(kernels(x, a).Second.Threshold), a
	}
	plain, a := least(0, 36)
	x, rounded := exact.Minimum(0.3, 1.6, 8, func(x float64) float64 { t, _ := least(x, a); return t })
	if rounded < plain {
		_, a = least(x, a)
	} else {
		x = 0
	}
	return kernels(x, a), !math.IsInf(plain, 1)
}
