package peers

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/noise"
	google "github.com/google/differential-privacy/go/v3/noise"
)

// divisible compares package arete at ε = 8 and sensitivity 1 with Google's Laplace noise, a unit
// being a draw; the mean absolute error is 0.021 against 0.125. No peer: noise in shares. Without
// them each of the parties draws all of the noise, and the noise of all adds up.
func divisible() ([]comparison, error) {
	const epsilon, parties = 8, 1000
	alone, err := arete.New(arete.Params{Epsilon: epsilon})
	if err != nil {
		return nil, err
	}
	together, err := arete.New(arete.Params{Epsilon: epsilon, Parties: parties})
	if err != nil {
		return nil, err
	}
	share, err := together.Share(parties, 0)
	if err != nil {
		return nil, err
	}
	laplace, err := noise.NewLaplace(1. / epsilon)
	if err != nil {
		return nil, err
	}
	whole := func() (float64, error) { return google.Laplace().AddNoiseFloat64(0, 1, 1, epsilon, 0) }
	theirs := repeat(func() error {
		_, err := whole()
		return err
	})
	sum := func() (float64, error) {
		total := int64(0)
		for range parties {
			total += share.Noise()
		}
		return float64(total), nil
	}
	alike := func(name string, draw func() (float64, error), law *arete.Lattice, step float64) error {
		return errors.Join(follows(name, step*law.MeanAbs(), step*step*law.Variance(), draw),
			follows("Google", laplace.MeanAbs(), laplace.Variance(), whole))
	}
	return []comparison{{
		work: "jump law at ε = 8, Release of a number", peer: "Google AddNoiseFloat64", units: 1, theirs: theirs,
		ours: func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := alone.Release(0); err != nil {
					b.Fatal(err)
				}
			}
		},
		check: func() error {
			release := func() (float64, error) {
				v, err := alone.Release(0)
				if err != nil {
					return 0, err
				}
				return v.Estimate(), nil
			}
			return alike("arete", release, alone.Lattice(), alone.Lattice().Step())
		},
	}, {
		work: fmt.Sprintf("jump law at ε = 8, share of one of %d", parties), peer: "Google AddNoiseFloat64", units: 1, theirs: theirs,
		ours: func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				share.Noise()
			}
		},
		check: func() error { return alike("all shares", sum, together.Lattice(), 1) },
	}}, nil
}
