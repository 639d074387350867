package alp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// The figures of accuracy, each through Builder, Release and Estimate. The fast ones compare with
// margins of seven standard errors or more of their own; the long ones (go test -run Long -long
// ./alp) are at the sizes that are stated.

// errors collects estimates and what they should have been.
type errors struct {
	n, abs, square, sum float64
	sizes               []float64
}

func (e *errors) add(estimate, truth float64) {
	d := estimate - truth
	e.n++
	e.abs += math.Abs(d)
	e.square += d * d
	e.sum += d
	e.sizes = append(e.sizes, math.Abs(d))
}

func (e *errors) mean() float64 { return e.abs / e.n }
func (e *errors) root() float64 { return math.Sqrt(e.square / e.n) }
func (e *errors) bias() float64 { return e.sum / e.n }

// quantile returns a quantile of the absolute error.
func (e *errors) quantile(p float64) float64 {
	slices.Sort(e.sizes)
	return e.sizes[int(p*float64(len(e.sizes)-1))]
}

// scatter is an injective map of small numbers to indices without structure: with indices in
// arithmetic progression the pairwise independent hash functions of the thesis's layout have
// another number of collisions than random ones.
func scatter(i int) uint64 { return mixBits(uint64(i)) }

// released releases the values, value i at index scatter(i).
func released(t testing.TB, p Params, values []float64) *Projection {
	t.Helper()
	b := dptest.OK(New(p))(t)
	for i, v := range values {
		b.Add(scatter(i), v)
	}
	return dptest.OK(b.Release())(t)
}

// among returns k values: the first n are drawn, all others are top.
func among(k, n int, top float64, draw func() float64) []float64 {
	values := slices.Repeat([]float64{top}, k)
	for i := range n {
		values[i] = draw()
	}
	return values
}

// measure returns the errors of the first n values, and of as many indices that are 0.
func measure(values []float64, n int, estimate func(uint64) float64) (entries, zeros *errors) {
	entries, zeros = &errors{}, &errors{}
	for i := range n {
		entries.add(estimate(scatter(i)), values[i])
		zeros.add(estimate(scatter(len(values)+i)), 0)
	}
	return entries, zeros
}

// bare returns the projection read without an atom at zero.
func bare(t testing.TB, p *Projection) *Projection {
	t.Helper()
	return dptest.OK(p.WithPrior(Prior{Zero: 0, Learned: defaultPrior.Learned}))(t)
}

// figure is a row of the accuracy figures: at most these mean absolute errors of entries without an
// atom, and with the default prior.
type figure struct {
	name        string
	params      Params
	plain, atom float64
	argmax      float64 // of the paper's estimator, 0 where that is not for the code
}

// figures are in units of Δ/ε: columns alone, entries uniform up to ψ = 40, all others at ψ.
// Without an atom they are 1.48, 1.17 and 1.07 at 100, 300 and 1000 bits stored (1.80, 1.33 and
// 1.12 where cells took log₂Q bits each), for unary codes 2.26, 2.02 and 1.92. The atom of ½ costs
// entries 5 to 12 % and takes zeros from about 1 to .55, .28 and .16: 1.55, 1.28, 1.17, and for
// unary codes 2.53, 2.14, 2.01.
var figures = []figure{
	{"columns/100", Params{Bits: 100}, 1.55, 1.63, 0},
	{"columns/300", Params{Bits: 300}, 1.24, 1.35, 0},
	{"columns/1000", Params{Bits: 1000}, 1.12, 1.22, 0},
	{"unary/100", Params{Bits: 100, Variant: Variant{Levels: 2}}, 2.35, 3.0, 2.8},
	{"unary/300", Params{Bits: 300, Variant: Variant{Levels: 2}}, 2.05, 2.35, 2.35},
	{"unary/1000", Params{Bits: 1000, Variant: Variant{Levels: 2}}, 1.95, 2.1, 2.2},
	{"paper/100", Params{Bits: 100, Variant: Variant{Linear: true}}, 4.4, 5.5, 5},
	{"paper/300", Params{Bits: 300, Variant: Variant{Linear: true}}, 3.8, 4.6, 4.3},
	{"paper/1000", Params{Bits: 1000, Variant: Variant{Linear: true}}, 3.8, 4.4, 4.3},
}

func testFigures(t *testing.T, k, n int, slack float64) {
	r := rand.New(rand.NewPCG(1, 2))
	const psi = 40
	for _, f := range figures {
		t.Run(f.name, func(t *testing.T) {
			f.params.Epsilon, f.params.Max, f.params.Sparsity, f.params.Structure = 1, psi, k, ColumnsOnly
			values := among(k, n, psi, func() float64 { return psi * r.Float64() })
			p := released(t, f.params, values)
			q := bare(t, p)
			plain, _ := measure(values, n, q.Estimate)
			atom, zeros := measure(values, n, p.Estimate)
			argmax, zerosArgmax := measure(values, n, p.Argmax)
			t.Logf("%d columns, Q = %d: no atom %.2f; default %.2f, zeros %.2f; argmax %.2f, zeros %.2f",
				p.Params().Columns, p.Params().Levels, plain.mean(), atom.mean(), zeros.mean(), argmax.mean(), zerosArgmax.mean())
			dptest.Alarm(t, 1e-10)
			require.Less(t, plain.mean(), f.plain*slack)
			require.Less(t, atom.mean(), f.atom*slack)
			if f.argmax > 0 {
				require.Less(t, argmax.mean(), f.argmax*slack)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	dptest.NotShort(t, "more than a second; TestHonest and TestCombinedFigures remain")
	testFigures(t, 10_000, 2000, 1.3)
}

func TestLongFigures(t *testing.T) {
	dptest.NeedsLong(t)
	testFigures(t, 200_000, 40_000, 1.02)
}

// The combined structure at ε = 1, δ = 1e-6: entries uniform up to where the columns end, zeros,
// and large entries, which are all others.
func testCombined(t *testing.T, k, n int, slack float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range []struct {
		bits, small, zeros float64
	}{{100, 1.75, 0.25}, {300, 1.7, 0.2}} {
		p := Params{Epsilon: 1, Delta: 1e-6, Sparsity: k, Bits: f.bits}
		resolved := dptest.OK(p.resolved())(t)
		values := among(k, n, 3*resolved.Turn, func() float64 { return resolved.Turn * r.Float64() })
		pr := released(t, p, values)
		small, zeros := measure(values, n, pr.Estimate)
		for i := n; i < 10*n; i++ { // most of the error of zeros comes from few of them
			zeros.add(pr.Estimate(scatter(k+i)), 0)
		}
		plain, _ := measure(values, n, bare(t, pr).Estimate)
		large := &errors{}
		for i := n; i < k; i++ {
			large.add(pr.Estimate(scatter(i)), values[i])
		}
		t.Logf("%g bits, columns to %.1f: small %.2f (no atom %.2f), zeros %.2f, large %.3f, bias %+.2f", f.bits, resolved.Turn, small.mean(), plain.mean(), zeros.mean(), large.mean(), small.bias())
		dptest.Alarm(t, 1e-10)
		require.Less(t, small.mean(), f.small*slack)
		require.Less(t, zeros.mean(), f.zeros+(slack-1)*f.small/4)
		require.Less(t, large.mean(), 1.05*math.Sqrt(slack))
	}
}

func TestCombinedFigures(t *testing.T) { testCombined(t, 60_000, 2000, 1.3) }

func TestLongCombinedFigures(t *testing.T) {
	dptest.NeedsLong(t)
	testCombined(t, 800_000, 20_000, 1.02)
}

// TestLongLoads prints the table of examples/evidence/figures: what the entries of others cost, by
// where they lie, and what was chosen against two columns and against smaller shares of the list.
// Measured entries are uniform up to 40, or from 40 to 72, where a smaller share no longer lists
// them, each 5 % of all. The noise is fixed. Means over the loads: one column is better for small
// entries, and what a smaller share gains for these it loses for those of 40 to 72: the sum of both
// is within 3 % of theirs. At the worst load a smaller share is off by more.
func TestLongLoads(t *testing.T) {
	dptest.NeedsLong(t)
	cryptotest.SetGlobalRandom(t, 1)
	const k, n = 200_000, 10_000
	base := Params{Epsilon: 1, Delta: 1e-6, Sparsity: k}
	r := rand.New(rand.NewPCG(1, 2))
	loads := []struct {
		name string
		draw func() float64
	}{
		{"all listed", func() float64 { return 1000 }}, {"uniform up to 40", func() float64 { return 40 * r.Float64() }}, {"all at 20", func() float64 { return 20 }},
		{"all at 39, just below the list", func() float64 { return 39 }}, {"uniform 40 to 72", func() float64 { return 40 + 32*r.Float64() }}, {"exponential, mean 5", func() float64 { return 5 * r.ExpFloat64() }},
	}
	for _, bits := range []float64{60, 100, 300} {
		p := base
		p.Bits = bits
		before, quarter, fifth := p, p, p
		before.Columns, before.Levels, quarter.Split, fifth.Split = 2, 16, 1.0/4, 1.0/5
		signed := p
		signed.Signed = true
		variants := []Params{before, p, quarter, fifth, signed}
		means := make([]struct{ small, middle, worst float64 }, len(variants))
		for _, load := range loads {
			row := ""
			like := make([]float64, 1000)
			for i := range like {
				like[i] = load.draw()
			}
			for i, v := range variants {
				values := among(k, n, 0, func() float64 { return 40 * r.Float64() })
				for j := range values[n:] {
					if values[n+j] = load.draw(); j < n {
						values[n+j] = 40 + 32*r.Float64()
					}
				}
				pr := released(t, v, values)
				small, zeros := measure(values, n, pr.Estimate)
				middle, own := &errors{}, &errors{}
				for j, x := range values[n : 3*n] {
					if e := middle; j < n {
						e.add(pr.Estimate(scatter(n+j)), x)
					} else {
						own.add(pr.Estimate(scatter(n+j)), x)
					}
				}
				row += fmt.Sprintf(" %.2f / %.1f, %.2f, %.2f |", small.mean(), small.root(), zeros.mean(), middle.mean())
				means[i].small += small.mean() / float64(len(loads))
				means[i].middle += middle.mean() / float64(len(loads))
				means[i].worst = max(means[i].worst, small.root())
				if i == 1 {
					plan := dptest.OK(v.Plan(like...))(t)
					defer t.Logf("| %g, %s: of the load itself, of zeros | %.2f, %.2f | Plan %.2f, %.2f |", bits, load.name, own.mean(), zeros.mean(), plan.Error, plan.Zero)
				}
			}
			t.Logf("| %g, %s |%s", bits, load.name, row)
		}
		require.Less(t, means[1].small, means[0].small)
		for _, smaller := range means[2:4] {
			require.Less(t, means[1].small+means[1].middle, 1.03*(smaller.small+smaller.middle))
			require.Less(t, means[1].worst, smaller.worst)
		}
	}
}

// Columns that the list aids: entries uniform up to ψ = 40, all others large and listed, so they
// collide with nothing. The unit is what it is for the columns, 1/((1−θ)ε); in units of 1/ε errors
// are 16/11 of it. Absence from the list says much of entries near ψ, which columns alone do not
// know.
func testAided(t *testing.T, k, n int, slack float64) {
	r := rand.New(rand.NewPCG(1, 2))
	const psi = 40
	for _, f := range []struct{ bits, plain, atom float64 }{{100, 1.12, 1.2}, {300, 1.1, 1.18}} {
		p := Params{Epsilon: 16.0 / 11, Delta: 1e-6, Sparsity: k, Bits: f.bits, Variant: Variant{Split: 5.0 / 16, Turn: psi}}
		values := among(k, n, 1000, func() float64 { return psi * r.Float64() })
		pr := released(t, p, values)
		q := bare(t, pr)
		plain, _ := measure(values, n, q.Estimate)
		atom, zeros := measure(values, n, pr.Estimate)
		t.Logf("%g bits, %d columns, Q = %d: no atom %.2f; default %.2f, zeros %.2f", f.bits, pr.Params().Columns, pr.Params().Levels, plain.mean(), atom.mean(), zeros.mean())
		dptest.Alarm(t, 1e-10)
		require.Less(t, plain.mean(), f.plain*slack)
		require.Less(t, atom.mean(), f.atom*slack)
	}
}

func TestAidedFigures(t *testing.T) { testAided(t, 40_000, 2000, 1.3) }

func TestLongAidedFigures(t *testing.T) {
	dptest.NeedsLong(t)
	testAided(t, 400_000, 40_000, 1.02)
}

// Integer counts of which one changes by one: the ladder at 300 bits an entry, and the default.
func testIntegers(t *testing.T, k, n int, slack float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range []struct{ epsilon, ladder float64 }{{0.5, 4}, {1, 1.86}, {2, 0.7}, {4, 0.11}} {
		psi := max(12, math.Round(40/f.epsilon))
		values := among(k, n, psi, func() float64 { return float64(1 + r.IntN(int(psi))) })
		p := Params{Epsilon: f.epsilon, Integers: true, Max: psi, Sparsity: k, Bits: 300, Structure: ColumnsOnly}
		columns, _ := measure(values, n, bare(t, released(t, p, values)).Estimate)
		p.Levels = 2
		ladder, _ := measure(values, n, bare(t, released(t, p, values)).Estimate)
		t.Logf("ε = %g: ladder %.3f, columns %.3f", f.epsilon, ladder.mean(), columns.mean())
		dptest.Alarm(t, 1e-10)
		require.Less(t, ladder.mean(), f.ladder*slack)
		require.Less(t, columns.mean(), f.ladder*slack)
	}
}

func TestIntegerFigures(t *testing.T) {
	dptest.NotShort(t, "more than half a second")
	testIntegers(t, 10_000, 4000, 1.3)
}

func TestLongIntegerFigures(t *testing.T) {
	dptest.NeedsLong(t)
	testIntegers(t, 200_000, 40_000, 1.04)
}

// thesis returns the errors of the thesis's experiment (section 2.9): α = 3, x uniform up to ψ, a
// given probability of a collision with an entry at ψ in each column. n of the k entries are drawn,
// all others are at ψ, and the drawn ones collide with one another too, in half of the columns on
// average: k − n/2 entries at ψ are as many collisions.
func thesis(t testing.TB, psi, collision float64, k, n int) *errors {
	const alpha = 3
	r := rand.New(rand.NewPCG(1, 2))
	cells := float64(k-n/2) / -math.Log1p(-collision)
	values := among(k, n, psi, func() float64 { return psi * r.Float64() })
	p := released(t, Params{Epsilon: 1, Max: psi, Sparsity: k, Structure: ColumnsOnly, Bits: math.Ceil(psi/alpha) * cells / float64(k), Variant: Variant{Linear: true, Alpha: alpha, Independent: true}}, values)
	e, _ := measure(values, n, p.Argmax)
	return e
}

// The thesis's mean absolute error, standard deviation, 90th percentile and mean error. It has 10⁵
// to 10⁶ trials, so its figures are nearly exact to what is printed; the tolerance is seven
// standard errors of n trials, and a little for the border at ψ, which matters the more the smaller
// ψ is.
func testThesis(t *testing.T, psi float64, k, n int) {
	for _, f := range []struct{ collision, mean, deviation, ninth, bias float64 }{
		{0.1, 6.4, 11, 15.78, 2.33}, {0.01, 4.8, 7.8, 11.5, 0.18},
	} {
		e := thesis(t, psi, f.collision, k, n)
		deviation := math.Sqrt(e.root()*e.root() - e.bias()*e.bias())
		t.Logf("collisions %g: mean absolute error %.2f (%.2f), deviation %.2f (%g), 90th percentile %.2f (%g), bias %+.2f (%+g)",
			f.collision, e.mean(), f.mean, deviation, f.deviation, e.quantile(0.9), f.ninth, e.bias(), f.bias)
		dptest.Alarm(t, 1e-10)
		se, border := 7/math.Sqrt(float64(n)), 60/psi
		require.InDelta(t, f.mean, e.mean(), 0.05+(se+border)*f.deviation)
		// √(κ−1)/2 < 3 for a kurtosis κ below 37
		require.InDelta(t, f.deviation, deviation, 0.1+(3*se+border)*f.deviation)
		// √(0.09)/density at the percentile
		require.InDelta(t, f.ninth, e.quantile(0.9), 0.1+20*se)
		require.InDelta(t, f.bias, e.bias(), 0.05+(se+border)*f.deviation)
	}
}

func TestLongThesisFigures(t *testing.T) {
	dptest.NeedsLong(t)
	if !dptest.Deep() {
		testThesis(t, 2000, 16_000, 3000)
		return
	}
	testThesis(t, 5000, 40_000, 4000)
}
