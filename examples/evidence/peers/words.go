package peers

import (
	"testing"

	"github.com/dpsketch/dpsketch/noise"
)

// words compares draws with three words of secret randomness in bulk, which is what the machine
// takes at least for randomness that nobody can guess: 8 ns where the targets were set.
func words() ([]comparison, error) {
	const peer, block = "three words in bulk", 3 << 10
	gaussian, err := noise.NewGaussian(4)
	if err != nil {
		return nil, err
	}
	laplace, err := noise.NewLaplace(1)
	if err != nil {
		return nil, err
	}
	var src noise.Source
	buffer := make([]uint64, block)
	fill := func(b *testing.B) {
		for b.Loop() {
			src.Fill(buffer)
		}
	}
	compare := func(work string, target float64, draw func(), check func() error) comparison {
		return comparison{
			work: work, peer: peer, target: target, units: block / 3, theirs: fill, check: check,
			ours: func(b *testing.B) {
				for b.Loop() {
					for range block / 3 {
						draw()
					}
				}
			},
		}
	}
	list := []comparison{
		compare("Gaussian draw, step 2^-40", 3.5, func() { gaussian.Sample(&src, grid) }, func() error {
			return follows("Gaussian", gaussian.MeanAbs(), gaussian.Variance(), func() (float64, error) { return gaussian.Sample(&src, grid), nil })
		}),
		compare("Laplace draw, step 2^-40", 3.7, func() { laplace.Sample(&src, grid) }, func() error {
			return follows("Laplace", laplace.MeanAbs(), laplace.Variance(), func() (float64, error) { return laplace.Sample(&src, grid), nil })
		}),
	}
	for _, c := range []struct {
		work          string
		scale, target float64
	}{
		{"discrete Laplace draw of scale 1", 1, 2.7}, {"discrete Laplace draw of scale 20", 20, 2.1},
	} {
		discrete, err := noise.NewDiscreteLaplace(c.scale)
		if err != nil {
			return nil, err
		}
		list = append(list, compare(c.work, c.target, func() { discrete.SampleInt(&src) }, func() error {
			return follows("discrete Laplace", discrete.MeanAbs(), discrete.Variance(), func() (float64, error) { return float64(discrete.SampleInt(&src)), nil })
		}))
	}
	return list, nil
}
