package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every edit applies to the source as it is, once, and leaves Go source; names are told apart.
func TestMutationsApply(t *testing.T) {
	all := mutations()
	require.GreaterOrEqual(t, len(all), 40)
	names := map[string]bool{}
	for _, m := range all {
		source, err := os.ReadFile(filepath.Join("..", "..", m.file))
		require.NoError(t, err)
		edited, err := m.apply(source)
		require.NoError(t, err)
		require.NotEqual(t, string(source), string(edited), m.name)
		_, err = parser.ParseFile(token.NewFileSet(), m.file, edited, parser.SkipObjectResolution)
		require.NoError(t, err, m.name)
		require.False(t, names[m.dir()+m.name], "two edits are called %q", m.name)
		names[m.dir()+m.name] = true
	}
}
