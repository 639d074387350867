package enum

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	type kind uint8
	names := []string{1: "One", 2: "Two"}
	for value, want := range map[kind]string{0: "Kind(0)", 1: "One", 2: "Two", 3: "Kind(3)", 255: "Kind(255)"} {
		require.Equal(t, want, Name(value, names, "Kind"))
	}
}
