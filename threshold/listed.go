package threshold

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// list are public keys, sorted.
type list[K hashing.Key] struct {
	keys []K
	set  map[K]struct{}
}

func (l *list[K]) has(key K) bool {
	_, listed := l.set[key]
	return listed
}

// NewListed returns an empty Builder of a vector over a public list of keys, of any key type: the
// countries of the world, say. Every listed key is released, also one without a value, with Laplace
// noise of scale Sensitivity/ε and no threshold. Other keys are ignored. It is ε-private without δ,
// by DenseLaplace, so Delta is 0. The list takes the place of Dim, and a key in it twice counts
// once. With MaxKeys the caller makes the promise of [NewBounded].
//
// The list must not come from the data, or the release says who is in them. For data of users, whom
// the library bounds itself, take groupby.NewListed. The error wraps [ErrParams].
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func NewListed[K hashing.Key](p Params, keys ...K) (*Builder[K], error) {
	if p.Dim != 0 {
		return nil, fault.Params("threshold", "Dim", p.Dim, "0 in NewListed: the number of keys")
	}
	l := list[K]{keys: slices.Clone(keys), set: make(map[K]struct{}, len(keys))}
	wire.Sort(l.keys)
	l.keys = slices.Compact(l.keys)
	for _, key := range l.keys {
		l.set[key] = struct{}{}
	}
	p.Dim, p.Listed = uint64(len(l.keys)), true
	return calibrated(p, l)
}
