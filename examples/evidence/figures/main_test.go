package figures

import (
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// All figures are drawn, and the pictures are pictures, with something in them.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	for _, f := range figures {
		name, err := f.draw(brief).save(dir, f.name)
		require.NoError(t, err)
		file, err := os.Open(name)
		require.NoError(t, err)
		image, err := png.Decode(file)
		require.NoError(t, err, f.name)
		seen := map[color.Color]bool{}
		for x := range image.Bounds().Dx() {
			for y := range image.Bounds().Dy() {
				seen[image.At(x, y)] = true
			}
		}
		require.Greater(t, len(seen), 20, "the colours of %s", f.name)
		require.NoError(t, file.Close())
	}
}

func TestCommandLine(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(command) }, [][]string{{"-only", "("}, {"-only", "no such"}, {"-colour"}, {"alp"}})
	dir := t.TempDir()
	file := filepath.Join(dir, "misragries-counters.png")
	out := clitest.Output(t, new(command), []string{"-quick", "-only", "counters|arete", "-out", dir}, []string{file, "arete-error.png"})
	require.Equal(t, 2, strings.Count(out, "\n"), out)
	clitest.BrokenOutput(t, new(command), "-only", "counters", "-out", dir)
	code, _, errs := clitest.Run(new(command), "-only", "counters", "-out", file)
	require.Equal(t, 1, code, "a file for a folder")
	require.Contains(t, errs, file)
}
