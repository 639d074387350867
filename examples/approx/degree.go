package main

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The implicit graph has 2⁴⁰ vertices in blocks of 64. In a block all vertices stand on a ring and
// are joined to those up to some distance away, which a hash of the block chooses. No computer
// holds it, and no algorithm that reads it all ends.
const (
	vertices    = 1 << 40
	mostDegree  = 32 // a public promise
	leastDegree = 1  // of the average, as well
)

var distances = [8]int64{0, 0, 1, 1, 2, 4, 8, 16} // degrees are twice that, 8 on average

// meanDegree is the true average, to four digits: 2³⁴ blocks with a standard deviation of 10.4
// leave 8e-5.
const meanDegree = 8.0

// degree returns the degree of a vertex.
func degree(v uint64) float64 { return float64(2 * distances[mix(v>>6)>>61]) }

// degreeEstimator samples as many vertices as the advice says. The mean of r degrees has a variance
// of at most mostDegree·d/r for an average of d, as the second moment of a degree is at most
// mostDegree times its mean. With r = mostDegree/(y·ρ²) that is ρ²·d·y ≤ (ρ·max(y, d))²: what
// approx.Search asks for. (Without the promise on the degrees Seshadhri's estimator takes its
// place, with a variance of 4√n·d^{3/2}/r: r = 4√(n/y)/ρ².)
type degreeEstimator struct {
	src    noise.Source // the samples stay secret
	probes int
}

func (e *degreeEstimator) estimate(advice, accuracy float64) float64 {
	r := int(math.Ceil(mostDegree / advice / accuracy / accuracy))
	e.probes += r
	sum := 0.0
	for range r {
		sum += degree(e.src.Uint64() % vertices)
	}
	return sum / float64(r)
}

// averageDegree releases the average degree, without any advice (section 5.6). An edge changes it
// by 2/n.
func averageDegree(opts options) (*result, error) {
	var e degreeEstimator
	released, err := approx.Search(approx.Params{
		Epsilon: opts.searchEpsilon, Sensitivity: 2.0 / vertices, Max: mostDegree, Protects: budget.Row(budget.AddRemove), Advice: approx.Advice{Min: leastDegree},
	}, e.estimate)
	if err != nil {
		return nil, err
	}
	lo, hi := released.Interval(opts.confidence)
	return &result{
		title: fmt.Sprintf("Average degree of a graph of %d vertices; hidden is one edge", uint64(vertices)),
		method: fmt.Sprintf("Advice %g found; %d vertices read;\n"+
			"  the interval supposes that the advice is right, which it is with probability %g or more", released.Advice(), e.probes, 1-released.Params().Advice.Failure),
		guarantee: released.Guarantee(),
		answers:   []answer{{name: "degree", truth: meanDegree, value: released.Estimate(), lo: lo, hi: hi, estimate: math.NaN(), scale: meanDegree}},
	}, nil
}
