package figures

import (
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// columnRange draws the error of the mean of latencies at ε = 1 for a Max that is too large, up to
// a million times, and for a range that is learned.
func columnRange(e effort) *picture {
	const n = 10_000
	rng := generator(1)
	values, mean, largest, squares := make([]float64, n), 0.0, 0.0, 0.0
	for i := range values {
		values[i] = 100 * math.Exp(0.8*rng.NormFloat64())
		mean, largest = mean+values[i]/n, max(largest, values[i])
	}
	for _, x := range values {
		squares += (x - mean) * (x - mean) / n
	}
	runs := max(e.runs/100, 20)
	point := func(most float64) float64 {
		sum := 0.0
		for range runs {
			b := cli.Must(column.New(column.Params{Epsilon: 1, Max: most, Want: column.Mean}))
			for _, x := range values {
				b.Add(x)
			}
			s := cli.Must(b.Release())
			sum += math.Pow(s.Value(column.Mean)-mean, 2) / float64(runs)
		}
		return math.Sqrt(sum / squares * n)
	}
	learned := point(0)
	var given, found, floor plotter.XYs
	for _, times := range []float64{1, 10, 100, 1000, 1e4, 1e5, 1e6} {
		y := point(times * largest)
		given = append(given, plotter.XY{X: times, Y: y})
		found, floor = append(found, plotter.XY{X: times, Y: learned}), append(floor, plotter.XY{X: times, Y: 1})
	}
	p := newPicture("Mean of 10,000 latencies, ε = 1", "Max over the largest value", "error over that of sampling").log(true, true)
	p.Legend.Left = true
	for _, c := range []struct {
		name   string
		kind   kind
		points plotter.XYs
	}{{"Min and Max given", theirs, given}, {"the range is learned", ours, found}, {"sampling", theirs, floor}} {
		p.add(c.name, c.kind, c.points)
	}
	return p
}
