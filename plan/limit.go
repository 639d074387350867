package plan

import "math"

// norms returns the norms of all rows.
func (r *run) norms() ([]float64, error) {
	out := make([]float64, r.x.count())
	views := make([]*shaped, len(r.samplers))
	err := workers(len(views), (len(out)+block-1)/block, r.stop, func(b, worker int) {
		if views[worker] == nil {
			views[worker] = newShaped(r.x, r.centre, r.factor)
		}
		for j := b * block; j < min((b+1)*block, len(out)); j++ {
			_, y := views[worker].row(j)
			out[j] = math.Sqrt(squaredNorm(y))
		}
	})
	return out, err
}

// normBound returns a public bound on the norms of shaped rows.
func (r *run) normBound() float64 {
	sum := 0.0
	for i, f := range r.factor {
		c := r.centre[i]
		y := max(math.Abs(r.x.max-c), math.Abs(r.x.least-c)) * f
		sum += y * y
	}
	return math.Sqrt(sum) * (1 + 0x1p-40)
}

const (
	clipPart        = 0.1     // of what is left: the most for C, and for γ
	normBits        = 12      // binary digits to which a norm is resolved
	normOctaves     = 0x1p-48 // the least C, as a part of the public bound on the norm
	mostZeros       = 1 << 30 // values at the bottom of the norms
	clippedRanks    = 17      // rows clipped, in units of √(d/ρ)
	leastClippedDim = 36      // d there is at least that
	leastClipped    = 0x1p-10 // of the rows
	clipDigits      = 26      // binary digits of C: the step of the clipped sum is C·2⁻²⁶ or a little more
)

// clipShare returns the budget of C, one of two for TwoPass.
func (r *run) clipShare() float64 {
	share := r.p.Shares.Clip
	if r.p.Method == TwoPass {
		share /= 2
	}
	return r.fix(share, clipPart, func() float64 {
		q := r.clipQuantile(clipShare * r.p.Rho)
		l := logSum(1, r.p.Failure/stages, 0.1)
		return max(clipShare*r.p.Rho, need(l, q, r.n, either))
	})
}

// clipQuantile returns the quantile of the norms at which rows are clipped, given the budget of C.
// Clipping biases the mean by what it takes from k rows, and the noise weighs as much as √(d/ρ)
// rows do: with n far larger than that, fewer rows than one of eight are clipped, a multiple of
// √(d/ρ), yet not so few that C could miss them (see budget.go). For Thesis it is (n − k)/n with
// k = √n + √(T·ln(T/0.1)/(2ρ₂)), T = ln 2M: line 5 of Algorithm 17 and Lemma 5.4.
func (r *run) clipQuantile(rho float64) float64 {
	switch {
	case r.p.Steps.Clip > 0:
		return r.p.Steps.Clip
	case r.p.Method == TwoPass:
		return r.fewer(secondClip)
	case r.p.Method == Thesis:
		t := max(math.Log(2*r.p.Max), 1)
		k := math.Sqrt(r.n) + math.Sqrt(t*math.Log(t/0.1)/(2*rho))
		return max(0.5, (r.n-k)/cap1(r.n))
	}
	return r.fewer(defaultClip)
}

// fewer returns the quantile q, or a higher one if n is far larger than √(d/ρ).
func (r *run) fewer(q float64) float64 {
	few := clippedRanks * math.Sqrt(max(float64(r.p.Dim), leastClippedDim)/r.p.Rho)
	return 1 - min(max(few/cap1(r.n), leastClipped), 1-q)
}

// limit releases C, a quantile of the norms of the rows that are not 0, with the budget rho.
//
// Whether a row's norm is 0 may differ between neighbours under either relation, so ranks may
// change by a replaced value or by one more. A public number of values at the bottom, the same for
// all data, draws C downwards where few rows are not 0, and elsewhere lowers the quantile by 8/c
// ranks. Where there are none a candidate above has a factor of e^{−8}, which the number of cells
// makes up for: C is spread over the octaves of the axis.
func (r *run) limit(rho float64) (float64, error) { return r.limitAt(r.clipQuantile(rho), rho) }

func (r *run) limitAt(quantile, rho float64) (float64, error) {
	rho = r.budget.take(rho)
	r.spent.Clip += rho
	norms, err := r.norms()
	if err != nil {
		return 0, err
	}
	a := r.normAxis()
	ch := either
	if r.p.ranks() == added {
		ch = added
	}
	zeros := 8 / ((1 - quantile) * math.Sqrt(2*rho) / unitChange(quantile, ch))
	c := column{keys: make([]uint32, 0, len(norms)), zeros: int64(min(zeros, mostZeros))}
	for _, norm := range norms {
		if norm > 0 {
			c.keys = append(c.keys, a.key(norm))
		}
	}
	draw, err := r.drawer(a, a.plain(), quantile, rho, ch, len(norms)+int(c.zeros))
	if err != nil {
		return 0, err
	}
	return a.value(draw(&r.samplers[0], c)), nil
}

// normAxis returns the axis of the norms. For Thesis it ends at √(ln d·ln(1/β)·‖σ̂^{2p/(p+2)}‖₁),
// by (5.5).
func (r *run) normAxis() axis {
	bound := r.normBound()
	if r.p.Steps.Base != Uniform {
		return logAxis(bound*normOctaves, bound, normBits)
	}
	if r.scaled {
		e, sum := 2*r.p.P/(r.p.P+2), 0.0
		for _, s := range r.scale {
			sum += math.Pow(s, e)
		}
		bound = min(bound, math.Sqrt(max(math.Log(float64(r.p.Dim)), 1)*math.Log(1/r.p.Failure)*sum))
	}
	return uniformAxis(0, bound)
}
