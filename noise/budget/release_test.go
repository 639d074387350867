package budget

// doubler is a Mechanism that counts its releases.
type doubler struct{ drawn *int }

func (d doubler) Guarantee() Guarantee { return PureDP(0.5, one) }

func (d doubler) Release(x float64) (string, error) {
	*d.drawn++
	return "released", nil
}
