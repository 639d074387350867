package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/noise"
)

const (
	// coreVariance is V of the jump distributions for real values: the noise hardly depends on it,
	// and a lattice on which the core has a standard deviation of √20 steps adds a rounding error
	// that is 0.4 % of the variance of the core. Where many parties round, each adds a sixth of a
	// step squared, a quarter at most, and V is thirty for each of them.
	coreVariance, perParty = 20, 30
	// finest is the largest H of discrete Arete for real values.
	finest = 1 << 16
	// leastJump is an ε below which Laplace noise is smaller than the jump distribution; they meet
	// at ε ≈ 1.9.
	leastJump = 1.7
	// fineFrom is where the certificate without a table gives away less than .1 %.
	fineFrom = 8
	// mostJump is the ε at which the jump distribution stays for all larger ones: the noise is
	// 2e-8·Δ there. mostLattice is that of discrete Arete, which needs a table: 1.5e-4·Δ.
	mostJump, mostLattice = 36, 20
	// laplaceSteps is H for discrete Laplace noise on real values.
	laplaceSteps = 1 << 16
	// mostInteger is the largest integer sensitivity for which the lattice is the integers
	// themselves.
	mostIntegers = 1 << 10
	// leastIntegerJump is an ε below which Laplace noise is smaller for integers.
	leastIntegerJump = 1
)

// calibrations are those that were made: that takes up to 80 ms.
var calibrations memo.Table[Params, distribution]

// calibrate returns the distribution of validated Params.
func calibrate(p Params) (distribution, error) {
	p.Modulus = 0 // changes no noise
	return calibrations.Get(p, func() (distribution, error) { return calibrateAnew(p) })
}

func calibrateAnew(p Params) (distribution, error) {
	if p.gaussian() {
		return calibrateGaussian(p)
	}
	switch p.Law {
	case Jump:
		return calibrateJump(p)
	case DiscreteArete:
		return calibrateDiscrete(p.Epsilon, p.steps(DiscreteArete), p.coreVariance())
	case DiscreteLaplace:
		return calibrateLaplace(p.Epsilon, p.steps(DiscreteLaplace))
	}
	return calibrateBest(p)
}

// calibrateBest returns the distribution of the least error, all proved private.
func calibrateBest(p Params) (distribution, error) {
	best, err := calibrateLaplace(p.Epsilon, p.steps(DiscreteLaplace))
	steps := p.steps(Jump)
	if err != nil || steps == 1 || steps == 0 && p.Epsilon < leastJump || p.Epsilon < leastIntegerJump {
		return best, err
	}
	if s, err := calibrateJump(p); err == nil && p.error(s) < p.error(best) {
		best = s
	}
	return best, nil
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
		most = math.Min(mostIntegers, math.Sqrt(maxCore)*p.idealSteps(min(p.Epsilon, mostInteger)))
	case DiscreteArete:
		most = math.Min(mostIntegers, 4*coreSteps/shape(min(p.Epsilon, mostLattice)).lambda)
	}
	if !p.Integers || delta > max(most, 1) {
		return 0
	}
	return int64(delta)
}

// coreVariance returns the variance that the core of the noise should have, in steps squared.
func (p Params) coreVariance() float64 {
	return max(coreVariance, perParty*float64(p.Parties))
}

// idealSteps returns H for a core of variance 1: a search over H and W found 1.4 to 1.5 times
// e^{ε/2} for the least E|X|, and 1.95·e^{ε/3} for the least E X².
func (p Params) idealSteps(epsilon float64) float64 {
	switch {
	case p.Objective == MeanSquare:
		return 1.95 * math.Exp(epsilon/3)
	case epsilon > 6.5:
		return 1.4 * math.Exp(epsilon/2)
	}
	return 1.45 * math.Exp(epsilon/2)
}

// idealExcess returns W − H in standard deviations of the core, by the same search.
func (p Params) idealExcess(epsilon float64) float64 {
	if p.Objective == MeanSquare {
		return min(0.45+0.15*epsilon, 3)
	}
	return min(0.28+0.25*epsilon, 2.5)
}

// error returns E|X|, or E X², as a part of the sensitivity or of its square, the rounding errors
// of the parties included: a sixth of a step squared each, as if they were normal.
func (p Params) error(s distribution) float64 {
	size, roundings := float64(s.size), float64(p.Parties)/6
	if p.onIntegers(s.size) {
		roundings = 0
	}
	switch {
	case p.Objective == MeanSquare:
		return (s.variance() + roundings) / (size * size)
	case s.jumps():
		s.jump.core += roundings
		return s.jump.meanAbs() / size
	}
	return (&Lattice{noise: s, tables: new(tables)}).MeanAbs() / size // a fine lattice
}

// calibrateLaplace returns discrete Laplace noise of the least scale ≥ H/ε.
func calibrateLaplace(epsilon float64, steps int64) (distribution, error) {
	if steps == 0 {
		steps = laplaceSteps
	}
	scale, err := noise.LaplaceScale(epsilon, float64(steps))
	return distribution{law: DiscreteLaplace, scale: max(scale, leastScale), size: steps, copies: 1}, err
}

// leastScale is the least scale of a discrete Laplace distribution that is drawn: it is 0 with all
// but a probability of e^{−64}.
const leastScale = 0x1p-6

// calibrateJump returns the jump distribution of the least error over the shapes that it tries. For
// real values that is one near the best, on a lattice as fine as the parties need, and for up to
// some thousand parties one on a coarser lattice besides, whose certificate has a table of all
// masses and gives nothing away. For integers, where H is given, the core varies, with none among
// them.
func calibrateJump(p Params) (best distribution, err error) {
	least := math.Inf(1)
	try := func(epsilon float64, steps, width int64, core float64) float64 {
		j, ok := fit(epsilon, steps, width, core)
		if !ok {
			return math.Inf(1)
		}
		s := distribution{law: Jump, jump: j, size: steps, copies: 1}
		e := p.error(s)
		if e < least {
			best, least = s, e
		}
		return e
	}
	steps := p.steps(Jump)
	switch {
	case p.Epsilon < leastIntegerJump:
		return distribution{}, lawError(p.Epsilon, Jump, "at least 1: below, Laplace noise is far smaller")
	case steps > 0:
		p.tryIntegers(steps, try)
	default:
		p.tryLattices(try)
	}
	if math.IsInf(least, 1) {
		return distribution{}, lawError(p.Epsilon, Jump, "one for which the search succeeds")
	}
	return best, nil
}

// tryLattices tries one shape for real values, near the best, on a lattice as fine as the parties
// need. Where a certificate with a table of all masses gives away less than the one without, it
// tries the finest lattice that has one too: for a few thousand parties that is better.
func (p Params) tryLattices(try func(epsilon float64, steps, width int64, core float64) float64) {
	epsilon := min(p.Epsilon, mostJump)
	ideal := p.idealSteps(epsilon)
	tables := min(finestCore, mostMasses/ideal*(mostMasses/ideal)) // the largest core
	at := func(core float64) {
		ideal, excess := ideal, p.idealExcess(epsilon)
		if core > finestCore {
			// the certificate without a table does not pass the others at a small ε
			excess = max(excess, 1.4)
			if epsilon < 4.5 {
				ideal *= 0.93
			}
		}
		h := 2 * math.Round(ideal*math.Sqrt(core)/2) // even, so that half a Δ is on the lattice
		w := h + math.Round(math.Sqrt(core)*excess)
		try(epsilon, int64(h), int64(w), core)
	}
	core := p.coreVariance()
	if core > tables && epsilon < fineFrom {
		at(coarse(tables * 0.98)) // the rounding of H aside
	}
	at(core)
}

// tryIntegers tries no core where the core would be small, and cores of .75 to 1.4 times the
// variance that real values would have: smaller ones are worse than both. Where that takes long,
// the width is searched at 1 alone, as the error falls and then rises with it: the best one, in
// deviations of the core, is about the same for the others. This costs at most .5 % of the error.
func (p Params) tryIntegers(steps int64, try func(epsilon float64, steps, width int64, core float64) float64) {
	epsilon := min(p.Epsilon, mostInteger)
	ideal := float64(steps) / p.idealSteps(epsilon)
	small := ideal*ideal < mostWithoutCore
	if small {
		try(epsilon, steps, steps, 0)
	}
	few, best := steps <= fewSteps || small, 0.0
	for _, part := range []float64{1, 0.75, 1.4} {
		core, least := coarse(part*ideal*ideal), math.Inf(1)
		for _, wide := range []float64{1.7, 1.1, 0.6, 0} {
			width := steps + int64(math.Round(wide*math.Sqrt(core)))
			if core > maxCore || width == steps && wide > 0 || !few && part != 1 && wide != best {
				continue
			}
			e := try(epsilon, steps, width, core)
			if e > least && !few {
				break
			}
			if part == 1 {
				least, best = e, wide
			}
		}
	}
}

const (
	// mostWithoutCore is the variance of the core for real values from which jumps alone are worse.
	// fewSteps is an H up to which all shapes are tried.
	mostWithoutCore, fewSteps = 4, 20
	// maxCore bounds V, which costs a random bit for each unit.
	maxCore = 64
	// mostInteger is where the noise of integers is so rare that a larger ε is not worth having: an
	// error once in e^{30}.
	mostInteger = 30
)

// calibrateDiscrete scales the continuous shape to a lattice, until the certificate holds.
func calibrateDiscrete(epsilon float64, steps int64, core float64) (distribution, error) {
	if epsilon < leastArete {
		return distribution{}, lawError(epsilon, DiscreteArete, "at least 3.6: below, Laplace noise is smaller")
	}
	epsilon = min(epsilon, mostLattice)
	start := shape(epsilon)
	if steps == 0 {
		steps = 2 * int64(math.Ceil(min(min(max(coreSteps, math.Sqrt(core/2)), mostCoreSteps)/start.lambda, finest)/2))
	}
	d, ok := fitDiscrete(epsilon, steps, start)
	if !ok {
		return distribution{}, lawError(epsilon, DiscreteArete, "a number for which the search succeeds")
	}
	return distribution{law: DiscreteArete, arete: d, size: steps, copies: 1}, nil
}

// coreSteps is λ in steps of the lattice, for real values, and mostCoreSteps for very many parties:
// a finer one has more masses near 0 than a certificate sums.
const coreSteps, mostCoreSteps = 5, 256

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

// onLattice returns the discrete Arete distribution of these parameters, θ and λ in units of
// steps/scale.
func (d Arete) onLattice(steps int64, scale float64) discrete {
	unit := scale * float64(steps)
	return discrete{steps, d.alpha, coarse(d.theta * unit), coarse(max(d.lambda*unit, leastScale))}
}

// coarse rounds x > 0 up to 20 binary digits. Every parameter that a search ends at is rounded so,
// before it is certified: parties that calibrate on unlike processors, whose last digits differ,
// arrive at one distribution.
func coarse(x float64) float64 {
	fraction, exp := math.Frexp(x)
	return math.Ldexp(math.Ceil(fraction*0x1p20), exp-20)
}

func lawError(epsilon float64, law Law, want string) error {
	return bad("Epsilon", epsilon, want+", for Law = "+law.String())
}
