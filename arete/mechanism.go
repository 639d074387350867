package arete

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"sync"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Mechanism adds calibrated noise to a number. It holds no data, each release spends ε again, and
// it is safe for concurrent use.
type Mechanism struct {
	lattice *Lattice

	mu  sync.Mutex
	src noise.Source
}

// New calibrates and certifies the noise, in some milliseconds, or .1 ms for Params that were
// calibrated before. The error wraps [ErrParams]. Values that protect hardly anybody are accepted,
// for experiments: ε above 20, δ above 0.01.
func New(p Params) (*Mechanism, error) {
	l, err := p.calibrated()
	if err != nil {
		return nil, err
	}
	return &Mechanism{lattice: l}, nil
}

// valid reports whether m comes from New.
func (m *Mechanism) valid() bool { return m.lattice != nil }

// Params returns the parameters of the releases, filled in.
func (m *Mechanism) Params() Params {
	return m.Lattice().params
}

// Guarantee returns the guarantee of one release.
func (m *Mechanism) Guarantee() budget.Guarantee {
	if !m.valid() {
		return budget.Guarantee{}
	}
	p := m.lattice.params
	return p.promise(budget.Row(p.relation()))
}

// Lattice returns the noise.
func (m *Mechanism) Lattice() *Lattice {
	return cmp.Or(m.lattice, &Lattice{})
}

// Release returns x plus noise, in the units of the data. The caller must know the sensitivity of
// x: sum clamped contributions, in integers. x is rounded to the nearest point of the lattice,
// exactly, which takes x + Δ to H steps more. NaN counts as 0, and values saturate at ±2⁶¹ steps.
// The zero Mechanism returns an error that wraps [ErrParams].
func (m *Mechanism) Release(x float64) (*Value, error) {
	if !m.valid() {
		return nil, errZero("Mechanism")
	}
	v := m.release(x)
	return &v, nil
}

func (m *Mechanism) release(x float64) Value {
	l := m.lattice
	k := onLattice(x, l.params.sensitivity(), l.noise.size)
	m.mu.Lock()
	defer m.mu.Unlock()
	return newValue(l.params, l.noise, k+l.whole.SampleInt(&m.src))
}

// String names the noise and the guarantee.
func (m *Mechanism) String() string {
	if !m.valid() {
		return "arete.Mechanism (not made by New)"
	}
	deviation := math.Sqrt(m.lattice.Variance()) * m.lattice.Step()
	return fmt.Sprintf("arete.Mechanism: %v noise of standard deviation %.4g, %v", m.Params().Law, deviation, m.Guarantee())
}

func errZero(what string) error {
	return bad(what, "zero", "one that this package made")
}

// maxPoint is where points of the lattice saturate, in steps.
const maxPoint = 1 << 61

// onLattice returns ⌊x·steps/delta + ½⌋, at most ±maxPoint; 0 for NaN.
//
// The float64 quotient is within 2⁻⁵¹ of itself of the real one, or within 2⁻¹⁰⁰⁰ if it underflows.
// Unless it is closer than that to a half, its rounding is right; else rational arithmetic decides,
// and so it does up to twice maxPoint: where the quotient alone says that a number saturates, one
// that is Δ less may be more than H steps below.
func onLattice(x, delta float64, steps int64) int64 {
	y := x / delta * float64(steps)
	switch {
	case math.IsNaN(x):
		return 0
	case y >= 2*maxPoint:
		return maxPoint
	case y <= -2*maxPoint:
		return -maxPoint
	}
	const relative, absolute = 0x1p-50, 0x1p-900
	err := math.Abs(y)*relative + absolute
	if low, high := math.Floor(y-err+0.5), math.Floor(y+err+0.5); low == high && err < 0.25 {
		return int64(low)
	}
	exact := new(big.Rat).SetFloat64(x)
	exact.Mul(exact, new(big.Rat).SetInt64(steps)).Quo(exact, new(big.Rat).SetFloat64(delta))
	exact.Add(exact, big.NewRat(1, 2))
	quotient, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	if rest.Sign() < 0 { // towards −∞
		quotient.Sub(quotient, big.NewInt(1))
	}
	if !quotient.IsInt64() {
		return int64(math.Copysign(maxPoint, x))
	}
	return min(max(quotient.Int64(), -maxPoint), maxPoint)
}
