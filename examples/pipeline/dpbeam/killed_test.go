package dpbeam

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// die kills this process, with all that it has in memory, the first times that it is called with
// the directory.
func die(dir string, times int) error {
	left, err := filepath.Glob(filepath.Join(dir, "died-*"))
	if err != nil || len(left) >= times {
		return err
	}
	file, err := os.CreateTemp(dir, "died-*")
	if err != nil {
		return err
	}
	file.Close()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {} // until then
}

// dyingGroupsFn draws a release, keeps it where only the test sees it, and dies, twice.
type dyingGroupsFn struct {
	Dir   string
	Inner groupsFn
}

func (f *dyingGroupsFn) ProcessElement(key int, next func(*[]byte) bool) ([]byte, error) {
	encoded, err := f.Inner.ProcessElement(key, next)
	if err != nil {
		return nil, err
	}
	if err := record(f.Dir, encoded); err != nil {
		return nil, err
	}
	return encoded, die(f.Dir, 2)
}

// dyingReaderFn sees a release, keeps it, and dies, twice.
type dyingReaderFn struct{ Dir string }

func (f *dyingReaderFn) ProcessElement(encoded []byte) ([]byte, error) {
	if err := record(f.Dir, encoded); err != nil {
		return nil, err
	}
	return encoded, die(f.Dir, 2)
}

// dyingFn passes elements on, and dies once in the middle of them.
type dyingFn struct {
	Dir  string
	seen int
}

func (f *dyingFn) ProcessElement(user string, e Entry) (string, Entry, error) {
	if f.seen++; f.seen == 500 {
		return user, e, die(f.Dir, 1)
	}
	return user, e, nil
}

// Workers die in the middle of the input, after the noise was drawn, and after the release was
// read. Whatever is repeated, one draw is seen, always the same; and no draw is like another.
//
// That each attempt has noise of its own matters as much: the release of an attempt that was killed
// may be known to whoever killed it. Two that had the same noise on different data, as a retry of a
// user's choice of keys has, would show the difference. Two draws of 20 counts are equal, each with
// a standard deviation of 34 and rounded to 2⁻²⁰ or finer, with probability below 2^{−400}.
func TestKilledWorkers(t *testing.T) {
	input, drawn, read := t.TempDir(), t.TempDir(), t.TempDir()
	p := groupby.Params{Epsilon: 1, Delta: 1e-6}
	seen := run(t, func(s beam.Scope) beam.PCollection {
		rows := beam.ParDo(s, &dyingFn{Dir: input}, visits(3000, 64)(s))
		release := once(s, groups{Params: p}.states(s, rows), &dyingGroupsFn{drawn, groupsFn{groups{Params: p}}})
		return beam.ParDo(s, &dyingReaderFn{read}, release)
	})
	for dir, want := range map[string]int{input: 1, drawn: 2, read: 2} {
		if died := must[[]string](t)(filepath.Glob(filepath.Join(dir, "died-*"))); len(died) != want {
			t.Errorf("%d workers died, want %d", len(died), want)
		}
	}
	draws, reads := recorded(t, drawn), recorded(t, read)
	if len(draws) != 3 || len(reads) != 3 || len(seen) != 1 {
		t.Fatalf("%d draws, read %d times, %d releases", len(draws), len(reads), len(seen))
	}
	for _, encoded := range append(reads, seen...) {
		if !bytes.Equal(encoded, draws[2]) {
			t.Error("another release than the last that was drawn")
		}
	}
	var estimates [3]float64
	for i, encoded := range draws {
		var g groupby.Groups[string]
		if err := g.UnmarshalBinary(encoded); err != nil || g.Len() != 20 {
			t.Fatalf("%v, %v", &g, err)
		}
		estimates[i] = g.Estimate("by1")
	}
	if estimates[0] == estimates[1] || estimates[1] == estimates[2] || estimates[0] == estimates[2] {
		t.Errorf("a draw was repeated: %v", estimates)
	}
}

// A worker that dies while it sketches changes nothing before the noise.
func TestKilledBeforeTheNoise(t *testing.T) {
	p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	dir := t.TempDir()
	merged := func(f any) []byte {
		all := must[*distinct.Builder](t)(distinct.New(p))
		for _, state := range run(t, func(s beam.Scope) beam.PCollection {
			return beam.ParDo(s, f, beam.DropValue(s, beam.ParDo(s, &dyingFn{Dir: dir}, visits(3000, 64)(s))))
		}) {
			b := must[*distinct.Builder](t)(distinct.New(p))
			if err := b.RestorePrivateState(state); err != nil {
				t.Fatal(err)
			}
			if err := all.Merge(b); err != nil {
				t.Fatal(err)
			}
		}
		return must[[]byte](t)(all.AppendPrivateState(nil))
	}
	// the second time nobody dies
	first, again := merged(&keysFn{Params: p}), merged(&keysFn{Params: p})
	if died := must[[]string](t)(filepath.Glob(filepath.Join(dir, "died-*"))); len(died) != 1 || !bytes.Equal(first, again) {
		t.Errorf("%d workers died, the states are equal: %t", len(died), bytes.Equal(first, again))
	}
}

func init() {
	register.DoFn2x2[int, func(*[]byte) bool, []byte, error](&dyingGroupsFn{})
	register.DoFn1x2[[]byte, []byte, error](&dyingReaderFn{})
	register.DoFn2x3[string, Entry, string, Entry, error](&dyingFn{})
}
