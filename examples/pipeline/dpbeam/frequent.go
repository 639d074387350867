package dpbeam

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/misragries"
)

// FrequentKeys takes strings and gives one encoded release, a misragries.Histogram[string]: the
// frequent ones, with estimates of how often they came. It is (ε, δ)-private for one element.
// Where people have several elements, [UserGroups] protects them.
//
// A bundle's state is a reduced Misra-Gries sketch, of a size that does not grow with the data. The
// noise and the threshold of the sum are those of one sketch. Where the Params leave the Method
// open it is ReducedSum: TrimmedSum tells what each sketch lost, also that of a bundle which is
// there for one element.
//
// The guarantee is for two inputs of which one has one element more, and the others are in the same
// bundles in the same order. How a runner cuts its input into bundles is like timing: it must not
// depend on whether one element is there. The other transforms need nothing of the kind.
//
// The error is that of wrong Params.
func FrequentKeys(s beam.Scope, p misragries.Params, elements beam.PCollection) (beam.PCollection, error) {
	if p.Method == misragries.Auto {
		p.Method = misragries.ReducedSum
	}
	if _, err := misragries.NewSum[string](p); err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	s = s.Scope("dpbeam.FrequentKeys")
	states := beam.ParDo(s, &elementsFn{Params: p}, whole(s, elements))
	return once(s, states, &frequentFn{p}), nil
}

// tally is the sum of reduced sketches, and how many these are.
type tally struct {
	params   misragries.Params
	sum      *misragries.Sum[string]
	sketches uint32
}

func newTally(p misragries.Params) (*tally, error) {
	sum, err := misragries.NewSum[string](p)
	return &tally{params: p, sum: sum}, err
}

// add reduces a sketch into the sum.
func (t *tally) add(b *misragries.Builder[string]) error {
	t.sketches++
	return t.sum.Add(b)
}

// Merge adds another tally, which is not used again.
func (t *tally) Merge(other *tally) error {
	t.sketches += other.sketches
	return t.sum.Merge(other.sum)
}

// AppendPrivateState appends what travels between machines: the number of sketches in 4 bytes, and
// the private state of their sum.
func (t *tally) AppendPrivateState(dst []byte) ([]byte, error) {
	return t.sum.AppendPrivateState(binary.LittleEndian.AppendUint32(dst, t.sketches))
}

// RestorePrivateState is the reverse, for an empty tally.
func (t *tally) RestorePrivateState(state []byte) error {
	if len(state) < 4 {
		return fmt.Errorf("dpbeam: a state of %d bytes: %w", len(state), misragries.ErrFormat)
	}
	t.sketches = binary.LittleEndian.Uint32(state)
	return t.sum.RestorePrivateState(state[4:])
}

// Release releases the sum, as one of at least sketchesShown sketches.
func (t *tally) Release() (*misragries.Histogram[string], error) {
	if err := t.pad(); err != nil {
		return nil, err
	}
	return t.sum.Release()
}

// copied returns another tally of the same.
func (t *tally) copied() (*tally, error) {
	state, err := t.AppendPrivateState(nil)
	if err != nil {
		return nil, err
	}
	other, err := newTally(t.params)
	if err != nil {
		return nil, err
	}
	return other, other.RestorePrivateState(state)
}

// sketchesShown is the number of sketches that every release says it has: more than any runner
// makes bundles.
const sketchesShown = 1 << 30

// pad adds sketches of nothing to the sum, for a release tells how many it is of, and a bundle that
// has a sketch because of one element would show that element. The bounds that hold for all keys at
// once become a few counts wider, as if so many bundles had had elements.
func (t *tally) pad() error {
	nothing, err := misragries.New[string](t.params)
	if err != nil {
		return err
	}
	filler, err := newTally(t.params)
	if err != nil {
		return err
	}
	if err := filler.add(nothing); err != nil {
		return err
	}
	// filler is of 1, 2, 4, … sketches
	for missing := uint32(sketchesShown) - min(t.sketches, sketchesShown); missing > 0; missing >>= 1 {
		if missing&1 > 0 {
			if err := addCopy(t, filler); err != nil {
				return err
			}
		}
		if err := addCopy(filler, filler); err != nil {
			return err
		}
	}
	return nil
}

// addCopy adds a copy of a tally.
func addCopy(to, of *tally) error {
	other, err := of.copied()
	if err != nil {
		return err
	}
	return to.Merge(other)
}

// elementsFn makes the elements of a bundle into a private state.
type elementsFn struct {
	Params  misragries.Params
	builder *misragries.Builder[string]
}

func (f *elementsFn) StartBundle(func([]byte)) (err error) {
	f.builder, err = misragries.New[string](f.Params)
	return err
}

func (f *elementsFn) ProcessElement(key string, _ func([]byte)) { f.builder.Add(key) }

func (f *elementsFn) FinishBundle(emit func([]byte)) error {
	t, err := newTally(f.Params)
	if err != nil {
		return err
	}
	if err := t.add(f.builder); err != nil {
		return err
	}
	f.builder = nil
	return send(&t, emit)
}

// frequentFn releases the sum of all sketches.
type frequentFn struct{ Params misragries.Params }

func (f *frequentFn) ProcessElement(_ int, next func(*[]byte) bool) ([]byte, error) {
	return release(func() (*tally, error) { return newTally(f.Params) }, next)
}

func init() {
	register.DoFn2x0[string, func([]byte)](&elementsFn{})
	register.DoFn2x2[int, func(*[]byte) bool, []byte, error](&frequentFn{})
}
