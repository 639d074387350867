package dptest

import (
	"encoding"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// update is the one flag for the golden files of all packages: go test ./kor -update rewrites those
// of kor.
var update = flag.Bool("update", false, "rewrite the golden files of the package")

// Golden checks that the file of this name in testdata holds the text. Lines of the file may end as
// they do on Windows.
func Golden(t testing.TB, name, text string) {
	t.Helper()
	Store(t, name, text)
	require.Equal(t, Stored(t, name), text, "%s: what was written before is no longer what is written", name)
}

// GoldenDumps checks that the files of these names hold dumps, as [hex.Dump] writes them, of the
// encodings of the objects: the layout is fixed, and what is written today can be read by every
// later version.
func GoldenDumps[T encoding.BinaryMarshaler](t testing.TB, objects map[string]T) {
	t.Helper()
	require.NotEmpty(t, objects)
	for name, object := range objects {
		data, err := object.MarshalBinary()
		require.NoError(t, err, name)
		Golden(t, name, hex.Dump(data))
	}
}

// Store writes the text to a file in testdata if the flag -update is given; else it does nothing.
// [Golden] does both, Store and the comparison with what is [Stored]; Store alone is for an
// encoding whose numbers may differ from one platform or version to the next, so that only what it
// decodes to can be checked.
func Store(t testing.TB, name, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(filepath.Join("testdata", name), []byte(text), 0o644))
	}
}

// Stored returns the text of a file in testdata, with "\n" at the end of each line.
func Stored(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
