package rounding

import "math"

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

// within reports whether Delta is at most delta.
func (k TwoPasses) within(delta, epsilon float64, u Users) bool {
	if !k.First.sound(epsilon, u) || !k.Second.sound(epsilon, u) {
		return false
	}
	first, second := k.shapes(epsilon, u)
	if first.fails() || second.fails() || !(bothSmaller(&first, &second)*slack <= delta) {
		return false
	}
	first.after = tabulate(&second, first.distance(0)).after
	kappa := 0.0
	for i := range len(coarse) - 1 {
		if !first.reaches(delta, coarse[i+1], first.distance(coarse[i]), &kappa) {
			return false
		}
	}
	return true
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
	first.after = tabulate(second, first.distance(0)).after
	worst := bothSmaller(first, second)
	for i := range len(coarse) - 1 {
		mu := first.distance(coarse[i])
		worst = max(worst, first.larger(coarse[i+1], mu, first.choice(coarse[i+1], mu)))
	}
	return min(worst*slack, 1)
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
var coarse = func() []float64 {
	c := []float64{0}
	for x := 0x1p-14; x < 0.45; x *= 1.5 {
		c = append(c, x)
	}
	for x := 0.5; x > 0x1p-10; x /= 1.6 {
		c = append(c, 1-x)
	}
	return append(c, 1)
}()

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
	t.multiple[n] = 1                        // V(r) ≤ r
	kappas := make([]float64, len(coarse)-1) // any will do, and the best ones change slowly
	for i := range t.at {
		// For one κ and share, V is convex in r, and so is the most of several shares. Below the
		// first point the chord goes to 0.
		high := t.at[i]
		low := high - 1
		if i > 0 {
			low = t.at[i-1]
		}
		atHigh, atLow := 0.0, 0.0
		for j := range len(coarse) - 1 {
			share, distance := coarse[j+1], s.distance(coarse[j])
			if i%3 == 0 {
				ahead := t.at[min(i+1, n-1)]
				s.after = func(loss, mu float64) float64 { return gap(s.epsilon-ahead-loss, mu) }
				kappas[j] = s.choice(share, distance)
			}
			s.after = func(loss, mu float64) float64 { return gap(s.epsilon-high-loss, mu) }
			atHigh = max(atHigh, s.larger(share, distance, kappas[j]))
			s.after = func(loss, mu float64) float64 { return gap(s.epsilon-low-loss, mu) }
			atLow = max(atLow, s.larger(share, distance, kappas[j]))
		}
		r, b := math.Exp(low), math.Exp(high)
		top, bottom := b*atHigh*slack, r*atLow*slack
		if i == 0 || !(atHigh < 1) {
			t.multiple[i] = min(atHigh*slack, 1)
			continue
		}
		t.multiple[i] = (top - bottom) / (b - r)
		t.constant[i] = bottom - t.multiple[i]*r
	}
	return t
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
	norm := 1.0
	if u.Replace {
		norm = 2
	}
	s := float64(u.Unit)
	alone := func(sigma, other float64) (Quadratic, bool) {
		u := u
		u.Beside += norm * s * s / (other * other)
		return ForUsers(sigma, epsilon, delta, u)
	}
	one, ok1 := alone(first, second)
	two, ok2 := alone(second, first)
	if !ok1 || !ok2 {
		return TwoPasses{}, false
	}
	raised := func(k Quadratic, by float64) Quadratic {
		k.Threshold = k.From + int64(math.Ceil(float64(k.Threshold-k.From)*(1+by)))
		return k
	}
	at := func(by float64) (TwoPasses, bool) {
		k := TwoPasses{raised(one, by), raised(two, by)}
		return k, k.within(delta, epsilon, u)
	}
	low, high := 0.0, 0x1p-4
	best, ok := at(high)
	for i := 0; !ok && i < 4; i++ {
		low, high = high, 2*high
		best, ok = at(high)
	}
	for i := 0; ok && i < 7; i++ {
		middle := (low + high) / 2
		if k, holds := at(middle); holds {
			best, high = k, middle
		} else {
			low = middle
		}
	}
	return best, ok
}
