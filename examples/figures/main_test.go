package main

import (
	"bytes"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// All figures are drawn, and the pictures are pictures, with something in them.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run([]string{"-quick", "-out", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
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
	if err := run([]string{"-only", "("}, &out, io.Discard); err == nil {
		t.Error("a bad pattern")
	}
}
