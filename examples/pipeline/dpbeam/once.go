package dpbeam

import (
	"encoding"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// whole puts all elements into one window, which fires once, at the end of the input. In other
// windows, or with a trigger that fires early, there would be a result for each window or firing,
// and with accumulating panes elements would count in several.
func whole(s beam.Scope, elements beam.PCollection) beam.PCollection {
	return beam.WindowInto(s, window.NewGlobalWindows(), elements, beam.PanesDiscard())
}

// once merges the private states of the bundles in one place and gives the one release of all: what
// total makes of them, by release.
//
// The element of the impulse, which is empty, is among the states, so that there is a release of an
// empty input too: none would tell that not one element came.
//
// The shuffle at the end is what keeps it one release: see the package's documentation.
func once(s beam.Scope, states beam.PCollection, total any) beam.PCollection {
	all := beam.Flatten(s, states, beam.Impulse(s))
	return beam.Reshuffle(s, beam.ParDo(s, total, beam.GroupByKey(s, beam.AddFixedKey(s, all))))
}

// builder holds private data of bundles. B is its own type, R what it releases.
type builder[B any, R encoding.BinaryMarshaler] interface {
	AppendPrivateState(dst []byte) ([]byte, error)
	RestorePrivateState(state []byte) error
	Merge(other B) error
	Release() (R, error)
}

// send emits the private state of a bundle, and empties the place of its builder, which is not used
// again.
func send[B builder[B, R], R encoding.BinaryMarshaler](b *B, emit func([]byte)) error {
	state, err := (*b).AppendPrivateState(nil)
	*b = *new(B)
	if err == nil {
		emit(state)
	}
	return err
}

// release merges states and encodes the release of all. An empty state is that of the impulse.
func release[B builder[B, R], R encoding.BinaryMarshaler](empty func() (B, error), next func(*[]byte) bool) ([]byte, error) {
	all, err := empty()
	if err != nil {
		return nil, err
	}
	for state := []byte(nil); next(&state); {
		if len(state) == 0 {
			continue
		}
		b, err := empty()
		if err != nil {
			return nil, err
		}
		if err := b.RestorePrivateState(state); err != nil {
			return nil, err
		}
		if err := all.Merge(b); err != nil {
			return nil, err
		}
	}
	released, err := all.Release()
	if err != nil {
		return nil, err
	}
	return released.MarshalBinary()
}

func init() {
	register.Emitter1[[]byte]()
	register.Iter1[[]byte]()
}
