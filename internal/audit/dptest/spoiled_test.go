package dptest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
)

// refusing accepts no bytes.
type refusing struct{}

func (*refusing) UnmarshalBinary([]byte) error { return check.ErrFormat }

func TestSpoiled(t *testing.T) {
	flaw = ""
	valid := func() *list { return &list{values: []uint64{3, 5, 1 << 40}} }
	receiver := func() *list { return &list{values: []uint64{7}} }
	spoiled := func(spoil func(*list)) func(testing.TB) {
		return func(t testing.TB) { Spoiled(t, valid, receiver, map[string]func(*list){"change": spoil}) }
	}
	reverse := spoiled(func(l *list) { l.values[0], l.values[2] = l.values[2], l.values[0] })
	require.False(t, fails(reverse))
	for _, flaw = range []string{"wrong error", "params error", "receiver changed", "sorts", "marshal fails"} {
		require.True(t, fails(reverse), flaw)
	}
	flaw = ""
	require.True(t, fails(spoiled(func(l *list) { l.values[0]-- })), "another valid object")
	require.True(t, fails(spoiled(func(*list) {})), "nothing is spoiled")
	require.True(t, fails(spoiled(func(*list) { flaw = "marshal fails" })), "spoiled so that it has no encoding")
	flaw = ""
	require.True(t, fails(func(t testing.TB) {
		Spoiled(t, valid, func() *refusing { return &refusing{} }, map[string]func(*list){"nothing": func(*list) {}})
	}), "nothing is spoiled, though the bytes are rejected")
	require.True(t, fails(func(t testing.TB) { Spoiled(t, valid, receiver, nil) }), "nothing to check")
}
