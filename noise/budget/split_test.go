package budget

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// Split returns what n times is accepted, and no more is left than a thousandth of one part.
func TestSplit(t *testing.T) {
	for _, like := range []Guarantee{PureDP(1, one), ApproxDP(1, 1e-9, one), ZCDP(1, one), GDP(1, one), ApproxDP(0, 1e-9, one)} {
		for _, n := range []int{1, 2, 12, 365} {
			l := dptest.OK(NewLedger(3, 1e-6, one))(t)
			require.NoError(t, l.Spend(ApproxDP(0.5, 1e-8, one)))
			part := dptest.OK(l.Split(n, like))(t)
			for i := range n {
				require.NoError(t, l.Spend(part), "%d of %d of %v", i, n, part)
			}
			if n > 1 {
				require.False(t, l.Accepts(part))
			}
			require.InEpsilon(t, 3, l.Spent().EpsilonAt(1e-6), 1e-3, "%v after %d of %v", l, n, part)
		}
	}
	l := dptest.OK(NewLedger(10, 1e-6, one))(t)
	part := dptest.OK(l.Split(365, PureDP(1, one)))(t)
	require.InEpsilon(t, 0.0974, part.Epsilon(), 1e-3)
	for _, c := range []struct {
		epsilon float64
		n       int
		like    Guarantee
		want    float64 // the most there is
	}{
		{10, 3650, PureDP(1, one), 0.03061}, {10, 365, Laplace(1, one), 0.0989}, {10, 365, ApproxDP(1, 1e-9, one), 0.09598},
		{1, 52, ApproxDP(1, 1e-9, one), 0.033684}, {3, 12, ApproxDP(1, 1e-8, one), 0.250074},
	} {
		part := dptest.OK(dptest.OK(NewLedger(c.epsilon, 1e-6, one))(t).Split(c.n, c.like))(t)
		require.InEpsilon(t, c.want, part.Epsilon(), 1e-3, "%d of %v", c.n, c.like)
	}
	// Gaussian releases add up exactly: n of μ/√n are one of μ.
	sigma := dptest.OK(noise.GaussianSigma(10, 1e-6, 1))(t)
	part = dptest.OK(l.Split(365, GDP(1, one)))(t)
	require.InEpsilon(t, 1/sigma/math.Sqrt(365), part.Mu(), 1e-6)

	for _, n := range []int{0, -1, math.MaxInt} {
		require.ErrorIs(t, dptest.Err(l.Split(n, PureDP(1, one))), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(l.Split(3, PureDP(1, rowed))), ErrMismatch)
	for _, like := range []Guarantee{{}, dptest.OK(Compose(PureDP(1, one), ZCDP(1, one)))(t)} {
		require.ErrorIs(t, dptest.Err(l.Split(3, like)), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(l.Split(3, ApproxDP(1, 1e-6, one))), ErrBudget)
	require.ErrorIs(t, dptest.Err(dptest.OK(NewLedger(1, 0, one))(t).Split(3, ZCDP(1, one))), ErrBudget, "zCDP needs a δ")
}

// once is a Builder as Release sees it.
type once struct {
	cost     Guarantee
	released bool
	fails    error
}

func (o *once) Guarantee() Guarantee { return o.cost }
func (o *once) Released() bool       { return o.released }
func (o *once) Release() (int, error) {
	if o.released {
		return 0, errors.New("released twice")
	}
	o.released = true
	return 42, o.fails
}

// poisoned has had a wrong call.
type poisoned struct {
	once
	why error
}

func (p poisoned) Guarantee() Guarantee  { return p.cost }
func (p poisoned) Released() bool        { return true }
func (p poisoned) Release() (int, error) { return 0, p.why }

func TestRelease(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	b := &once{cost: PureDP(0.75, one)}
	x := dptest.OK(Release(l, b))(t)
	require.Equal(t, 42, x)
	require.Equal(t, PureDP(0.75, one), l.Spent())

	require.ErrorIs(t, dptest.Err(Release(l, b)), ErrReleased)
	require.Equal(t, PureDP(0.75, one), l.Spent(), "a Builder that was released costs nothing")
	why := fmt.Errorf("values without a range: %w", ErrReleased)
	_, err := Release(l, poisoned{once{cost: PureDP(0.125, one)}, why})
	require.Equal(t, why, err, "the Builder says what was wrong")
	dear := &once{cost: PureDP(0.5, one)}
	require.ErrorIs(t, dptest.Err(Release(l, dear)), ErrBudget)
	require.False(t, dear.released, "it keeps its data")
	require.ErrorIs(t, dptest.Err(Release(l, &once{cost: PureDP(0.1, rowed)})), ErrMismatch)
	require.ErrorIs(t, dptest.Err(Release(l, &once{})), ErrBudget, "a Builder that was never made promises nothing")
	require.ErrorIs(t, dptest.Err(Release(l, &once{cost: PureDP(0.125, one), fails: ErrParams})), ErrParams)
	require.Equal(t, PureDP(0.875, one).Epsilon(), l.Spent().Epsilon(), "spent stays spent")
}

// What is left of a Split of one part is for that part alone: the whole is asked anew.
func TestSplitOfAPart(t *testing.T) {
	unit := Row(AddRemove)
	l := dptest.OK(NewLedger(1, 0, unit))(t)
	require.NoError(t, l.Part("b").Spend(PureDP(1, unit)))
	part := dptest.OK(l.Part("a").Split(1, PureDP(1, unit)))(t)
	require.ErrorIs(t, l.Spend(part), ErrBudget)
	require.NoError(t, l.Part("a").Spend(part))
}
