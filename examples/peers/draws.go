package main

import (
	"testing"

	"github.com/dpsketch/dpsketch/noise"
	google "github.com/google/differential-privacy/go/v3/noise"
)

// grid is the step to which a draw of a continuous distribution is rounded.
const grid = 0x1p-40

// draws compares one draw of noise, exact on both sides, for sensitivity 1 and ε = 1; δ = 1e-5 for Gaussian noise.
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
	var src noise.Source
	return []comparison{
		{
			work: "Laplace draw, step 2^-40", peer: "Google AddNoiseFloat64", target: 1. / 100, units: 1,
			ours: func(b *testing.B) {
				for b.Loop() {
					laplace.Sample(&src, grid)
				}
			},
			theirs: func(b *testing.B) {
				peer := google.Laplace()
				for b.Loop() {
					if _, err := peer.AddNoiseFloat64(0, 1, 1, 1, 0); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
		{
			work: "discrete Laplace draw", peer: "Google AddNoiseInt64", target: 1. / 100, units: 1,
			ours: func(b *testing.B) {
				for b.Loop() {
					discrete.Sample(&src, 1)
				}
			},
			theirs: func(b *testing.B) {
				peer := google.Laplace()
				for b.Loop() {
					if _, err := peer.AddNoiseInt64(0, 1, 1, 1, 0); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
		{
			work: "Gaussian draw, step 2^-40", peer: "Google AddNoiseFloat64", target: 1. / 40, units: 1,
			ours: func(b *testing.B) {
				for b.Loop() {
					gaussian.Sample(&src, grid)
				}
			},
			theirs: func(b *testing.B) {
				peer := google.Gaussian()
				for b.Loop() {
					if _, err := peer.AddNoiseFloat64(0, 1, 1, 1, 1e-5); err != nil {
						b.Fatal(err)
					}
				}
			},
		},
	}, nil
}
