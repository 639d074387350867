package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// tiny is a module with a package of all that an edit may meet, and one that imports it.
var tiny = map[string]string{
	"go.mod": "module tiny\n\ngo 1.26\n",
	"internal/p/p.go": `package p

// Add returns the sum.
func Add(a, b int) int {
	return a + b
}

// unused is not run by a test.
func unused(x int) int { return x }

const one = 1

type T[K ~int] struct{ k K }

// All has names to give, type parameters, and any number of arguments.
func (T[K]) All(_, b int, more ...int) (n int) { return one + b + len(more) }

func pick[K any](x, _ K) K { return x }

func guarded(x int) (n int) {
	defer func() {
		if recover() != nil { n = -1 }
	}()
	return 6 / x
}

// Free is right whatever it returns.
func Free(x int) int { return 5 * x }

// Far is right for this package's tests whatever it adds.
func Far(x int) int { return x + 3 }
`,
	"internal/p/p_test.go": `package p

import "testing"

func TestSum(t *testing.T) { if Add(1, 2) != 3 { t.Fatal() } }

func TestZero(t *testing.T) { if Add(0, 0) != 0 { t.Fatal() } }

func TestAll(t *testing.T) { if (T[int]{}).All(5, 1, 2, 3) != 4 { t.Fatal() } }

func TestPick(t *testing.T) { t.Run("sub", func(t *testing.T) { if pick(1, 2) != 1 { t.Fatal() } }) }

func TestGuarded(t *testing.T) { if guarded(2) != 3 || guarded(0) != -1 { t.Fatal() } }

func TestFree(t *testing.T) { t.Log(Free(1)) }

func TestFar(t *testing.T) { Far(0) }
`,
	"q/q.go":      "package q\n\nimport \"tiny/internal/p\"\n\nfunc Near(x int) int { return p.Far(x) }\n",
	"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestNear(t *testing.T) { if Near(1) != 4 { t.Fatal() } }\n",
}

// newTiny writes the module and returns a bench for it.
func newTiny(t *testing.T, more map[string]string) *bench {
	root := t.TempDir()
	for _, files := range []map[string]string{tiny, more} {
		for name, text := range files {
			path := filepath.Join(root, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	b := newBench(root, "tiny", t.TempDir())
	b.timeout = 3 * time.Second
	return b
}

// judged returns what is said of each edit.
func judged(t *testing.T, b *bench, edits []mutation) (all []string) {
	places := make([]place, len(edits))
	for i, m := range edits {
		var err error
		places[i], err = m.locate(b.root)
		require.NoError(t, err)
	}
	importers := dptest.OK(b.importers(context.Background()))(t)
	j := b.jury("internal/p", edits, places, importers["internal/p"])
	all = make([]string, len(edits))
	require.NoError(t, each(edits, func(i int, _ mutation) error {
		v, err := j.judge(context.Background(), i)
		all[i] = v.String()
		if strings.HasPrefix(all[i], "killed ") != v.killed() {
			t.Errorf("%s: killed is %v", all[i], v.killed())
		}
		return err
	}))
	return all
}

// Edits that are killed, by the tests of the package that run them.
func TestJudge(t *testing.T) {
	dptest.NeedsLong(t) // builds packages
	const file = "internal/p/p.go"
	cases := []struct{ name, file, old, new, want string }{
		{"wrong", file + ":Add", "a + b", "a - b", "killed by TestSum"},
		{"other line breaks", file, "int {\n\n return a +\n b // sum\n }", "int { return a * b }", "killed by TestSum"},
		{"seen by one of two tests", file, "a + b", "a + b + 1 - min(a+b, 1)", "killed by TestZero"},
		{"panic", file, "return a + b", "panic(a)", "killed by TestSum"},
		{"does not compile", file, "a + b", "a + c", "DOES NOT COMPILE: undefined: c"},
		{"generic method", file, "len(more)", "0", "killed by TestAll"},
		{"generic function", file, "return x }\n\nfunc guarded", "return *new(K) }\n\nfunc guarded", "killed by TestPick"},
		{"a constant", file, "one = 1", "one = 2", "killed by TestAll"},
		{"recovers", file, "return 6 / x", "return 9 / x", "killed by TestGuarded"},
		{"without the sign of recovery", file, "n = -1", "n = -2", "killed by TestGuarded"},
		{"too long", file, "return a + b", "select {}", "TAKES TOO LONG, which shows nothing"},
		{"only go vet complains", file, "return a + b", "a = a\n\treturn a + b", "SURVIVES"},
		{"not run", file, "return x }\n\nconst", "return -x }\n\nconst", "SURVIVES: no test runs it"},
		{"by a package that imports it", file, "x + 3", "x + 4", "killed by TestNear of q"},
		{"by none", file, "5 * x", "4 * x", "SURVIVES"},
	}
	var edits []mutation
	for _, c := range cases {
		edits = append(edits, mutation{c.name, c.file, c.old, c.new})
	}
	all := judged(t, newTiny(t, nil), edits)
	for i, c := range cases {
		require.Equal(t, c.want, all[i], c.name)
	}
}

// Where the tests fail anyway, nothing is learnt from their failing, nor where they do not compile.
func TestUnsoundTests(t *testing.T) {
	dptest.NeedsLong(t) // builds packages
	edits := []mutation{{"wrong", "internal/p/p.go", "a + b", "a - b"}}
	b := newTiny(t, map[string]string{"internal/p/a_test.go": "package p\nimport \"testing\"\nfunc TestFails(t *testing.T) { Add(1, 1); t.Fatal() }\n"})
	require.ErrorContains(t, b.report(context.Background(), edits), "without any edit: killed by Test")
	b = newTiny(t, map[string]string{"internal/p/q_test.go": "package p\nvar x int = \"\"\n"})
	require.ErrorContains(t, b.report(context.Background(), edits), "cannot use")
}

// A test that fails only where functions have copies judges an edit in a build of its own: there
// the iterator is not put into its caller, and allocates.
func TestAllocatingHybrid(t *testing.T) {
	dptest.NeedsLong(t) // builds packages
	b := newTiny(t, map[string]string{
		"internal/p/each.go": `package p

import "iter"

func Each(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
`,
		"internal/p/each_test.go": `package p

import "testing"

func TestEach(t *testing.T) {
	sum := 0
	n := testing.AllocsPerRun(100, func() { for i := range Each(3) { sum += i } })
	if n != 0 || sum != 303 { t.Fatal(n, sum) }
}
`,
	})
	require.Equal(t, []string{"killed by TestEach", "SURVIVES"}, judged(t, b, []mutation{
		{"one more", "internal/p/each.go", "range n", "range n + 1"},
		{"the same", "internal/p/each.go", "return func", "n = max(n, 0)\n\treturn func"},
	}))
}

func TestReport(t *testing.T) {
	dptest.NeedsLong(t) // builds packages
	b := newTiny(t, nil)
	b.cache = filepath.Join(t.TempDir(), "kept")
	wrong := mutation{"wrong", "internal/p/p.go", "a + b", "a - b"}
	for range 2 { // the second time with the coverage of the first
		require.NoError(t, b.report(context.Background(), []mutation{wrong}))
	}
	kept := dptest.OK(os.ReadDir(b.cache))(t)
	require.Len(t, kept, 1)
	require.ErrorContains(t, b.report(context.Background(), []mutation{wrong, {"none", "internal/p/p.go", "a + b", "b + a"}}), "not killed")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, b.report(ctx, []mutation{wrong}), context.Canceled)
}

// What is read: the lines of package testing, not those of the tests.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		out  string
		want verdict
	}{
		{"\x16--- FAIL: TestA (0.00s)\n    \x16--- FAIL: TestA/b (0.00s)\n", verdict{failed: []string{"TestA"}}},
		{"--- FAIL: TestA (0.00s)\n", verdict{}},
		{"\x16--- FAIL: TestA (9.00s)\npanic: test timed out after 9s\n", verdict{late: true}},
	} {
		require.Equal(t, c.want, read(c.out), c.out)
	}
	require.True(t, verdict{crashed: true}.killed())
	require.False(t, verdict{broken: "x", failed: []string{"TestA"}}.killed())
	require.False(t, verdict{late: true}.killed())
}

// Fast tests first; a run takes about as long as all before it.
func TestBatches(t *testing.T) {
	sizes := []int{}
	var tests []covered
	for _, seconds := range []float64{0.1, 0.1, 0.2, 0.4, 0.5, 2, 2, 30} {
		tests = append(tests, covered{Seconds: seconds})
	}
	for _, some := range batches(tests) {
		sizes = append(sizes, len(some))
	}
	require.Equal(t, []int{3, 1, 1, 1, 1, 1}, sizes)
	require.Empty(t, batches(nil))
}

// The matrix is read as it was written; an edit that nothing notices has no line.
func TestMatrix(t *testing.T) {
	m := matrix{"a/x.go: one: two": {"a.TestB", "a.TestC"}, "a/y.go: three": {"a.TestB"}, "internal/p/z.go: four": {"b/c.TestD"}}
	require.Equal(t, "a: TestB TestC\n\ta/x.go: one: two\t0 1\n\ta/y.go: three\t0\nb/c: TestD\n\tinternal/p/z.go: four\t0\n", m.String())
	file := filepath.Join(t.TempDir(), "kills.txt")
	none := dptest.OK(readMatrix(file))(t)
	require.Empty(t, none)
	require.NoError(t, os.WriteFile(file, []byte(m.String()), 0o600))
	read := dptest.OK(readMatrix(file))(t)
	require.Equal(t, m, read)
	require.NoError(t, os.WriteFile(file, []byte("a: TestB\n\ta/x.go: one\t1\n"), 0o600))
	require.Error(t, dptest.Err(readMatrix(file)))
}

func TestChoose(t *testing.T) {
	all := []mutation{{name: "one", file: "a/x.go"}, {name: "two", file: "b/y.go"}}
	chosen := dptest.OK(choose(all, "^b/|one"))(t)
	require.Equal(t, all, chosen)
	require.Error(t, dptest.Err(choose(all, "three")), "a run of no edits is no success")
	require.Error(t, dptest.Err(choose(all, "(")))
}
