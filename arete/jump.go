package arete

import (
	"math"
	"math/bits"
	"math/cmplx"

	"github.com/dpsketch/dpsketch/noise"
)

// jump is the jump distribution on the integers, for a sensitivity of steps H: Z = S + J, a Skellam
// core and rare jumps. All of it is one symmetric compound Poisson distribution. Upwards, and
// downwards, it has at k the Lévy mass
//
//	ν(k) = a for 1 ≤ k ≤ W, plus V/2 at k = 1,   a₁·q^{j−1} for W + (j−1)H < k ≤ W + jH, j ≥ 1,
//
// where a = (c/2)·p/W and a₁ = (c/2)·(1−p)·(1−q)/H.
//
// All parameters are numbers that a sampler can meet exactly: V and c as they stand, p and q as
// multiples of 2⁻⁶⁴.
type jump struct {
	steps  int64   // H
	core   float64 // V, the variance of the core
	width  int64   // W ≥ H
	jumps  float64 // c, the mean number of jumps
	beyond uint64  // 2⁶⁴·(1−p): the jump is not in the first block
	again  uint64  // 2⁶⁴·q: nor in the next one
}

// newJump returns the distribution with the tail that the guarantee asks for: q ≥ e^{−b}, and p as
// large as a₁ ≥ q·a allows, which is p/(1−p) ≤ (1−q)·W/(q·H).
func newJump(b float64, steps, width int64, core, jumps float64) jump {
	q := coarse(math.Exp(-b))
	again := roundUp64(q)
	q = float64(again) * 0x1p-64
	rest := q * float64(steps) // 1−p ≥ qH/(qH + (1−q)W)
	rest /= rest + (1-q)*float64(width)
	return jump{steps, core, width, coarse(jumps), roundUp64(coarse(rest * (1 + 0x1p-48))), again}
}

// roundUp64 returns the least k with k/2⁶⁴ ≥ x, for x in [0, 1 − 2⁻⁵²].
func roundUp64(x float64) uint64 { return uint64(math.Ceil(x * 0x1p64)) }

// first and later return a and a₁.
func (j jump) first() float64 {
	return j.jumps / 2 * (float64(-j.beyond) * 0x1p-64) / float64(j.width)
}

func (j jump) later() float64 {
	return j.jumps / 2 * (float64(j.beyond) * 0x1p-64) * (float64(-j.again) * 0x1p-64) / float64(j.steps)
}

// decay returns q.
func (j jump) decay() float64 { return float64(j.again) * 0x1p-64 }

// tailLoss returns the least b, rounded up, such that ν(k) ≤ e^b·ν(k+H) for the jumps of J, or +Inf
// if ν is not non-increasing.
func (j jump) tailLoss() float64 {
	a, a1 := j.first(), j.later()
	if !(a >= a1*(1+0x1p-45)) || j.width < j.steps {
		return math.Inf(1)
	}
	return math.Log(max(a/a1, 1/j.decay())) + 0x1p-40
}

// variance returns E[Z²] = V + 2·Σ k²·ν(k).
func (j jump) variance() float64 {
	w, h := float64(j.width), float64(j.steps)
	sum := j.first() * w * (w + 1) * (2*w + 1) / 6
	start, mass := w, j.later()
	for size := 1.0; size > 0x1p-60; size *= 2 * j.decay() { // Σ_{i=1}^H (start + i)²
		sum += mass * h * (start*start + start*(h+1) + (h+1)*(2*h+1)/6)
		start, mass = start+h, mass*j.decay()
	}
	return j.core + 2*sum
}

// masses returns the masses 0..n−1 of the sum of the upward jumps, the core's among them, by
// Panjer's recursion n·g(n) = Σ k·ν(k)·g(n−k). The sums over a block are those of [window]. The
// sums over all blocks beyond the first follow from X(m) = Σ_j q^j·w(m−jH), w(m) the sum of the H
// masses before m, and from the like with the weights jH and i: the cost is O(n). All terms are
// positive.
func (j jump) masses(n int) []float64 {
	g := make([]float64, n)
	a, a1, q := j.first(), j.later(), j.decay()
	w, h := int(j.width), int(j.steps)
	near, block := newWindow(min(w, n)), newWindow(min(h, n)) // no more is ever pushed
	plain, blocks, inside := make([]float64, n), make([]float64, n), make([]float64, n)
	log := -(j.core + j.jumps) / 2
	g[0] = math.Exp(max(log, leastStart))
	near.push(g[0])
	block.push(g[0])
	for m := 1; m < n; m++ {
		sum, lag := block.sums()
		plain[m], inside[m] = sum, lag
		if m > h {
			plain[m] += q * plain[m-h]
			inside[m] += q * inside[m-h]
			blocks[m] = q * (blocks[m-h] + float64(h)*plain[m-h])
		}
		_, lag = near.sums()
		total := j.core/2*g[m-1] + a*lag
		if m > w {
			total += a1 * (float64(w)*plain[m-w] + blocks[m-w] + inside[m-w])
		}
		g[m] = total / float64(m)
		near.push(g[m])
		block.push(g[m])
	}
	if log < leastStart {
		scale := math.Exp(log - leastStart)
		for m := range g {
			g[m] *= scale
		}
	}
	return g
}

// leastStart is where the recursion starts for want of smaller numbers, if ln g(0) = −(V+c)/2 is
// less. From there to the largest mass it is a factor below e^{(V+c)/2}, less than e^{1300}: no
// number in between is out of range.
const leastStart = -600

// exponent returns ln E e^{xA} for the sum A of the upward jumps, for x with q·e^{xH} < 1.
func (j jump) exponent(x float64) float64 {
	w, h, q := float64(j.width), float64(j.steps), j.decay()
	// Σ_{k=1}^n e^{xk}
	run := func(n float64) float64 { return (math.Expm1(x*n) / -math.Expm1(-x)) }
	sum := j.core/2*math.Expm1(x) + j.first()*(run(w)-w)
	return sum + j.later()*(math.Exp(x*w)*run(h)/(1-q*math.Exp(x*h))-h/(1-q))
}

// oneSided returns the masses 0..n−1 and what goes with them.
func (j jump) oneSided(n int) *oneSided {
	return newOneSided(j.masses(n), chernoff(j.exponent, j.limit(), float64(n)), panjerSlack(n))
}

// limit returns the end of the x for which [jump.exponent] is finite.
func (j jump) limit() float64 { return -math.Log(j.decay()) / float64(j.steps) }

// jumpSampler draws from the distribution, or from one of n shares of it.
type jumpSampler struct {
	law    jump
	events *poisson
	core   *poisson // one of pieces that make the core, or nil
	pieces int
}

func (j jump) sampler(parts uint64) *jumpSampler {
	s := &jumpSampler{law: j, events: newPoisson(rate{j.jumps, 0, parts})}
	if j.core > 0 {
		// of a mean that the table is made for
		s.pieces = int(math.Ceil(j.core / float64(parts) / maxCore))
		s.core = newPoisson(rate{j.core, 0, parts * uint64(s.pieces)})
	}
	return s
}

// SampleInt draws Z. The core is a sum of T steps of ±1, T Poisson of mean V: of a Poisson number
// of events each is up or down by a fair coin, so the two numbers are independent Poisson variables
// of mean V/2. Its coins are the bits of a random word.
func (s *jumpSampler) SampleInt(src *noise.Source) (z int64) {
	for range s.pieces {
		for t := s.core.draw(src); t > 0; t -= 64 {
			n := min(t, 64)
			z += 2*int64(bits.OnesCount64(src.Uint64()>>(64-n))) - int64(n)
		}
	}
	for range s.events.draw(src) {
		z += s.law.drawJump(src)
	}
	return z
}

// drawJump draws one jump: its block, its place there and its sign.
func (j jump) drawJump(src *noise.Source) int64 {
	var k int64
	if src.Uint64() >= j.beyond {
		k = 1 + int64(src.Uint64N(uint64(j.width)))
	} else {
		k = j.width + 1 + int64(src.Uint64N(uint64(j.steps)))
		for src.Uint64() < j.again {
			k += j.steps
		}
	}
	if src.Uint64()&1 == 1 {
		return -k
	}
	return k
}

// meanAbs returns E|Z| of the distribution by its characteristic function φ, without a table of
// masses, to a relative error of 1e-6 for any H and V. As |k| = (1/π)·∫_0^π (1 − cos ku)/(1 − cos
// u) du,
//
//	E|Z| = (1/π)·∫_0^π (1 − φ(u))/(1 − cos u) du,
//	−ln φ(u) = V·(1 − cos u) + 2·Σ ν(k)·(1 − cos ku).
//
// The cosines of the jumps swing once in about 2π/H. From u = 300/H on what they add swings with an
// amplitude below c/300, and its integral is below c·H/300³: only the core and the constant 2·Σ ν
// are left.
func (j jump) meanAbs() float64 {
	h := float64(j.steps)
	const swings = 300
	near := min(math.Pi, swings/h)
	part := func(u, exponent float64) float64 {
		half := math.Sin(u / 2)
		return -math.Expm1(-exponent-2*j.core*half*half) / (2 * half * half)
	}
	sum := 0.0
	panels := math.Ceil(near * h)
	for i := 0.0; i < panels; i++ {
		sum += gauss(near*i/panels, near*(i+1)/panels, func(u float64) float64 { return part(u, j.swing(u)) })
	}
	for low := near; low < math.Pi; low *= 1.25 {
		sum += gauss(low, min(1.25*low, math.Pi), func(u float64) float64 { return part(u, j.jumps) })
	}
	return sum / math.Pi
}

// swing returns 2·Σ ν(k)·(1 − cos ku) over the jumps. The sum over a block that starts at s and has
// n steps is n − cos(u·(s + (n+1)/2))·sin(nu/2)/sin(u/2).
func (j jump) swing(u float64) float64 {
	w, h := float64(j.width), float64(j.steps)
	half := math.Sin(u / 2)
	sum := j.first() * (w - math.Cos(u*(w+1)/2)*math.Sin(w*u/2)/half)
	turn, at := cmplx.Rect(1, u*h), cmplx.Rect(1, u*(w+(h+1)/2))
	run := math.Sin(h*u/2) / half
	q := j.decay() // the sum over all blocks: a geometric series
	sum += j.later() * (h/(1-q) - real(at/(1-complex(q, 0)*turn))*run)
	return 2 * sum
}

// gauss returns the integral of f from a to b by Gauss and Legendre's rule of eight nodes.
func gauss(a, b float64, f func(x float64) float64) float64 {
	middle, half, sum := (a+b)/2, (b-a)/2, 0.0
	for _, node := range [...][2]float64{
		{0.1834346424956498, 0.3626837833783620}, {0.5255324099163290, 0.3137066458778873},
		{0.7966664774136267, 0.2223810344533745}, {0.9602898564975363, 0.1012285362903763},
	} {
		sum += node[1] * (f(middle-half*node[0]) + f(middle+half*node[0]))
	}
	return sum * half
}

// window sums the last n numbers that were pushed, Σ x(k) and Σ k·x(k), where x(1) is the latest.
// It never subtracts: numbers are taken in chunks of n, and the window is the end of one chunk,
// summed from behind, and the beginning of the next, summed from the front. So where the numbers
// are positive the sums are accurate to a few roundings for each number, however fast these
// decrease.
type window struct {
	chunk    []float64 // the current chunk
	ends     []float64 // ends[i]: numbers i, i+1, … of the last chunk, summed
	weighted []float64 // the same with the weights 1 for the last one, 2 for the one before, …
	sum, lag float64   // of the current chunk
}

func newWindow(n int) *window {
	return &window{chunk: make([]float64, 0, n), ends: make([]float64, n+1), weighted: make([]float64, n+1)}
}

// push takes the next number.
func (w *window) push(x float64) {
	w.chunk = append(w.chunk, x)
	w.sum += x
	w.lag += w.sum
	if len(w.chunk) < cap(w.chunk) {
		return
	}
	sum, lag := 0.0, 0.0
	for i := len(w.chunk) - 1; i >= 0; i-- {
		sum += w.chunk[i]
		lag += float64(len(w.chunk)-i) * w.chunk[i]
		w.ends[i], w.weighted[i] = sum, lag
	}
	w.chunk, w.sum, w.lag = w.chunk[:0], 0, 0
}

// sums returns Σ x(k) and Σ k·x(k), k = 1, …, n.
func (w *window) sums() (sum, lag float64) {
	i := len(w.chunk)
	return w.sum + w.ends[i], w.lag + w.weighted[i] + float64(i)*w.ends[i]
}
