package budget

import (
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// doubler is a Mechanism that counts its releases.
type doubler struct{ drawn *int }

func (d doubler) Guarantee() Guarantee { return PureDP(0.5, one) }

func (d doubler) Release(x float64) (string, error) {
	*d.drawn++
	return "released", nil
}

// A Mechanism is bound to a ledger as a Builder is: what is refused is not drawn.
func TestReleaseFuncOfAMechanism(t *testing.T) {
	drawn := 0
	m := doubler{&drawn}
	release := func() (string, error) { return m.Release(3.5) }
	l := dptest.OK(NewLedger(1, 0, one))(t)
	for range 2 {
		got, err := ReleaseFunc(l, m.Guarantee(), release)
		require.NoError(t, err)
		require.Equal(t, "released", got)
	}
	got, err := ReleaseFunc(l, m.Guarantee(), release)
	require.ErrorIs(t, err, ErrBudget)
	require.Empty(t, got)
	require.Equal(t, 2, drawn)
	_, err = ReleaseFunc(dptest.OK(NewLedger(1, 0, rowed))(t), m.Guarantee(), release)
	require.ErrorIs(t, err, ErrMismatch)
	require.Equal(t, 2, drawn)
}
