package threshold

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// The encoding is that of internal/sparse, whose tests have its layout.
func TestGoldenFiles(t *testing.T) {
	of := filepath.Join("..", "internal", "sparse", "testdata")
	for _, name := range []string{"words.hex", "ints.hex", "pure.hex", "dense.hex"} {
		text := dptest.OK(os.ReadFile(filepath.Join(of, name)))(t)
		dptest.Golden(t, name, string(text))
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		dptest.Decoded[Vector[string]](t, data)
		dptest.Decoded[Vector[int64]](t, data)
	})
}
