package figures

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/examples/internal/rows"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
)

// method is a way to release a mean.
type method struct {
	name     string
	kind     kind
	make     rows.Maker
	shrunken bool
}

var (
	here    = method{"PLAN, the default here", ours, plan.New, false}
	printed = method{"PLAN as printed, honest budget", theirs, rows.Published(nil), false}
)

// instanceOptimal is the method of Huang, Liang and Yi, which searches within ±4·most.
func instanceOptimal(most float64) method {
	return method{"instance-optimal (Huang, Liang, Yi)", theirs, rows.Optimal(most), false}
}

// means draws the error of releases against something that the data or the budget depend on. All
// curves see the same data.
type means struct {
	e      effort
	p      *picture
	curves map[string]plotter.XYs
	order  []method
	floor  plotter.XYs // the error of the mean of the rows itself
}

func newMeans(e effort, p *picture) *means {
	return &means{e: e, p: p, curves: map[string]plotter.XYs{}}
}

// point measures the methods at x: the mean ℓₚ error of several releases.
func (m *means) point(x float64, data rows.Set, params plan.Params, methods ...method) {
	m.order = methods
	for _, by := range methods {
		sum := 0.0
		for range m.e.means {
			released := must(data.Release(context.Background(), params, by.make))
			values := released.Values()
			if by.shrunken {
				values = released.Shrunk(rows.Power(params))
			}
			sum += rows.Distance(values, data.Truth, rows.Power(params)) / float64(m.e.means)
		}
		m.curves[by.name] = append(m.curves[by.name], plotter.XY{X: x, Y: sum})
	}
	m.floor = append(m.floor, plotter.XY{X: x, Y: rows.Distance(data.Mean(), data.Truth, rows.Power(params))})
}

// picture adds the curves.
func (m *means) picture() *picture {
	for _, by := range m.order {
		m.p.add(by.name, by.kind, m.curves[by.name])
	}
	return m.p
}

// sampled adds the curves, and the error that the mean of all rows has without any privacy.
func (m *means) sampled() *picture {
	return m.picture().add("the mean itself, not private", ours, m.floor)
}

// generator returns the generator of test data of d coordinates, the same in every run.
func generator(d int) *rand.Rand { return rand.New(rand.NewPCG(11, uint64(d))) }

const (
	gaussianBudget = 0.5  // ρ of Figure 5.2
	binaryBudget   = 0.25 // ρ of Figure 5.3 (a)
)

// dimensions returns the numbers of columns, 16 to 2048 by factors of 2, or as many as there is
// effort for.
func (e effort) dimensions() (d []int) {
	for k := 16; k <= 2048/e.scale; k *= 2 {
		d = append(d, k)
	}
	return d
}

// planDimensions is Figure 5.2a: coordinates of equal scale, more and more of them.
func planDimensions(e effort) *picture {
	const n = 4000
	m := newMeans(e, newPicture("No skew: n = 4000, σ = 1, ρ = 0.5", "d, number of coordinates", "ℓ₂ error").log(true, true))
	for _, d := range e.dimensions() {
		data := rows.Gaussian(generator(d), n, 0, rows.Powers(d, 0))
		params := plan.Params{Rho: gaussianBudget, Dim: d, Rows: n, Max: 25 * math.Sqrt(float64(d)), Resolution: 1, Relation: budget.Replace}
		m.point(float64(d), data, params, instanceOptimal(25./4), printed, here)
	}
	m.p.Legend.Left = true
	return m.sampled()
}

// planSkew is Figure 5.2b: scales that fall more and more steeply.
func planSkew(e effort) *picture {
	n, d := 10_000/e.scale, 2048/e.scale
	title := fmt.Sprintf("Variances (d/i)^α: n = %d, d = %d, ρ = 0.5", n, d)
	m := newMeans(e, newPicture(title, "α, skew of the variances", "ℓ₂ error").log(false, true))
	for _, alpha := range []float64{0, 0.5, 1, 1.5, 2} {
		sds := rows.Powers(d, alpha)
		data := rows.Gaussian(generator(d), n, 10, sds)
		params := plan.Params{Rho: gaussianBudget, Dim: d, Rows: n, Max: 50 * math.Pow(float64(d), 1.5), Resolution: 1, Relation: budget.Replace}
		m.point(alpha, data, params, instanceOptimal(30*sds[0]), printed, here)
	}
	p := m.sampled()
	p.Y.Max *= 30 // room for the names
	return p
}

// planSkewed is Figure 5.2c: steep scales, more and more coordinates; the error is that to the mean
// of the rows, as there.
func planSkewed(e effort) *picture {
	n := 10_000 / e.scale
	title := fmt.Sprintf("Skewed scales σ = d/i: n = %d, ρ = 0.5", n)
	m := newMeans(e, newPicture(title, "d, number of coordinates", "ℓ₂ distance to the mean of the rows").log(true, true))
	for _, d := range e.dimensions() {
		data := rows.Gaussian(generator(d), n, 10, rows.Powers(d, 2))
		data.Truth = data.Mean()
		params := plan.Params{Rho: gaussianBudget, Dim: d, Rows: n, Max: 50 * math.Pow(float64(d), 1.5), Resolution: 1, Relation: budget.Replace}
		m.point(float64(d), data, params, instanceOptimal(10*float64(d)), printed, here)
	}
	m.p.Legend.Left = true
	return m.picture()
}

// planBinary is Figure 5.3a: a part α of the bits is set with probability ½, the others with
// probability 0.01.
func planBinary(e effort) *picture {
	n, d := 4096/e.scale, 2048/e.scale
	title := fmt.Sprintf("Bits, a part α of them ones with probability ½, others 0.01: n = %d, d = %d, ρ = 0.25", n, d)
	m := newMeans(e, newPicture(title, "α", "ℓ₁ error"))
	for _, alpha := range []float64{0, 0.25, 0.5, 0.75, 1} {
		data := rows.Bits(generator(d), n, d, alpha)
		params := plan.Params{Rho: binaryBudget, Dim: d, Rows: n, NonNegative: true, Relation: budget.Replace}
		m.point(alpha, data, params, instanceOptimal(1), printed, here)
	}
	p := m.sampled()
	p.Y.Min = 0
	p.Legend.Left = true
	return p
}

// planBaskets stands for Figures 5.3b and c, whose data are not free to ship: the words of each
// verse of the King James Bible as a binary row. The instance-optimal method rotates such rows into
// dense ones, which takes minutes for each release (../means has its errors).
func planBaskets(e effort) *picture {
	data := rows.Verses()
	title := fmt.Sprintf("Words of verses: n = %d, d = %d", data.Sparse.Rows(), len(data.Truth))
	m := newMeans(e, newPicture(title, "ρ", "ℓ₁ distance to the mean of the rows").log(true, true))
	unscaled := method{"clipping by the norm alone", theirs, rows.Unscaled, false}
	shrunken := here
	shrunken.name, shrunken.shrunken = "the same, shrunken", true
	for _, rho := range []float64{0.0625, 0.125, 0.25, 0.5, 1} {
		params := plan.Params{Rho: rho, Dim: len(data.Truth), Rows: data.Sparse.Rows(), NonNegative: true, Relation: budget.Replace}
		m.point(rho, data, params, printed, unscaled, here, shrunken)
	}
	return m.picture()
}
