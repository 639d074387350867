package peers

import (
	"errors"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/noise"
	google "github.com/google/differential-privacy/go/v3/noise"
)

// grid is the step to which a draw of a continuous distribution is rounded.
const grid = 0x1p-40

// draws compares one draw of noise, exact on both sides, for sensitivity 1 and ε = 1; δ = 1e-5 for
// Gaussian noise.
func draws() ([]comparison, error) {
	laplace, err := noise.NewLaplace(1)
	if err != nil {
		return nil, err
	}
	discrete, err := noise.NewDiscreteLaplace(1)
	if err != nil {
		return nil, err
	}
	gaussian, err := noise.NewGaussian(google.SigmaForGaussian(1, 1, 1, 1e-5))
	if err != nil {
		return nil, err
	}
	gauss := func() (float64, error) { return google.Gaussian().AddNoiseFloat64(0, 1, 1, 1, 1e-5) }
	var src noise.Source
	return []comparison{
		{
			work: "Laplace draw, step 2^-40", peer: "Google AddNoiseFloat64", target: 1. / 100, units: 1,
			ours: func(b *testing.B) {
				for b.Loop() {
					laplace.Sample(&src, grid)
				}
			},
			theirs: repeat(func() error {
				_, err := google.Laplace().AddNoiseFloat64(0, 1, 1, 1, 0)
				return err
			}),
			check: func() error {
				return errors.Join(
					follows("noise", laplace.MeanAbs(), laplace.Variance(), func() (float64, error) { return laplace.Sample(&src, grid), nil }),
					follows("Google", laplace.MeanAbs(), laplace.Variance(), func() (float64, error) { return google.Laplace().AddNoiseFloat64(0, 1, 1, 1, 0) }))
			},
		},
		{
			work: "discrete Laplace draw", peer: "Google AddNoiseInt64", target: 1. / 100, units: 1,
			ours: func(b *testing.B) {
				for b.Loop() {
					discrete.Sample(&src, 1)
				}
			},
			theirs: repeat(func() error {
				_, err := google.Laplace().AddNoiseInt64(0, 1, 1, 1, 0)
				return err
			}),
			check: func() error {
				return errors.Join(
					follows("noise", discrete.MeanAbs(), discrete.Variance(), func() (float64, error) { return discrete.Sample(&src, 1), nil }),
					// Google rounds continuous noise, whose mean absolute value is then 1/(2·sinh
					// ½), and its variance at most that of the parts together.
					follows("Google", 1/(2*math.Sinh(0.5)), 2+1./12, func() (float64, error) {
						x, err := google.Laplace().AddNoiseInt64(0, 1, 1, 1, 0)
						return float64(x), err
					}))
			},
		},
		{
			work: "Gaussian draw, step 2^-40", peer: "Google AddNoiseFloat64", target: 1. / 40, units: 1,
			ours: func(b *testing.B) {
				for b.Loop() {
					gaussian.Sample(&src, grid)
				}
			},
			theirs: repeat(func() error {
				_, err := gauss()
				return err
			}),
			check: func() error {
				return errors.Join(
					follows("noise", gaussian.MeanAbs(), gaussian.Variance(), func() (float64, error) { return gaussian.Sample(&src, grid), nil }),
					follows("Google", gaussian.MeanAbs(), gaussian.Variance(), gauss))
			},
		},
	}, nil
}

// follows checks the mean absolute value of many draws against that of a law around 0, of which it
// also takes the variance.
func follows(name string, meanAbs, variance float64, draw func() (float64, error)) error {
	const n = 20_000
	total := 0.0
	for range n {
		x, err := draw()
		if err != nil {
			return err
		}
		total += math.Abs(x)
	}
	return near(name, total/n, meanAbs, sure*math.Sqrt((variance-meanAbs*meanAbs)/n))
}
