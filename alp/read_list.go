package alp

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// listing is the list of a release, for decoding. A nil listing lists nothing.
type listing struct {
	keys      *directory
	shape     *shape
	least     float64   // the list's threshold, in units of φ₁
	scale     float64   // of the list's noise, likewise
	plainFrom float64   // from this absolute value on, in units of φ₁, the listed value alone tells
	depth     []float64 // φ₁(x) − φ₁(X) in scales, for x in the middle of each bin: at most 0
	tilt      []float64 // e to the power of depth; nil where that would be too little for a float64
}

// newListing returns the listing of a Projection, nil if it has no list.
func newListing(p *Projection, g *bins) *listing {
	if p.list == nil {
		return nil
	}
	l := newPlannedListing(&p.shape, g)
	l.keys = p.keys
	return l
}

// farBelow is how many scales e^{−x} is no denormal for.
const farBelow = 700

// newPlannedListing returns a listing of no keys.
func newPlannedListing(s *shape, g *bins) *listing {
	l := &listing{keys: new(directory), shape: s, depth: make([]float64, g.total())}
	l.least, l.scale, _ = s.params.listReach() // the Params are those of a shape
	l.plainFrom = min(l.wideFrom(g), float64(exact.LeastInt(0, func(v int64) bool { return s.kept(v) == s.half })))
	corner := s.phi(s.turn)
	for b := range l.depth {
		l.depth[b] = min((l.phi(s.valueAt(g.point(b, 0.5)))-float64(corner))/l.scale, 0)
	}
	if l.depth[0] > -farBelow {
		for _, x := range l.depth {
			l.tilt = append(l.tilt, math.Exp(x))
		}
	}
	return l
}

// wideFrom returns the least value, in units of φ₁, whose bin is wider than the noise of the list:
// from there on the columns have nothing to add to a listed value, and the middle of a bin does not
// stand for it. On a linear axis all bins are alike, on a logarithmic one they grow with the value.
func (l *listing) wideFrom(g *bins) float64 {
	s := l.shape
	start := func(b int) float64 { return float64(s.geometry.slopeBelow) * s.valueAt(g.point(b, 0)) }
	if g.exact() { // each bin is one point
		start = func(b int) float64 { return float64(s.geometry.slopeBelow) * s.valueAt(float64(b)) }
	}
	for b := range g.used - 1 { // the last bin may end at X
		if start(b+1)-start(b) > l.scale {
			return start(b)
		}
	}
	return math.Inf(1)
}

// find returns the value of an index in the list, in units of φ₁, or 0 if it is not listed.
func (l *listing) find(index uint64) float64 {
	if l == nil {
		return 0
	}
	return l.keys.value(index)
}

// plain reports whether a listed value alone tells what the entry is: it kept no columns.
func (l *listing) plain(value float64) bool { return math.Abs(value) >= l.plainFrom }

// phi returns φ₁ of a number of steps that need not be whole.
func (l *listing) phi(v float64) float64 {
	g := &l.shape.geometry
	turn := float64(g.turn)
	return float64(g.slopeBelow)*min(v, turn) + float64(g.slopeAbove)*max(v-turn, 0)
}

// absent returns Pr[a value of v ≥ 0 steps is not listed], about: rounding below the list's radius,
// where next to nothing is listed, is left out.
func (l *listing) absent(v float64) float64 {
	if l == nil {
		return 1
	}
	return surpasses((l.phi(v) - l.least) / l.scale)
}

// shows returns Pr[a value of v ≥ 0 steps has noise with which it is at least y], y in units of φ₁.
func (l *listing) shows(v, y float64) float64 {
	if l == nil {
		return 0
	}
	return surpasses((max(y, l.least) - l.phi(v)) / l.scale)
}

// surpasses returns Pr[noise ≥ d] for d in scales.
func surpasses(d float64) float64 {
	if d > 0 {
		return 0.5 * math.Exp(-d)
	}
	return 1 - 0.5*math.Exp(d)
}

// fused is the law of a listed entry: the density of its list value, times the likelihood of the
// columns that it kept. The prior is uniform; 0, and for lists with δ > 0 values far below the
// list's radius, are as good as excluded.
type fused struct {
	*listing
	p       *posterior // for the load
	outputs []uint8
	kept    int
	value   float64 // listed, in units of φ₁, not negative
	level   float64 // e^{value − φ₁(X)}, in scales
	corner  float64 // value − φ₁(X), in scales
}

// fuse prepares the law of a listed entry of the given absolute value.
func (l *listing) fuse(p *posterior, outputs []uint8, value float64) fused {
	corner := (value - float64(l.shape.phi(l.shape.turn))) / l.scale
	return fused{l, p, outputs, l.shape.kept(int64(value)), value, math.Exp(min(corner, farBelow)), corner}
}

// weights appends the weight of each bin to dst, and returns it with their sum and the weight of
// what is above all columns.
func (f *fused) weights(dst []float64) (weights []float64, total, tail float64) {
	p := f.p
	product := 1.0
	for j := range p.columns {
		i := j*p.levels + int(f.outputs[j])
		first, kept := j*p.count, j >= f.kept
		each := product
		if kept {
			each *= p.mass[i] * float64(p.used)
		}
		dst = f.appendCloseness(dst, first, min(first+p.count, p.used))
		in := dst[min(first, len(dst)):]
		last, shares := float32(0), p.cum[i*p.count:][:len(in)]
		for b, w := range in {
			w *= each
			if kept {
				w *= float64(shares[b] - last)
				last = shares[b]
			}
			in[b] = w
			total += w
		}
		if kept {
			product = min(product*p.ratio[i], rescale)
		}
	}
	return dst, total, product * f.above() * f.scaleInBins()
}

// closeness returns e^{−|value − φ|}, in scales, for the middle of a bin.
func (f *fused) closeness(b int) float64 {
	switch {
	case f.tilt == nil:
		return math.Exp(-math.Abs(f.corner - f.depth[b]))
	case f.tilt[b] < f.level:
		return f.tilt[b] / f.level
	}
	return f.level / f.tilt[b]
}

// appendCloseness appends the closeness of the bins from first up to end.
func (f *fused) appendCloseness(dst []float64, first, end int) []float64 {
	if f.tilt == nil {
		for b := first; b < end; b++ {
			dst = append(dst, f.closeness(b))
		}
		return dst
	}
	level, b := f.level, first
	for ; b < end && f.tilt[b] < level; b++ { // the tilt grows with the bin
		dst = append(dst, f.tilt[b]/level)
	}
	for ; b < end; b++ {
		dst = append(dst, level/f.tilt[b])
	}
	return dst
}

// scaleInBins returns the scale of the noise above X, in bins as they are at X.
func (f *fused) scaleInBins() float64 {
	return f.scale / float64(f.shape.geometry.slopeAbove) / f.shape.lastBin(f.p.bins)
}

// above returns the integral of e^{−|value − φ|} over φ above φ₁(X), in scales.
func (f *fused) above() float64 {
	if f.corner <= 0 {
		return math.Exp(f.corner)
	}
	return 2 - math.Exp(-f.corner)
}

// median returns the median of the law, in steps.
func (f *fused) median() float64 {
	var buffer [allBins]float64
	weights, total, tail := f.weights(buffer[:0])
	if !(total+tail > 0) { // all underflow
		return f.shape.unphi(f.value)
	}
	left := (total + tail) / 2
	for b, w := range weights {
		if w >= left && w > 0 {
			return f.shape.valueAt(f.p.point(b, left/w))
		}
		left -= w
	}
	return float64(f.shape.turn) + f.beyond(min(max(left/tail, 0), 1-0x1p-53))*f.scale/float64(f.shape.geometry.slopeAbove)
}

// beyond returns the quantile of e^{−|value − φ|} above φ₁(X), in scales from there.
func (f *fused) beyond(share float64) float64 {
	if f.corner <= 0 {
		return -math.Log1p(-share)
	}
	part := share * f.above()
	if below := -math.Expm1(-f.corner); part > below { // above the value itself
		return f.corner - math.Log1p(below-part)
	}
	return f.corner + math.Log(part+math.Exp(-f.corner))
}
