package dpbeam

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetupLogging("error", "text") // a job that fails says so
	beam.Init()
	os.Exit(m.Run())
}

// recordFn keeps what it sees, in a file of its own for each element.
type recordFn struct{ Dir string }

func (f *recordFn) ProcessElement(encoded []byte) error { return record(f.Dir, encoded) }

// record writes a new file, which is there as a whole or not at all.
func record(dir string, data []byte) error {
	file, err := os.CreateTemp(dir, "part-*")
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(dir, "whole-"+filepath.Base(file.Name())))
}

// recorded returns what was recorded, in the order in which it was.
func recorded(t *testing.T, dir string) (all [][]byte) {
	t.Helper()
	names := cli.Must(filepath.Glob(filepath.Join(dir, "whole-*")))
	at := func(name string) int64 { return cli.Must(os.Stat(name)).ModTime().UnixNano() }
	slices.SortFunc(names, func(a, b string) int { return int(at(a) - at(b)) })
	for _, name := range names {
		all = append(all, cli.Must(os.ReadFile(name)))
	}
	return all
}

// run runs what build adds to a pipeline and returns what its result holds.
func run(t *testing.T, build func(beam.Scope) beam.PCollection) [][]byte {
	t.Helper()
	dir := t.TempDir()
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &recordFn{dir}, build(s))
	cli.Must(prism.Execute(context.Background(), p))
	return recorded(t, dir)
}

// through runs elements through a transform and returns the one encoded release.
func through[P any](t *testing.T, step func(beam.Scope, P, beam.PCollection) (beam.PCollection, error), p P, elements func(beam.Scope) beam.PCollection) []byte {
	t.Helper()
	all := run(t, func(s beam.Scope) beam.PCollection {
		return cli.Must(step(s, p, elements(s)))
	})
	clitest.Not(t, len(all) != 1, "%d releases", len(all))
	return all[0]
}

// numbers are 0 to n−1, spread over the workers.
func numbers(s beam.Scope, n int) beam.PCollection {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return beam.Reshuffle(s, beam.CreateList(s, list))
}

func init() { register.DoFn1x1[[]byte, error](&recordFn{}) }
