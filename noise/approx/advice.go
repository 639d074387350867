package approx

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Advice is what a [Search] takes besides, in [Params] without Error, Queries and Noise, and with a
// Max.
//
// The estimator A(advice, accuracy) approximates g, which lies in [Min, Max], and needs a guess of
// g to know how much work to do. It must promise ‖A(y, ρ) − g‖_c ≤ ρ·max(y, g), with c the Moment,
// 2 where that is 0, for every input, advice y in [Min/2, Max] and accuracy ρ.
type Advice struct {
	// Min is the least that g is, on every input: 0 < Min < Max ≤ 2⁴⁰·Min.
	Min float64
	// Runs is the odd number of executions per median, with Moment·(Runs+1)/2 >
	// 2. 0 is 5.
	Runs int
	// Failure is an upper bound, in (0, ½], on the probability that the advice
	// found is not within a factor of 3 of g. 0 is ⅛.
	Failure float64
	// Accuracy is ρ of the last estimate, in [2⁻⁴⁰, 1]. 0 is the accuracy of the
	// search.
	Accuracy float64
}

// Search releases an estimate, and removes the need for advice privately (Tětek, Theorem 22). It
// halves y from Max on. Each time it releases the median of some runs of A(y, ρ), with ε/(2L) for
// at most L = ⌈log₂(Max/Min)⌉ rounds, until that median is at least y. Then it releases the median
// of A(y, Accuracy) with ε/2. Each call spends ε again.
//
// estimate(advice, accuracy) is called Runs times per round and must use fresh randomness each
// time. The error wraps [ErrParams], also if Min is so small compared with Sensitivity/Epsilon that
// the noise hides it; then there is no call.
//
// Privacy. The moments of the median are bounded ([MedianMoment]), so each round is a release of
// [Mechanism], and later rounds depend only on released values. The theorem asks for E|A − g| ≤
// ρ·y. Estimators violate this for y far below g, for instance one with the variance of Seshadhri's
// for the average degree. So every run is clamped to [0, λy], λ = 2 in the search and 3 at the end.
// Claim: ‖A‖ then has, as an estimator of min(g, λy), an error ‖·‖_c of at most λρy. For g ≤ λy
// clamping only brings A closer, and ρ·max(y, g) ≤ λρy. For g > λy the clamped A is off by (λy −
// A)⁺ ≤ (λy/g)·(g − A)⁺ for A ≥ 0, as a convex function lies below its chord, and by λy ≤ (λy/g)(g
// − A) for A < 0: a norm of at most (λy/g)·ρg. And min(g, λy) has the sensitivity of g. ∎
//
// Accuracy. Let W be a round's release minus min(g, 2y). The last round with y ≥ 2g stops if W ≥ y
// − g, which is at least y/2; the one before it at 3y/4 or more of its own y, and so on, ⅞y, …. The
// one round with g/3 < y ≤ g/1.5, if there is one, does not stop if W < −y/2. By choice of ρ all
// this together has a probability of at most Failure; and if none of it happens, y/2 < g < 3y at
// the end, the last clamp takes nothing from g, and the estimate is as good as A with true advice.
// The theorem's own argument bounds the noise by Markov's inequality, which needs it to be
// positive, and takes the same probability of a false stop in each of the L rounds for a falling
// one: with its constants the search stops early with a probability that grows with L. It needs no
// E A ≤ g. As only the moment of A is known, an A with normal errors fails less often than Failure
// says.
//
// For experiments, values that protect hardly anybody are accepted: ε above 20, δ above 0.01.
func Search(p Params, estimate func(advice, accuracy float64) float64) (Advised, error) {
	s, err := newSearch(p)
	if err != nil {
		return Advised{}, err
	}
	return s.run(estimate)
}

// adviceSearch is a search that is planned.
type adviceSearch struct {
	params        Params
	rounds        int
	search, final adviceStage
}

// adviceStage is what a release of the search, or the one at the end, is made with: ρ, λ and ε.
type adviceStage struct{ accuracy, reach, epsilon float64 }

const (
	searchReach = 2.0 // λ in the search
	finalReach  = 3.0 // and at the end

	mostRounds = 40 // as Max ≤ 2⁴⁰·Min
)

// newSearch plans the search.
func newSearch(p Params) (*adviceSearch, error) {
	full := p.ofSearch()
	if err := full.validateSearch(); err != nil {
		return nil, err
	}
	s := &adviceSearch{params: full, rounds: full.rounds()}
	least := full.Max / math.Exp2(float64(s.rounds-1)) // y of the last round, where Δ₁ weighs most
	moment, factor, err := MedianMoment(full.Moment, 1, full.Advice.Runs)
	if err != nil {
		return nil, err
	}
	// rounded down: all rounds together have at most ε/2
	epsilon := full.Epsilon / 2 / float64(s.rounds) * (1 - 0x1p-50)
	round := Params{Epsilon: epsilon, Sensitivity: full.Sensitivity, Moment: moment, Max: searchReach * least}
	tooMuch := func(e float64) bool {
		round.Error = e
		return !(round.misleads(least, s.rounds) <= full.Advice.Failure)
	}
	lo, hi := max(least*0x1p-40, leastParam), least
	if tooMuch(lo) {
		return nil, check.ParamsError("approx", "Min", p.Advice.Min, "larger compared with Sensitivity/Epsilon, or a smaller Max/Min: the noise hides it")
	}
	lo = largest(lo, hi, 1+1e-5, tooMuch)
	s.search = adviceStage{min(lo/(searchReach*factor*least)*(1-1e-6), 1), searchReach, epsilon}
	s.final = adviceStage{full.Advice.Accuracy, finalReach, full.Epsilon / 2}
	if full.Advice.Accuracy == 0 {
		s.final.accuracy = s.search.accuracy
	}
	// Max/scale rises with y, so if the first round and an end there are possible, all are.
	if _, err := s.mechanism(full.Max, s.search); err != nil {
		return nil, err
	}
	if _, err := s.mechanism(full.Max, s.final); err != nil {
		return nil, check.ParamsError("approx", "Accuracy", p.Advice.Accuracy, "a number for which the noise is at least 2⁻⁴⁴ of Max")
	}
	return s, nil
}

// misleads returns a bound on the probability that one of the rounds goes wrong, for the noise of
// the last round, at y, where the noise is largest compared with y.
func (p Params) misleads(y float64, rounds int) float64 {
	n, err := p.choose()
	if err != nil {
		return 0 // so little noise against Max that there is none
	}
	sum := 2 * n.beyond(p, y/2)
	for j := 1; j <= rounds-2; j++ {
		sum += n.beyond(p, y*(1-math.Exp2(float64(-j-1))))
	}
	return sum
}

// ofSearch returns the Params of a search, defaults filled in.
func (p Params) ofSearch() Params {
	p = p.normalized()
	p.Sensitivity, p.Protects = p.sensitivity(), p.unit()
	p.Moment, p.Advice.Failure = cmp.Or(p.Moment, 2), cmp.Or(p.Advice.Failure, 0.125)
	p.Advice.Accuracy += 0
	p.Advice.Runs = cmp.Or(p.Advice.Runs, 5)
	return p
}

// rounds returns L, the largest number of rounds of the search.
func (p Params) rounds() int { return max(int(math.Ceil(math.Log2(p.Max/p.Advice.Min))), 1) }

// validateSearch checks the Params of a search.
func (p Params) validateSearch() error {
	bad := func(field string, value any, want string) error {
		return check.ParamsError("approx", field, value, want)
	}
	inRange := func(x float64) bool { return x >= 0x1p-800 && x <= 0x1p800 }
	a := p.Advice
	switch {
	case !(p.Epsilon >= 0x1p-20 && p.Epsilon <= check.MaxEpsilon):
		return bad("Epsilon", p.Epsilon, "a number in [2⁻²⁰, 2¹⁰]")
	case !inRange(p.Sensitivity):
		return bad("Sensitivity", p.Sensitivity, "0 or a number in [2⁻⁸⁰⁰, 2⁸⁰⁰]")
	case p.Error != 0 || p.Queries != 0 || p.Noise != AutoNoise:
		return bad("Error, Queries and Noise", fmt.Sprint(p.Error, p.Queries, p.Noise), "0 for a Search")
	case !inRange(a.Min):
		return bad("Min", a.Min, "a number in [2⁻⁸⁰⁰, 2⁸⁰⁰]")
	case !(inRange(p.Max) && p.Max > a.Min && p.Max/a.Min <= 0x1p40):
		return bad("Max", p.Max, "a number above Min and at most 2⁴⁰·Min")
	case !(p.Moment >= 1 && p.Moment <= mostMoment):
		return bad("Moment", p.Moment, "0 or a number in [1, 2¹⁰]")
	case checkRuns(a.Runs) != nil:
		return checkRuns(a.Runs)
	case !(p.Moment*float64(a.Runs+1)/2 > 2):
		return bad("Runs", a.Runs, "more, so that Moment·(Runs+1)/2 > 2")
	case !(a.Failure > 0x1p-40 && a.Failure <= 0.5):
		return bad("Failure", a.Failure, "0 or a probability in (2⁻⁴⁰, ½]")
	case a.Accuracy != 0 && !(a.Accuracy >= 0x1p-40 && a.Accuracy <= 1):
		return bad("Accuracy", a.Accuracy, "0 or a number in [2⁻⁴⁰, 1]")
	}
	return nil
}

// run searches and estimates.
func (s *adviceSearch) run(estimate func(advice, accuracy float64) float64) (Advised, error) {
	advice, rounds := s.params.Max, 0
	for rounds < s.rounds {
		round, err := s.release(estimate, advice, s.search)
		if err != nil {
			return Advised{}, err
		}
		rounds++
		if round.Estimate() >= advice {
			break
		}
		advice /= 2
	}
	last, err := s.release(estimate, advice, s.final)
	return Advised{promised{s.params}, last, advice, rounds}, err
}

// release releases the median of the runs, each clamped to [0, reach·advice].
func (s *adviceSearch) release(estimate func(advice, accuracy float64) float64, advice float64, stage adviceStage) (Value, error) {
	a, err := s.mechanism(advice, stage)
	if err != nil {
		return Value{}, err
	}
	return a.Release(Median(s.params.Advice.Runs, func() float64 { return min(max(estimate(advice, stage.accuracy), 0), stage.reach*advice) }))
}

// mechanism returns the Mechanism of one release.
func (s *adviceSearch) mechanism(advice float64, stage adviceStage) (*Mechanism, error) {
	most := stage.reach * advice
	moment, bound, err := MedianMoment(s.params.Moment, most*stage.accuracy, s.params.Advice.Runs)
	if err != nil {
		return nil, err
	}
	return New(Params{Epsilon: stage.epsilon, Sensitivity: s.params.Sensitivity, Error: bound, Moment: moment, Max: most, Protects: s.params.Protects})
}

// Advised is the result of a [Search]. It is immutable, and everything computed from it is
// post-processing.
type Advised struct {
	promised
	last   Value
	advice float64
	rounds int
}

// Estimate returns the released estimate, NaN for the zero Advised.
func (a Advised) Estimate() float64 { return a.last.Estimate() }

// Advice returns the y that was found. It is between g/3 and 2g, except with the probability
// Failure of the Params.
func (a Advised) Advice() float64 { return a.advice }

// Interval returns an interval that covers g with the given confidence if the advice is right.
func (a Advised) Interval(confidence float64) (lo, hi float64) { return a.last.Interval(confidence) }

// String returns the value, its noise, the advice and the guarantee.
func (a Advised) String() string {
	if !a.last.released() {
		return "approx.Advised (not released)"
	}
	return fmt.Sprintf("%g, %v of scale %g, with advice %g after %d rounds, %v", a.Estimate(), a.last.noise.noise, a.last.noise.scale, a.advice, a.rounds, a.Guarantee())
}
