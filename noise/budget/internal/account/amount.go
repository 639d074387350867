package account

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Amounts returns releases with the same noise by another ε, ρ or μ, whichever r was asked for by,
// and whether they have several parts; nil if r was asked for by several of these, or is of a
// sample, whose amount says nothing about its noise.
func (r Releases) Amounts() (amount func(x float64) Releases, several bool) {
	s, p := r.Asked, r.Pair
	var kind Kind
	one := len(p.Kinds) == 1
	if one {
		kind = p.Kinds[0]
		one = kind.Count == 1 && p.Rho == 0 && p.MuSquares == 0
	}
	gaussian := len(p.Kinds) == 0 && p.ResponseRho == 0 && p.Rho == 0 && p.MuSquares > 0
	byEpsilon := s.Rho == 0 && s.MuSquares == 0
	switch {
	case s.Rho > 0 && (s.Epsilon > 0 || s.MuSquares > 0) || s.Epsilon > 0 && s.MuSquares > 0 || p.Kinds.Sampled():
		return nil, false
	case s.Rho > 0 && gaussian:
		return func(x float64) Releases { return gaussianZCDP(x).WithEscape(s.Delta) }, false
	case s.Rho > 0 && one && kind.Family == DiscreteGaussianNoise:
		return func(x float64) Releases {
			if x == 0 {
				return ZCDP(0).WithEscape(s.Delta)
			}
			return DiscreteGaussian(float64(kind.Steps)/math.Sqrt(2*x), int64(kind.Steps)).WithEscape(s.Delta)
		}, false
	case s.Rho > 0 && len(p.Kinds) == 0 && p.MuSquares == 0:
		return func(x float64) Releases { return ZCDP(x).WithEscape(s.Delta) }, false
	case s.MuSquares > 0 && gaussian:
		return func(x float64) Releases { return GDP(x).WithEscape(s.Delta) }, false
	case gaussian && s.Delta > p.Escape && s.Rho == 0:
		return func(x float64) Releases {
			noise := Gaussian(x, exact.DifferenceDown(s.Delta, p.Escape)).WithEscape(p.Escape)
			return Releases{ApproxDP(x, s.Delta).Asked, noise.Pair}
		}, false
	case one && kind.Family == LaplaceNoise && byEpsilon:
		return func(x float64) Releases {
			kind.Size = x
			return Releases{ApproxDP(x, s.Delta).Asked, ApproxDP(x, 0).by(kind).WithEscape(p.Escape).Pair}
		}, false
	case len(p.Kinds) == 0 && p.Rho == 0 && p.MuSquares == 0 && byEpsilon:
		return func(x float64) Releases { return ApproxDP(x, s.Delta) }, false
	}
	return r.scaled, true
}

// scaled returns r with noise such that Σε, Σρ or Σμ is x, whichever it was asked for by: the noise
// of all its parts becomes larger or smaller by one factor, and no δ changes.
func (r Releases) scaled(x float64) Releases {
	asked, p := r.Asked, r.Pair
	if x == 0 {
		return Releases{Sums{Delta: asked.Delta}, Pair{PairSums: PairSums{Escape: p.Escape}}}.paired()
	}
	// ε and μ are multiplied by that, and ρ by its square.
	var factor float64
	switch mu := MuOf(asked.MuSquares); {
	case asked.Epsilon > 0:
		factor = exact.QuotientUp(x, asked.Epsilon)
	case asked.Rho > 0:
		factor = exact.SqrtUp(exact.QuotientUp(x, asked.Rho))
	default:
		factor = exact.QuotientUp(x, mu)
	}
	square := exact.ProductUp(factor, factor)
	// tanh(tx) ≤ max(1, t)·tanh(x)
	s := Sums{
		Epsilon:     exact.ProductUp(factor, asked.Epsilon),
		ResponseRho: exact.ProductUp(max(factor, square), asked.ResponseRho),
		Delta:       asked.Delta,
		Rho:         exact.ProductUp(square, asked.Rho),
		MuSquares:   exact.ProductUp(square, asked.MuSquares),
	}
	s.ResponseRho = min(s.ResponseRho, ResponseRho(s.Epsilon))
	if p.unknown() || p.HasKeys() {
		return Unpaired(s)
	}
	p.Rho, p.MuSquares = exact.ProductUp(square, p.Rho), exact.ProductUp(square, p.MuSquares)
	p.Kinds = slices.Clone(p.Kinds)
	for i := range p.Kinds {
		k := &p.Kinds[i]
		if k.Family == DiscreteGaussianNoise {
			k.Size /= factor // a σ
		} else {
			k.Size = exact.ProductUp(factor, k.Size)
		}
		if !k.Valid() {
			return Unpaired(s)
		}
	}
	p.Kinds = makeKinds(p.Kinds)
	p.ResponseRho = p.Kinds.rho()
	if asked.ResponseRho == r.Pair.ResponseRho {
		s.ResponseRho = p.ResponseRho // the same releases
	}
	return Releases{s, p}.paired()
}
