package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/misragries/internal/law"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// Release spends the budget and returns the private histogram, by Params.Method or, if that is
// Auto, by the mechanism that suits what the Builder holds: for one stream Algorithm 2 of the
// paper. The Builder gives up its data; a second Release returns an error that wraps [ErrReleased].
func (b *Builder[K]) Release() (*Histogram[K], error) {
	c, of, err := b.calibrated()
	if err != nil {
		return nil, err
	}
	return b.releaseBy(c, of)
}

// releaseBy releases what the Builder holds if the calibration is for that: another goroutine may
// have merged a sketch into it since, or restored one, of which no error but this one would tell.
func (b *Builder[K]) releaseBy(c calibration, of kind) (*Histogram[K], error) {
	const doing = "misragries: Release: the Builder"
	s, err := private.Take(b.secret, doing)
	if err != nil {
		return nil, err
	}
	if (kind{s.Given, s.Merged}) != of {
		return nil, check.NoDataError(doing, "was used by two goroutines at once, so its data are dropped")
	}
	return releaseSketch(new(noise.Source), b.params, c, &s.Sketch, s.Given), nil
}

// calibration is a mechanism with all its numbers, in units: counts; 1/(k+1) or 1/j of a count
// where sketches are reduced or trimmed; steps of its grid for package sparse.
type calibration struct {
	method Method
	input  input
	per    float64 // units in a count
	// of the own noise, which is that of the shared one; the threshold; R, β, o where there are
	law.Law
	sparse   sparse.Law
	lost     float64 // the scale of the noise of the length of reduced sketches
	together bool    // the keys of a user are counted together, by Algorithm 4
}

// is returns what the mechanism does.
func (c calibration) is() mechanism { return mechanisms[c.method] }

// contents are what a Builder, a Sum or a UserBuilder held, in units.
type contents[K hashing.Key] struct {
	counters []sketch.Counter[K] // sorted by key, unless they are units
	lost     int64               // what a key may have more than its counter: D, the length, or W
	unknown  bool                // nothing is known of that
}

// releaseSketch releases one sketch, with counters from elsewhere or without.
func releaseSketch[K hashing.Key](src *noise.Source, p Params, c calibration, s *sketch.Sketch[K], given bool) *Histogram[K] {
	held := prepare(src, c, p.Counters, s)
	held.unknown = given
	return release(src, p, c, 1, held)
}

// prepare returns what is released of a sketch, or added up where several are.
func prepare[K hashing.Key](src *noise.Source, c calibration, k int, s *sketch.Sketch[K]) (held contents[K]) {
	switch is := c.is(); {
	case is.zeros:
		held.counters, held.lost = s.Counters(), s.Decrements()
	case is.reduced:
		held.counters, held.lost = sketch.Reduced(s.Unsorted(), k), s.Length(k)
	case is.trimmed:
		most := c.Cap + discreteLaplace(c.CapScale).SampleInt(src)
		held.counters, held.lost = s.Trimmed(law.Least(k), most, discreteLaplace(c.Shift).SampleInt(src)+c.Offset)
	default:
		held.counters, held.lost = s.Positive(), s.Decrements()
	}
	return held
}

// release spends the budget.
func release[K hashing.Key](src *noise.Source, p Params, c calibration, sketches int, held contents[K]) *Histogram[K] {
	p.Method = c.method
	h := &Histogram[K]{params: p, law: c, sketches: sketches, known: !held.unknown}
	switch is := c.is(); {
	case is.shared:
		h.counts, h.lost = releaseShared(src, c, held.counters, held.lost)
	case is.sparse:
		h.counts, h.lost = releaseSparse(src, c.sparse, held.counters, held.lost)
		h.known = c.sparse.Params().Beside
	case is.top:
		sketch.Sort(held.counters)
		h.counts = topOfUniverse(src, c.noise(), p.Counters, p.Dim, held.counters)
	default:
		h.counts = releaseRounded(src, c, held.counters)
		h.lost = held.lost // W
	}
	if c.is().reduced {
		h.lost = 0
		if h.known = h.known && c.lost > 0; h.known {
			h.lost = cutSum(held.lost, discreteLaplace(c.lost).SampleInt(src))
		}
	}
	if !h.known {
		h.lost, h.law.lost = 0, 0
	}
	return h
}

// releaseShared adds to every counter the same η and an own L and drops what is below the
// threshold, in the order of the keys: law/keptzeros_proof.md and law/freedzeros_proof.md. The
// number of decrements moves against the counters, so it takes −η, which is free.
//
// The proof compares η = x on one side with x or x − 1 on the other, where each common c + η is the
// same or one of them is one apart, and D − η is the same. Saturating these sums keeps that;
// saturating c itself would not.
func releaseShared[K hashing.Key](src *noise.Source, c calibration, counters []sketch.Counter[K], decrements int64) ([]sketch.Counter[K], int64) {
	d := c.noise()
	eta := d.SampleInt(src)
	var released []sketch.Counter[K]
	for _, one := range counters {
		y := cutSum(one.Count, eta)
		if x, shown := d.SampleTail(src, c.Threshold-y); shown {
			released = append(released, sketch.Counter[K]{Key: one.Key, Count: y + x})
		}
	}
	return released, cutSum(decrements, -eta)
}

// releaseSparse cuts counters and D off at 2⁵³, where a float64 is exact: in one way, so that (c,
// −D) moves with one sign still.
func releaseSparse[K hashing.Key](src *noise.Source, l sparse.Law, counters []sketch.Counter[K], decrements int64) ([]sketch.Counter[K], int64) {
	const most = 1 << 53
	entries := make([]sparse.Entry[K], len(counters))
	for i, c := range counters {
		entries[i] = sparse.Entry[K]{Key: c.Key, Steps: l.Whole(min(c.Count, most))}
	}
	return fromVector(sparse.Release(src, l, entries, l.Whole(min(decrements, most)), nil))
}

// releaseRounded releases units, whose order it changes, each by the kernel: law/reduced.go and
// law/trimmed_proof.md. It sorts what it releases by key.
//
// A value below R reaches the threshold as R does, if at all. How many of them reach it is
// binomial, which ones is uniform, and the noise beyond the threshold is geometric: so they take
// about one draw together. Draws are made in the order of the keys.
func releaseRounded[K hashing.Key](src *noise.Source, c calibration, units []sketch.Counter[K]) (released []sketch.Counter[K]) {
	d := c.noise()
	beyond, err := noise.NewGeometric(c.Scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	large := 0
	for i, one := range units {
		if one.Count >= c.From {
			units[i], units[large] = units[large], one
			large++
		}
	}
	small := units[large:]
	show := func(list []sketch.Counter[K], tail func(least int64) (int64, bool)) {
		for _, one := range list {
			if count, shown := c.Kernel().Show(one.Count, tail, func() int64 { return beyond.SampleInt(src) }); shown {
				released = append(released, sketch.Counter[K]{Key: one.Key, Count: count})
			}
		}
	}
	sketch.Sort(units[:large])
	show(units[:large], func(least int64) (int64, bool) { return d.SampleTail(src, least) })
	if n := d.CountTail(src, uint64(len(small)), c.Threshold-c.From); n > 0 {
		sketch.Sort(small)
		show(exact.DrawSubset(small, int(n), src.Uint64N), func(least int64) (int64, bool) { return least + beyond.SampleInt(src), true })
	}
	sketch.Sort(released)
	return released
}

// cutSum returns min(count + eta, 2⁶²), count ≥ 0.
func cutSum(count, eta int64) int64 {
	if eta > sketch.Limit-count {
		return sketch.Limit
	}
	return count + eta
}

// noise is the law of the own noise, and of the shared one.
func (c calibration) noise() noise.DiscreteLaplace { return discreteLaplace(c.Scale) }

// discreteLaplace returns the law of a scale that a calibration has found to be valid.
func discreteLaplace(scale float64) noise.DiscreteLaplace {
	d, err := noise.NewDiscreteLaplace(scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	return d
}
