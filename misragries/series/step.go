package series

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise"
)

// Step closes the open step, opens the next one, and returns what is released at its end. Store it,
// as the package page says, before it is published. The error wraps [ErrReleased] for the zero
// Builder, and after 2³¹ − 1 steps.
func (b *Builder[K]) Step() (*Slice[K], error) {
	s := private.Enter(b.secret)
	if s == nil {
		return nil, private.Missing(b.secret, "series: Step: the Builder")
	}
	defer private.Leave(b.secret)
	return s.step()
}

func (s *state[K]) step() (*Slice[K], error) {
	if s.steps >= maxSteps {
		return nil, fmt.Errorf("series: Step: the series is at its last step: %w", check.ErrReleased)
	}
	r := &Slice[K]{common: common{s.params, s.calibration}, step: s.steps}
	s.steps++
	s.closeKnown(r)
	fresh, err := s.closeDiscovery(r)
	if err != nil {
		return nil, err
	}
	s.replace(r, fresh)
	if s.params.MaxElements > 0 && s.steps%s.params.longest() == 0 {
		s.forgetUsers()
	}
	return r, nil
}

// ended returns how many of the nested spans have a node that ends with the step.
func ended(spans []int, steps int) int {
	for i, span := range spans {
		if steps%span != 0 {
			return i
		}
	}
	return len(spans)
}

// closeKnown publishes the counts of all known keys, the zeros too, in each span that ends, and
// with MaxElements the numbers of elements.
func (s *state[K]) closeKnown(r *Slice[K]) {
	n := len(s.known)
	r.keys, r.since = make([]K, n), make([]int, n)
	for i := range s.known {
		r.keys[i], r.since[i] = s.known[i].key, s.known[i].since
	}
	spans := used(&s.params.Spans)
	r.values = make([][]int64, ended(spans, s.steps))
	for l := range r.values {
		r.values[l] = make([]int64, n)
		for i := range s.known {
			r.values[l][i] = s.draw.known(l, s.known[i].sums.carry(l, len(spans)))
		}
	}
	if s.params.MaxElements == 0 {
		return
	}
	r.elements = make([][2]int64, len(r.values))
	for l := range r.elements {
		for i := range r.elements[l] {
			r.elements[l][i] = s.draw.elements(i, l, s.elements[i].carry(l, len(spans)))
		}
	}
}

// closeDiscovery publishes the discovery nodes that end, the shortest span first, and returns the
// keys that they make known.
func (s *state[K]) closeDiscovery(r *Slice[K]) (fresh []member[K], err error) {
	for j := range ended(used(&s.params.Discovery), s.steps) {
		found := make(map[K]bool, len(fresh))
		for i := range fresh {
			found[fresh[i].key] = true
		}
		unknown := func(key K) bool {
			_, known := s.at[key]
			return !known && !found[key]
		}
		if s.sketches == nil {
			fresh = s.closeExact(r, j, fresh, unknown)
		} else if fresh, err = s.closeSketch(r, j, fresh, unknown); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// closeExact publishes a node of exact discovery. Keys that became known during the node are
// published without a threshold, other keys where their noisy count reaches it. (The count of a key
// that became known is at least 1: an element showed it in a shorter node inside this one.)
func (s *state[K]) closeExact(r *Slice[K], j int, fresh []member[K], unknown func(K) bool) []member[K] {
	spans := used(&s.params.Discovery)
	shown := []counted[K]{}
	for _, members := range [][]member[K]{s.known, fresh} {
		for i := range members {
			if m := &members[i]; m.since > s.steps-spans[j] {
				shown = append(shown, counted[K]{m.key, s.draw.late(j, s.unknown.of(m.key, j))})
			}
		}
	}
	for i := range s.unknown.rows {
		key, count := s.unknown.rows[i].key, s.unknown.rows[i].sums[j]
		if count == 0 || !unknown(key) {
			continue
		}
		if published, above := s.draw.show(j, count); above {
			shown = append(shown, counted[K]{key, published})
			fresh = append(fresh, member[K]{key: key, since: s.steps, rate: rate{published, spans[j]}})
		}
	}
	slices.SortFunc(shown, func(a, b counted[K]) int { return wire.Compare(a.key, b.key) })
	r.found = append(r.found, slices.Clip(shown))
	s.unknown.carry(j, len(spans))
	return fresh
}

// closeSketch publishes a node that a sketch counted, and puts a new sketch in its place.
func (s *state[K]) closeSketch(r *Slice[K], j int, fresh []member[K], unknown func(K) bool) ([]member[K], error) {
	next, err := misragries.New[K](s.calibration.sketch)
	if err != nil {
		return nil, err // unreachable: calibrate has checked
	}
	h, err := s.draw.sketch(j, s.sketches[j])
	if err != nil {
		return nil, err // unreachable: each sketch is released once
	}
	s.sketches[j] = next
	for key, count := range h.All() {
		if unknown(key) {
			fresh = append(fresh, member[K]{key: key, since: s.steps, rate: rate{int64(count), used(&s.params.Discovery)[j]}})
		}
	}
	r.sketches = append(r.sketches, h)
	return fresh, nil
}

// replace computes the known keys of the next step from those of this one and the fresh ones. It
// uses only what is published. A key that is dropped loses its open counts.
func (s *state[K]) replace(r *Slice[K], fresh []member[K]) {
	changed := len(fresh) > 0
	if len(r.values) == len(used(&s.params.Spans)) && s.params.Dim == 0 {
		start := s.steps - s.params.longest()
		stay := s.known[:0]
		for i, m := range s.known {
			if count := r.values[len(r.values)-1][i]; m.since <= start {
				if m.rate = (rate{count, s.params.longest()}); s.params.Retire > 0 && count < int64(s.params.Retire) {
					changed = true
					continue
				}
			}
			stay = append(stay, m)
		}
		s.known = stay
	}
	if !changed {
		return
	}
	s.known = append(s.known, fresh...)
	if len(s.known) > s.params.MaxKnown {
		slices.SortFunc(s.known, func(a, b member[K]) int {
			return cmp.Or(cmp.Compare(b.rate.perStep(), a.rate.perStep()), wire.Compare(a.key, b.key))
		})
		s.known = s.known[:s.params.MaxKnown]
	}
	s.known = slices.Clone(s.known)
	slices.SortFunc(s.known, func(a, b member[K]) int { return wire.Compare(a.key, b.key) })
	s.index()
}

// counted is a key with a published count.
type counted[K hashing.Key] struct {
	key   K
	count int64
}

// publisher turns exact counts into what is published: all that leaves a Builder goes through it.
// The tests have another one, by which they compute the law of all releases.
type publisher[K hashing.Key] interface {
	// known publishes the count of a known key in a node of the l-th span.
	known(l int, count int64) int64
	// elements publishes the number of elements that count (i = 0) or are seen in a node of the
	// l-th span.
	elements(i, l int, count int64) int64
	// late publishes the count in a node of the j-th discovery span of a key that is known by now.
	late(j int, count int64) int64
	// show does so for a key that is not known, if the threshold is reached.
	show(j int, count int64) (published int64, shown bool)
	// sketch publishes what a sketch counted in a node of the j-th discovery span.
	sketch(j int, b *misragries.Builder[K]) (*misragries.Histogram[K], error)
}

// noisy is the publisher of every Builder that New makes.
type noisy[K hashing.Key] struct {
	calibration calibration
	src         noise.Source
}

func (n *noisy[K]) known(_ int, count int64) int64 {
	return count + n.calibration.known.SampleInt(&n.src)
}

func (n *noisy[K]) elements(i, _ int, count int64) int64 {
	return count + n.calibration.elements[i].SampleInt(&n.src)
}

func (n *noisy[K]) late(_ int, count int64) int64 {
	return count + n.calibration.found.SampleInt(&n.src)
}

func (n *noisy[K]) show(_ int, count int64) (int64, bool) {
	x, shown := n.calibration.found.SampleTail(&n.src, n.calibration.threshold-count)
	if !shown {
		return 0, false
	}
	return count + x, true
}

func (n *noisy[K]) sketch(_ int, b *misragries.Builder[K]) (*misragries.Histogram[K], error) {
	return b.Release()
}
