package enum

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/fault"
)

func TestName(t *testing.T) {
	type kind uint8
	names := []string{1: "One", 2: "Two"}
	for value, want := range map[kind]string{0: "Kind(0)", 1: "One", 2: "Two", 3: "Kind(3)", 255: "Kind(255)"} {
		require.Equal(t, want, Name(value, names, "Kind"))
	}
}

func TestText(t *testing.T) {
	type kind uint8
	unnamed, named := []string{1: "One", 3: "Three"}, []string{"None", "One"}
	for value, want := range map[kind]string{0: "", 1: "One", 3: "Three"} {
		text, err := Text(value, unnamed, "Kind")
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		back := kind(7)
		require.NoError(t, Parse(&back, text, unnamed, "Kind"))
		require.Equal(t, value, back)
	}
	for _, value := range []kind{2, 4, 255} {
		_, err := Text(value, unnamed, "Kind")
		require.ErrorIs(t, err, fault.ErrParams)
	}
	for _, text := range []string{"", "one", "Two", "Kind(0)"} {
		back := kind(7)
		require.ErrorIs(t, Parse(&back, []byte(text), named, "Kind"), fault.ErrFormat)
		require.Equal(t, kind(7), back, "a refused text changes nothing")
	}
}
