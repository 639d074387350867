package jl

import (
	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/check"
)

// Noise is a kind of noise.
type Noise uint8

const (
	// AutoNoise chooses: see Params.Noise.
	AutoNoise Noise = iota
	// Laplace is real-valued Laplace noise, rounded to a fine grid: pure ε-privacy.
	Laplace
	// DiscreteLaplace is discrete Laplace noise on the integers, for integers: pure ε-privacy with
	// less noise where ε is large.
	DiscreteLaplace
	// Gaussian is real-valued normal noise, rounded to a fine grid, for δ > 0 or Rho.
	Gaussian
	// Staircase is the noise with the least variance if one number changes, rounded to a fine grid:
	// pure ε-privacy where Protects says that one coordinate changes, which an SJLT with s = 1
	// keeps in one row. Its variance is .96 of Laplace noise's at ε = 1, .52 at 4 and .11 at 8.
	Staircase

	lastNoise = Staircase
)

var noiseNames = []string{"AutoNoise", "Laplace", "DiscreteLaplace", "Gaussian", "Staircase"}

// String returns the name of the constant.
func (n Noise) String() string { return check.EnumName(n, noiseNames, "Noise") }

// kind returns the distribution: the constants are in one order.
func (n Noise) kind() calibrated.Kind { return calibrated.Kind(n) }
