package dptest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// inEmptyDir changes to a folder without testdata, where the flag does not count, until the test
// ends.
func inEmptyDir(t *testing.T) {
	t.Chdir(t.TempDir())
	before := *update
	t.Cleanup(func() { *update = before })
	*update = false
}

// updating runs a check as with the flag -update.
func updating(check func()) {
	*update = true
	check()
	*update = false
}

func readFile(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}

func TestGolden(t *testing.T) {
	inEmptyDir(t)
	const text = "one\ntwo\n"
	golden := func(text string) func(testing.TB) { return func(t testing.TB) { Golden(t, "a.txt", text) } }
	require.True(t, fails(golden(text)), "no file")
	require.NoDirExists(t, "testdata", "nothing is written without the flag")

	updating(func() { require.False(t, fails(golden(text))) })
	require.Equal(t, text, readFile(t, "a.txt"))
	require.False(t, fails(golden(text)))
	for _, other := range []string{"", "one\ntwo", "one\ntwo\n\n", "one\nTwo\n", "one\r\ntwo\r\n", "one two\n"} {
		require.True(t, fails(golden(other)), "%q", other)
		require.Equal(t, text, readFile(t, "a.txt"))
	}
	updating(func() { require.False(t, fails(golden("three\n"))) })
	require.Equal(t, "three\n", readFile(t, "a.txt"))

	require.NoError(t, os.WriteFile("testdata/a.txt", []byte("one\r\ntwo\r\n"), 0o644))
	require.False(t, fails(golden(text)), "line ends of Windows")
	require.Equal(t, text, Stored(t, "a.txt"))
	require.NoError(t, os.WriteFile("testdata/a.txt", []byte("one\rtwo\n"), 0o644))
	require.True(t, fails(golden("onetwo\n")), "a lone carriage return is no line end")
	require.True(t, fails(func(t testing.TB) { Stored(t, "b.txt") }), "no file")
	require.NoError(t, os.Mkdir("testdata/b.txt", 0o755))
	updating(func() { require.True(t, fails(func(t testing.TB) { Store(t, "b.txt", text) }), "not a file") })
}

func TestGoldenDumps(t *testing.T) {
	inEmptyDir(t)
	flaw = ""
	a, b := &list{values: []uint64{3, 5}}, &list{values: []uint64{7}}
	dumps := func(t testing.TB) { GoldenDumps(t, map[string]*list{"a.hex": a, "b.hex": b}) }
	require.True(t, fails(dumps), "no files")
	updating(func() { require.False(t, fails(dumps)) })
	require.False(t, fails(dumps))
	require.Equal(t, "00000000  64 70 73 6b ", readFile(t, "b.hex")[:22])

	b.values[0]++
	require.True(t, fails(dumps), "another encoding")
	b.values[0]--
	require.False(t, fails(dumps))
	flaw = "marshal fails"
	updating(func() { require.True(t, fails(dumps)) })
	flaw = ""
	require.False(t, fails(dumps), "nothing was written for an object without an encoding")
	require.NoError(t, os.Remove("testdata/a.hex"))
	require.True(t, fails(dumps), "no file for one of them")
	require.True(t, fails(func(t testing.TB) { GoldenDumps(t, map[string]*list{}) }), "nothing to check")
}
