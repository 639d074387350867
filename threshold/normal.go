package threshold

import (
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// calibrateNormal calibrates a mechanism with normal noise. What gaussian.go and correlated.go
// compute is in units of the most by which a key changes; this is in steps.
func (p Params) calibrateNormal(m Mechanism) (c calibration, reason string) {
	adds, stored, changed := p.adds(), p.stored(), p.changed()
	var sigma, share, tau float64
	var ok bool
	if m == CorrelatedGaussian {
		share, sigma, tau, ok = calibrateCorrelated(stored, changed, p.Epsilon, p.Delta)
	} else {
		sigma, tau, ok = calibrateGaussian(changed, adds, p.Epsilon, p.Delta)
	}
	if !ok {
		return c, "its noise is out of range"
	}
	step := gridFor(p.perKey(), p.perKey()*sigma)
	c = normalOnGrid(m, p.change(step), share, sigma, tau)
	c.step = step
	if !(c.scale <= 0x1p46) || !(c.shared <= 0x1p46) {
		return c, "its noise is out of range"
	}
	return c, ""
}

// changed returns the most keys whose totals differ between neighbours.
func (p Params) changed() int {
	changed := p.MaxKeys * p.users()
	if p.Dim > 0 && uint64(changed) > p.Dim {
		changed = int(p.Dim)
	}
	if stored := p.stored(); p.adds() && stored > 0 {
		changed = min(changed, stored) // the larger input holds them all
	}
	return changed
}

// adds reports whether all changes of one user have one sign: users add, and come or go.
func (p Params) adds() bool { return p.relation() == budget.AddRemove && !p.Signed }

// stored returns the most keys that an input stores, by Stored or Dim; 0 for any number.
func (p Params) stored() int {
	if p.Dim > 0 && p.Dim <= maxKeys && (p.Stored == 0 || p.Stored > int(p.Dim)) {
		return int(p.Dim)
	}
	return p.Stored
}

// normalOnGrid returns the calibration where the most by which a key changes is w steps.
func normalOnGrid(m Mechanism, w, share, sigma, tau float64) calibration {
	const up = 1 + 0x1p-50
	c := calibration{mechanism: m, step: 1, scale: sigma * w * up, from: 1}
	if m == CorrelatedGaussian {
		c.shared = math.Sqrt(share) * c.scale
	}
	// The noisy value is rounded to the grid: it reaches T where it is T − ½ before.
	c.threshold = int64(math.Ceil(w*(1+tau)*up + 0.5))
	return c
}
