package misragries

import "github.com/dpsketch/dpsketch/noise/budget"

// guarantee returns what a release by the calibration promises: ε where its mechanism is pure, else
// (ε, δ), for whom the Params protect.
func (p Params) guarantee(c calibration) budget.Guarantee {
	if methodOf[uint64](c.method).pure() {
		return budget.PureDP(p.Epsilon, p.unit(c.input))
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, p.unit(c.input))
}

// unit returns whom a release from such an input protects: one element of the stream, or one user
// with up to MaxKeys keys or MaxElements elements.
func (p Params) unit(in Input) budget.Unit {
	if in == Users || p.MaxElements > 1 {
		return budget.User(p.most(), budget.AddRemove)
	}
	return budget.Element(budget.AddRemove)
}
