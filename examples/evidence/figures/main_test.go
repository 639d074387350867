package figures

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// All figures are drawn, and the pictures are pictures, with something in them.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	for _, f := range figures {
		if _, err := f.draw(brief).save(dir, f.name); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range figures {
		svg, err := os.ReadFile(filepath.Join(dir, f.name+".svg"))
		if err != nil || !bytes.Contains(svg, []byte("<svg")) || len(svg) < 2000 {
			t.Errorf("%s: %d bytes of SVG, %v", f.name, len(svg), err)
		}
		file, err := os.Open(filepath.Join(dir, f.name+".png"))
		if err != nil {
			t.Error(err)
			continue
		}
		image, err := png.Decode(file)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		seen := map[uint32]bool{}
		for x := range image.Bounds().Dx() {
			for y := range image.Bounds().Dy() {
				r, g, b, _ := image.At(x, y).RGBA()
				seen[r>>8<<16|g>>8<<8|b>>8] = true
			}
		}
		if len(seen) < 20 {
			t.Errorf("%s: a picture of %d colours", f.name, len(seen))
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(command) }, [][]string{{"-only", "("}, {"-only", "no such"}, {"-colour"}, {"alp"}})
	dir := t.TempDir()
	file := filepath.Join(dir, "elliptical-laplace.svg")
	out := clitest.Output(t, new(command), []string{"-quick", "-only", "elliptical", "-out", dir}, []string{file, "elliptical-gaussian.png"})
	if strings.Count(out, "\n") != 2 {
		t.Errorf("not two figures: %s", out)
	}
	clitest.BrokenOutput(t, new(command), "-only", "elliptical", "-out", dir)
	if code, _, errs := clitest.Run(new(command), "-only", "elliptical", "-out", file); code != 1 || !strings.Contains(errs, file) {
		t.Errorf("a file for a folder: exit code %d, %q", code, errs)
	}
}
