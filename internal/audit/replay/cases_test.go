package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/thesis"
)

var inf = math.Inf(1)

// made returns what a constructor of valid Params makes.
func made[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// listed returns a released list as numbers.
func listed[K comparable](all iter.Seq2[K, float64]) map[string]float64 {
	out := map[string]float64{}
	for key, x := range all {
		out[fmt.Sprint(key)] = x
	}
	return out
}

// numbers returns numbers by their places.
func numbers(x ...float64) map[string]float64 {
	out := map[string]float64{}
	for i, y := range x {
		out[fmt.Sprint(i)] = y
	}
	return out
}

// releases are pairs of neighbours for every release method of the library: those of its product,
// and of what takes sums, numbers or an estimator, which the product does not make.
func releases() map[string][]pair {
	all := map[string][]pair{
		"elliptical.Mechanism.Release":   ellipticalPairs(),
		"noise/approx.Mechanism.Release": approxPairs(),
		"noise/approx.Search":            {advisedPair()},
		"plan.Mechanism.Release":         planPairs(),
	}
	for method, pairs := range aretePairs() {
		all["arete."+method] = pairs
	}
	for method, s := range subjects() {
		all[method] = append(all[method], s.walk(method).alike()...)
	}
	all["kor.Share.Bytes"] = all["kor.Builder.Share"]
	return all
}

// lower returns the noisy counts without what was lost, which would hide what differs.
func lower(h *misragries.Histogram[uint64]) map[string]float64 {
	out := map[string]float64{}
	for key := range uint64(6) {
		if h.Estimate(key) > 50 {
			out[fmt.Sprint(key)] = h.Lower(key)
		}
	}
	return out
}

// inStep returns the counts of a Slice in its step, as JSON has them.
func inStep(step int, slice *series.Slice[int]) map[string]float64 {
	var read struct {
		Keys []struct {
			Key      string
			Estimate float64
		}
	}
	if err := json.Unmarshal(made(json.Marshal(slice)), &read); err != nil {
		panic(err)
	}
	out := map[string]float64{}
	for _, k := range read.Keys {
		out[fmt.Sprint(step, " ", k.Key)] = k.Estimate
	}
	return out
}

// words returns the bits of an encoding, so that ℓ₁ is the number of bits that differ. Identities
// of releases are drawn from the system, so only the last bytes are taken.
func bitsOf(data []byte, last int) map[string]float64 {
	out := map[string]float64{}
	for i, b := range data[len(data)-last:] {
		for j := range 8 {
			out[fmt.Sprint(i, ".", j)] = float64(b >> j & 1)
		}
	}
	return out
}

var korParams = kor.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}

// ellipticalPairs are sums of which one row is replaced by another.
func ellipticalPairs() (pairs []pair) {
	for name, p := range map[string]elliptical.Params{"Gaussian": {Rho: 0.5}, "Laplace": {Epsilon: 1, Shape: elliptical.Independent}, "box": {Epsilon: 1, Shape: elliptical.Box}} {
		p.Min, p.Max, p.Relation = elliptical.VectorOf(0, -1, 2), elliptical.VectorOf(1, 1, 6), budget.Replace
		pairs = append(pairs, pair{name: name, norm: inf, bound: 1, run: func(side int) map[string]float64 {
			sum := [2][]float64{{2.75, 1.5, 22}, {1.75, -0.5, 18}}[side]
			out := map[string]float64{}
			for i, x := range made(made(elliptical.New(p)).Release(sum)).All() {
				out[fmt.Sprint(i)] = x / []float64{1, 2, 4}[i]
			}
			return out
		}})
	}
	return pairs
}

func approxPairs() (pairs []pair) {
	for _, p := range []approx.Params{
		{Epsilon: 1}, {Epsilon: 1, Error: 1}, {Epsilon: 1, Error: 1, Moment: 4, Noise: approx.StudentNoise},
		{Epsilon: 1, Error: 1, Moment: 4, Noise: approx.ParetoNoise}, {Epsilon: 1, Error: 1, Queries: 3},
	} {
		p.Max = 1000
		pairs = append(pairs, pair{name: fmt.Sprint(p.Noise, " ", p.Error, " ", p.Queries), norm: inf, bound: 1 + 0x1p-20, run: func(side int) map[string]float64 {
			m := made(approx.New(p))
			out := map[string]float64{}
			for i := range max(p.Queries, 1) {
				out[fmt.Sprint(i)] = made(m.Release(float64(i+10) + float64(side))).Estimate()
			}
			return out
		}})
	}
	return pairs
}

// advisedPair: with the same number of rounds the same draws; how many there are is released.
func advisedPair() pair {
	return pair{name: "the same rounds", norm: inf, bound: 1.001e-3, run: func(side int) map[string]float64 {
		p := approx.Params{Epsilon: 1, Max: 1 << 10, Sensitivity: 1e-3, Advice: approx.Advice{Min: 1}}
		a := made(approx.Search(p, func(advice, accuracy float64) float64 { return 300 + 1e-3*float64(side) }))
		return map[string]float64{fmt.Sprint("advice ", a.Advice()): a.Estimate()}
	}}
}

func aretePairs() map[string][]pair {
	all := map[string][]pair{}
	for _, p := range []arete.Params{
		{Epsilon: 1, Law: arete.Jump}, {Epsilon: 4, Law: arete.DiscreteArete}, {Epsilon: 8}, {Epsilon: 1, Law: arete.DiscreteLaplace},
		{Epsilon: 1, Delta: 1e-6, Law: arete.Gaussian}, {Epsilon: 2, Integers: true, Sensitivity: 3}, {Epsilon: 1, Parties: 4}, {Epsilon: 2, Integers: true, Sensitivity: 3, Modulus: 1<<64 - 1<<32 + 1},
	} {
		size := max(p.Sensitivity, 1)
		// signed is what a word of the Modulus stands for
		signed := func(word int64) float64 {
			if p.Modulus > 0 && uint64(word) > p.Modulus/2 {
				word -= int64(p.Modulus)
			}
			return float64(word)
		}
		m := sync.OnceValue(func() *arete.Mechanism { return made(arete.New(p)) })
		add := func(method string, steps bool, run func(x float64) map[string]float64) {
			all[method] = append(all[method], pair{name: fmt.Sprint(p.Law, " ", p.Epsilon, " ", p.Parties, " ", p.Modulus), norm: inf, bound: size, data: inf,
				run: func(side int) map[string]float64 {
					out := run(size * float64(side))
					for key := range out {
						if steps { // what a party sends is in steps of the lattice
							out[key] *= m().Lattice().Step()
						}
					}
					return out
				}})
		}
		add("Mechanism.Release", false, func(x float64) map[string]float64 { return numbers(made(m().Release(x)).Estimate()) })
		share := func(x float64) *arete.Share { return made(m().Share(3, 0)) }
		add("Mechanism.Share", true, func(x float64) map[string]float64 { return numbers(signed(share(x).Mask(x))) })
		add("Mechanism.Share", true, func(x float64) map[string]float64 { return numbers(signed(made(m().Share(3, 1)).Mask(x))) })
		add("Share.Mask", true, func(x float64) map[string]float64 { return numbers(signed(share(x).Mask(x))) })
		// Noise takes no data, and Sum draws nothing.
		add("Share.Noise", true, func(x float64) map[string]float64 { return numbers(signed(share(x).Noise())) })
		add("Share.Sum", false, func(x float64) map[string]float64 {
			s := share(x)
			total := signed(s.Mask(x)) + signed(share(0).Mask(0)) + signed(share(0).Mask(0))
			return numbers(made(s.Sum(int64(total), 3)).Estimate())
		})
	}
	return all
}

// planPairs are the sums of means, in units of what one row may move them by. Centre, scales and C
// are released before, and frozen noise gives the same ones for some rows.
func planPairs() (pairs []pair) {
	undo := func(y *plan.Mean, i int) float64 { // of the division, and of σ = that/√(2ρ)
		return (y.Estimate(i) - y.Centre(i)) / y.StdDev(i) / math.Sqrt(2*y.Spent().Sum)
	}
	scaled := func(y *plan.Mean, i int) float64 { // of the division by a released γ, and of 2C
		return (y.Estimate(i) - y.Centre(i)) * y.Spent().Gamma * y.Rows() / math.Sqrt(0.3) / (2 * y.Clip())
	}
	published := func(instance thesis.Instance, search int) *plan.Mechanism {
		return made(thesis.New(thesis.Params{Rho: 1, Dim: 2, Max: 1, Relation: budget.Replace, Instance: instance, Steps: thesis.Steps{Search: search}}))
	}
	given := func(nonNegative bool) *plan.Mechanism { // of whose rows C does not see near ones
		m := made(plan.New(plan.Params{Rho: 1, Dim: 2, Max: 1, Method: plan.Adaptive, NonNegative: nonNegative, Relation: budget.Replace}))
		return made(m.WithScales([]float64{0.3, 0.3}))
	}
	rows := func(n, row int, end []float64) [][]float64 {
		x := make([][]float64, 64*n)
		for i := range x {
			x[i] = []float64{float64(i%64%5) / 5, float64(i%64%3) / 3}
			if i%64 == 7 {
				x[i] = []float64{1, 1}
			}
		}
		x[row] = end
		return x
	}
	quantiles := pair{extra: `quantile\.\(\*Sampler\)\.(Quantile|choose|below|BinarySearch)`, most: 1000,
		why: "internal/quantile/quantile.go: a quantile is accepted from an envelope that the data make, and has the exact law whatever the envelope is"}
	far, near := [2][]float64{{1, 1}, {-1, -1}}, [2][]float64{{0.8, 2. / 3}, {0, 0}}
	for _, c := range []struct {
		name  string
		m     *plan.Mechanism
		ends  [2][]float64
		units func(y *plan.Mean, i int) float64
	}{
		{"Thesis", published(thesis.Algorithm18, 0), far, undo}, {"InstanceOptimal", published(thesis.IOME, 0), far, undo},
		{"Adaptive", given(false), near, scaled}, {"Adaptive, without a sign", given(true), near, scaled},
	} {
		for row := range 8 {
			p := quantiles
			p.name, p.norm, p.bound = fmt.Sprint(c.name, ", sum, row ", row), 2, 1+1e-9
			p.run = func(side int) map[string]float64 {
				y, out := made(c.m.Release(context.Background(), rows(32+row, row, c.ends[side]))), map[string]float64{}
				out["given C"] = y.Clip()
				for i := range 2 {
					out[fmt.Sprint("given centre ", i)], out[fmt.Sprint(i)] = y.Centre(i), c.units(y, i)
					if c.name == "Thesis" {
						out[fmt.Sprint("given scale ", i)] = y.StdDev(i)
					}
				}
				return out
			}
			pairs = append(pairs, p)
		}
	}
	// Of the other steps of the thesis's, the draws.
	for i, m := range []*plan.Mechanism{published(thesis.Algorithm18, 0), published(thesis.Direct, 0), published(thesis.Direct, 8)} {
		p := quantiles
		p.name, p.adapts = fmt.Sprint("thesis ", i), `means\.\(\*sampler\)\.addNoise`
		p.run = func(side int) map[string]float64 {
			made(m.Release(context.Background(), rows(1, 7, far[side])))
			return nil
		}
		pairs = append(pairs, p)
	}
	return pairs
}
