package sparse

import "math"

// calibrateNormal calibrates a mechanism with normal noise. What gaussian.go and correlated.go
// compute is in units of the most by which a key changes; this is in steps.
func (p Params) calibrateNormal(m Method) (c calibration, err error) {
	adds, stored, changed := p.adds(), p.stored(), p.changed()
	var sigma, share, tau float64
	var ok bool
	weight := p.weight(m)
	if m == CorrelatedGaussian {
		share, sigma, tau, ok = calibrateCorrelated(stored, changed, weight, p.Epsilon, p.Delta)
	} else {
		sigma, tau, ok = calibrateGaussian(changed, weight, adds, p.Epsilon, p.Delta)
	}
	if !ok {
		return c, errRange
	}
	step := gridFor(p.perKey(), p.perKey()*sigma)
	c = normalOnGrid(m, p.change(step), share, sigma, tau, weight)
	c.step = step
	if !(c.scale <= 0x1p46) || !(c.shared <= 0x1p46) || !(c.beside <= 0x1p46) {
		return c, errRange
	}
	return c, nil
}

// leastGaussian returns a threshold that Gaussian is not below, 0 where it is not possible.
func (p Params) leastGaussian() float64 {
	sigma, z, ok := leastGaussian(p.changed(), p.weight(Gaussian), p.Epsilon, p.Delta)
	if !ok {
		return 0
	}
	return p.perKey() * (1 + z*sigma) * (1 - 0x1p-40)
}

// leastCorrelated returns a threshold that CorrelatedGaussian is not below, 0 where it is not
// possible.
func (p Params) leastCorrelated() float64 {
	if p.lacks(CorrelatedGaussian) != "" {
		return 0
	}
	return p.perKey() * leastCorrelated(p.stored(), p.changed(), p.weight(CorrelatedGaussian), p.Epsilon, p.Delta)
}

// weight returns ω: the number beside has own noise of variance σ²/ω, 0 if there is none. A change
// of it counts as ω changed keys, so the threshold grows by about √(1 + ω/(k + √k)) with shared
// noise, by √(1 + ω/l) with independent noise. At these ω the sum of a value and the number, in
// which shared noise cancels, has noise about as small as it can be.
func (p Params) weight(m Method) float64 {
	root := math.Sqrt(float64(p.changed()))
	switch {
	case !p.Beside:
		return 0
	case m == CorrelatedGaussian:
		return max(1, root/2)
	}
	return root
}

// normalOnGrid returns the calibration where the most by which a key changes is w steps.
func normalOnGrid(m Method, w, share, sigma, tau, weight float64) calibration {
	const up = 1 + 0x1p-50
	c := calibration{method: m, step: 1, scale: sigma * w * up, from: 1}
	if m == CorrelatedGaussian {
		c.shared = math.Sqrt(share) * c.scale
	}
	if weight > 0 {
		c.beside = c.scale / math.Sqrt(weight) * up
	}
	// The noisy value is rounded to the grid: it reaches T where it is T − ½ before.
	c.threshold = int64(math.Ceil(w*(1+tau)*up + 0.5))
	return c
}
