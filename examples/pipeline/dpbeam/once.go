package dpbeam

import (
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

// once merges the private states of the bundles in one place and gives the one release of all.
//
// nothing makes the state of an empty bundle of the impulse. It is merged like the others, so that
// there is a release of an empty input too: none would tell that not one element came.
//
// The shuffle at the end is what keeps it one release: see the package's documentation.
func once(s beam.Scope, states beam.PCollection, nothing, total any) beam.PCollection {
	all := beam.Flatten(s, states, beam.ParDo(s, nothing, beam.Impulse(s)))
	return beam.Reshuffle(s, beam.ParDo(s, total, beam.GroupByKey(s, beam.AddFixedKey(s, all))))
}

func init() {
	register.Emitter1[[]byte]()
	register.Iter1[[]byte]()
}
