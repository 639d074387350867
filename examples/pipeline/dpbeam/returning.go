package dpbeam

import (
	"errors"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/kor/distinct"
)

// ReturningKeys takes the strings of two days and gives one encoded release, a distinct.Pair: how
// many different ones there were on both, on either, on one alone. It is ε-private for one key with
// all its occurrences on both days. What travels is as with [DistinctKeys].
//
// The error is that of wrong Params.
func ReturningKeys(s beam.Scope, p distinct.Params, before, now beam.PCollection) (beam.PCollection, error) {
	plan, err := p.Plan()
	if err == nil {
		_, err = distinct.New(p)
	}
	if err == nil && !plan.Pair.Promises() {
		err = errors.Join(errors.New("dpbeam: ReturningKeys: CountShare must be 0 or 1"), distinct.ErrParams)
	}
	if err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	s = s.Scope("dpbeam.ReturningKeys")
	states := make([]beam.PCollection, 2)
	for day, keys := range []beam.PCollection{before, now} {
		states[day] = beam.ParDo(s, &dayFn{Day: byte(day)}, beam.ParDo(s, &keysFn{Params: p}, whole(s, keys)))
	}
	return once(s, beam.Flatten(s, states...), &returningFn{p}), nil
}

// dayFn puts the day before a private state.
type dayFn struct{ Day byte }

func (f *dayFn) ProcessElement(state []byte) []byte { return append([]byte{f.Day}, state...) }

// returningFn releases the keys of both days.
type returningFn struct{ Params distinct.Params }

func (f *returningFn) ProcessElement(_ int, next func(*[]byte) bool) ([]byte, error) {
	var days [2]*distinct.Builder
	for day := range days {
		var err error
		if days[day], err = distinct.New(f.Params); err != nil {
			return nil, err
		}
	}
	for state := []byte(nil); next(&state); {
		if len(state) == 0 {
			continue
		}
		if int(state[0]) >= len(days) {
			return nil, distinct.ErrFormat
		}
		b, err := distinct.New(f.Params)
		if err != nil {
			return nil, err
		}
		if err := b.RestorePrivateState(state[1:]); err != nil {
			return nil, err
		}
		if err := days[state[0]].Merge(b); err != nil {
			return nil, err
		}
	}
	pair, err := distinct.ReleasePair(days[0], days[1])
	if err != nil {
		return nil, err
	}
	return pair.MarshalBinary()
}

func init() {
	register.DoFn1x1[[]byte, []byte](&dayFn{})
	register.DoFn2x2[int, func(*[]byte) bool, []byte, error](&returningFn{})
}
