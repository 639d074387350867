package plan

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan/internal/means"
)

// Params are the public numbers of a release, comparable. Dim, Rho, or Epsilon and Delta, and,
// unless NonNegative, Max are required.
type Params struct {
	// Rho is ρ, the whole budget, in [2⁻³⁰, 2²⁰], or 0 with Epsilon.
	Rho float64
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰], with a Delta in [1e-300, 1): the release
	// is ρ-zCDP for the largest ρ that is certain to be (ε, δ)-DP.
	Epsilon, Delta float64
	// Dim is d, the number of coordinates, at most 2²⁴.
	Dim int
	// Max is M, in [2⁻¹⁰⁰, 2¹⁰⁰]. Entries are clamped to [−M, M], or to [0, M]
	// if NonNegative; then 0 is 1.
	Max float64
	// Rows is n, at most 2³⁶. Under Replace it is public, and 0 takes it from the
	// data. Under AddRemove 0 releases a noisy n; else it is public: the number of
	// places, of which a few may be empty.
	Rows int
	// Relation is budget.AddRemove, which 0 stands for, or budget.Replace. A
	// missing row is an empty (nil) one if rows are dense, and one left out if
	// they are sparse.
	Relation budget.Relation
	// NonNegative says that no entry is negative. Noise is shaped for the ℓ₁ error
	// then, else for the ℓ₂ error.
	NonNegative bool
	// Symmetric says that rows lie symmetrically around their centre, so that
	// clipping an eighth of them does no harm.
	Symmetric bool
	// Relative counts the error of each column in its own standard deviations. A
	// column in which all but a few entries are equal has its centre as its mean,
	// and a StdDev that says how far those few may take it.
	Relative bool
	// Resolution is the least scale that matters, in [2⁻¹⁰⁰·Max, Max]: standard
	// deviations below Resolution/16 count as that. 0 finds scales of any size.
	// From Max/2²⁰ on, no row is clipped to a norm below it.
	Resolution float64
	// Method 0 is Auto.
	Method Method
	// Workers is the number of goroutines, at most 1024; 0 is one, or GOMAXPROCS
	// from 2¹⁸ entries on.
	Workers int
}

// engine returns the same for the engine.
func (p Params) engine() means.Params {
	rho := p.Rho
	if p.Epsilon != 0 {
		rho = rhoOf(p.Epsilon, p.Delta)
	}
	return means.Params{
		Rho: rho, Epsilon: p.Epsilon, Delta: p.Delta,
		Dim: p.Dim, Max: p.Max, Rows: p.Rows, Relation: p.Relation, NonNegative: p.NonNegative, Symmetric: p.Symmetric, Relative: p.Relative,
		Resolution: p.Resolution, Method: means.Method(p.Method), Workers: p.Workers,
	}
}

// paramsOf returns what the Params of the engine have.
func paramsOf(p means.Params) Params {
	if p.Epsilon != 0 {
		p.Rho = 0
	}
	return Params{
		Rho: p.Rho, Epsilon: p.Epsilon, Delta: p.Delta,
		Dim: p.Dim, Max: p.Max, Rows: p.Rows, Relation: p.Relation, NonNegative: p.NonNegative, Symmetric: p.Symmetric, Relative: p.Relative,
		Resolution: p.Resolution, Method: Method(p.Method), Workers: p.Workers,
	}
}

// validate checks the fields.
func (p Params) validate() error {
	if p.Method == Method(means.Thesis) || p.Method == Method(means.InstanceOptimal) {
		return bad("Method", p.Method, "another one, or package plan/thesis")
	}
	if err := check.EpsilonOrRho("plan", p.Epsilon, p.Delta, p.Rho); err != nil {
		return err
	}
	if p.Epsilon != 0 && p.Delta == 0 {
		return bad("Delta", p.Delta, "a number in [1e-300, 1) where Epsilon is given, as noise is Gaussian")
	}
	if e := p.engine(); p.Epsilon != 0 && !(e.Rho >= means.MinRho) {
		return bad("Delta", p.Delta, "a larger number: at this Epsilon no ρ of at least 2⁻³⁰ has it")
	}
	return p.engine().Validate()
}

// concentrated are the ρ of some ε and δ.
var concentrated memo.Table[[2]float64, float64]

// rhoOf returns the largest ρ, up to 2⁻⁴⁰ of it, for which the accountant says that ρ-zCDP is
// (ε, δ)-DP; 0 if there is none of at least 2⁻³¹. The steps of a release share ρ as the data bid
// (internal/means/release.go), which no sharper account allows for.
func rhoOf(epsilon, delta float64) float64 {
	rho, _ := concentrated.Get([2]float64{epsilon, delta}, func() (float64, error) {
		over := func(rho float64) bool {
			return !(budget.ZCDP(rho, budget.Row(budget.AddRemove)).DeltaAt(epsilon) <= delta)
		}
		rho := exact.LeastFloat(means.MinRho/2, check.MaxRho, over) * (1 - 0x1p-40)
		if over(rho) {
			return 0, nil
		}
		return rho, nil
	})
	return rho
}

// Guarantee returns what a release promises. Invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	if p.validate() != nil {
		return budget.Guarantee{}
	}
	return p.engine().Guarantee()
}

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
)

// bad returns the error for an argument.
func bad(field string, value any, want string) error {
	return check.ParamsError("plan", field, value, want)
}
