package dpbeam

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/kor/distinct"
)

// DistinctKeys takes strings and gives one encoded release, a distinct.Sketch, which estimates how
// many different ones there are. It is ε-private for one key with all its occurrences, in whatever
// bundles these are. Where the keys are users, that is one user with all rows.
//
// A key may come any number of times in any number of bundles, and nothing removes duplicates: a
// bundle's state is a table of a few kilobytes in which a key sets one bit, and the OR of all
// tables is the table of one machine. So the noise is that of one machine, and no key is shuffled.
//
// The error is that of wrong Params.
func DistinctKeys(s beam.Scope, p distinct.Params, keys beam.PCollection) (beam.PCollection, error) {
	if _, err := distinct.New(p); err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	s = s.Scope("dpbeam.DistinctKeys")
	states := beam.ParDo(s, &keysFn{Params: p}, whole(s, keys))
	return once(s, states, &distinctFn{p}), nil
}

// keysFn makes the keys of a bundle into a private state.
type keysFn struct {
	Params  distinct.Params
	builder *distinct.Builder
}

func (f *keysFn) StartBundle(func([]byte)) (err error) {
	f.builder, err = distinct.New(f.Params)
	return err
}

func (f *keysFn) ProcessElement(key string, _ func([]byte)) { distinct.AddKey(f.builder, key) }

func (f *keysFn) FinishBundle(emit func([]byte)) error { return send(&f.builder, emit) }

// distinctFn releases the sketch of all keys.
type distinctFn struct{ Params distinct.Params }

func (f *distinctFn) ProcessElement(_ int, next func(*[]byte) bool) ([]byte, error) {
	return release(func() (*distinct.Builder, error) { return distinct.New(f.Params) }, next)
}

func init() {
	register.DoFn2x0[string, func([]byte)](&keysFn{})
	register.DoFn2x2[int, func(*[]byte) bool, []byte, error](&distinctFn{})
}
