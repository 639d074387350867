package dptest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// crate is a Movable that takes any bytes but none.
type crate struct {
	state           []byte
	spoils, forgets bool // on success, on an error
}

func (c *crate) AppendPrivateState(dst []byte) ([]byte, error) { return append(dst, c.state...), nil }

func (c *crate) RestorePrivateState(data []byte) error {
	if len(data) == 0 {
		if c.forgets {
			c.state = nil
		}
		return errors.New("nothing")
	}
	c.state = bytes.Clone(data)
	if c.spoils {
		slices.Reverse(c.state)
	}
	return nil
}

func TestRestoresOrStays(t *testing.T) {
	with := func(c crate, data ...byte) func(testing.TB) {
		c.state = []byte{9}
		return func(t testing.TB) { require.Equal(t, len(data) > 0, RestoresOrStays(t, &c, data)) }
	}
	require.False(t, fails(with(crate{}, 1, 2)))
	require.False(t, fails(with(crate{})))
	require.True(t, fails(with(crate{spoils: true}, 1, 2)))
	require.True(t, fails(with(crate{forgets: true})))
}
