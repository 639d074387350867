package column

import (
	"math"
	"math/rand/v2"
)

// column of a law: how a value is drawn, by its number.
type sampled struct {
	name string
	draw func(r *rand.Rand, i int) float64
}

// pareto draws a number above 1 with a tail of the index.
func pareto(r *rand.Rand, index float64) float64 { return math.Pow(1-r.Float64(), -1/index) }

// rare returns f for a share of the rows, else g.
func rare(r *rand.Rand, share float64, f, g func() float64) float64 {
	if r.Float64() < share {
		return f()
	}
	return g()
}

func constant(x float64) func() float64 { return func() float64 { return x } }

func lognormal(r *rand.Rand, scale, sigma float64) func() float64 {
	return func() float64 { return scale * math.Exp(sigma*r.NormFloat64()) }
}

// tuned are the 15 laws that the rules were made on, unseen 16 others, and own five more.
var tuned = []sampled{
	{"normal", func(r *rand.Rand, _ int) float64 { return r.NormFloat64() }},
	{"normal 100, 15", func(r *rand.Rand, _ int) float64 { return 100 + 15*r.NormFloat64() }},
	{"uniform", func(r *rand.Rand, _ int) float64 { return r.Float64() }},
	{"lognormal .8", func(r *rand.Rand, _ int) float64 { return lognormal(r, 1, .8)() }},
	{"lognormal 1", func(r *rand.Rand, _ int) float64 { return lognormal(r, 1, 1)() }},
	{"lognormal 2", func(r *rand.Rand, _ int) float64 { return lognormal(r, 1, 2)() }},
	{"lognormal 3", func(r *rand.Rand, _ int) float64 { return lognormal(r, 1, 3)() }},
	{"exponential", func(r *rand.Rand, _ int) float64 { return r.ExpFloat64() }},
	{"Pareto 1.1", func(r *rand.Rand, _ int) float64 { return pareto(r, 1.1) }},
	{"Pareto 1.5", func(r *rand.Rand, _ int) float64 { return pareto(r, 1.5) }},
	{"Pareto 2", func(r *rand.Rand, _ int) float64 { return pareto(r, 2) }},
	{"Pareto 3", func(r *rand.Rand, _ int) float64 { return pareto(r, 3) }},
	{"Bernoulli .01", func(r *rand.Rand, _ int) float64 { return rare(r, .01, constant(1), constant(0)) }},
	{"N + 20 at 1000", func(r *rand.Rand, i int) float64 {
		if i < 20 {
			return 1000 + r.NormFloat64()
		}
		return r.NormFloat64()
	}},
	{"latency, timeouts", func(r *rand.Rand, _ int) float64 { return rare(r, .005, constant(30_000), lognormal(r, 100, .8)) }},
}

var unseen = []sampled{
	{"capped exponential", func(r *rand.Rand, _ int) float64 { return min(r.ExpFloat64(), 2) }},
	{"ages", func(r *rand.Rand, _ int) float64 { return math.Floor(min(max(40+18*r.NormFloat64(), 0), 100)) }},
	{"arcsine", func(r *rand.Rand, _ int) float64 { return math.Sin(math.Pi * (r.Float64() - .5)) }},
	{"Weibull .4", func(r *rand.Rand, _ int) float64 { return math.Pow(r.ExpFloat64(), 2.5) }},
	{"−lognormal 1.5", func(r *rand.Rand, _ int) float64 { return -lognormal(r, 1, 1.5)() }},
	{"70 % zeros", func(r *rand.Rand, _ int) float64 { return rare(r, .7, constant(0), r.ExpFloat64) }},
	{"88 % zeros", func(r *rand.Rand, _ int) float64 { return rare(r, .88, constant(0), lognormal(r, 1, 1)) }},
	{"97 % zeros", func(r *rand.Rand, _ int) float64 { return rare(r, .97, constant(0), lognormal(r, 1, 1)) }},
	{"t, 2 degrees", func(r *rand.Rand, _ int) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }},
	{"baskets", func(r *rand.Rand, _ int) float64 { return min(1+math.Floor(9*r.ExpFloat64()), 50) }},
	{"N, 1 % Pareto 2", func(r *rand.Rand, _ int) float64 {
		return rare(r, .01, func() float64 { return 2 * pareto(r, 2) }, r.NormFloat64)
	}},
	{"N, .1 % Pareto 1.5", func(r *rand.Rand, _ int) float64 {
		return rare(r, .001, func() float64 { return 10 * pareto(r, 1.5) }, r.NormFloat64)
	}},
	{"N, 30, 300", func(r *rand.Rand, _ int) float64 {
		return rare(r, .018, constant(30), func() float64 { return rare(r, .002, constant(300), r.NormFloat64) })
	}},
	{"U, .3 % Pareto 1.5", func(r *rand.Rand, _ int) float64 {
		return rare(r, .003, func() float64 { return 2 * pareto(r, 1.5) }, r.Float64)
	}},
	{"three modes", func(r *rand.Rand, _ int) float64 {
		return rare(r, .3, func() float64 { return 10 + r.NormFloat64() }, func() float64 {
			return rare(r, .07, func() float64 { return 1000 + 50*r.NormFloat64() }, r.NormFloat64)
		})
	}},
	{"seconds of a month", func(r *rand.Rand, _ int) float64 { return 1.7e9 + 2.6e6*r.Float64() }},
}

var own = []sampled{
	{"temperatures", func(r *rand.Rand, _ int) float64 {
		return rare(r, .4, func() float64 { return -5 + 4*r.NormFloat64() }, func() float64 { return 22 + 6*r.NormFloat64() })
	}},
	{"file sizes", func(r *rand.Rand, _ int) float64 { return math.Exp2(math.Floor(r.ExpFloat64() / math.Log(4))) }},
	{"invoices and refunds", func(r *rand.Rand, _ int) float64 {
		return rare(r, .02, func() float64 { return -lognormal(r, 400, 1)() }, lognormal(r, 60, 1.2))
	}},
	{"cubes of normal numbers", func(r *rand.Rand, _ int) float64 { return math.Pow(r.NormFloat64(), 3) }},
	{"logistic, 2 % wide", func(r *rand.Rand, _ int) float64 {
		logistic := func() float64 { u := r.Float64(); return math.Log(u / (1 - u)) }
		return rare(r, .02, func() float64 { return 50 * logistic() }, logistic)
	}},
}

// rows draws n of them, and returns their mean.
func (l sampled) rows(r *rand.Rand, n int) (values []float64, mean float64) {
	values = make([]float64, n)
	for i := range values {
		values[i] = l.draw(r, i)
		mean += values[i] / float64(n)
	}
	return values, mean
}
