package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

const (
	// coreVariance is V of the jump law for real values: the noise hardly depends on it, and a
	// lattice on which the core has a standard deviation of √20 steps adds a rounding error that is
	// 0.4 % of the variance of the core. Where many parties round, each adds up to a quarter of a
	// step squared, and V is ten times that for all of them; finestCore is the largest V for which
	// the masses fit into float64.
	coreVariance, perParty, finestCore = 20, 2.5, 2500
	// finest is the largest H for real values: from ε = 18 on it is the core that gets smaller, in
	// steps.
	finest = 1 << 16
	// leastJump is an ε below which Laplace noise is smaller than the jump law on a fine lattice;
	// they meet at ε ≈ 2.37.
	leastJump = 2.3
	// mostLattice is the ε at which the jump law and discrete Arete stay for all larger ones, on a
	// fine lattice: the noise is 5e-5·Δ there, and what a calibration costs grows with e^{ε/2}.
	mostLattice = 20
	// laplaceSteps is H for discrete Laplace noise on real values.
	laplaceSteps = 1 << 16
	// mostSteps is the largest integer sensitivity for which the lattice is the integers
	// themselves.
	mostSteps = 1 << 10
	// idealSteps is H for a core of variance 1 and ε = 0: H grows with √V·e^{ε/2}. A search over H
	// and W found 1.4 to 1.5.
	idealSteps = 1.45
	// leastIntegerJump is an ε below which Laplace noise is smaller for integers, and alwaysJump
	// one above which the jump law is.
	leastIntegerJump, alwaysJump = 1, 2.6
)

// calibrate returns the law of validated Params.
func calibrate(p Params) (spec, error) {
	if p.gaussian() {
		return calibrateGaussian(p)
	}
	switch p.Law {
	case Jump:
		return calibrateJump(p.Epsilon, p.steps(Jump), p.coreVariance())
	case DiscreteArete:
		return calibrateDiscrete(p.Epsilon, p.steps(DiscreteArete), p.coreVariance())
	case DiscreteLaplace:
		return calibrateLaplace(p.Epsilon, p.steps(DiscreteLaplace))
	}
	return calibrateBest(p)
}

// calibrateBest returns the law of the least E|Z|, all proved private.
func calibrateBest(p Params) (spec, error) {
	laplace, err := calibrateLaplace(p.Epsilon, p.steps(DiscreteLaplace))
	steps := p.steps(Jump)
	if err != nil || steps == 1 || steps == 0 && p.Epsilon < leastJump || p.Epsilon < leastIntegerJump {
		return laplace, err
	}
	jump, err := calibrateJump(p.Epsilon, steps, p.coreVariance())
	if err != nil || p.Epsilon < alwaysJump && laplace.error() <= jump.error() {
		return laplace, nil
	}
	return jump, nil
}

// steps returns H where it is given, the lattice being the integers, or 0. The latter too for
// integers of a Sensitivity for which the integers would be far finer than the core of the noise,
// which would cost time and gain nothing: the release is rounded to an integer then.
func (p Params) steps(law Law) int64 {
	delta := p.sensitivity()
	most := 0.0
	switch law {
	case DiscreteLaplace:
		most = laplaceSteps
	case Jump:
		most = math.Min(mostSteps, math.Sqrt(maxCore)*idealSteps*math.Exp(min(p.Epsilon, mostInteger)/2))
	case DiscreteArete:
		most = math.Min(mostSteps, 4*coreSteps/shape(min(p.Epsilon, mostLattice)).lambda)
	}
	if !p.Integers || delta > max(most, 1) {
		return 0
	}
	return int64(delta)
}

// coreVariance returns the variance that the core of the noise should have, in steps squared.
func (p Params) coreVariance() float64 {
	return min(max(coreVariance, perParty*float64(p.Parties)), finestCore)
}

// error returns E|Z| as a part of the sensitivity.
func (s spec) error() float64 {
	return (&Lattice{spec: s, tables: new(tables)}).MeanAbs() / float64(s.size)
}

// calibrateLaplace returns discrete Laplace noise of the least scale ≥ H/ε.
func calibrateLaplace(epsilon float64, steps int64) (spec, error) {
	if steps == 0 {
		steps = laplaceSteps
	}
	scale, err := noise.LaplaceScale(epsilon, float64(steps))
	return spec{law: DiscreteLaplace, scale: max(scale, leastScale), size: steps, copies: 1}, err
}

// leastScale is the least scale of a discrete Laplace law that is drawn: it is 0 with all but a
// probability of e^{−64}.
const leastScale = 0x1p-6

// calibrateJump returns the jump law of the least E|Z| over the shapes that it tries: for real
// values one, near the best (H = 1.45·√V·e^{ε/2}, as a search over H and W for ε = 2.3 … 10 found,
// and W − H from 0.9 to 2.5 standard deviations of the core); for integers, where H is given, the
// core varies, with none among them.
func calibrateJump(epsilon float64, steps int64, core float64) (spec, error) {
	if steps > 0 {
		return calibrateIntegerJump(epsilon, steps)
	}
	if epsilon < leastIntegerJump {
		return spec{}, lawError(epsilon, Jump, "at least 1: below, Laplace noise is far smaller")
	}
	epsilon = min(epsilon, mostLattice)
	factor := idealSteps
	if epsilon > 6.5 {
		factor = 1.4
	}
	h := 2 * math.Round(factor*math.Sqrt(core)*math.Exp(epsilon/2)/2) // even, so that half a Δ is on the lattice
	if h > finest {
		h = finest
		ideal := h * math.Exp(-epsilon/2) / factor
		core = coarse(ideal * ideal)
	}
	w := h + math.Round(math.Sqrt(core)*max(0, min(0.28+0.25*epsilon, 2.5)))
	j, ok := fit(epsilon, int64(h), int64(w), core)
	if !ok {
		return spec{}, lawError(epsilon, Jump, "a number for which the search succeeds")
	}
	return spec{law: Jump, jump: j, size: j.steps, copies: 1}, nil
}

// calibrateIntegerJump tries no core, and cores of up to 1.4 times the variance that real values
// would have.
func calibrateIntegerJump(epsilon float64, steps int64) (best spec, err error) {
	epsilon = min(epsilon, mostInteger)
	ideal := float64(steps) * math.Exp(-epsilon/2) / idealSteps
	least := math.Inf(1)
	for _, part := range []float64{0, 0.15, 0.3, 0.5, 0.75, 1, 1.4} {
		core := coarse(part * ideal * ideal)
		if core > maxCore {
			continue
		}
		for _, wide := range []float64{0, 0.6, 1.1, 1.7} {
			width := steps + int64(math.Round(wide*math.Sqrt(core)))
			if wide > 0 && width == steps {
				continue
			}
			if j, ok := fit(epsilon, steps, width, core); ok {
				s := spec{law: Jump, jump: j, size: steps, copies: 1}
				if e := s.error(); e < least {
					best, least = s, e
				}
			}
		}
	}
	if math.IsInf(least, 1) {
		return spec{}, lawError(epsilon, Jump, "larger, for this Sensitivity")
	}
	return best, nil
}

const (
	// maxCore bounds V, which costs a random bit for each unit.
	maxCore = 64
	// mostInteger is where the noise of integers is so rare that a larger ε is not worth having: an
	// error once in e^{30}.
	mostInteger = 30
)

// calibrateDiscrete scales the continuous shape to a lattice, until the certificate holds.
func calibrateDiscrete(epsilon float64, steps int64, core float64) (spec, error) {
	if epsilon < leastArete {
		return spec{}, lawError(epsilon, DiscreteArete, "at least 3.6: below, Laplace noise is smaller")
	}
	epsilon = min(epsilon, mostLattice)
	start := shape(epsilon)
	if steps == 0 {
		steps = 2 * int64(math.Ceil(min(max(coreSteps, math.Sqrt(core/2))/start.lambda, finest)/2))
	}
	d, ok := fitDiscrete(epsilon, steps, start)
	if !ok {
		return spec{}, lawError(epsilon, DiscreteArete, "a number for which the search succeeds")
	}
	return spec{law: DiscreteArete, arete: d, size: steps, copies: 1}, nil
}

// coreSteps is λ in steps of the lattice, for real values.
const coreSteps = 5

// fitDiscrete is [fitArete] on the lattice.
func fitDiscrete(epsilon float64, steps int64, start Arete) (law discrete, ok bool) {
	const goal, rounds = 1e-5, 24
	scale, high := 1.0, math.Inf(1)
	for range rounds {
		law = start.onLattice(steps, scale)
		over := law.loss(epsilon) - epsilon
		switch {
		case over <= 0 && over >= -2*goal:
			return law, true
		case over <= 0:
			high = min(high, scale)
		case math.IsInf(over, 1):
			over = 0.1
		}
		scale *= math.Exp((over + goal) / (1 + 1/start.theta))
	}
	law = start.onLattice(steps, high)
	return law, !math.IsInf(high, 1) && law.loss(epsilon) <= epsilon
}

// onLattice returns the discrete Arete law of these parameters, θ and λ in units of steps/scale.
func (d Arete) onLattice(steps int64, scale float64) discrete {
	unit := scale * float64(steps)
	return discrete{steps, d.alpha, coarse(d.theta * unit), coarse(max(d.lambda*unit, leastScale))}
}

// coarse rounds x > 0 up to 20 binary digits. Every parameter that a search ends at is rounded so,
// before it is certified: parties that calibrate on unlike processors, whose last digits differ,
// arrive at one law.
func coarse(x float64) float64 {
	fraction, exp := math.Frexp(x)
	return math.Ldexp(math.Ceil(fraction*0x1p20), exp-20)
}

func lawError(epsilon float64, law Law, want string) error {
	return bad("Epsilon", epsilon, want+", for Law = "+law.String())
}
