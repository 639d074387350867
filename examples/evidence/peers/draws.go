package peers

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise"
	google "github.com/google/differential-privacy/go/v3/noise"
)

// grid is the step to which a draw of a continuous distribution is rounded.
const grid = 0x1p-40

// drawn is noise around 0, with what is known of it.
type drawn struct {
	name              string
	draw              func() float64
	meanAbs, variance float64
}

// follows checks the mean absolute value of many draws.
func (d drawn) follows() error {
	const n = 20_000
	total := 0.0
	for range n {
		total += math.Abs(d.draw())
	}
	return near(d.name, total/n, d.meanAbs, sure*math.Sqrt((d.variance-d.meanAbs*d.meanAbs)/n))
}

// draws compares one draw of noise, exact on both sides, for sensitivity 1 and ε = 1; δ = 1e-5 for
// Gaussian noise. Then it compares package arete at ε = 8: the mean absolute error is 0.021 against
// 0.125. No peer: noise in shares. Without them each of the parties draws all of the noise, and the
// noise of all adds up.
//
// The last ones are draws beside three words of secret randomness in bulk, which is what the
// machine takes at least for randomness that nobody can guess: 8 ns where the targets were set.
func draws() []comparison {
	var src noise.Source
	discrete := func(scale float64) drawn {
		d := cli.Must(noise.NewDiscreteLaplace(scale))
		return drawn{"discrete Laplace", func() float64 { return float64(d.SampleInt(&src)) }, d.MeanAbs(), d.Variance()}
	}
	normal := func(sigma float64) drawn {
		d := cli.Must(noise.NewGaussian(sigma))
		return drawn{"Gaussian", func() float64 { return d.Sample(&src, grid) }, d.MeanAbs(), d.Variance()}
	}
	laplaceOf := func(scale float64) drawn {
		d := cli.Must(noise.NewLaplace(scale))
		return drawn{"Laplace", func() float64 { return d.Sample(&src, grid) }, d.MeanAbs(), d.Variance()}
	}
	googles := func(kind google.Noise, like drawn, epsilon, delta float64) drawn {
		like.name, like.draw = "Google AddNoiseFloat64", func() float64 { return cli.Must(kind.AddNoiseFloat64(0, 1, 1, epsilon, delta)) }
		return like
	}
	against := func(work string, target float64, ours, theirs drawn) comparison {
		return comparison{
			work: work, peer: theirs.name, target: target, units: 1,
			ours: repeat(func() { ours.draw() }), theirs: repeat(func() { theirs.draw() }),
			check: func() error { return errors.Join(ours.follows(), theirs.follows()) },
		}
	}
	laplace, gaussian := laplaceOf(1), normal(google.SigmaForGaussian(1, 1, 1, 1e-5))
	// Google rounds continuous noise, whose mean absolute value is then 1/(2·sinh ½), and its
	// variance at most that of the parts together.
	rounded := drawn{"Google AddNoiseInt64", func() float64 { return float64(cli.Must(google.Laplace().AddNoiseInt64(0, 1, 1, 1, 0))) }, 1 / (2 * math.Sinh(0.5)), 2 + 1./12}

	const epsilon, parties = 8, 1000
	together := cli.Must(arete.New(arete.Params{Epsilon: epsilon, Parties: parties}))
	share, lattice := cli.Must(together.Share(parties, 0)), together.Lattice()
	shares := drawn{"all shares", func() float64 {
		total := int64(0)
		for range parties {
			total += share.Noise()
		}
		return float64(total)
	}, lattice.MeanAbs(), lattice.Variance()}
	alone := cli.Must(arete.New(arete.Params{Epsilon: epsilon}))
	step := alone.Lattice().Step()
	jump := drawn{"arete", func() float64 { return cli.Must(alone.Release(0)).Estimate() }, step * alone.Lattice().MeanAbs(), step * step * alone.Lattice().Variance()}
	whole := googles(google.Laplace(), laplaceOf(1./epsilon), epsilon, 0)
	one := against(fmt.Sprintf("jump law at ε = 8, share of one of %d", parties), 0, shares, whole)
	one.ours = repeat(func() { share.Noise() })

	const block = 3 << 10
	buffer := make([]uint64, block)
	words := func(work string, target float64, ours drawn) comparison {
		return comparison{
			work: work, peer: "three words in bulk", target: target, units: block / 3, check: ours.follows,
			theirs: repeat(func() { src.Fill(buffer) }),
			ours: repeat(func() {
				for range block / 3 {
					ours.draw()
				}
			}),
		}
	}
	return []comparison{
		against("Laplace draw, step 2^-40", 1./100, laplace, googles(google.Laplace(), laplace, 1, 0)),
		against("discrete Laplace draw", 1./100, discrete(1), rounded),
		against("Gaussian draw, step 2^-40", 1./40, gaussian, googles(google.Gaussian(), gaussian, 1, 1e-5)),
		words("Gaussian draw, step 2^-40", 3.5, normal(4)), words("Laplace draw, step 2^-40", 3.7, laplace),
		words("discrete Laplace draw of scale 1", 2.7, discrete(1)), words("discrete Laplace draw of scale 20", 2.1, discrete(20)),
		against("jump law at ε = 8, Release of a number", 0, jump, whole), one,
	}
}
