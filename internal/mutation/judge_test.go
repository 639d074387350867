package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tiny is a module with a package of one function.
var tiny = map[string]string{
	"go.mod": "module tiny\n\ngo 1.26\n",
	"p/p.go": "package p\n\n// Add returns the sum.\nfunc Add(a, b int) int {\n\treturn a + b\n}\n",
	"p/p_test.go": `package p
import "testing"
func TestLong(t *testing.T) { if !testing.Short() && Add(0, 0) != 0 { t.Fatal() } }
func TestSum(t *testing.T) { if Add(1, 2) != 3 { t.Fatal() } }
`,
}

// newTiny writes the module and returns a bench for it.
func newTiny(t *testing.T) *bench {
	if testing.Short() {
		t.Skip("builds packages")
	}
	dir := t.TempDir()
	for name, text := range tiny {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return newBench(dir)
}

func TestJudge(t *testing.T) {
	b := newTiny(t)
	for _, c := range []struct {
		name, old, new string
		killed         bool
		want           string
	}{
		{"wrong", "a + b", "a - b", true, "killed by TestSum"},
		{"wrong, seen by a test that is not short", "a + b", "a + b + 1 - min(a+b, 1)", true, "killed by TestLong"},
		{"comment", "the sum", "something", false, "SURVIVES"},
		{"does not compile", "a + b", "a + c", false, "DOES NOT COMPILE"},
		{"only go vet complains", "return a + b", "a = a\n\treturn a + b", false, "SURVIVES"},
		{"too long", "return a + b", "for {\n\t}", false, "TAKES TOO LONG, which shows nothing"},
		{"panic", "return a + b", "panic(a)", true, "killed by TestSum"},
	} {
		b.timeout = time.Minute
		if c.name == "too long" {
			b.timeout = 100 * time.Millisecond
		}
		v, err := b.judge(context.Background(), mutation{c.name, "p/p.go", c.old, c.new})
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, v.String(), c.name)
		require.Equal(t, c.killed, v.killed(), c.name)
		left, err := os.ReadFile(filepath.Join(b.dir, "p", "p.go"))
		require.NoError(t, err)
		require.Equal(t, tiny["p/p.go"], string(left), "the edit is taken back")
	}
	require.NoError(t, b.report(context.Background(), []mutation{{"wrong", "p/p.go", "a + b", "a - b"}}))
	require.ErrorContains(t, b.report(context.Background(), []mutation{{"comment", "p/p.go", "the sum", "it"}}), "not killed")
}

// Where the tests fail anyway, nothing is learnt from their failing.
func TestUnsoundTests(t *testing.T) {
	b := newTiny(t)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "p", "q_test.go"), []byte("package p\nimport \"testing\"\nfunc TestFails(t *testing.T) { t.Fatal() }\n"), 0o600))
	_, err := b.judge(context.Background(), mutation{"wrong", "p/p.go", "a + b", "a - b"})
	require.ErrorContains(t, err, "without any edit: killed by TestFails")
}

func TestInterruptedJudge(t *testing.T) {
	b := newTiny(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.judge(ctx, mutation{"wrong", "p/p.go", "a + b", "a - b"})
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadFile(filepath.Join(b.dir, "p", "p.go"))
	require.NoError(t, err)
	require.Equal(t, tiny["p/p.go"], string(left))
}

// A snippet must occur once, and all must before the first is judged.
func TestEditsThatDoNotApply(t *testing.T) {
	b := &bench{dir: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "p.go"), []byte("package p\nvar a, b, c = 1, 1, 2\n"), 0o600))
	require.ErrorContains(t, b.report(context.Background(), []mutation{{"good", "p.go", "2", "3"}, {"twice", "p.go", "1", "2"}}), "twice: \"1\" occurs 2 times in p.go")
	require.ErrorContains(t, b.report(context.Background(), []mutation{{"never", "p.go", "7", "2"}}), "never: \"7\" occurs 0 times in p.go")
	require.ErrorIs(t, b.report(context.Background(), []mutation{{"no file", "q.go", "7", "2"}}), os.ErrNotExist)
}

func TestChoose(t *testing.T) {
	all := []mutation{{name: "one", file: "a/x.go"}, {name: "two", file: "b/y.go"}}
	chosen, err := choose(all, "^b/|one")
	require.NoError(t, err)
	require.Equal(t, all, chosen)
	_, err = choose(all, "three")
	require.Error(t, err, "a run of no edits is no success")
	_, err = choose(all, "(")
	require.Error(t, err)
}
