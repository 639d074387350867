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
// noise and the threshold of the sum are those of one sketch.
//
// The guarantee is for two inputs of which one has one element more, and the others are in the same
// bundles in the same order. How a runner cuts its input into bundles is like timing: it must not
// depend on whether one element is there. The other transforms need nothing of the kind.
//
// The error is that of wrong Params.
func FrequentKeys(s beam.Scope, p misragries.Params, elements beam.PCollection) (beam.PCollection, error) {
	if _, err := misragries.NewSum[string](p); err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	s = s.Scope("dpbeam.FrequentKeys")
	states := beam.ParDo(s, &elementsFn{Params: p}, whole(s, elements))
	return once(s, states, &noElementsFn{p}, &frequentFn{p}), nil
}

// tally is the sum of reduced sketches.
type tally struct {
	sum      *misragries.Sum[string]
	sketches uint32
}

func newTally(p misragries.Params) (tally, error) {
	sum, err := misragries.NewSum[string](p)
	return tally{sum: sum}, err
}

// add reduces a sketch into the sum.
func (t *tally) add(b *misragries.Builder[string]) error {
	t.sketches++
	return t.sum.Add(b)
}

func (t *tally) merge(other tally) error {
	t.sketches += other.sketches
	return t.sum.Merge(other.sum)
}

// encode moves a tally between machines: the number of sketches in 4 bytes, and the private state
// of their sum.
func (t *tally) encode() ([]byte, error) {
	return t.sum.AppendPrivateState(binary.LittleEndian.AppendUint32(nil, t.sketches))
}

func decodeTally(p misragries.Params, state []byte) (tally, error) {
	if len(state) < 4 {
		return tally{}, fmt.Errorf("dpbeam: a state of %d bytes: %w", len(state), misragries.ErrFormat)
	}
	t, err := newTally(p)
	if err != nil {
		return tally{}, err
	}
	t.sketches = binary.LittleEndian.Uint32(state)
	return t, t.sum.RestorePrivateState(state[4:])
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
	state, err := t.encode()
	if err == nil {
		emit(state)
	}
	return err
}

// noElementsFn makes the state of no elements.
type noElementsFn struct{ Params misragries.Params }

func (f *noElementsFn) ProcessElement([]byte) ([]byte, error) {
	t, err := newTally(f.Params)
	if err != nil {
		return nil, err
	}
	return t.encode()
}

// frequentFn adds states up and releases the sum.
type frequentFn struct{ Params misragries.Params }

func (f *frequentFn) ProcessElement(_ int, next func(*[]byte) bool) ([]byte, error) {
	all, err := newTally(f.Params)
	if err != nil {
		return nil, err
	}
	for state := []byte(nil); next(&state); {
		t, err := decodeTally(f.Params, state)
		if err != nil {
			return nil, err
		}
		if err := all.merge(t); err != nil {
			return nil, err
		}
	}
	if err := pad(f.Params, &all); err != nil {
		return nil, err
	}
	h, err := all.sum.Release()
	if err != nil {
		return nil, err
	}
	return h.MarshalBinary()
}

// sketchesShown is the number of sketches that every release says it has: more than any runner
// makes bundles.
const sketchesShown = 1 << 30

// pad adds sketches of nothing to the sum, for a release tells how many it is of, and a bundle that
// has a sketch because of one element would show that element. The bounds that hold for all keys at
// once become a few counts wider, as if so many bundles had had elements.
func pad(p misragries.Params, t *tally) error {
	nothing, err := misragries.New[string](p)
	if err != nil {
		return err
	}
	filler, err := newTally(p)
	if err != nil {
		return err
	}
	if err := filler.add(nothing); err != nil {
		return err
	}
	for missing := uint32(sketchesShown) - min(t.sketches, sketchesShown); missing > 0; missing >>= 1 {
		state, err := filler.encode()
		if err != nil {
			return err
		}
		for _, into := range []*tally{t, &filler} {
			if into == t && missing&1 == 0 {
				continue
			}
			copied, err := decodeTally(p, state)
			if err != nil {
				return err
			}
			if err := into.merge(copied); err != nil {
				return err
			}
		}
	}
	return nil
}

func init() {
	register.DoFn2x0[string, func([]byte)](&elementsFn{})
	register.DoFn1x2[[]byte, []byte, error](&noElementsFn{})
	register.DoFn2x2[int, func(*[]byte) bool, []byte, error](&frequentFn{})
}
