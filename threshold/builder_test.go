package threshold

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// inside returns what a Builder holds.
func inside[K hashing.Key](data secret[K]) *state[K] {
	s := private.Enter(data)
	private.Leave(data)
	return s
}

// build makes the Builder of the Params: New or, with MaxKeys, NewBounded.
func build[K hashing.Key](p Params) (*Builder[K], error) {
	if p.MaxKeys != 0 {
		return NewBounded[K](p)
	}
	return New[K](p)
}

// Each of the two refuses what is the other's: a bound on users that Add cannot keep, and none
// where one is promised.
func TestNewRefusesBoundsThatItCannotKeep(t *testing.T) {
	bounded := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3}
	dptest.Refused(t, dptest.Err(New[string](bounded)), ErrParams, "threshold/groupby")
	require.ErrorIs(t, dptest.Err(NewBounded[string](Params{Epsilon: 1, Delta: 1e-6})), ErrParams)
	b := dptest.OK(NewBounded[string](bounded))(t)
	require.Equal(t, budget.User(3, budget.AddRemove), b.Guarantee().Unit())
}

func TestBuilderIsRedacted(t *testing.T) {
	b := dptest.OK(build[string](Params{Epsilon: 1, Delta: 1e-6, Integers: true}))(t)
	b.Add("the secret key of somebody", 98_765_432)
	dptest.Redacted(t, b, "the secret key of somebody", "98765432")
	n := dptest.OK(build[uint64](Params{Epsilon: 1, Delta: 1e-6, Integers: true}))(t)
	n.Add(1_234_567_890_123, 98_765_432)
	dptest.Redacted(t, n, "1234567890123", "98765432")
}
